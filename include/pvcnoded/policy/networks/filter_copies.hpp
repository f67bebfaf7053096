// Copies of what a host had in table `inet filter` before it became that of client networks: which tables are the
// host's, which copies are there already, and under which name another one is written. Pure. README rulings 35 and 79.
#pragma once

#include "pvcnoded/model/packet_filter.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pvc::policy {

inline constexpr std::size_t most_filter_copies = 8;

// "nftables-before", "nftables-before.2", … of the n-th, from 0 on.
[[nodiscard]] std::string name_of_copy(std::size_t number);

// What `nft list table` says, without comments, spaces, and what changes by itself (counters, ends of elements).
[[nodiscard]] std::string rules_in_listing(std::string_view text);
// It has a chain of a client network: a daemon of either kind made that table.
[[nodiscard]] bool is_listing_of_daemons(std::string_view text);

struct filter_copy {
    std::string name;
    std::optional<std::string> text;  // empty: it cannot be read
};
struct copy_place {
    std::string name;
    bool is_there = false;  // this very table was kept before
    friend bool operator==(const copy_place&, const copy_place&) = default;
};
// The first place that is free, or has a table that a daemon made; where all are taken the last one, so that what was
// first and what is now are kept.
[[nodiscard]] copy_place place_for(std::string_view listing, std::span<const filter_copy> there);

// Another one where a chain, its place or a rule is another. Not of elements of sets, which a look does not show.
[[nodiscard]] std::uint64_t content_of(const model::filter_state& seen);

}  // namespace pvc::policy
