#include "operations/operation.hpp"

namespace pvc::domains {

// The first with which something is the matter.
static policy::bridge_seen bridge_of(const core::host_bridges& known, const std::vector<std::string>& named) {
    using found = core::host_bridges::found;
    using kind = policy::bridge_seen::kind;
    for (const auto& name : named) {
        std::string_view why;
        switch (known.find(name, why)) {
            case found::there: break;
            case found::coming: return {kind::coming, name, why};
            case found::refused: return {kind::refused, name, why};
            case found::unknown: return {kind::unknown, name, why};
        }
    }
    return {};
}

policy::domain_seen seen_of(const domain_parts& parts, const domain_row& row) {
    const auto text = [](const std::string* name) { return name != nullptr ? std::string_view(*name) : ""; };
    policy::domain_seen seen;
    seen.is_present = row.is_present;
    seen.is_owner = row.is_owner;
    seen.state = row.state;
    seen.node = text(row.node);
    seen.self = parts.node.self();
    seen.came_from = text(row.came_from);
    seen.wish = {row.created, row.state_changed, row.node_changed};
    seen.state_version = row.state_version;
    seen.stable = {row.stable.known(), row.stable.was_owner, row.stable.state, text(row.stable.node),
                   row.stable.version};
    seen.guest = parts.observed.class_of(row.id);
    seen.is_half_made = parts.observed.is_half_made(row.id);
    seen.holds_starts = parts.holds_starts && parts.holds_starts();
    seen.shutdown_timeout = parts.node.config->vm_shutdown_timeout;
    seen.stall_limit = parts.node.config->hypervisor.stall_limit;
    seen.has_storage = parts.node.config->functions.storage || !parts.rbd.needs_storage_function();
    seen.is_awaited = parts.is_awaited && parts.is_awaited(row.id);
    seen.are_networks_coming = parts.networks_are_coming && parts.networks_are_coming();
    if (row.here) {
        seen.bridge = bridge_of(parts.node.bridges, row.here->bridges);
        seen.names_bridges = parts.node.bridges.are_kept() && !row.here->bridges.empty();
        seen.bridge_losses = parts.node.bridges.losses();
        seen.ceph_answers = parts.ceph.answers(row.here->pools);
        seen.last_node = row.here->last_node;
        seen.is_handed_over = row.here->is_handed_over;
        seen.must_end = row.here->must_end;
        seen.class_since = row.here->class_since;
        seen.state_since = row.here->state_since;
    }
    return seen;
}

policy::domain_seen seen_of(const operation& op) {
    policy::domain_seen seen = seen_of(op, op.row);
    seen.is_connected = op.s.zk.is_connected();
    return seen;
}

}  // namespace pvc::domains
