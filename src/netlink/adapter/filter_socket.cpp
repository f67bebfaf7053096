#include "adapter/filter_socket.hpp"

#include "adapter/routing_socket.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace pvc::netlink {

namespace {

// The kernel fills datagrams of a dump up to the size that it sees offered, this at most.
constexpr std::size_t dump_part_max = 32UL * 1024;

void switch_on(int socket, int option) {
    const int on = 1;
    ::setsockopt(socket, SOL_NETLINK, option, &on, sizeof on);  // an older kernel does without
}

failure no_socket(int error) {
    return failure(errc::unavailable, "the packet filter", error_text(error));
}

}  // namespace

result<std::unique_ptr<filter_socket>> filter_socket::open() {
    owned_descriptor made(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER));
    sockaddr_nl own{};
    own.nl_family = AF_NETLINK;
    socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    if (made.number() < 0 || ::bind(made.number(), address, sizeof own) != 0 ||
        ::getsockname(made.number(), address, &size) != 0) {
        return no_socket(errno);
    }
    switch_on(made.number(), NETLINK_EXT_ACK);
    switch_on(made.number(), NETLINK_CAP_ACK);
    return std::unique_ptr<filter_socket>(new filter_socket(std::move(made), own.nl_pid));
}

filter_socket::filter_socket(owned_descriptor socket, std::uint32_t port)
    : socket_(std::move(socket)), port_(port), buffer_(dump_part_max) {}

result<void> filter_socket::send(const std::string& message) {
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    // Without the right to more it is what is usual, and the kernel says that the message is too long.
    const int room = static_cast<int>(message.size() + 4096);
    ::setsockopt(socket_.number(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    while (::sendto(socket_.number(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
                    sizeof kernel) < 0) {
        if (errno != EINTR) {
            return no_socket(errno);
        }
    }
    return {};
}

result<void> filter_socket::receive(const std::function<result<bool>(std::string_view datagram)>& each) {
    for (;;) {
        const ssize_t size = ::recv(socket_.number(), buffer_.data(), buffer_.size(), MSG_TRUNC);
        if (size < 0 && errno == EAGAIN) {
            return {};
        }
        if (size < 0 && (errno == EINTR || errno == ENOBUFS)) {
            // ENOBUFS: of very many refusals the last ones had no room; the first are there.
            continue;
        }
        if (size < 0 || static_cast<std::size_t>(size) > buffer_.size()) {
            return failure(errc::io, "the packet filter", size < 0 ? error_text(errno) : "too long an answer");
        }
        PVC_TRY(const bool goes_on, each(std::string_view(buffer_.data(), static_cast<std::size_t>(size))));
        if (!goes_on) {
            return {};
        }
    }
}

}  // namespace pvc::netlink
