#include "adapter/stream_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace pvc::services {

namespace {

bool is_not_now(int code) {
    return code == EAGAIN || code == EWOULDBLOCK;
}

}  // namespace

failure socket_failure(std::string_view what, int code) {
    return failure(errc::io, std::string(what), std::generic_category().message(code));
}

watched_descriptor::watched_descriptor(boost::asio::io_context& context, int number)
    : descriptor_(context.get_executor()) {
    async::error_code code;
    descriptor_.assign(number, code);
    if (code) {
        ::close(number);
    }
}

async::wakeup& watched_descriptor::ask(descriptor::wait_type which, const std::shared_ptr<side>& of) {
    if (!std::exchange(of->is_asked, true)) {
        descriptor_.async_wait(which, [kept = of](const async::error_code& /*code*/) {
            kept->is_asked = false;
            kept->ready.notify();
        });
    }
    return of->ready;
}

async::awaitable<result<int>> accept_on(watched_descriptor& listening, std::string_view what) {
    for (;;) {
        const int number = ::accept4(listening.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (number >= 0) {
            co_return number;
        }
        if (errno == EINTR || errno == ECONNABORTED) {
            continue;
        }
        if (!is_not_now(errno)) {
            co_return socket_failure(what, errno);
        }
        auto& ready = listening.until_readable();
        co_await ready.wait(async::wait_note::work("somebody who asks"));
    }
}

async::awaitable<result<std::size_t>> stream_socket::read(std::span<char> into, time_point deadline) {
    for (;;) {
        const ssize_t size = ::recv(socket_.number(), into.data(), into.size(), 0);
        if (size >= 0) {
            co_return static_cast<std::size_t>(size);
        }
        if (errno == EINTR) {
            continue;
        }
        if (!is_not_now(errno)) {
            co_return socket_failure(what_, errno);
        }
        auto& ready = socket_.until_readable();
        const bool is_ready = co_await ready.wait_until(clock_, deadline, "the next request");
        if (!is_ready) {
            co_return failure(errc::timed_out, std::string(what_), "nothing was asked");
        }
    }
}

async::awaitable<result<void>> stream_socket::write(std::string_view text, time_point deadline) {
    while (!text.empty()) {
        const ssize_t size = ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
        if (size >= 0) {
            text.remove_prefix(static_cast<std::size_t>(size));
            continue;
        }
        if (errno == EINTR) {
            continue;
        }
        if (!is_not_now(errno)) {
            co_return socket_failure(what_, errno);
        }
        auto& ready = socket_.until_writable();
        const bool is_ready = co_await ready.wait_until(clock_, deadline, "a reader of the answer");
        if (!is_ready) {
            co_return failure(errc::timed_out, std::string(what_), "the answer was not read");
        }
    }
    co_return result<void>();
}

void stream_socket::write_now(std::string_view text) {
    static_cast<void>(::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL));
}

void stream_socket::end_writing() {
    static_cast<void>(::shutdown(socket_.number(), SHUT_WR));
}

}  // namespace pvc::services
