// Every order of a fence, within bounds, the nearest first; and, asked backwards, that a quiet world can always come to
// rest (fence_world.hpp says what that is). `pvcnoded-sim explore fence`.
#pragma once

#include "sim/explore/fence/fence_world.hpp"

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace pvc::explore::fences {

struct found_break {
    broken_rule what;
    std::vector<move> way;
    std::vector<std::string> said;
};

struct search_result {
    std::size_t states = 0;
    std::size_t steps = 0;
    std::size_t settled = 0;
    bool is_exhausted = false;
    std::optional<found_break> broken;  // the nearest one
};

[[nodiscard]] search_result search(const bounds& of, std::size_t states_limit = 20'000'000);

// `reference`: "", or "fencer": hv2 fences as the reference does. Exit status: 0 exhausted and nothing found; 1
// something found; 2 not understood; 3 not exhausted.
int explore(bounds within, const std::string& reference, std::size_t states_limit, std::ostream& out,
            std::ostream& error);

}  // namespace pvc::explore::fences
