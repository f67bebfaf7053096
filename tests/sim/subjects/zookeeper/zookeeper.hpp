// The ZooKeeper ensemble and the ways to it.
#pragma once

#include "sim/world/registry.hpp"

namespace pvc::sim {

void heal_link(cluster& world, member& one);
void add_links(registry& to);

}  // namespace pvc::sim
