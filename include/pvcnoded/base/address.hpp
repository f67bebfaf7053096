// Addresses and networks of both families: Asio's types (what they hold is compared, copied and shown; nothing here
// opens or asks anything) and our parsers of them. Each accepts one spelling of IPv4 and those of RFC 4291 of IPv6.
// Asio's parsers are not used: they look scope ids up ("%eth0"), do not see what follows a NUL, take prefix lengths
// with leading zeros, and (1.81) call a success a failure if errno was set before. Total: anything else is a failure
// (invalid) that names the text and the part of it that is wrong. Specification: config.md 4 ("ipv4 / cidr"),
// storage.md 6.3.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

namespace pvc {

namespace ip = boost::asio::ip;

// "10.0.0.1": four decimal numbers 0-255 without leading zeros.
[[nodiscard]] result<ip::address_v4> parse_address_v4(std::string_view text);
// "fd00::1", "::ffff:10.0.0.1": without brackets. An IPv4-mapped address stays one of IPv6.
[[nodiscard]] result<ip::address_v6> parse_address_v6(std::string_view text);
// Either; IPv6 is what has a colon.
[[nodiscard]] result<ip::address> parse_address(std::string_view text);

// An address together with the prefix length that its interface is configured with.
struct host_address {
    ip::address address;
    int prefix = 32;  // 0-32, of IPv6 0-128

    [[nodiscard]] std::string text() const;  // "10.0.0.1/24"
    friend bool operator==(const host_address&, const host_address&) = default;
};

// "10.0.0.1/24", "fd00::1/64".
[[nodiscard]] result<host_address> parse_host_address(std::string_view text);
// The same for one family. The bits of a host are kept as they are written; canonical() is without.
[[nodiscard]] result<ip::network_v4> parse_network_v4(std::string_view text);
[[nodiscard]] result<ip::network_v6> parse_network_v6(std::string_view text);

}  // namespace pvc
