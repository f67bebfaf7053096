// That a node belongs to the cluster: its record, its heartbeat, its states, the schema version that all use.
#pragma once

#include "sim/world/registry.hpp"

namespace pvc::sim {

void add_membership_rules(registry& to);
void add_membership_progress(registry& to);

}  // namespace pvc::sim
