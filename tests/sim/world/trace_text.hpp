// Everything that happens in a cluster as lines of text: committed changes, actions, log lines, ends.
#pragma once

#include "sim/world/cluster.hpp"

#include <functional>
#include <iosfwd>

namespace pvc::sim {

class trace_text {
public:
    // Writes while `is_on`. The cluster must outlive it.
    trace_text(cluster& world, std::ostream& out, std::function<bool()> is_on);

private:
    void line(std::string_view who, std::string_view what);

    cluster& world_;
    std::ostream& out_;
    std::function<bool()> is_on_;
};

}  // namespace pvc::sim
