// A route, and what an address has beside its network, as somebody gives them to a device: what is said beside the
// device. Values. Specification: networking.md 2, 3.1.
#pragma once

#include "pvcnoded/base/address.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pvc::model {

inline constexpr std::uint32_t main_table = 254;   // RT_TABLE_MAIN
inline constexpr std::uint32_t local_table = 255;  // RT_TABLE_LOCAL

// Scopes of addresses and routes, by the kernel's numbers (RT_SCOPE_…).
inline constexpr std::uint8_t universe_scope = 0;
inline constexpr std::uint8_t link_scope = 253;
inline constexpr std::uint8_t host_scope = 254;
// "link", "host", "site", or the number, as `ip` calls them.
[[nodiscard]] std::string scope_text(std::uint8_t scope);

inline constexpr std::uint32_t forever = 0xffffffff;

// How long an address stays, from when it was looked at, in seconds. What runs is not compared: two looks at one
// address are alike, but for whether it is deprecated (the source of nothing new).
struct address_lifetime {
    std::uint32_t valid = forever;
    std::uint32_t preferred = forever;

    [[nodiscard]] constexpr bool is_deprecated() const { return preferred == 0; }
    [[nodiscard]] constexpr bool is_endless() const { return valid == forever && preferred == forever; }
    friend constexpr bool operator==(const address_lifetime& a, const address_lifetime& b) {
        return a.is_deprecated() == b.is_deprecated();
    }
};

// Of the kernel's IFA_F_… those that somebody gives to an address, and that say something as long as it is there.
inline constexpr std::uint32_t home_address = 0x10;
inline constexpr std::uint32_t manages_temporary = 0x100;
inline constexpr std::uint32_t no_prefix_route = 0x200;
inline constexpr std::uint32_t joins_multicast = 0x400;
inline constexpr std::uint32_t given_flags = home_address | manages_temporary | no_prefix_route | joins_multicast;

struct address_settings {
    std::uint32_t metric = 0;  // of the route to its network, which comes with it; 0: the kernel's usual one
    std::uint32_t flags = 0;   // of given_flags
    std::optional<ip::address> broadcast{};
    std::string label{};  // of IPv4; empty: the name of the device

    // The kernel makes the route to its network, and takes it away.
    [[nodiscard]] bool has_route() const { return (flags & no_prefix_route) == 0; }
    friend bool operator==(const address_settings&, const address_settings&) = default;
};

// So many ways, and bytes of settings, a route has that is told as a whole.
inline constexpr std::size_t route_ways_max = 64;
inline constexpr std::size_t route_settings_max = 512;

// One of several ways that a route goes by.
struct route_way {
    std::optional<ip::address> gateway{};
    std::uint16_t weight = 1;  // to 256
    bool is_onlink = false;

    friend bool operator==(const route_way&, const route_way&) = default;
};

struct network_route {
    host_address to;                       // without bits of a host; 0.0.0.0/0 and ::/0: everything else
    std::optional<ip::address> gateway{};  // of the same family; none: what it leads to is on the link itself
    std::uint32_t metric = 0;
    std::optional<ip::address> source{};  // whose address packets have that nobody gave one
    std::uint8_t scope = universe_scope;
    std::uint8_t protocol = 3;  // RTPROT_BOOT: who made it, by the kernel's numbers
    bool is_onlink = false;     // the gateway is there although no address says so
    std::uint8_t tos = 0;       // of IPv4: of such packets alone
    // MTU, windows, realm, preference, …: attributes of the kernel (RTA_METRICS, RTA_FLOW, RTA_PREF) as it told them,
    // which it takes again. Empty: the usual ones.
    std::string settings{};
    bool is_local = false;          // to an address of this machine (table local), so that it takes its packets
    std::vector<route_way> ways{};  // by all of them, over one device, and not by `gateway`; empty: it has one way

    [[nodiscard]] bool is_by_gateway() const { return gateway.has_value() || !ways.empty(); }
    [[nodiscard]] bool is_default() const { return to.prefix == 0; }
    // A second one of its place and metric is no other route: the kernel makes both one, of several ways.
    [[nodiscard]] bool is_merged() const { return to.address.is_v6() && is_by_gateway(); }
    // But for its source.
    [[nodiscard]] bool is_like(const network_route& other) const {
        auto same = other;
        same.source = source;
        return *this == same;
    }
    friend bool operator==(const network_route&, const network_route&) = default;
};

// "default route via 10.0.0.254", "route 10.77.0.0/16 via 10.0.0.254 (metric 50, source 10.0.0.1)".
[[nodiscard]] std::string to_text(const network_route& route);

}  // namespace pvc::model
