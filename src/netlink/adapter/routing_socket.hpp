// A socket to the kernel's routing tables, and the end of a wait for it.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

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

private:
    routing_socket(mnl_socket* socket, std::size_t answer_size);

    mnl_socket* socket_;
    std::vector<char> buffer_;
};

// Suspends until the descriptor can be read. False: not by the deadline, or it cannot be watched. It is watched for
// this wait only: a descriptor that always is wakes the loop for every answer.
async::awaitable<bool> wait_readable(boost::asio::any_io_executor executor, int number, async::timers& clock,
                                     time_point deadline);

}  // namespace pvc::netlink
