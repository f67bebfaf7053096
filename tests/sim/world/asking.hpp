// Whatever the local socket and the metrics port can be asked, asked of the daemons of a cluster at any moment of their
// lives: starting, cut off, in the middle of a stop. Asking changes nothing: a run that is asked goes the same way.
#pragma once

#include "sim/world/cluster.hpp"

#include <cstdint>

namespace pvc::sim {

// The `round`th question of an endless round: each request of each daemon that runs has its turn. Throws if an answer
// is none (it cannot be encoded, or its daemon does not know the request).
void ask_next(cluster& of, std::uint64_t round);

}  // namespace pvc::sim
