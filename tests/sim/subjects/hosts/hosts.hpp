// What the machines of a random cluster have of their own beside the daemon: see hosts.cpp.
#pragma once

#include "sim/world/cluster.hpp"

#include <cstdint>
#include <string_view>

namespace pvc::sim {

// A link of this machine's own has that name, or the one that this network's base would have: it is nobody else's, and
// the network is refused here.
[[nodiscard]] bool is_link_of_host(cluster& world, const member& machine, std::string_view link);
[[nodiscard]] bool is_network_of_host(cluster& world, const member& machine, std::uint32_t vni);

}  // namespace pvc::sim
