// The gateways of client networks as addresses of the primary role (phase F), and those that an earlier daemon left on
// bridges. Pure. Specification: networking.md 5.3 (step 9), 6.
#pragma once

#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/client_plan.hpp"
#include "pvcnoded/policy/networks/own_bridges.hpp"
#include "pvcnoded/policy/role/leftover_addresses.hpp"
#include "pvcnoded/policy/role/role_addresses.hpp"

#include <span>
#include <vector>

namespace pvc::policy {

// Of managed networks, by VNI, of each IPv6 first; without those that lose a conflict (gateway_conflicts). Wishes:
// as found.
[[nodiscard]] std::vector<role_address> gateway_addresses(std::span<const model::client_network> all,
                                                          const config::node_config& config,
                                                          std::span<const host_reach> reach = {});

// What is on bridges vmbr<N> that a node daemon made: by the record (`own`), or as they have their own base vxlan<N> as
// a port and nothing shows that they are somebody else's (README ruling 79): global addresses that somebody added.
// Before ZooKeeper is read each of them counts as a gateway that a primary left. `whose`: null as long as nobody knows
// what the host's configuration names; only the record counts then. By index of the bridge.
[[nodiscard]] std::vector<placed_address> gateways_left_behind(const config::node_config& config,
                                                               const model::network_state& seen, const own_bridges& own,
                                                               const whose_links* whose);

// Whether the bridge of this name is one that a node daemon made, known as above: only there is what no key names
// anybody's to remove.
[[nodiscard]] bool is_bridge_of_network(std::string_view name, const config::node_config& config,
                                        const model::network_state& seen, const own_bridges& own,
                                        const whose_links* whose);

// What is on the devices of these addresses: global ones, whosever they are.
[[nodiscard]] std::vector<placed_address> addresses_beside(std::span<const role_address> all,
                                                           const model::network_state& seen);

// What a daemon that starts removes of a machine, if what was left behind has to go: all that is on it of a primary.
[[nodiscard]] std::vector<placed_address> found_of_primary(const config::node_config& config,
                                                           const model::network_state& seen, const own_bridges& own,
                                                           const whose_links* whose);

// In words: what a start would do about these, by what is decided before ZooKeeper is read. "addresses of the primary:
// would remove …" each, or one line with a condition.
struct leftover_lines {
    std::vector<std::string> changes;
    std::string condition{};  // "if another node is primary: would remove …"; "": there is none

    friend bool operator==(const leftover_lines&, const leftover_lines&) = default;
};
[[nodiscard]] leftover_lines describe_leftovers(const leftover_view& view, std::span<const placed_address> found);

// Those of them that are a gateway of no network (any more): as the gateway was, before it changed while no daemon ran.
[[nodiscard]] std::vector<placed_address> gateways_of_nobody(std::span<const model::client_network> all,
                                                             const config::node_config& config,
                                                             const model::network_state& seen);

}  // namespace pvc::policy
