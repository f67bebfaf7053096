#include "pvcnoded/ctl/client.hpp"

#include "descriptor.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace pvc::ctl {

namespace {

constexpr std::size_t read_bytes = 64UL * 1024;
constexpr int full_queue_pause = 20;  // milliseconds; more want to connect at once than the daemon has room for

failure failure_of(const std::string& path, int code) {
    const std::string text = std::generic_category().message(code);
    switch (code) {
        case ENOENT:
        case ENOTDIR: return failure(errc::not_found, path, text);
        case ECONNRESET:
        case ECONNREFUSED: return failure(errc::unavailable, path, text);
        case EACCES:
        case EPERM: return failure(errc::refused, path, text);
        default: return failure(errc::io, path, text);
    }
}

// The whole of it, from connecting to the end of the answer, until a timer that runs beside.
class exchange {
public:
    exchange(const std::string& path, std::chrono::milliseconds limit)
        : path_(path),
          socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
          timer_(timer_of(limit)) {}

    result<void> connect() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path_.empty() || path_.size() >= sizeof address.sun_path) {
            return failure(errc::not_found, path_, "no path of a socket");
        }
        std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
        while (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            if (errno != EAGAIN && errno != EINTR) {
                return failure_of(path_, errno);
            }
            pollfd late{timer_.number(), POLLIN, 0};
            if (::poll(&late, 1, full_queue_pause) > 0) {
                return failure(errc::timed_out, path_, "it takes nobody");
            }
        }
        return {};
    }

    result<void> send(std::string_view text) {
        while (!text.empty()) {
            const ssize_t size = ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
            if (size >= 0) {
                text.remove_prefix(static_cast<std::size_t>(size));
            } else if (errno == EPIPE) {
                return {};  // it has closed already, and mostly said why
            } else if (!may_go_on()) {
                return failure_of(path_, errno);
            } else if (!wait(POLLOUT)) {
                return failure(errc::timed_out, path_, "the request was not read");
            }
        }
        return {};
    }

    result<std::string> receive_line() {
        std::array<char, read_bytes> room{};
        std::size_t searched = 0;
        for (;;) {
            if (const auto end = pending_.find('\n', searched); end != std::string::npos) {
                std::string line = pending_.substr(0, end);
                pending_.erase(0, end + 1);
                return line;
            }
            searched = pending_.size();
            if (searched > protocol::answer_bytes_max) {
                return failure(errc::too_large, path_, "the answer does not end");
            }
            const ssize_t size = ::recv(socket_.number(), room.data(), room.size(), 0);
            if (size > 0) {
                pending_.append(room.data(), static_cast<std::size_t>(size));
            } else if (size == 0) {
                // A daemon that ends takes its callers with it.
                return failure(pending_.empty() ? errc::unavailable : errc::io, path_, "it hung up without an answer");
            } else if (!may_go_on()) {
                return failure_of(path_, errno);
            } else if (!wait(POLLIN)) {
                return failure(errc::timed_out, path_, "no answer came");
            }
        }
    }

    // From now on it is waited for without a limit.
    void forget_limit() { timer_.close(); }

private:
    [[nodiscard]] static bool may_go_on() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }
    // False: the time is over.
    bool wait(short events) {
        std::array<pollfd, 2> both{{{socket_.number(), events, 0}, {timer_.number(), POLLIN, 0}}};
        ::poll(both.data(), both.size(), -1);
        return both[0].revents != 0 || both[1].revents == 0;
    }

    const std::string& path_;
    descriptor socket_;
    descriptor timer_;
    std::string pending_;  // received, and not taken yet
};

}  // namespace

result<void> ask_on(const std::string& socket, const protocol::request& what,
                    const std::function<bool(const protocol::answer&)>& take) {
    exchange with(socket, what.deadline);
    if (const auto connected = with.connect(); !connected) {
        return connected.error();
    }
    if (const auto sent = with.send(protocol::encode(what)); !sent) {
        return sent.error();
    }
    for (;;) {
        PVC_TRY(const std::string line, with.receive_line());
        const auto said = protocol::parse_answer(line);
        if (!said) {
            return failure(errc::invalid, socket, said.error().text());  // somebody listens, of another version maybe
        }
        // An error without an id is about the connection: too many, or no request that could be read.
        if (said->id ? *said->id != what.id : !said->error) {
            return failure(errc::invalid, socket, "an answer to another request");
        }
        if (!take(*said) || !said->more) {
            return {};
        }
        with.forget_limit();
    }
}

result<protocol::answer> ask(const std::string& socket, const protocol::request& what) {
    protocol::answer got;
    const auto asked = ask_on(socket, what, [&](const protocol::answer& said) {
        got = said;
        return false;
    });
    return asked ? result<protocol::answer>(std::move(got)) : asked.error();
}

}  // namespace pvc::ctl
