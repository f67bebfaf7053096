#include "pvcnoded/policy/role/explain_role.hpp"

namespace pvc::policy {

using model::router_state;

namespace {

std::string why_not_ready(const coordinator_view& view) {
    if (view.terminating) {
        return "the daemon is stopping";
    }
    return view.started ? std::string() : "the daemon has not started yet";
}

// In the order in which `decide` asks.
std::string why_nothing(const coordinator_view& view) {
    if (view.mode != model::daemon_mode::coordinator) {
        return "this node is no coordinator";
    }
    if (!view.session_live) {
        return "there is no session, or the primary and the other coordinators are not known yet";
    }
    if (view.in_transition) {
        return "a transition is under way; only rules C6 and C7 apply meanwhile";
    }
    if (view.role != router_state::primary) {
        if (const auto isolated = isolation_reason(view.heartbeat_age, view.times)) {
            return "this node would have to give the role up at once: " + *isolated;
        }
    }
    if (view.role == router_state::primary) {
        return view.primary.node == view.self ? "this node is primary, and is named" : "this node is primary";
    }
    if (auto why = why_not_ready(view); !why.empty()) {
        return why;
    }
    return view.primary.node ? *view.primary.node + " is named primary, and may have or take the role"
                             : "nobody is named primary";
}

}  // namespace

coordinator_decision explain_role(const coordinator_view& view) {
    coordinator_decision out = decide(view);
    if (out.reason.empty()) {
        out.reason = why_nothing(view);
    }
    return out;
}

}  // namespace pvc::policy
