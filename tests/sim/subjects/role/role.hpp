// What the files of this subject have in common.
#pragma once

#include "sim/world/registry.hpp"

namespace pvc::sim {

// The addresses of the primary (addresses.cpp).
void add_addresses(registry& to);

}  // namespace pvc::sim
