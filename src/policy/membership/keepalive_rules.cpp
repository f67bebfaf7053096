#include "pvcnoded/policy/membership/keepalive_rules.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>

namespace pvc::policy {

using model::daemon_state;

heartbeat_plan plan_heartbeat(const heartbeat_view& view) {
    if (view.terminating && !is_planted(defect::run_after_shutdown)) {
        return {};
    }
    if (!view.started) {
        return view.stored == daemon_state::dead ? heartbeat_plan{daemon_state::init, false} : heartbeat_plan{};
    }
    const bool is_dead = view.stored == daemon_state::dead && is_planted(defect::dead_not_answered);
    const bool is_stopping = view.stored == daemon_state::shutdown && !is_planted(defect::run_after_shutdown);
    if (view.stored == daemon_state::run || is_stopping || is_dead) {
        return {};
    }
    if (view.stored == daemon_state::fenced && !view.fence_cleanup_done) {
        return {std::nullopt, true};
    }
    return {daemon_state::run, false};
}

bool is_forfeited(const fenced_guest& guest, std::string_view self) {
    const bool is_others = !guest.node.empty() && guest.node != self;  // without a `node` it is nobody's
    return guest.is_known && (is_others || guest.is_recovered);
}

duration heartbeat_age(boot_time sent, boot_time now) {
    return std::max(now - sent, duration::zero());
}

}  // namespace pvc::policy
