// What a match of an ACL is compared with: values of a kind, networks, ranges, sets of them, as bytes that can be
// compared. Specification: networking.md 7.3, 7.4.
#pragma once

#include "acl_cursor.hpp"
#include "pvcnoded/model/packet_filter.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

inline constexpr std::uint8_t family_ip4 = 2;  // NFPROTO_*
inline constexpr std::uint8_t family_ip6 = 10;

struct acl_value {
    std::string first;
    std::string last;        // the same: one value
    std::string mask;        // of a network that is more than one address: first and last are its ends
    bool is_start = false;   // of a name: what begins so
    bool is_range = false;   // as it is written
    bool is_prefix = false;  // likewise
    [[nodiscard]] bool is_single() const { return !is_range && mask.empty() && !is_start; }
};

struct value_kind {
    model::set_kind set = model::set_kind::port;
    std::string_view expected;
    std::optional<acl_value> (*literal)(std::string_view text) = nullptr;  // a number, an address
    std::optional<acl_value> (*name)(std::string_view text) = nullptr;
    bool has_order = true;  // the bytes have the order of the values: there are ranges
    // Whether nft would take it for a name that files of this node or a resolver know: such a one is not given to nft.
    // Null: nft's names of these are its own.
    bool (*is_of_node)(std::string_view text) = nullptr;
};

extern const value_kind ip4_addresses;
extern const value_kind ip6_addresses;
extern const value_kind ether_addresses;
extern const value_kind protocols;
extern const value_kind ports;
extern const value_kind icmp_types;
extern const value_kind icmp6_types;
extern const value_kind marks;
extern const value_kind interface_names;
extern const value_kind netfilter_families;

enum class acl_operator : std::uint8_t { none, equal, unequal, less, at_most, more, at_least };
[[nodiscard]] acl_operator read_operator(acl_cursor& in);

struct acl_values {
    std::vector<acl_value> all;  // one: no set, however it is written
};
// False: it does not fit, the cursor knows why.
[[nodiscard]] bool read_values(acl_cursor& in, const value_kind& kind, acl_values& values);

// Sorted; where one is more than a value, without overlaps and gaps of nothing between neighbours (as nft does).
[[nodiscard]] model::in_set set_of(const value_kind& kind, const acl_values& values, bool is_inverted);

// One up; nothing beyond the last one.
[[nodiscard]] std::optional<std::string> next_after(std::string bytes);

// Decimal without leading zeros, or hexadecimal after "0x".
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t most);
[[nodiscard]] std::string network_bytes(std::uint64_t number, std::size_t size);
[[nodiscard]] std::string host_bytes(std::uint32_t number);  // 4, of this machine

}  // namespace pvc::policy
