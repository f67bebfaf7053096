// What the kernel says of a table, chains and rules of its packet filter, read: bytes in, values or a failure (io, with
// what was wrong) out. Total, whatever the bytes are, and in time linear in their number. Datagrams and
// acknowledgements are those of any other subject (netlink/replies.hpp). Specification: networking.md 7.3;
// runtime-design.md 4.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/packet_filter.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::netlink {

// The one table that the port looks at and changes: of NFPROTO_INET.
inline constexpr std::string_view filter_table = "filter";

// A tag is one entry (type, length, bytes) of the data that the kernel keeps beside a rule for whoever made it. Types 0
// and 1 are those of nft, which shows none that it does not know.
inline constexpr std::uint8_t tag_entry = 0x50;
inline constexpr std::size_t tag_max = 200;
[[nodiscard]] std::string tag_entries(std::string_view tag);
// Empty: there is none, or it cannot be understood: the rule is not one of ours.
[[nodiscard]] std::string tag_in(std::string_view entries);

struct told_table {
    std::uint32_t flags = 0;
    std::uint64_t number = 0;
    std::uint32_t owner = 0;
    friend bool operator==(const told_table&, const told_table&) = default;
};

struct told_rule {
    std::string chain;
    model::seen_rule rule;
    friend bool operator==(const told_rule&, const told_rule&) = default;
};

// Bodies of NFT_MSG_NEWGEN, NFT_MSG_NEWTABLE, NFT_MSG_NEWCHAIN and NFT_MSG_NEWRULE. Empty: of another
// table. A chain comes without rules.
[[nodiscard]] result<std::uint32_t> parse_generation(std::string_view body);
[[nodiscard]] result<std::optional<told_table>> parse_filter_table(std::string_view body);
[[nodiscard]] result<std::optional<model::seen_chain>> parse_filter_chain(std::string_view body);
[[nodiscard]] result<std::optional<told_rule>> parse_filter_rule(std::string_view body);

}  // namespace pvc::netlink
