// A route as somebody gives it to a device, as a value: what it says beside the device. Specification: networking.md 2,
// 3.1.
#pragma once

#include "pvcnoded/base/address.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::model {

inline constexpr std::uint32_t main_table = 254;  // RT_TABLE_MAIN

// Scopes of addresses and routes, by the kernel's numbers (RT_SCOPE_…).
inline constexpr std::uint8_t universe_scope = 0;
inline constexpr std::uint8_t link_scope = 253;
// "link", "host", "site", or the number, as `ip` calls them.
[[nodiscard]] std::string scope_text(std::uint8_t scope);

// How long an address stays, from when it was looked at, in seconds. What runs is not compared: two looks at one
// address are alike.
struct address_lifetime {
    std::uint32_t valid = 0;
    std::uint32_t preferred = 0;

    friend constexpr bool operator==(const address_lifetime& /*a*/, const address_lifetime& /*b*/) { return true; }
};

struct network_route {
    host_address to;                       // without bits of a host; 0.0.0.0/0 and ::/0: everything else
    std::optional<ip::address> gateway{};  // of the same family; none: what it leads to is on the link itself
    std::uint32_t metric = 0;
    std::optional<ip::address> source{};  // whose address packets have that nobody gave one
    std::uint8_t scope = universe_scope;
    std::uint8_t protocol = 3;  // RTPROT_BOOT: who made it, by the kernel's numbers
    bool is_onlink = false;     // the gateway is there although no address says so

    [[nodiscard]] bool is_default() const { return to.prefix == 0; }
    friend bool operator==(const network_route&, const network_route&) = default;
};

// "default route via 10.0.0.254", "route 10.77.0.0/16 via 10.0.0.254 (metric 50, source 10.0.0.1)".
[[nodiscard]] std::string to_text(const network_route& route);

}  // namespace pvc::model
