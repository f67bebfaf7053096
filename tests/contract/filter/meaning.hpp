// What a rule means, in words that are the same for equal rules: made of our expressions, and of what the nft program
// prints of its own. Conditions that stand together may be in any order, and an equality of several bytes is one of
// each byte; nothing else is taken as the same.
#pragma once

#include "pvcnoded/model/packet_filter.hpp"

#include <string>
#include <vector>

namespace pvc::contract {

[[nodiscard]] std::string meaning_of(const std::vector<model::filter_expression>& rule);
// `output`: of `nft --debug=netlink`, one rule.
[[nodiscard]] std::string meaning_of_nft(const std::string& output);

}  // namespace pvc::contract
