// What the files about the firewall have in common.
#pragma once

#include "sim/subjects/networks/networks.hpp"

#include <string>

namespace pvc::sim {

// Something was done to its packet filter, or is over.
void note_filter_trouble(cluster& world, const member& target);

// What table `inet filter` of a node does not have as /networks says, made out from the keys and the expressions of the
// rules alone; empty: nothing. What it lacks because its kernel refused it is left out.
[[nodiscard]] std::string wrong_with_filter(const judge& of, const member& one);

// A batch that was carried out left only a part of what belongs together, in these words; empty: it did not.
[[nodiscard]] std::string torn_filter(const sim_filter& table);

void add_filter_actions(registry& to);
void add_filter_rules(registry& to);

}  // namespace pvc::sim
