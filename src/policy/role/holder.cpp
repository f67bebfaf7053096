#include "pvcnoded/policy/role/holder.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>

namespace pvc::policy {

using model::router_state;

bool holder::must_end(const hand_over_seen& seen) const {
    const bool is_announced = where != at::begin && where != at::announcing && where != at::over;
    return is_announced && !is_empty && seen.view.role != router_state::relinquish;
}

bool holder::is_alone(const hand_over_seen& seen) const {
    // One that did not come in time for the first phase is not waited for in the others.
    const bool is_due = was_candidate_there || phase != role_phase::a;
    return is_due && seen.view.session_live && !seen.is_candidate_there;
}

void holder::begin_phase(const role_event& e, role_phase which) {
    phase = which;
    if (is_late || which == role_phase::b_after) {
        where = at::acting;
    } else if (which == role_phase::b) {
        where = at::queueing;
        limit = e.now + hand_over_limits::write_lock;
    } else {
        where = at::expecting_writer;
        limit = e.now + hand_over_limits::partner;
    }
}

void holder::end_phase(const role_event& e) {
    if (phase == role_phases.back()) {
        where = at::writing;
    } else {
        begin_phase(e, role_phases.at(static_cast<std::size_t>(phase) + 1));
    }
}

void holder::take_answer(const role_event& e) {
    const bool is_done = e.said == role_answer::done;
    const bool is_out_of_touch = e.said == role_answer::failed && !e.seen.view.session_live && e.now < limit;
    switch (where) {
        case at::begin: where = is_empty ? at::writing : at::announcing; break;
        case at::announcing:
            if (is_done) {
                is_late = e.seen.candidate_ahead > hand_over_limits::late;
                begin_phase(e, role_phase::a);
            } else {
                where = at::over;
            }
            break;
        case at::reading:
        case at::queueing:
            has_sync_lock = is_done;
            if (is_done) {
                where = where == at::reading ? at::read : at::holding;
                limit = e.now + hand_over_limits::partner;
            } else if (!is_out_of_touch) {
                where = at::acting;
            }
            break;
        case at::read:
            has_sync_lock = false;
            where = at::acting;
            break;
        case at::acting:
            if (has_sync_lock) {
                where = at::clearing_phase;
            } else {
                end_phase(e);
            }
            break;
        case at::clearing_phase: where = at::releasing; break;
        case at::releasing:
            has_sync_lock = false;
            end_phase(e);
            break;
        case at::writing:
            is_secondary = is_done;
            where = is_done ? at::over : at::pausing;
            limit = e.now + hand_over_limits::pause;
            break;
        case at::expecting_writer:
        case at::holding:
        case at::pausing:
        case at::over: break;
    }
}

// The lock of the phases is gone: it goes on without. What was under way is done once more.
void holder::lose_lock(const role_event& e) {
    has_sync_lock = false;
    switch (where) {
        case at::reading:
        case at::read:
        case at::queueing:
        case at::holding: where = at::acting; break;
        case at::clearing_phase:
        case at::releasing: end_phase(e); break;
        default: break;
    }
}

role_step holder::go_on(const role_event& e) {
    const auto& seen = e.seen;
    switch (where) {
        case at::announcing: return say_relinquish(seen.view);
        case at::expecting_writer:
            if (!is_alone(seen) && last_on_sync(seen, model::lock_tag::lock) <= last_writer && e.now < limit &&
                !is_planted(defect::role_given_up_early)) {
                return wait_for("the candidate's turn", limit);
            }
            where = at::reading;
            limit = e.now + hand_over_limits::read_lock(phase);
            if (phase != role_phase::a && last_on_sync(seen, model::lock_tag::lock) <= last_writer) {
                limit -= hand_over_limits::partner;  // it may have died in the phase before: no phase takes longer
            }
            last_writer = std::max(last_writer, last_on_sync(seen, model::lock_tag::lock));
            [[fallthrough]];
        case at::reading: return turn_to_read(limit, "the end of the candidate's turn");
        case at::read: return let_go(role_lock::sync);
        case at::queueing: return turn_to_write(limit);
        case at::holding:
            if (!is_reader_behind(seen) && !is_alone(seen) && e.now < limit) {
                return wait_for("the candidate to be queued behind this node", limit);
            }
            where = at::acting;
            [[fallthrough]];
        case at::acting: return {role_ask::give_up{phase}, time_point::max(), "what this phase gives up"};
        case at::clearing_phase: return clear_phase();
        case at::releasing: return let_go(role_lock::sync);
        case at::pausing:
            if (e.now < limit) {
                return wait_for("another attempt to write the role", limit);
            }
            if (is_empty) {
                where = at::over;  // nothing was given up yet: the rules are asked again
                return {};
            }
            where = at::writing;
            [[fallthrough]];
        case at::writing: return say_role(router_state::secondary);
        case at::begin:
        case at::over: break;
    }
    return {};
}

role_step holder::resume(const role_event& e) {
    was_candidate_there = was_candidate_there || e.seen.is_candidate_there;
    const bool is_announced = where != at::begin && where != at::announcing;
    if (e.said == role_answer::lost) {
        lose_lock(e);
    } else if (e.said != role_answer::ended && (e.said != role_answer::woken || where == at::begin)) {
        take_answer(e);
    }
    if (is_announced && !is_empty && where != at::over && e.seen.view.role != router_state::relinquish) {
        where = at::over;  // it gave itself up; what is held ends with the transition
    }
    if (where == at::over) {
        return {};
    }
    // Its own part it gives up all the same: whoever is out of touch holds nothing on purpose.
    const bool needs_zookeeper = where != at::acting && where != at::read && where != at::releasing;
    if (!e.seen.view.session_live && needs_zookeeper) {
        return wait_for("the connection to ZooKeeper");
    }
    return go_on(e);
}

}  // namespace pvc::policy
