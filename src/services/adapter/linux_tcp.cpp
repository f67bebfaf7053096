#include "pvcnoded/services/adapter/linux_tcp.hpp"

#include "adapter/stream_socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pvc::services {

namespace {

constexpr std::string_view tcp_name = "TCP socket";
constexpr int waiting_max = 32;  // connections that nobody has accepted yet

struct socket_name {
    sockaddr_storage bytes{};
    socklen_t size = 0;
};

socket_name name_of(const ip::address& where, std::uint16_t port) {
    socket_name name;
    if (where.is_v4()) {
        sockaddr_in four{};
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        four.sin_addr.s_addr = htonl(where.to_v4().to_uint());
        std::memcpy(&name.bytes, &four, sizeof four);
        name.size = sizeof four;
        return name;
    }
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    const auto bytes = where.to_v6().to_bytes();
    std::memcpy(&six.sin6_addr, bytes.data(), bytes.size());
    std::memcpy(&name.bytes, &six, sizeof six);
    name.size = sizeof six;
    return name;
}

// What cannot be told counts as unspecified.
ip::address peer_address(int number) {
    socket_name name;
    name.size = sizeof name.bytes;
    if (::getpeername(number, reinterpret_cast<sockaddr*>(&name.bytes), &name.size) != 0) {
        return {};
    }
    if (name.bytes.ss_family == AF_INET) {
        return ip::address_v4(ntohl(reinterpret_cast<const sockaddr_in*>(&name.bytes)->sin_addr.s_addr));
    }
    ip::address_v6::bytes_type bytes{};
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(&name.bytes)->sin6_addr, bytes.size());
    return ip::address_v6(bytes);
}

class linux_tcp_connection final : public socket_connection<tcp_connection> {
public:
    linux_tcp_connection(boost::asio::io_context& context, async::timers& clock, int number)
        : socket_connection(context, clock, number, tcp_name), peer_(peer_address(number)) {}

    [[nodiscard]] const ip::address& peer() const override { return peer_; }

private:
    ip::address peer_;
};

class linux_tcp_listener final : public tcp_listener {
public:
    linux_tcp_listener(boost::asio::io_context& context, async::timers& clock, int number)
        : context_(context), clock_(clock), socket_(context, number) {
        socket_name name;
        name.size = sizeof name.bytes;
        if (socket_.is_watched() && ::getsockname(number, reinterpret_cast<sockaddr*>(&name.bytes), &name.size) == 0) {
            // In the same place for both families.
            port_ = ntohs(reinterpret_cast<const sockaddr_in*>(&name.bytes)->sin_port);
        }
    }

    [[nodiscard]] bool is_watched() const { return socket_.is_watched(); }
    [[nodiscard]] std::uint16_t port() const override { return port_; }
    async::awaitable<result<std::unique_ptr<tcp_connection>>> accept() override {
        const auto number = co_await accept_on(socket_, tcp_name);
        if (!number) {
            co_return number.error();
        }
        auto made = std::make_unique<linux_tcp_connection>(context_, clock_, *number);
        if (!made->is_watched()) {
            co_return socket_failure(tcp_name, ENOMEM);
        }
        co_return made;
    }

private:
    boost::asio::io_context& context_;
    async::timers& clock_;
    watched_descriptor socket_;
    std::uint16_t port_ = 0;
};

// 0, or why not.
int open_port(int number, const socket_name& name) {
    const int on = 1;
    const bool is_six = name.bytes.ss_family == AF_INET6;
    if (::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (is_six && ::setsockopt(number, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        ::bind(number, reinterpret_cast<const sockaddr*>(&name.bytes), name.size) != 0 ||
        ::listen(number, waiting_max) != 0) {
        return errno;
    }
    return 0;
}

}  // namespace

result<std::unique_ptr<tcp_listener>> linux_tcp::listen(const ip::address& where, std::uint16_t port) {
    const socket_name name = name_of(where, port);
    const int number = ::socket(name.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (number < 0) {
        return socket_failure(tcp_name, errno);
    }
    if (const int code = open_port(number, name); code != 0) {
        ::close(number);
        return socket_failure(tcp_name, code);
    }
    auto listener = std::make_unique<linux_tcp_listener>(context_, clock_, number);
    if (!listener->is_watched()) {
        return socket_failure(tcp_name, ENOMEM);
    }
    return listener;
}

}  // namespace pvc::services
