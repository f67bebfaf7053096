#include "contract/hypervisor/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace pvc::contract {

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

}  // namespace pvc::contract
