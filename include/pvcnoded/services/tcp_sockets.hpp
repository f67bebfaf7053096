// The TCP port: whoever can reach an address of this host may connect to it. Loop thread only.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/services/stream_connection.hpp"

#include <cstdint>
#include <memory>

namespace pvc::services {

class tcp_connection : public stream_connection {
public:
    // Of whoever has connected, as it was then.
    [[nodiscard]] virtual const ip::address& peer() const = 0;
};

// Destroying it closes the socket; who is connected stays.
class tcp_listener {
public:
    tcp_listener() = default;
    tcp_listener(const tcp_listener&) = delete;
    tcp_listener& operator=(const tcp_listener&) = delete;
    virtual ~tcp_listener() = default;

    // Suspends until somebody connects. Errors: io (no more descriptors, for one; the next one may be had).
    virtual async::awaitable<result<std::unique_ptr<tcp_connection>>> accept() = 0;
    // The one that was wanted, or, if that was 0, the one that the kernel chose.
    [[nodiscard]] virtual std::uint16_t port() const = 0;
};

class tcp_sockets {
public:
    tcp_sockets() = default;
    tcp_sockets(const tcp_sockets&) = delete;
    tcp_sockets& operator=(const tcp_sockets&) = delete;
    virtual ~tcp_sockets() = default;

    // Does not wait. An IPv6 address takes IPv6 alone. Errors: io (the port is in use, no such address here, …).
    virtual result<std::unique_ptr<tcp_listener>> listen(const ip::address& where, std::uint16_t port) = 0;
};

}  // namespace pvc::services
