// Ceph in the simulated world: what befalls the cluster and the helpers that ask it, and what daemons make of that.
#pragma once

#include "sim/world/cluster.hpp"
#include "sim/world/registry.hpp"

namespace pvc::sim {

// A node of ours has the storage function.
[[nodiscard]] bool has_storage(const cluster& world);
// Something was done by which a machine's locks could not be read or removed.
[[nodiscard]] bool was_ceph_disturbed(const cluster& world);

void add_ceph_faults(registry& to);
void add_ceph_rules(registry& to);

}  // namespace pvc::sim
