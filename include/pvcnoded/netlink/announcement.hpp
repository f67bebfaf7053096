// The frames that tell neighbours whose hardware address an address is reached by now: bytes as they go over the wire.
// Specification: networking.md 2.1.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/model/hardware_address.hpp"

#include <cstdint>
#include <string>

namespace pvc::netlink {

using model::hardware_address;

enum class announced_as : std::uint8_t { request, reply, advertisement };

// 42 bytes: a gratuitous ARP request or reply to everybody, whose sender and target are both `address`.
[[nodiscard]] std::string arp_announcement(const hardware_address& device, const ip::address_v4& address,
                                           announced_as which);
// 86 bytes: an unsolicited neighbour advertisement to all nodes, of a router, that overrides what they know.
[[nodiscard]] std::string neighbour_announcement(const hardware_address& device, const ip::address_v6& address);
// An ARP frame for IPv4, whichever is asked for; an advertisement for IPv6.
[[nodiscard]] std::string announcement(const hardware_address& device, const ip::address& address, announced_as which);

}  // namespace pvc::netlink
