// An anonymous set as the kernel takes it. Its elements are in the order of bytes that the register has: see
// filter_rules.cpp. Specification: networking.md 7.3.
#pragma once

#include "adapter/filter_rules.hpp"

namespace pvc::netlink {

// What a set is called that has no name yet; the kernel fills in a number.
inline constexpr const char* anonymous_set = "__set%d";

[[nodiscard]] std::size_t key_size(model::set_kind kind);
[[nodiscard]] bool is_interval(const model::in_set& set);
[[nodiscard]] rule_set set_of(model::in_set set, std::uint32_t number);

}  // namespace pvc::netlink
