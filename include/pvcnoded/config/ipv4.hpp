// IPv4 addresses and networks by arithmetic: no list of hosts is ever made (config.md 6.4, hazard 14).
// Parsers are total: bad input gives an empty optional.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::config {

struct ipv4_address {
    std::uint32_t value = 0;  // host byte order

    [[nodiscard]] std::string text() const;  // "10.0.0.1"
    friend auto operator<=>(const ipv4_address&, const ipv4_address&) = default;
};

// An address together with the prefix length it is configured with.
struct ipv4_interface {
    ipv4_address address;
    int prefix = 32;  // 0-32

    [[nodiscard]] std::string text() const;  // "10.0.0.1/24"
    friend auto operator<=>(const ipv4_interface&, const ipv4_interface&) = default;
};

// A network without host bits.
struct ipv4_network {
    ipv4_address address;
    int prefix = 32;  // 0-32

    [[nodiscard]] std::string text() const;  // "10.0.0.0/24"
    // Usable hosts (config.md 6.4): without network and broadcast address up to /30; both of a /31; the one of a /32.
    [[nodiscard]] ipv4_address first_host() const;
    [[nodiscard]] ipv4_address last_host() const;
    [[nodiscard]] std::uint64_t host_count() const;
    [[nodiscard]] bool is_usable_host(ipv4_address candidate) const;
    // The id-th usable host, counted from 1; empty outside 1 to host_count().
    [[nodiscard]] std::optional<ipv4_address> host(std::uint64_t id) const;
    friend auto operator<=>(const ipv4_network&, const ipv4_network&) = default;
};

// The bits that a prefix length (0-32) fixes: 24 -> 0xffffff00.
[[nodiscard]] std::uint32_t prefix_mask(int prefix);
// "a.b.c.d": four decimal numbers 0-255 without leading zeros.
[[nodiscard]] std::optional<ipv4_address> parse_ipv4(std::string_view text);
// "a.b.c.d/len", len 0-32.
[[nodiscard]] std::optional<ipv4_interface> parse_cidr(std::string_view text);

}  // namespace pvc::config
