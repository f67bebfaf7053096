// The hosts of an IPv4 network by arithmetic: no list of them is ever made (config.md 6.4, hazard 14). The two
// addresses of a /31 and the one of a /32 are hosts, which Asio's network_v4::hosts() does not give. Networks are
// canonical here.
#pragma once

#include "pvcnoded/base/address.hpp"

#include <cstdint>
#include <optional>

namespace pvc::config {

// Without network and broadcast address up to /30; both of a /31; the one of a /32.
[[nodiscard]] ip::address_v4 first_host(const ip::network_v4& network);
[[nodiscard]] ip::address_v4 last_host(const ip::network_v4& network);
[[nodiscard]] std::uint64_t host_count(const ip::network_v4& network);
// Never one of the other family.
[[nodiscard]] bool is_usable_host(const ip::network_v4& network, const ip::address& candidate);
// The id-th usable host, counted from 1; empty outside 1 to host_count().
[[nodiscard]] std::optional<ip::address_v4> host(const ip::network_v4& network, std::uint64_t id);

}  // namespace pvc::config
