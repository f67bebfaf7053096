// Another configuration gave some of the host's addresses to another bridge, or a bridge's device to another: what the
// kernel still has of the one before stands in the way of what is meant now. Specification: networking.md 3.1.
#pragma once

#include "port_moves.hpp"

#include <map>
#include <string>
#include <vector>

namespace pvc::policy {

// A bridge that the configuration had for the host, by the record of ports, and has no more.
[[nodiscard]] bool is_former_bridge(const config::node_config& config, const model::network_state& seen,
                                    const host_ports& ports, const model::network_link& link);
// Such a one whose only port that leads out is this device: once that is elsewhere, nobody reaches what it has. Null:
// none.
[[nodiscard]] const model::network_link* bridge_left_by(const config::node_config& config,
                                                        const model::network_state& seen, const host_ports& ports,
                                                        const model::network_link& device);
// A bridge that is not there, while the device that was its port by the record is one of a bridge by another name: an
// operator's, or this one, which somebody called so. A second one beside it would have the same addresses.
[[nodiscard]] std::optional<network_remark> remark_of_renamed(const model::network_state& seen, const host_ports& ports,
                                                              const config::host_bridge& bridge);
// The bridge has the address that the device of another bridge of the host has now, as that was its own before: both
// would answer by it (README ruling 83).
[[nodiscard]] bool has_hardware_of_another(const config::node_config& config, const model::network_state& seen,
                                           const config::host_bridge& bridge);

struct leavings {
    std::vector<host_unit> units;
    std::vector<network_remark> remarks;
};
// Addresses that former bridges have and other bridges (`addresses`, by name) shall have now. Of those bridges that
// have a port, or get one: `sources` says where what is theirs comes from.
[[nodiscard]] leavings plan_leavings(const config::node_config& config, const model::network_state& seen,
                                     const host_ports& ports, const std::map<std::string, bridge_addresses>& addresses,
                                     const std::map<std::string, const model::network_link*>& sources);

// A default route by the upstream gateway over another bridge of the host, of now or before, that has no address by
// which to reach it, once these have left: the configuration had put it there.
[[nodiscard]] bool is_dead_way(const config::node_config& config, const model::network_state& seen,
                               const host_ports& ports, const leavings& leaving, const model::default_route& route);

[[nodiscard]] std::string unit_of_port(const config::host_bridge& bridge);

}  // namespace pvc::policy
