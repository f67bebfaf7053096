// Every order of a hand-over of the primary role, within bounds, the nearest first; and, asked backwards, that a quiet
// world can always come to rest (role_world.hpp says what that is). `pvcnoded-sim explore role`.
#pragma once

#include "sim/explore/role/role_world.hpp"
#include "sim/explore/world_search.hpp"

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::explore::roles {

struct kind_of_world {
    using world = roles::world;
    using move = roles::move;
    using bounds = roles::bounds;
    using broken_rule = roles::broken_rule;
};
using search_result = world_search_result<kind_of_world>;

[[nodiscard]] search_result search(const bounds& of, std::size_t states_limit = 20'000'000);

// The side that a reference node is: `holder`, `candidate`, or empty. Nothing: there is no such side.
[[nodiscard]] std::optional<std::int8_t> side_named(std::string_view name);

// Exit status: 0 exhausted and nothing found; 1 something found; 2 not understood; 3 not exhausted.
int explore(bounds within, const std::string& reference, std::size_t states_limit, std::ostream& out,
            std::ostream& error);

}  // namespace pvc::explore::roles
