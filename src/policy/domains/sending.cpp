// Before anything moves: locks, keys, the receiver's word, a place.
#include "pvcnoded/policy/domains/sending.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {
constexpr duration lock_limit = 30s;
constexpr duration pause_between_reads = 500ms;
constexpr duration look_for_turn_every = 1s;
}  // namespace

migration_mode mode_of(vm_state state, model::migration_method method) {
    const bool is_enforced = state == vm_state::migrate_live;
    migration_mode mode;
    mode.live = method != model::migration_method::shutdown;
    mode.offline = !is_enforced && method != model::migration_method::live;
    return mode;
}

std::string previous_last_node(const domain_seen& seen, const migration_memory& memory) {
    if (seen.stable.is_known && seen.stable.was_owner) {
        return memory.stable_last_node;
    }
    if (memory.noted_last_node) {
        return *memory.noted_last_node;
    }
    return seen.last_node == seen.self ? std::string() : std::string(seen.last_node);
}

void sending::hold(holdings& what) const {
    if (wants_locks) {
        what.locks = deadline;
        what.follows_waiters = where > at::writing_home;
    }
    if (where != at::begin && where != at::over) {
        what.of_sync = wants_sync ? holdings::sync::taken : holdings::sync::released;
        what.sync_by = deadline;
    }
    if (wants_turn) {
        what.of_turn = holdings::turn::to_migrate;
    }
    switch (where) {
        case at::moving: move.hold(what); break;
        case at::powering_down: power.hold(what); break;
        case at::seeing_start: seen.hold(what); break;
        default: break;
    }
}

bool sending::is_on_its_way(const context& c) const {
    return c.seen.is_present && !c.seen.is_owner && is_migration(c.seen.state) && c.seen.node == target;
}

// The same placement once more is no other wish: nothing begins anew for it. Whether it must move live is asked when
// that is to be decided.
bool sending::is_unchanged(const context& c) const {
    return is_on_its_way(c) && c.seen.wish.created == created;
}

step sending::begin(context& c) {
    if (c.seen.node.empty() || c.seen.must_end) {
        where = at::over;
        return over();
    }
    target = c.seen.node;
    created = c.seen.wish.created;
    deadline = c.now + lock_limit;
    wants_locks = wants_sync = true;
    where = at::locking;
    return {ask::change{}, time_point::max(), "the locks of the virtual machine"};
}

step sending::lock(context& c) {
    using locks = held_now::locks;
    switch (c.seen.held.of_migration) {
        case locks::held:
            was_granted = c.seen.held.sync_granted;
            where = at::looking_again;
            return {ask::row{}, time_point::max(), "its keys, under the locks"};
        case locks::none:
        case locks::pending:
            // Nobody waits for locks that he no longer needs.
            if (is_on_its_way(c) && !c.seen.must_end) {
                return {ask::change{}, time_point::max(), "the locks of the virtual machine"};
            }
            back = c.seen.must_end ? "the daemon stops" : "";
            break;
        case locks::late: back = "the locks of the machine were not had within 30 s"; break;
        case locks::failed:
            c.warning(message::migration_locks, "migrating it: " + std::string(c.seen.held.locks_text));
            c.pause(1s);
            break;
        case locks::no_keys: break;
    }
    return unlock(c);
}

// S2: what was asked for is still wanted. The view that the rest rests on.
step sending::looked_again(context& c) {
    if (!c.answer_as<row_read>().is_fresh() || !is_on_its_way(c)) {
        return unlock(c);
    }
    created = c.seen.wish.created;
    if (c.seen.last_node == target) {
        // Moved home although it counts as being there: from here on it is at home.
        where = at::writing_home;
        return {ask::write_last_node{}, time_point::max(), "that it is at home"};
    }
    wishes_by = c.now + lock_limit;
    return read_wishes(c);
}

step sending::read_wishes(context& c) {
    if (!may_be_a_node(target)) {
        return roll_back(c, "there is no node " + shown(target));
    }
    if (is_unchanged(c) && !c.seen.must_end && c.now < wishes_by) {
        where = at::reading_wishes;
        return {ask::sending_keys{target}, time_point::max(), "how it is to be moved"};
    }
    if (c.seen.must_end || is_unchanged(c)) {
        return roll_back(c, c.seen.must_end ? "the daemon stops" : "its migration method could not be read");
    }
    return unlock(c);
}

