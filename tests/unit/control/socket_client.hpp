// A client of a server under test: it never blocks, and waits on the loop's clock.
#pragma once

#include "pvcnoded/async/timers.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace pvc::control {

class socket_client {
public:
    socket_client(const socket_client&) = delete;
    socket_client& operator=(const socket_client&) = delete;
    void hang_up() {
        if (socket_ >= 0) {
            ::close(std::exchange(socket_, -1));
        }
    }
    ssize_t send(std::string_view text) const { return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
    // All of it, or until the other side has closed: then false.
    async::awaitable<bool> send_all(std::string_view text) {
        const time_point until = clock_.now() + std::chrono::seconds(10);
        while (!text.empty() && clock_.now() < until) {
            const ssize_t size = send(text);
            if (size < 0 && errno != EAGAIN && errno != EINPROGRESS) {
                co_return false;
            }
            text.remove_prefix(size < 0 ? 0 : static_cast<std::size_t>(size));
            co_await async::sleep_for(clock_, std::chrono::milliseconds(size < 0 ? 1 : 0), "room");
        }
        co_return text.empty();
    }

protected:
    socket_client(async::timers& clock, int family)
        : clock_(clock), socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
    ~socket_client() { hang_up(); }

    enum class came : std::uint8_t { bytes, closed, broken, late };
    // More of what the other side sends, into `got_`.
    async::awaitable<came> receive(time_point until) {
        for (;;) {
            std::array<char, 65536> room{};
            const ssize_t size = ::recv(socket_, room.data(), room.size(), 0);
            if (size > 0) {
                got_.append(room.data(), static_cast<std::size_t>(size));
                co_return came::bytes;
            }
            if (size == 0) {
                co_return came::closed;
            }
            if (errno != EAGAIN && errno != EINTR && errno != EINPROGRESS) {
                co_return came::broken;
            }
            if (clock_.now() > until) {
                co_return came::late;
            }
            co_await async::sleep_for(clock_, std::chrono::milliseconds(1), "an answer");
        }
    }
    [[nodiscard]] int socket() const { return socket_; }

    async::timers& clock_;
    std::string got_;

private:
    int socket_ = -1;
};

}  // namespace pvc::control
