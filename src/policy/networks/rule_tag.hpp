// The tags of rules. Specification: networking.md 7.3; ruling 35.
#pragma once

#include "pvcnoded/model/packet_filter.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

inline constexpr std::string_view tag_begin = "pvc";  // of any version

// "pvc1 <where> <name> <hash>": of a long name the beginning; the hash is of all of it, and of what the rule says.
[[nodiscard]] std::string tag_of(std::string_view where, std::string_view name,
                                 const std::vector<model::filter_expression>& says);
// Of one that only nft knows, by its words.
[[nodiscard]] std::string tag_of(std::string_view where, std::string_view name, std::string_view says);

}  // namespace pvc::policy
