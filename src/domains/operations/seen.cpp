#include "operations/operation.hpp"

namespace pvc::domains {

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
    if (row.here) {
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
