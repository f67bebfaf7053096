// A socket to the kernel's routing tables, for threads of the pool: to send, and to receive a part of a dump, takes as
// long as the kernel has to wait for others. One thread at a time.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct mnl_socket;

namespace pvc::netlink {

[[nodiscard]] std::string error_text(int error);

class routing_socket {
public:
    // The kernel fills datagrams of a dump up to the size that it sees offered, this at most.
    static constexpr std::size_t usual_size = 32UL * 1024;
    // Of an open one, with room for answers of that size. Errors: unavailable.
    static result<std::unique_ptr<routing_socket>> open(std::size_t answer_size = usual_size);
    ~routing_socket();
    routing_socket(const routing_socket&) = delete;
    routing_socket& operator=(const routing_socket&) = delete;

    [[nodiscard]] int number() const;
    [[nodiscard]] std::uint32_t port() const;
    // The numbers of `message` are set to this socket's. errno, or 0.
    int send(std::string& message, std::uint32_t sequence);

    struct datagram {
        int error = 0;  // errno; EAGAIN: nothing there
        bool is_whole = true;
        std::string_view bytes;  // until the next call
    };
    datagram receive();
    // False: nothing came for so long.
    [[nodiscard]] bool wait(duration limit) const;

private:
    routing_socket(mnl_socket* socket, std::size_t answer_size);

    mnl_socket* socket_;
    std::vector<char> buffer_;
};

}  // namespace pvc::netlink
