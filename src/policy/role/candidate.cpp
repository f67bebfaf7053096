#include "pvcnoded/policy/role/candidate.hpp"

#include "pvcnoded/base/planted.hpp"

#include <algorithm>

namespace pvc::policy {

using model::lock_kind;
using model::router_state;

bool candidate::is_undoing() const {
    return where == at::undoing || where == at::undo_sync || where == at::undo_role || where == at::undo_writing ||
           where == at::undo_pausing;
}

void candidate::withdraw(std::string why) {
    withdrawn = std::move(why);
    where = at::undoing;
}

std::string candidate::reason_to_withdraw(const hand_over_seen& seen) const {
    if (!seen.view.session_live) {
        // Suspended: nothing is begun, and nothing undone either, unless nobody has heard of this node for too long.
        return isolation_reason(seen.view.heartbeat_age, seen.view.times).value_or("");
    }
    constexpr bool own_contenders_present = true;  // `lost` tells of one that is not
    return withdraw_reason(seen.view, own_contenders_present).value_or("");
}

bool candidate::must_end(const hand_over_seen& seen) const {
    if (where == at::begin || where == at::over || is_undoing() || where == at::releasing_role) {
        return false;
    }
    return !reason_to_withdraw(seen).empty();
}

bool candidate::is_passed(const hand_over_seen& seen) const {
    return where == at::queueing && has_partner && phase != role_phase::a && seen.queued_on_sync &&
           std::ranges::any_of(seen.on_sync, [&](const lock_contender& one) {
               return one.tag == model::lock_tag::rlock && one.sequence > seen.known_reader &&
                      one.sequence < *seen.queued_on_sync;
           });
}

void candidate::begin_phase(const role_event& e, role_phase which) {
    phase = which;
    if (which == role_phase::b) {
        where = at::expecting_writer;
        limit = e.now + hand_over_limits::partner;
    } else if (which == role_phase::c) {
        where = at::expecting_partner;
        limit = e.now + 2 * e.seen.view.times.grace();
    } else {
        where = is_planted(defect::phase_unlocked) ? at::acting : at::queueing;
        limit = e.now + hand_over_limits::write_lock;
    }
}

void candidate::end_phase(const role_event& e) {
    switch (phase) {
        case role_phase::a: begin_phase(e, role_phase::b); break;
        case role_phase::b:
        case role_phase::b_after: begin_phase(e, role_phase::c); break;
        case role_phase::c: begin_phase(e, role_phase::d); break;
        case role_phase::d: begin_phase(e, is_planted(defect::phase_skipped) ? role_phase::f : role_phase::e); break;
        case role_phase::e: begin_phase(e, role_phase::f); break;
        case role_phase::f: begin_phase(e, role_phase::g); break;
        case role_phase::g: where = at::writing; break;
    }
}

void candidate::hold_phase(const role_event& e) {
    where = at::holding;
    limit = e.now + hand_over_limits::partner;
}

void candidate::take_answer(const role_event& e) {
    const bool is_done = e.said == role_answer::done;
    // A failure while nobody can be asked says nothing: the same again, once somebody can.
    const bool is_out_of_touch = e.said == role_answer::failed && !e.seen.view.session_live && e.now < limit;
    switch (where) {
        case at::begin:
            began = e.now;
            has_partner = is_peer_expected(e.seen.view);
            is_partner_ahead = e.seen.view.returned.has_value();
            where = is_empty ? at::writing : at::announcing;
            break;
        case at::announcing:
            where = is_done ? at::queueing_for_role : at::over;
            limit = e.now + hand_over_limits::candidate_lock;
            break;
        case at::queueing_for_role:
            has_role_lock = is_done;
            if (is_done) {
                where = at::clearing;
            } else if (!is_out_of_touch) {
                withdraw("somebody else has the lock of the role");
            }
            break;
        case at::clearing: begin_phase(e, role_phase::a); break;
        case at::queueing:
            has_sync_lock = is_done;
            is_partner_ahead = is_partner_ahead || e.said == role_answer::passed || (is_done && e.seen.was_overtaken);
            if (is_done && phase == role_phase::a && has_partner && e.seen.has_waited_for_writer) {
                begin_phase(e, role_phase::c);  // nobody else may take the role over: it was the partner, in B
            } else if (is_done) {
                hold_phase(e);
            } else if (e.said == role_answer::passed) {
                has_sync_lock = true;  // as far as it has to be let go
                where = at::acting;
            } else if (!is_out_of_touch) {
                where = at::acting;
            }
            break;
        case at::reading:
            has_sync_lock = is_done;
            if (is_done) {
                where = at::read;
            } else if (!is_out_of_touch) {
                where = at::acting;
            }
            break;
        case at::read:
            has_sync_lock = false;
            where = at::acting;
            break;
        case at::acting:
            if (is_done && has_sync_lock) {
                where = at::clearing_phase;
            } else if (is_done) {
                end_phase(e);
            } else {
                where = at::acting_again;
                limit = e.now + hand_over_limits::pause;
            }
            break;
        case at::clearing_phase: where = at::releasing; break;
        case at::releasing:
            has_sync_lock = false;
            end_phase(e);
            break;
        case at::writing:
            is_primary = is_done;
            where = is_done ? at::releasing_role : at::pausing;
            limit = e.now + hand_over_limits::pause;
            break;
        case at::releasing_role: where = at::over; break;
        case at::undoing: taken = static_cast<std::uint8_t>(taken == 0 ? 0 : taken - 1); break;
        case at::undo_sync: has_sync_lock = false; break;
        case at::undo_role: has_role_lock = false; break;
        case at::undo_writing:
            where = is_done ? at::over : at::undo_pausing;
            limit = e.now + hand_over_limits::pause;
            break;
        case at::undo_pausing:
        case at::holding:
        case at::acting_again:
        case at::expecting_writer:
        case at::expecting_partner:
        case at::pausing:
        case at::over: break;
    }
}

// In reverse order what was taken up, then the locks; secondary at last.
role_step candidate::undo(const role_event& e) {
    if (where == at::undoing && taken > 0) {
        const std::size_t last = static_cast<std::size_t>(taken) - 1;
        const std::size_t next =
            is_planted(defect::role_undone_forwards) ? static_cast<std::size_t>(phase) - last : last;
        return {role_ask::give_up{role_phases.at(next)}, time_point::max(), "what was taken up to be given up"};
    }
    if (has_sync_lock) {
        where = at::undo_sync;
        return let_go(role_lock::sync);
    }
    if (has_role_lock && !is_planted(defect::role_lock_kept)) {
        where = at::undo_role;
        return let_go(role_lock::primary);
    }
    if (e.seen.view.role != router_state::secondary) {
        // Until it is said: as long as the role reads `takeover`, no rule applies to this node.
        if (!e.seen.view.session_live) {
            where = at::undo_pausing;
            limit = e.now;
            return wait_for("the connection to ZooKeeper");
        }
        if (where == at::undo_pausing && e.now < limit) {
            return wait_for("another attempt to write the role", limit);
        }
        where = at::undo_writing;
        return say_role(router_state::secondary);
    }
    where = at::over;
    return {};
}

// Whoever holds the addresses and was not seen here either shows that he hears of us, or is silent until he has given
// them up by himself. Nothing: go on.
std::optional<role_step> candidate::expect_partner(const role_event& e) {
    const auto& view = e.seen.view;
    for (const auto& peer : view.peers) {
        // Another candidate never takes part: T is ours, so it has lost its locks without hearing of it.
        const bool may_take_part = was_partner_seen && peer.router != router_state::takeover;
        if (!may_take_part && is_silent(peer, view.times)) {
            withdraw(peer.name + " is " + std::string(to_text(peer.router)) +
                     ", was not seen to take part, and may still hold the addresses");
            return undo(e);
        }
    }
    const bool may_not_hear = std::ranges::any_of(view.peers, [&](const coordinator_peer& peer) {
        const bool is_partner = peer.router == router_state::primary || peer.router == router_state::relinquish;
        const bool may_be_deaf = has_partner && !was_partner_seen && !is_partner_ahead;
        const bool has_role = (is_partner && may_be_deaf) || peer.router == router_state::takeover;
        const bool beats = peer.daemon == model::daemon_state::run || peer.daemon == model::daemon_state::shutdown;
        return has_role && beats && peer.keepalive_unchanged_for >= e.now - began;
    });
    if (!may_not_hear || e.now >= limit) {
        return std::nullopt;
    }
    return wait_for("a sign of life of whoever is primary", limit);
}

// Queued behind this node as the reader of the phase; in A also as the writer of B: it did not wait for us.
bool candidate::is_partner_behind(const hand_over_seen& seen) const {
    const bool is_past_a =
        phase == role_phase::a && last_on_sync(seen, model::lock_tag::lock) > seen.own_on_sync.value_or(-1);
    return is_past_a || is_reader_behind(seen);
}

role_step candidate::take_up() {
    taken = std::max(taken, static_cast<std::uint8_t>(static_cast<std::size_t>(phase) + 1));
    return {role_ask::take_up{phase}, time_point::max(), "what this phase takes up"};
}

role_step candidate::go_on(const role_event& e) {
    const auto& seen = e.seen;
    switch (where) {
        case at::announcing: return say_role(router_state::takeover);
        case at::queueing_for_role:
            return {role_ask::have_lock{role_lock::primary, lock_kind::exclusive}, limit, "the lock of the role"};
        case at::clearing: return clear_phase();
        case at::expecting_partner:
            if (auto wait = expect_partner(e)) {
                return *wait;
            }
            if (has_sync_lock) {
                hold_phase(e);
                return go_on(e);
            }
            where = at::queueing;
            limit = e.now + hand_over_limits::write_lock;
            [[fallthrough]];
        case at::queueing: return turn_to_write(limit);
        case at::holding:
            if ((!is_partner_ahead || is_planted(defect::passed_partner_awaited)) && !is_partner_behind(seen) &&
                is_peer_expected(seen.view) && e.now < limit) {
                return wait_for("the partner to be queued behind this node", limit);
            }
            where = at::acting;
            return take_up();
        case at::acting_again:
            if (e.now < limit) {
                return wait_for("another attempt at what this phase takes up", limit);
            }
            where = at::acting;
            return take_up();
        case at::acting: return take_up();
        case at::clearing_phase: return clear_phase();
        case at::releasing: return let_go(role_lock::sync);
        case at::expecting_writer:
            if (!is_partner_ahead && is_peer_expected(seen.view) && last_on_sync(seen, model::lock_tag::lock) < 0 &&
                e.now < limit) {
                return wait_for("the partner's turn", limit);
            }
            where = at::reading;
            limit = e.now + hand_over_limits::read_lock(role_phase::b);
            [[fallthrough]];
        case at::reading: return turn_to_read(limit, "the end of the partner's turn");
        case at::read: return let_go(role_lock::sync);
        case at::pausing:
            if (e.now < limit) {
                return wait_for("another attempt to write the role", limit);
            }
            where = at::writing;
            [[fallthrough]];
        case at::writing: return say_primary(seen.view);
        case at::releasing_role:
            if (!has_role_lock) {
                where = at::over;
                return {};
            }
            return let_go(role_lock::primary);
        case at::begin:
        case at::over:
        case at::undoing:
        case at::undo_sync:
        case at::undo_role:
        case at::undo_writing:
        case at::undo_pausing: break;
    }
    return {};
}

role_step candidate::resume(const role_event& e) {
    // Before T is held, who is queued may belong to a takeover that broke off.
    was_partner_seen = was_partner_seen || (has_role_lock && !e.seen.on_sync.empty());
    const bool is_announced = where != at::begin && where != at::announcing;
    // Neither says that what was asked for is done.
    const bool is_answer = e.said != role_answer::ended && e.said != role_answer::lost;
    if (is_answer && (e.said != role_answer::woken || where == at::begin)) {
        take_answer(e);
    }
    if (where == at::over) {
        return {};
    }
    if (is_undoing()) {
        return undo(e);
    }
    if (is_announced && !is_empty && where != at::releasing_role && e.seen.view.role != router_state::takeover) {
        // Given up by itself (C6): its parts are given up beside this; here the locks are left.
        withdrawn.clear();
        taken = 0;
        where = at::undo_sync;
        return undo(e);
    }
    if (e.said == role_answer::lost && where != at::releasing_role) {
        withdraw("an own lock is gone");
        return undo(e);
    }
    if (where != at::releasing_role) {
        if (auto why = reason_to_withdraw(e.seen); !why.empty()) {
            if (where == at::announcing || is_empty) {
                where = at::over;  // nothing was said yet
                return {};
            }
            withdraw(std::move(why));
            return undo(e);
        }
        if (!e.seen.view.session_live) {
            return wait_for("the connection to ZooKeeper");
        }
    }
    return go_on(e);
}

}  // namespace pvc::policy