step sending::has_wishes(context& c) {
    const auto& read = c.answer_as<wishes_read>();
    if (!read.is_known) {
        where = at::pausing_wishes;
        return {ask::time{}, c.now + pause_between_reads, "another attempt to read a key"};
    }
    if (!read.is_target_known) {
        return roll_back(c, "there is no node " + shown(target));
    }
    max_downtime = read.max_downtime;
    method = model::parse_migration_method(read.method);
    wishes_by = {};
    if (!mode(c).live && !mode(c).offline) {
        return roll_back(c, "it must move live, and its migration method is `shutdown`");
    }
    return shake_hands(c);
}

step sending::shake_hands(context& c) {
    const auto& held = c.seen.held;
    if (!held.sync_granted && !held.sync_failed && is_unchanged(c) && !c.seen.must_end) {
        if (c.seen.is_guest(guest_class::absent)) {
            return finish_ended(c);  // nothing of it was sent yet: this was its end
        }
        where = at::shaking_hands;
        return {ask::change{}, c.now + lock_limit, "the receiver's turn in the hand-shake"};
    }
    if (c.seen.must_end) {
        return roll_back(c, "the daemon stops");
    }
    if (!held.sync_granted) {
        fault = move_fault::target;
        return is_unchanged(c) ? roll_back(c, "node " + shown(target) + " did not prepare to receive it within 30 s")
                               : unlock(c);
    }
    if (!was_granted) {  // what was read while the receiver was awaited may be old
        where = at::reading_again;
        return {ask::row{}, time_point::max(), "its keys, once more"};
    }
    return choose_way(c);
}

step sending::choose_way(context& c) {
    was_granted = false;
    deadline = {};  // all that is locked is had
    const bool is_alone = c.seen.held.sync_alone;
    if (is_alone) {
        c.info("node " + shown(target) + " has gone on without it, migrating without its help");
    }
    if (mode(c).live) {
        nobody_waited = c.now;
        return take_turn(c);
    }
    if (is_alone) {
        fault = move_fault::target;
        return roll_back(c, "node " + shown(target) + " has gone on without it");
    }
    return move_offline(c);
}

// S6 begins when one of the places for live calls is free.
step sending::take_turn(context& c) {
    where = at::taking_turn;
    if (!std::exchange(wants_turn, true)) {
        return {ask::change{}, c.now, "its turn to migrate"};
    }
    if (!is_unchanged(c)) {
        return unlock(c);
    }
    if (c.seen.held.has_turn) {
        return begin_move(c);
    }
    if (c.seen.must_end) {
        return roll_back(c, "the daemon stops");
    }
    if (c.seen.is_guest(guest_class::absent)) {
        // Unless something of it was sent already, this was its end.
        return c.memory.migration.is_sent_by_us ? unlock(c) : finish_ended(c);
    }
    nobody_waited = c.seen.held.somebody_waits ? nobody_waited : c.now;
    if (c.now - nobody_waited >= stall_limit_with_waiter) {
        return roll_back(c, "other machines move before it, and somebody waits for it");
    }
    if (!std::exchange(told_turn, true)) {
        c.info("it moves when others have: as many as may migrate at once do so");
    }
    return {ask::change{}, c.now + look_for_turn_every, "its turn to migrate"};
}

step sending::resume(context& c) {
    switch (where) {
        case at::begin: return begin(c);
        case at::locking: return lock(c);
        case at::looking_again: return looked_again(c);
        case at::writing_home: wishes_by = c.now + lock_limit; return c.wrote() ? read_wishes(c) : unlock(c);
        case at::reading_wishes: return has_wishes(c);
        case at::pausing_wishes: return read_wishes(c);
        case at::shaking_hands: return shake_hands(c);
        case at::reading_again:
            return c.answer_as<row_read>().is_fresh() && is_unchanged(c) ? choose_way(c) : unlock(c);
        case at::taking_turn: return take_turn(c);
        case at::setting_downtime: return downtime_set(c);
        case at::moving: return hand_on(move, c, [&] { return has_moved(c); });
        case at::leaving: return wait_gone(c);
        case at::resolving: return hand_on(who, c, [&] { return is_resolved(c); });
        case at::pausing_tries: return attempt_move(c);
        case at::asking_target: return c.said_yes() ? move_offline(c) : roll_back(c, why);
        case at::powering_down: return power_down(c);
        case at::unlisting: return unlisted(c);
        case at::writing_hand_over: return written(c);
        case at::ending_console: return console_ended(c);
        case at::rolling_back: return rolled_back(c);
        case at::clearing_word: c.memory.adoption.owes_word = !c.said_yes(); return release(c);
        case at::releasing: return released(c);
        case at::awaiting_receiver: return hand_on(receiver, c, [&] { return unlock(c); });
        case at::unlocking: return unlocked(c);
        case at::seeing_start: return hand_on(seen, c, [&] { return finish(c); });
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
