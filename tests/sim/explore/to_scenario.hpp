// A finding of the explorer as a script for whole daemons (docs/simulation.md, "Scenarios"): the same clients and
// faults, each when the world shows what it showed before it.
#pragma once

#include "sim/explore/search.hpp"

#include <string>

namespace pvc::explore {

[[nodiscard]] std::string scenario_of(const bounds& of, const found_break& what);

}  // namespace pvc::explore
