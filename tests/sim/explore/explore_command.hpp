// `pvcnoded-sim explore`: what is explored, within which bounds, and what comes of it. docs/simulation.md, "Exploring".
#pragma once

#include "sim/explore/search.hpp"

#include <iosfwd>
#include <string>

namespace pvc::explore {

struct explore_wish {
    std::string subject = "migration";
    bounds within;
    std::string reference;  // the side that a reference node is: receiver, sender, or empty
    search_limits limits;
    bool verbose = false;
    bool is_watched = false;    // somebody waits before a terminal: how far it has come is told, as with `verbose`
    std::string scenario_file;  // a finding is written there, for `pvcnoded-sim scenario`
    std::string graph_file;     // the picture of a machine, for Graphviz
};

// Exit status: 0 exhausted and nothing found; 1 something found; 2 not understood; 3 not exhausted.
int explore(const explore_wish& wanted, std::ostream& out, std::ostream& error);

// The node that is this side of a migration.
[[nodiscard]] std::optional<std::int8_t> side_named(std::string_view name);
[[nodiscard]] std::optional<subject> subject_named(std::string_view name);
// What can be explored, each with a line about it.
void list_subjects(std::ostream& out);

}  // namespace pvc::explore
