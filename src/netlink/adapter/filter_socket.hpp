// A socket to the kernel's packet filter, for one batch or one look on a thread of the pool. The kernel answers within
// the call that asks, so nothing here waits for an answer; the calls themselves may take long, as they wait for whoever
// else changes a table. Specification: runtime-design.md 4.
#pragma once

#include "adapter/owned_descriptor.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::netlink {

class filter_socket {
public:
    // Errors: unavailable.
    static result<std::unique_ptr<filter_socket>> open();
    filter_socket(const filter_socket&) = delete;
    filter_socket& operator=(const filter_socket&) = delete;
    ~filter_socket() = default;

    [[nodiscard]] std::uint32_t port() const { return port_; }
    // The whole of it as one datagram, however long it is. Errors: unavailable; nothing was done.
    result<void> send(const std::string& message);
    // Until `each` says false, or there is nothing more. Errors: what `each` says, io.
    result<void> receive(const std::function<result<bool>(std::string_view datagram)>& each);

private:
    filter_socket(owned_descriptor socket, std::uint32_t port);

    owned_descriptor socket_;
    std::uint32_t port_;
    std::vector<char> buffer_;
};

}  // namespace pvc::netlink
