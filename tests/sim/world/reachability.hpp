// What the runs of many seeds have shown: every kind of action, every result that a ZooKeeper request can have, every
// change of state. What is expected and was never seen means that the faults have gone blunt. What is expected comes
// from the subjects (registry.hpp).
#pragma once

#include "sim/world/random_run.hpp"

#include <iosfwd>
#include <map>
#include <string>

namespace pvc::sim {

class reachability {
public:
    void add(const run_outcome& outcome);
    // Prints how often what was seen. False if something that is expected never was.
    bool report(std::ostream& out) const;

private:
    std::map<std::string, std::uint64_t> seen_;
};

}  // namespace pvc::sim
