#include "sim/world/reachability.hpp"

#include "sim/world/registry.hpp"

#include <fmt/format.h>

#include <ostream>
#include <string>

namespace pvc::sim {

void reachability::add(const run_outcome& outcome) {
    for (const auto& [what, count] : outcome.seen) {
        seen_[what] += count;
    }
}

bool reachability::report(std::ostream& out) const {
    bool is_complete = true;
    for (const auto& [what, count] : seen_) {
        out << fmt::format("  {:36} {}\n", what, count);
    }
    const auto demand = [&](const std::string& what) {
        const auto found = seen_.find(what);
        if (found == seen_.end() || found->second == 0) {
            is_complete = false;
            out << "never seen: " << what << '\n';
        }
    };
    const registry& all = all_subjects();
    for (const auto what : all.expected()) {
        demand(std::string(what));
    }
    for (const auto& [what, text] : all.log_marks()) {
        demand("did " + std::string(what));
    }
    for (const auto* kind : all.actions()) {
        if (!(kind->is_end || kind->is_for_scripts)) {
            demand("action " + std::string(kind->name));
        }
    }
    return is_complete;
}

}  // namespace pvc::sim
