// tidy-allow-file(resolver): names are resolved here on a pool thread, for the connection that follows
#include "remote_place.hpp"

#include "pvcnoded/async/thread_clock.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

namespace pvc::hypervisor {

namespace {

constexpr std::string_view default_port = "16509";

class socket_guard {
public:
    explicit socket_guard(int descriptor) : descriptor_(descriptor) {}
    socket_guard(const socket_guard&) = delete;
    socket_guard& operator=(const socket_guard&) = delete;
    ~socket_guard() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }
    [[nodiscard]] int get() const { return descriptor_; }

private:
    int descriptor_;
};

// An error number of the system, 0 if connected.
int connect_to(const addrinfo& where, time_point until) {
    const socket_guard socket(
        ::socket(where.ai_family, where.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, where.ai_protocol));
    if (socket.get() < 0) {
        return errno;
    }
    if (::connect(socket.get(), where.ai_addr, where.ai_addrlen) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS) {
        return errno;
    }
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - async::thread_now()).count();
        if (left <= 0) {
            return ETIMEDOUT;
        }
        pollfd ready{socket.get(), POLLOUT, 0};
        const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        if (count > 0) {
            int error = 0;
            socklen_t length = sizeof error;
            ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
            return error;
        }
    }
}

}  // namespace

remote_place place_of(std::string_view pattern, std::string_view peer) {
    remote_place out;
    const std::size_t hole = pattern.find("{}");
    if (hole == std::string_view::npos) {
        out.uri = pattern;
        return out;
    }
    const std::string_view before = pattern.substr(0, hole);
    std::string_view after = pattern.substr(hole + 2);
    out.uri = std::string(before) + std::string(peer) + std::string(after);
    if (before.ends_with("+tcp://")) {
        std::string_view port = default_port;
        if (after.starts_with(':')) {
            after.remove_prefix(1);
            port = after.substr(0, after.find('/'));
        }
        out.tcp = {std::string(peer), std::string(port)};
    }
    return out;
}

call_result<void> reach(const remote_place::address& where, time_point until) {
    const std::string name = where.host + ':' + where.port;
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int error = ::getaddrinfo(where.host.c_str(), where.port.c_str(), &wanted, &list); error != 0) {
        return call_failure(call_error::unavailable, name + ": " + ::gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(list, &::freeaddrinfo);
    bool all_refused = true;
    int last = 0;
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
        last = connect_to(*one, until);
        if (last == 0) {
            return {};
        }
        all_refused = all_refused && last == ECONNREFUSED;
    }
    const auto code =
        all_refused ? call_error::refused : (last == ETIMEDOUT ? call_error::timed_out : call_error::unavailable);
    return call_failure(code, name + ": " + std::generic_category().message(last));
}

}  // namespace pvc::hypervisor
