// Backwards over a graph that was searched: from which states a state of a set can be come to. One bit a state, and two
// numbers an edge beside the edges themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pvc::explore {

// `edges`: to, from. Both are below `states`.
[[nodiscard]] std::vector<bool> can_come_to(const std::vector<std::uint32_t>& there, std::size_t states,
                                            const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace pvc::explore
