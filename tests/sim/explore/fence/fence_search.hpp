// Every order of a fence, within bounds, the nearest first; and, asked backwards, that a quiet world can always come to
// rest (fence_world.hpp says what that is). `pvcnoded-sim explore fence`.
#pragma once

#include "sim/explore/fence/fence_world.hpp"
#include "sim/explore/world_search.hpp"

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace pvc::explore::fences {

struct kind_of_world {
    using world = fences::world;
    using move = fences::move;
    using bounds = fences::bounds;
    using broken_rule = fences::broken_rule;
};
using search_result = world_search_result<kind_of_world>;

[[nodiscard]] search_result search(const bounds& of, std::size_t states_limit = 20'000'000);

// `reference`: "", or "fencer": hv2 fences as the reference does. Exit status: 0 exhausted and nothing found; 1
// something found; 2 not understood; 3 not exhausted.
int explore(bounds within, const std::string& reference, std::size_t states_limit, std::ostream& out,
            std::ostream& error);

}  // namespace pvc::explore::fences
