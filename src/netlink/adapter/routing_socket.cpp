#include "adapter/routing_socket.hpp"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace pvc::netlink {

namespace {

void switch_on(mnl_socket* socket, int option) {
    int on = 1;
    mnl_socket_setsockopt(socket, option, &on, sizeof on);  // an older kernel does without
}

}  // namespace

std::string error_text(int error) {
    return std::system_category().message(error);
}

result<std::unique_ptr<routing_socket>> routing_socket::open(std::size_t answer_size) {
    mnl_socket* const made = mnl_socket_open2(NETLINK_ROUTE, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made == nullptr) {
        return failure(errc::unavailable, "routing socket", error_text(errno));
    }
    std::unique_ptr<routing_socket> opened(new routing_socket(made, answer_size));
    if (mnl_socket_bind(made, 0, MNL_SOCKET_AUTOPID) != 0) {
        return failure(errc::unavailable, "routing socket", error_text(errno));
    }
    switch_on(made, NETLINK_EXT_ACK);
    switch_on(made, NETLINK_CAP_ACK);
    switch_on(made, NETLINK_GET_STRICT_CHK);  // dumps then hold what their heads ask for
    return opened;
}

routing_socket::routing_socket(mnl_socket* socket, std::size_t answer_size) : socket_(socket), buffer_(answer_size) {}

routing_socket::~routing_socket() {
    mnl_socket_close(socket_);
}

int routing_socket::number() const {
    return mnl_socket_get_fd(socket_);
}

std::uint32_t routing_socket::port() const {
    return mnl_socket_get_portid(socket_);
}

int routing_socket::send(std::string& message, std::uint32_t sequence) {
    nlmsghdr head{};
    std::memcpy(&head, message.data(), sizeof head);
    head.nlmsg_seq = sequence;
    head.nlmsg_pid = port();
    std::memcpy(message.data(), &head, sizeof head);
    while (mnl_socket_sendto(socket_, message.data(), message.size()) < 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

routing_socket::datagram routing_socket::receive() {
    for (;;) {
        sockaddr_nl from{};
        iovec room{buffer_.data(), buffer_.size()};
        msghdr about{};
        about.msg_name = &from;
        about.msg_namelen = sizeof from;
        about.msg_iov = &room;
        about.msg_iovlen = 1;
        const ssize_t size = ::recvmsg(number(), &about, 0);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            return {errno, true, {}};
        }
        if (from.nl_pid != 0) {
            continue;  // another process, not the kernel
        }
        return {0, (about.msg_flags & MSG_TRUNC) == 0, {buffer_.data(), static_cast<std::size_t>(size)}};
    }
}

bool routing_socket::wait(duration limit) const {
    pollfd wanted{number(), POLLIN, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(std::max(limit, duration::zero())).count();
    return ::poll(&wanted, 1, static_cast<int>(milliseconds)) > 0;
}

}  // namespace pvc::netlink
