// The TCP port on Linux sockets that never block.
#pragma once

#include "pvcnoded/services/tcp_sockets.hpp"

#include <boost/asio/io_context.hpp>

namespace pvc::services {

// Both must outlive it and what it makes.
class linux_tcp final : public tcp_sockets {
public:
    linux_tcp(boost::asio::io_context& context, async::timers& clock) : context_(context), clock_(clock) {}

    result<std::unique_ptr<tcp_listener>> listen(const ip::address& where, std::uint16_t port) override;

private:
    boost::asio::io_context& context_;
    async::timers& clock_;
};

}  // namespace pvc::services
