// How a migration ends for its sender: it has moved, it is off and handed over, or it stays.
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"
#include "pvcnoded/policy/domains/sending.hpp"

#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {
constexpr duration given_back_within = 2s;
}  // namespace

step sending::wait_gone(context& c) {
    if (!c.seen.guest || c.seen.is_guest(guest_class::absent) || c.now >= leave_by) {
        return finish_moved(c);
    }
    where = at::leaving;
    return {ask::change{}, leave_by, "the guest to be gone"};
}

step sending::finish_moved(context& c) {
    how = ending::moved;
    wants_turn = false;
    leave_by = {};
    forget_tries();
    c.memory.adoption.ended();
    c.acts.emplace_back(act::forget_live{});
    where = at::unlisting;
    return {ask::set_listed{false}, time_point::max(), "the running list"};
}

// It is off here: the receiver starts it.
step sending::finish_ended(context& c) {
    how = ending::ended;
    wants_turn = false;
    forget_tries();
    c.memory.adoption.ended();
    c.memory.migration.is_sent_by_us = false;  // proven to be nowhere: the tables may say so too
    c.memory.migration.was_going_off = true;   // and whatever becomes of the write, they hand it over
    c.acts.emplace_back(act::write_record{"sender", target, "offline"});
    c.acts.emplace_back(act::forget_live{});
    where = at::unlisting;
    return {ask::set_listed{false}, time_point::max(), "the running list"};
}

step sending::unlisted(context& c) {
    if (how == ending::ended && is_on_its_way(c)) {
        where = at::writing_hand_over;
        return {ask::write_state{vm_state::stop, sync_word::handed_over}, time_point::max(), "its hand-over"};
    }
    handed = c.seen.wish;
    where = at::ending_console;
    return {ask::end_console{}, time_point::max(), "the end of its console's log"};
}

step sending::written(context& c) {
    is_handed_over = c.wrote();
    handed = c.seen.wish;
    where = at::ending_console;
    return {ask::end_console{}, time_point::max(), "the end of its console's log"};
}

step sending::console_ended(context& c) {
    if (how == ending::moved) {
        c.state("moved to node " + shown(target));
    }
    return release(c);
}

step sending::roll_back(context& c, std::string reason) {
    how = ending::rolled_back;
    wants_turn = false;
    is_stopping = c.seen.must_end;
    forget_tries();
    why = std::move(reason);
    if (!is_on_its_way(c)) {
        return release(c);  // somebody has decided otherwise: nothing is taken back
    }
    c.memory.migration.is_sent_by_us = false;
    where = at::rolling_back;
    return {
        ask::write_placement{vm_state::start, std::string(c.seen.self), previous_last_node(c.seen, c.memory.migration)},
        time_point::max(), "that it stays here"};
}

step sending::rolled_back(context& c) {
    if (!c.wrote()) {
        c.warning(message::migration_ended, "it was not moved to node " + shown(target) + ": " + why);
        return release(c);
    }
    c.memory.adoption.is_adopted = c.memory.adoption.is_adopted || std::exchange(is_stopping, false);
    c.error(message::migration_rolled_back, "it was not moved to node " + shown(target) + " and stays here: " + why);
    where = at::clearing_word;
    return {ask::clear_own{own_key::sync_word}, time_point::max(), "what the receiver left"};
}

step sending::release(context& c) {
    wants_sync = false;
    release_by = c.now + given_back_within;
    return released(c);
}

step sending::released(context& c) {
    // What was not had is taken back at the end.
    if (c.seen.held.sync_granted && !c.seen.held.sync_released && c.now < release_by) {
        where = at::releasing;
        return {ask::change{}, release_by, "the release of a migration lock"};
    }
    release_by = {};
    if (how == ending::ended) {
        is_let_go = !is_handed_over && is_on_its_way(c);
    }
    const bool is_to_wait = how == ending::moved ? is_on_its_way(c) : is_handed_over;
    if (how == ending::rolled_back || !is_to_wait) {
        return unlock(c);
    }
    receiver = {.target = target, .handed = how == ending::moved ? c.seen.wish : handed};
    where = at::awaiting_receiver;
    return resume(c);
}

step sending::unlock(context& c) {
    forget_tries();
    receiver = {};
    handed = {};
    wants_locks = wants_locks && is_planted(defect::locks_kept);
    wants_turn = false;
    wants_sync = wants_sync && c.seen.held.of_migration == held_now::locks::held;
    where = at::unlocking;
    return unlocked(c);
}

step sending::unlocked(context& c) {
    if (c.seen.held.of_migration == held_now::locks::held || c.seen.held.of_migration == held_now::locks::pending) {
        return {ask::change{}, time_point::max(), "the release of its locks"};
    }
    wants_sync = false;
    if (!back.empty()) {
        return roll_back(c, std::exchange(back, {}));  // nothing of it rests on locks that are only half had
    }
    if (!is_let_go) {
        c.drop_record();
    }
    if (!is_handed_over) {
        return finish(c);
    }
    seen.target = target;
    where = at::seeing_start;
    return resume(c);
}

step sending::finish(context& c) {
    // It stays here, by whoever's word: who adopts it once more clears what its receiver left.
    c.memory.adoption.is_adopted = c.memory.adoption.is_adopted && !(c.seen.is_present && c.seen.is_owner);
    where = at::over;
    return over();
}

// ---- a hand-over of an operation before -----------------------------------------------------------------------------

void seeing_taken_over::hold(holdings& what) const {
    if (where == at::seeing_start) {
        seen.hold(what);
    }
}

step seeing_taken_over::resume(context& c) {
    switch (where) {
        case at::begin: {
            const bool is_ours_to_see = !c.seen.node.empty() && !c.seen.is_owner && c.seen.state == vm_state::stop &&
                                        c.seen.is_handed_over && !c.seen.must_end;
            if (!is_ours_to_see) {
                break;
            }
            receiver = {.target = std::string(c.seen.node), .handed = c.seen.wish};
            seen.target = receiver.target;
            where = at::unlisting;
            return {ask::set_listed{false}, time_point::max(), "the running list"};
        }
        case at::unlisting: where = at::awaiting_receiver; [[fallthrough]];
        case at::awaiting_receiver:
            return hand_on(receiver, c, [&] {
                c.drop_record();
                where = at::seeing_start;
                return resume(c);
            });
        case at::seeing_start:
            return hand_on(seen, c, [&] {
                where = at::over;
                return over();
            });
        case at::over: break;
    }
    where = at::over;
    return over();
}

}  // namespace pvc::policy
