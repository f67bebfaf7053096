#include "pvcnoded/policy/role/leftover_addresses.hpp"

namespace pvc::policy {

leftover_decision decide_leftovers(const leftover_view& view) {
    if (view.primary) {
        if (view.primary->node == view.self) {
            return {false, "this node is named primary, its takeover asserts them anew", std::nullopt};
        }
        return {true, view.primary->node ? "primary_node says " + *view.primary->node : "nobody is named primary",
                std::nullopt};
    }
    if (!view.was_primary) {
        return {true, "no record of this boot says that this node was primary", std::nullopt};
    }
    if (!view.heartbeat_age) {
        return {true, "no heartbeat of this boot is known", std::nullopt};
    }
    const auto limit = isolation_limit(view.times);
    if (!limit) {
        return {false, "nobody takes the role over from a node that is silent", std::nullopt};
    }
    if (*view.heartbeat_age >= *limit) {
        return {true, "no heartbeat was acknowledged for so long that another node may be primary", std::nullopt};
    }
    return {false, "who is primary cannot be read yet", *limit - *view.heartbeat_age};
}

}  // namespace pvc::policy
