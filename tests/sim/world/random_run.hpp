// One random run: a cluster and its faults from a seed; chaos first, with the invariants checked after every step, then
// everything is healed and progress is demanded.
#pragma once

#include "sim/world/judge.hpp"

#include <chrono>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pvc::sim {

struct run_settings {
    std::uint64_t seed = 1;
    std::optional<int> nodes = 3;             // empty: 1 to 5, from the seed
    duration length = std::chrono::hours(1);  // of the chaos
    bool faults = true;
    bool dense = false;              // faults all the time, whatever the seed says
    bool foreign = false;            // with a reference node that runs virtual machines, whatever the seed says
    bool fences = false;             // with a board for each machine, whatever the seed says (of four, one has them)
    std::vector<std::string> kinds;  // empty: all, chosen by the seed
    std::ostream* trace = nullptr;   // everything that happens, one line each
    std::uint64_t trace_from_step = 0;
    bool ask = false;  // daemons have their servers, and are asked (asking.hpp)
};

struct run_outcome {
    std::optional<violation> broken;
    std::uint64_t steps = 0;
    duration simulated{};
    std::size_t nodes = 0;
    double node_hours = 0;
    std::uint64_t hash = 0;
    std::map<std::string, std::uint64_t> seen;  // actions, transitions and results, for the reachability check
    std::vector<std::string> task_trees;        // of a broken run
    std::string mix;
};

[[nodiscard]] run_outcome run_once(const run_settings& settings);

}  // namespace pvc::sim
