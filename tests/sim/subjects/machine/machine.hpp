// The machine of a node: its power and processes, its clock and disk, its service manager.
#pragma once

#include "sim/world/registry.hpp"

namespace pvc::sim {

void add_processes(registry& to);

}  // namespace pvc::sim
