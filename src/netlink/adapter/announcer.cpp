#include "adapter/announcer.hpp"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace pvc::netlink {

namespace {

ifreq request_about(const std::string& device) {
    ifreq asked{};
    std::ranges::copy(device.substr(0, sizeof asked.ifr_name - 1), std::begin(asked.ifr_name));
    return asked;
}

// Empty: there is no such device.
std::optional<int> index_of(int socket, const std::string& device) {
    auto asked = request_about(device);
    return ::ioctl(socket, SIOCGIFINDEX, &asked) == 0 ? std::optional(asked.ifr_ifindex) : std::nullopt;
}

std::optional<hardware_address> hardware_of(int socket, const std::string& device) {
    auto asked = request_about(device);
    if (::ioctl(socket, SIOCGIFHWADDR, &asked) != 0 || asked.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        return std::nullopt;
    }
    hardware_address found{};
    std::memcpy(found.data(), asked.ifr_hwaddr.sa_data, found.size());
    return found;
}

// In the device's own table of routes, if it has one. What cannot be told counts as there: it was added.
bool is_here(const std::string& device, int link, const ip::address& address) {
    const owned_descriptor asking(
        ::socket(address.is_v4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (asking.number() < 0) {
        return true;
    }
    ::setsockopt(asking.number(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(),
                 static_cast<socklen_t>(device.size() + 1));
    int bound = 0;
    if (address.is_v4()) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(address.to_v4().to_uint());
        bound = ::bind(asking.number(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
    } else {
        sockaddr_in6 at{};
        at.sin6_family = AF_INET6;
        const auto bytes = address.to_v6().to_bytes();
        std::memcpy(&at.sin6_addr, bytes.data(), bytes.size());
        at.sin6_scope_id = address.to_v6().is_link_local() ? static_cast<std::uint32_t>(link) : 0;
        bound = ::bind(asking.number(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
    }
    return bound == 0 || errno != EADDRNOTAVAIL;
}

}  // namespace

bool announcer::send(const std::string& device, const ip::address& address, std::span<const announced_as> frames) {
    if (asking_.number() < 0) {
        asking_ = owned_descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    }
    const auto link = index_of(asking_.number(), device);
    const auto hardware = link ? hardware_of(asking_.number(), device) : std::nullopt;
    if (!hardware || !is_here(device, *link, address)) {
        return false;
    }
    for (const auto one : frames) {
        send_frame(*link, announcement(*hardware, address, one));
    }
    return true;
}

void announcer::send_frame(int link, const std::string& frame) {
    if (socket_.number() < 0) {
        // Protocol 0: it hears nothing.
        socket_ = owned_descriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    }
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = link;
    to.sll_halen = ETH_ALEN;
    std::memcpy(&to.sll_protocol, frame.data() + 2UL * ETH_ALEN, sizeof to.sll_protocol);
    std::memcpy(to.sll_addr, frame.data(), ETH_ALEN);
    while (::sendto(socket_.number(), frame.data(), frame.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
                    sizeof to) < 0 &&
           errno == EINTR) {
    }
}

}  // namespace pvc::netlink
