// Every order of everything, within bounds: an explicit-state search over the explorer's world. States are told apart
// by a hash of 128 bits of what matters in them (canonical.hpp); of each only the way to it is kept. Afterwards, as
// progress: from every state a quiet world must be able to come to one where nothing is left to do.
#pragma once

#include "sim/explore/model.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace pvc::explore {

struct search_limits {
    std::size_t states = 40'000'000;  // then it gives up, unfinished
    std::size_t waiting = 1'500'000;  // states whose steps are not tried yet
    // The nearest first: what is found is as short as can be, and a search that gives up has seen the beginning. It
    // keeps ten thousand times as many states waiting as one that goes on with the newest.
    bool is_nearest_first = true;
};

struct found_break {
    broken_rule what;
    std::vector<move> way;          // from the beginning
    std::vector<std::string> said;  // the same in words
};

struct search_result {
    std::size_t states = 0;
    std::size_t steps = 0;
    std::size_t settled = 0;
    std::size_t deepest = 0;
    bool is_exhausted = false;
    std::optional<found_break> broken;  // the nearest one
};

class graph;

// `picture`: gets every step that a machine takes.
[[nodiscard]] search_result search(const bounds& of, const search_limits& limits, std::ostream* log = nullptr,
                                   graph* picture = nullptr);

}  // namespace pvc::explore
