#include "contract/hypervisor/sockets.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace pvc::contract {

void use_private_network() {
    static const bool once = [] {
        if (::unshare(CLONE_NEWNET) != 0) {
            return false;
        }
        const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ifreq loopback{};
        std::strncpy(loopback.ifr_name, "lo", sizeof loopback.ifr_name - 1);
        loopback.ifr_flags = IFF_UP | IFF_RUNNING;
        const bool is_up = ::ioctl(any, SIOCSIFFLAGS, &loopback) == 0;
        ::close(any);
        if (!is_up) {
            throw std::runtime_error("no loopback in a network of one's own");
        }
        return true;
    }();
    static_cast<void>(once);
}

std::uint16_t free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof where;
    auto* address = reinterpret_cast<sockaddr*>(&where);
    const bool is_bound = ::bind(probe, address, length) == 0 && ::getsockname(probe, address, &length) == 0;
    ::close(probe);
    if (!is_bound) {
        throw std::runtime_error("no free port");
    }
    return ntohs(where.sin_port);
}

bool accepts(const std::string& socket_path) {
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::strncpy(where.sun_path, socket_path.c_str(), sizeof where.sun_path - 1);
    const bool is_there = ::connect(probe, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    ::close(probe);
    return is_there;
}

bool accepts(const std::string& address, std::uint16_t port) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &where.sin_addr);
    const bool is_there = ::connect(probe, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    ::close(probe);
    return is_there;
}

}  // namespace pvc::contract
