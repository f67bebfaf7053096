// The gateways of client networks as addresses of the primary role (phase F), and those that an earlier daemon left on
// bridges. Pure. Specification: networking.md 5.3 (step 9), 6.
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"
#include "pvcnoded/policy/role/role_addresses.hpp"

#include <span>
#include <vector>

namespace pvc::policy {

// Of managed networks, by VNI, of each IPv6 first; without those that lose a conflict (gateway_conflicts). Wishes:
// as found.
[[nodiscard]] std::vector<role_address> gateway_addresses(std::span<const model::client_network> all,
                                                          const config::node_config& config);

// What is on bridges vmbr<N> that have their own base vxlan<N> as a port, or had it by the record (`own`): global
// addresses that somebody added. Before ZooKeeper is read each of them counts as a gateway that a primary left. By
// index of the bridge.
[[nodiscard]] std::vector<placed_address> gateways_left_behind(const model::network_state& seen,
                                                               const own_bridges& own = {});

// Those of them that are a gateway of no network (any more): as the gateway was, before it changed while no daemon ran.
[[nodiscard]] std::vector<placed_address> gateways_of_nobody(std::span<const model::client_network> all,
                                                             const config::node_config& config,
                                                             const model::network_state& seen);

}  // namespace pvc::policy
