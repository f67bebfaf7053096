// What the files of this subject have in common: client networks, as clients keep them in the tree.
#pragma once

#include "pvcnoded/model/client_network.hpp"
#include "sim/world/cluster.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

// Of an existing network, as the parser reads it; those that are not set up are left out. By VNI.
[[nodiscard]] std::vector<model::client_network> networks_of(const memory_ensemble& tree);
// Where the primary has which gateways: of two networks with the same one the smaller VNI.
[[nodiscard]] std::vector<std::pair<std::string, host_address>> gateways_of(const memory_ensemble& tree);

void add_network_clients(registry& to);
void add_network_faults(registry& to);
void add_network_rules(registry& to);
void add_functions(registry& to);

}  // namespace pvc::sim
