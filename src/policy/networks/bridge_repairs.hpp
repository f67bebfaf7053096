// What somebody changed of the settings of a client network's bridge that was right before, so that its guests are
// served no more. Specification: networking.md 5.3; README ruling 81.
#pragma once

#include "pvcnoded/policy/networks/client_plan.hpp"

#include <string>
#include <vector>

namespace pvc::policy {

struct bridge_repair {
    std::string what;  // "IPv6 was off on vmbr7"; "": that is no damage
    std::vector<model::network_change> steps;
};
// `next`: what is to be known of it afterwards.
[[nodiscard]] std::vector<bridge_repair> bridge_repairs(const model::client_network& wanted,
                                                        const model::network_link& bridge,
                                                        const model::network_state& seen, const network_memory& known,
                                                        network_memory& next);

}  // namespace pvc::policy
