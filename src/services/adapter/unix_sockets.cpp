#include "pvcnoded/services/adapter/unix_sockets.hpp"

#include "adapter/socket_file.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace pvc::services {

namespace {

using descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

failure socket_failure(int code) {
    return failure(errc::io, "local socket", std::generic_category().message(code));
}

bool is_not_now(int code) {
    return code == EAGAIN || code == EWOULDBLOCK;
}

// A descriptor, and who waits for it. What is asked of Asio is not taken back when the waiter goes: it is told of at
// the next wait, or when the descriptor is closed.
class watched_descriptor {
public:
    // `number` is closed with it, also where it cannot be watched (no memory for that, no watches left).
    watched_descriptor(boost::asio::io_context& context, int number) : descriptor_(context.get_executor()) {
        async::error_code code;
        descriptor_.assign(number, code);
        if (code) {
            ::close(number);
        }
    }

    [[nodiscard]] bool is_watched() const { return descriptor_.is_open(); }
    [[nodiscard]] int number() { return descriptor_.native_handle(); }
    async::wakeup& until_readable() { return ask(descriptor::wait_read, *readable_); }
    async::wakeup& until_writable() { return ask(descriptor::wait_write, *writable_); }

private:
    struct side {
        async::wakeup ready;
        bool is_asked = false;
    };
    async::wakeup& ask(descriptor::wait_type which, side& of) {
        if (!std::exchange(of.is_asked, true)) {
            auto& kept = &of == readable_.get() ? readable_ : writable_;
            descriptor_.async_wait(which, [kept](const async::error_code& /*code*/) {
                kept->is_asked = false;
                kept->ready.notify();
            });
        }
        return of.ready;
    }

    // Outlive this: the handlers come when the descriptor is gone.
    std::shared_ptr<side> readable_ = std::make_shared<side>();
    std::shared_ptr<side> writable_ = std::make_shared<side>();
    descriptor descriptor_;
};

std::optional<socket_peer> peer_of(int socket) {
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
        return std::nullopt;
    }
    socket_peer peer{who.uid, {who.gid}, who.pid};
    std::vector<gid_t> more(64);
    for (int attempt = 0; attempt < 2; ++attempt) {
        size = static_cast<socklen_t>(more.size() * sizeof(gid_t));
        const int code = ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, more.data(), &size) == 0 ? 0 : errno;
        more.resize(size / sizeof(gid_t));  // also what is needed, if it was too little
        if (code == 0) {
            peer.groups.insert(peer.groups.end(), more.begin(), more.end());
            break;
        }
        if (code != ERANGE) {
            break;  // an old kernel: the group of the process alone counts
        }
    }
    return peer;
}

class unix_connection final : public local_connection {
public:
    unix_connection(boost::asio::io_context& context, async::timers& clock, int socket, socket_peer who)
        : clock_(clock), socket_(context, socket), peer_(std::move(who)) {}

    [[nodiscard]] bool is_watched() const { return socket_.is_watched(); }
    [[nodiscard]] const socket_peer& peer() const override { return peer_; }

    async::awaitable<result<std::size_t>> read(std::span<char> into, time_point deadline) override {
        for (;;) {
            const ssize_t size = ::recv(socket_.number(), into.data(), into.size(), 0);
            if (size >= 0) {
                co_return static_cast<std::size_t>(size);
            }
            if (errno == EINTR) {
                continue;
            }
            if (!is_not_now(errno)) {
                co_return socket_failure(errno);
            }
            auto& ready = socket_.until_readable();
            const bool is_ready = co_await ready.wait_until(clock_, deadline, "the next request");
            if (!is_ready) {
                co_return failure(errc::timed_out, "local socket", "nothing was asked");
            }
        }
    }

    async::awaitable<result<void>> write(std::string_view text, time_point deadline) override {
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
                co_return socket_failure(errno);
            }
            auto& ready = socket_.until_writable();
            const bool is_ready = co_await ready.wait_until(clock_, deadline, "a reader of the answer");
            if (!is_ready) {
                co_return failure(errc::timed_out, "local socket", "the answer was not read");
            }
        }
        co_return result<void>();
    }

    void write_now(std::string_view text) override {
        static_cast<void>(::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL));
    }

private:
    async::timers& clock_;
    watched_descriptor socket_;
    socket_peer peer_;
};

class unix_listener final : public local_listener {
public:
    unix_listener(boost::asio::io_context& context, async::timers& clock, std::shared_ptr<socket_file> file)
        : context_(context), clock_(clock), file_(std::move(file)), socket_(context, file_->release()) {}

    [[nodiscard]] bool is_watched() const { return socket_.is_watched(); }

    async::awaitable<result<std::unique_ptr<local_connection>>> accept() override {
        for (;;) {
            const int number = ::accept4(socket_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (number >= 0) {
                auto who = peer_of(number);
                if (!who) {
                    ::close(number);
                    continue;
                }
                auto made = std::make_unique<unix_connection>(context_, clock_, number, *std::move(who));
                if (!made->is_watched()) {
                    co_return socket_failure(ENOMEM);
                }
                co_return made;
            }
            if (errno == EINTR || errno == ECONNABORTED) {
                continue;
            }
            if (!is_not_now(errno)) {
                co_return socket_failure(errno);
            }
            auto& ready = socket_.until_readable();
            co_await ready.wait(async::wait_note::work("somebody who asks"));
        }
    }
    [[nodiscard]] std::uint32_t own_user() const override { return ::geteuid(); }
    [[nodiscard]] std::optional<std::uint32_t> group() const override { return file_->group(); }

private:
    boost::asio::io_context& context_;
    async::timers& clock_;
    std::shared_ptr<socket_file> file_;
    watched_descriptor socket_;
};

}  // namespace

async::awaitable<result<std::unique_ptr<local_listener>>> unix_sockets::listen(std::string path, std::string group,
                                                                               time_point deadline) {
    const std::string what = "make the socket " + path;
    std::function<result<std::shared_ptr<socket_file>>()> work = [path = std::move(path), group = std::move(group)] {
        return socket_file::make_blocking(path, group);
    };
    auto made = co_await pool_.run<std::shared_ptr<socket_file>>(clock_, deadline, what, std::move(work));
    if (!made) {
        co_return made.error();
    }
    auto listener = std::make_unique<unix_listener>(context_, clock_, *std::move(made));
    if (!listener->is_watched()) {
        co_return socket_failure(ENOMEM);
    }
    co_return listener;
}

}  // namespace pvc::services
