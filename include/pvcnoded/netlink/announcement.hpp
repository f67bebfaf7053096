// The frames that tell neighbours whose hardware address an address is reached by now: bytes as they go over the wire.
// Specification: networking.md 2.1.
#pragma once

#include "pvcnoded/base/address.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace pvc::netlink {

using hardware_address = std::array<std::uint8_t, 6>;

// 42 bytes: a gratuitous ARP reply to everybody, whose sender and target are both `address`.
[[nodiscard]] std::string arp_announcement(const hardware_address& device, const ip::address_v4& address);
// 86 bytes: an unsolicited neighbour advertisement to all nodes, of a router, that overrides what they know.
[[nodiscard]] std::string neighbour_announcement(const hardware_address& device, const ip::address_v6& address);
// That of its family.
[[nodiscard]] std::string announcement(const hardware_address& device, const ip::address& address);

}  // namespace pvc::netlink
