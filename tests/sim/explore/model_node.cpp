// What a daemon does between the questions of its machines: reads, looks, resumes, holds. As the manager and the shell
// of src/domains do it, on the same functions of src/policy.
#include "sim/explore/model.hpp"

#include <algorithm>

namespace pvc::explore {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
namespace ask = policy::ask;

policy::held_now::locks state_of(const lock_claim& of) {
    using locks = policy::held_now::locks;
    switch (of.where) {
        case lock_claim::at::none: return locks::none;
        case lock_claim::at::wanted:
        case lock_claim::at::on_first: return locks::pending;
        case lock_claim::at::held:
        case lock_claim::at::releasing: return locks::held;
        case lock_claim::at::late: return locks::late;
    }
    return locks::none;
}

policy::domain_seen world::seen_of(std::int8_t who) const {
    const node& one = see(m, who);
    const row& r = one.seen;
    policy::domain_seen seen;
    seen.is_present = true;
    seen.is_owner = r.keys.node == who;
    seen.state = r.keys.state;
    seen.node = name_of(r.keys.node);
    seen.self = name_of(who);
    seen.last_node = name_of(r.keys.last_node);
    seen.came_from = name_of(r.came_from);
    seen.wish = {r.keys.created, r.keys.state_changed, r.keys.node_changed};
    seen.state_version = r.writes_since_stable;
    seen.stable = {r.stable.is_known, r.stable.was_owner, r.stable.state, name_of(r.stable.node), 0};
    seen.guest = one.observed;
    seen.is_handed_over = r.is_handed_over;
    seen.is_connected = one.has_session;
    seen.class_since = one.class_since;
    seen.state_since = r.state_since;
    seen.shutdown_timeout = 180s;
    seen.stall_limit = 300s;
    if (!one.does) {
        return seen;
    }
    const operation& op = *one.does;
    seen.held.of_migration = state_of(op.locks);
    seen.held.locks_text = "not had in time";
    const auto& queue = m.locks.of_state;
    seen.held.somebody_waits = queue.size() > place_of(queue, who) + 1;
    if (op.sync) {
        if (const auto* sender = std::get_if<policy::taking_sync>(&op.sync->machine)) {
            seen.held.sync_granted = sender->is_granted;
            seen.held.sync_alone = sender->is_alone;
            seen.held.sync_failed = op.sync->has_ended && !sender->is_granted;
        }
        seen.held.sync_released = op.sync->has_ended;
        seen.held.sync_is_held = op.sync->lock.where == lock_claim::at::held;
    }
    seen.held.has_turn = op.holds.of_turn != policy::holdings::turn::none;
    if (op.call) {
        if (op.call->has_begun) {
            seen.held.call_begun = op.call->begun;
        }
        seen.held.call_is_over = op.call->is_over;
        seen.held.call_outcome = op.call->outcome;
        seen.held.call_text = "the call failed";
    }
    if (const auto target = node_named(op.holds.follows_daemon_of); target != nobody) {
        seen.held.target_daemon = see(m, target).stored;
    }
    if (const auto target = node_named(op.holds.follows_list_of); target != nobody) {
        seen.held.target_lists_it = see(m, target).lists_it;
    }
    return seen;
}

void world::say(std::string_view rule, std::string text) {
    if (!broken) {
        broken = broken_rule{rule, std::move(text)};
    }
}

// ---- between operations ---------------------------------------------------------------------------------------------

namespace {

void note_placement(world& of, std::int8_t who) {
    node& one = at(of.m, who);
    const auto seen = of.seen_of(who);
    const auto news = policy::look_at_placement(seen);
    if (!news.is_stable) {
        return;
    }
    using origin = policy::placement_news::origin;
    row& r = one.seen;
    if (news.came_from != origin::kept) {
        r.came_from = news.came_from == origin::before ? r.stable.node : nobody;
    }
    r.stable = {true, seen.is_owner, r.keys.state, r.keys.node, r.keys.state_changed};
    r.writes_since_stable = 0;
    if (one.has_memory) {
        policy::note_stable_placement(seen, one.does && one.does->what == policy::domain_action::send, one.memory);
    }
}

}  // namespace

void world::read_row(std::int8_t who) {
    node& one = at(m, who);
    row& r = one.seen;
    const bool is_other_state = r.keys.state_changed != m.keys.state_changed;
    // Whether exactly one write of `state` came since the last stable placement: what its version tells.
    r.writes_since_stable = static_cast<std::uint8_t>(std::min(2, r.writes_since_stable + r.unread_writes));
    r.unread_writes = 0;
    r.is_known = true;
    r.keys = m.keys;
    if (m.keys.state != vm_state::stop) {  // what nobody looks at makes no other state
        r.keys.sync = sync_value::empty;
        r.keys.sync_changed = 0;
    }
    r.is_handed_over = m.keys.state == vm_state::stop && m.keys.sync == sync_value::handed_over &&
                       m.keys.sync_changed == m.keys.state_changed;
    if (is_other_state) {
        r.state_since = policy::is_migration(r.keys.state) ? m.now : time_point();  // of others nobody asks
    }
}

void world::see_guest(std::int8_t who) {
    const auto now = see(m, who).libvirt_is_up ? std::optional(class_of(see(m, who).guest)) : std::nullopt;
    if (now == see(m, who).observed) {
        return;
    }
    node& one = at(m, who);
    one.observed = now;
    one.class_since = now == guest_class::incoming ? m.now : time_point();  // of others nobody asks
    one.memory.migration.is_stale_half = one.memory.migration.is_stale_half && (!now || now == guest_class::incoming);
}

void world::store_list(std::int8_t who) {
    node& one = at(m, who);
    one.is_list_late = one.is_list_late && one.lists_it != one.memory.listing.is_listed;
    if (!one.is_list_late) {
        one.lists_it = one.memory.listing.is_listed;
    }
}

void world::notify(std::int8_t who) {
    node& one = at(m, who);
    if (!one.is_up || !one.has_session || one.reference) {
        return;
    }
    if (!one.does) {
        look(who);
        return;
    }
    note_placement(*this, who);
    if (policy::ends_the_guest(one.does->what) && !one.memory.listing.lost_creation &&
        one.observed == guest_class::absent) {
        one.memory.listing.is_listed = false;
        store_list(who);
    }
    if (is_any<ask::change>(one.does->pending.what)) {
        resume(who, policy::woken{});
    }
}

void world::look(std::int8_t who) {
    node& one = at(m, who);
    one.look_again.reset();
    if (!one.is_up || !one.has_session || one.does || !one.seen.is_known || one.reference) {
        return;
    }
    if (m.job.where != live_job::at::none && m.job.from == who) {
        return;  // a call of a session before: its end looks again
    }
    one.has_memory = one.has_memory || one.seen.keys.node == who || one.observed != guest_class::absent;
    note_placement(*this, who);
    if (!one.has_memory || !one.observed) {
        return;
    }
    if (one.pause_until && m.now < *one.pause_until) {
        return;
    }
    one.pause_until.reset();
    const auto seen = seen_of(who);
    const auto [action, again] = policy::action_for(seen, one.memory, m.now);
    one.look_again = again;
    policy::note_listing(seen, time_point(), m.now, one.memory);
    store_list(who);
    if (one.memory.listing.lost_creation) {  // the tick looks again, until nobody waits for it any more
        constexpr auto limit = std::chrono::seconds(30);
        one.look_again = std::min(again.value_or(time_point::max()), *one.memory.listing.lost_creation + limit);
    }
    if (*seen.guest != guest_class::absent) {
        one.memory.adoption.untidy();
    }
    if (policy::is_done_already(action, seen, one.memory, m.now)) {
        const bool is_idle = !seen.is_owner && seen.is_guest(guest_class::absent) && !one.memory.listing.lost_creation;
        if (is_idle && !policy::is_migration(seen.state)) {
            one.record = {};
        }
        if (is_idle) {
            one.memory = {};
            one.has_memory = false;
        }
        return;
    }
    if (action == policy::domain_action::start) {
        const bool ended_by_itself = policy::note_start(seen, one.memory, m.now);
        static_cast<void>(ended_by_itself);
    }
    if (action != policy::domain_action::clean_up && action != policy::domain_action::forget) {
        one.memory.adoption.untidy();
    }
    auto machine = policy::machine_for(action);
    if (!machine) {
        return;
    }
    one.does.emplace();
    one.does->what = action;
    one.does->machine = std::move(*machine);
    resume(who, policy::woken{});
}

void world::end_operation(std::int8_t who) {
    node& one = at(m, who);
    const auto action = one.does->what;
    drop_children(who);
    one.does.reset();
    if (action == policy::domain_action::clean_up) {
        one.memory.adoption.is_clean = true;
    }
    if (action == policy::domain_action::forget) {
        one.memory.adoption.is_forgotten = true;
    }
    if (m.job.from == who && m.job.where != live_job::at::none) {
        fail_job(0);  // it is given up with its operation
    }
    look(who);
}

void world::drop_children(std::int8_t who) {
    leave(m.locks.of_node, who);
    leave(m.locks.of_state, who);
    leave(m.locks.of_sync, who);
    leave(m.locks.of_sync, static_cast<std::int8_t>(a_leak + who));
}

// ---- an operation ---------------------------------------------------------------------------------------------------

namespace {

// Nobody else can tell whether these were done a moment sooner or later: they are no step of their own.
bool is_invisible(const policy::step& what) {
    const auto* own = std::get_if<ask::clear_own>(&what.what);
    return (own != nullptr && own->key == policy::own_key::vnc) ||
           is_any<ask::write_reason, ask::end_console, ask::publish_vnc, ask::live_xml, ask::clear_reason,
                  ask::definition, ask::sending_keys, ask::set_downtime, ask::progress, ask::connection,
                  ask::node_exists, ask::end_crashed, ask::make_sync_key, ask::prepare_rbd_break, ask::disk_users>(
               what);
}

}  // namespace

void world::resume(std::int8_t who, const policy::answer& said_first) {
    policy::answer said = said_first;
    for (int rounds = 0;; ++rounds) {
        if (rounds > 50) {
            say("waits_are_bounded", name_of(who) + ": a machine goes round without waiting for anything");
            return;
        }
        node& one = at(m, who);
        const auto seen = seen_of(who);
        auto out = policy::resume(one.does->machine, {seen, said, m.now}, one.memory);
        carry_out(who, out.actions);
        has_own_news = false;
        hold(who);
        if (out.next.is_over()) {
            end_operation(who);
            return;
        }
        // A client gave it to another node as running: it ends here, and begins there (4.2, `start` of another).
        const auto& keys = one.seen.keys;
        const bool is_obeying = keys.is_a_clients && keys.node != who && !policy::is_migration(keys.state);
        const bool is_to_end = keys.state != vm_state::start && !policy::is_migration(keys.state);
        const bool is_guarded = is_any<ask::write_state, ask::write_placement, ask::write_last_node,
                                       ask::offer_to_receive, ask::write_started, ask::write_failed>(out.next);
        one.does->pending = {};
        if (is_any<ask::break_rbd_lock>(out.next)) {
            one.does->pending.may_end = keys.node != who || !policy::is_to_run(keys.state);
        } else if (is_any<ask::destroy>(out.next)) {
            one.does->pending.may_end = is_obeying || is_to_end;
        }
        one.does->pending.ran_here = is_any<ask::write_state>(out.next) && one.observed == guest_class::alive;
        if (is_guarded) {
            one.does->pending.state_changed = keys.state_changed;
            one.does->pending.node_changed = keys.node_changed;
            one.does->pending.last_changed = keys.last_changed;
        }
        one.does->pending.what = std::move(out.next);
        const auto& what = one.does->pending.what;
        const bool is_due_wait = is_any<ask::change>(what) && (what.until <= m.now || has_own_news);
        if (is_due_wait) {
            said = policy::woken{};
            continue;
        }
        if (!is_invisible(what)) {
            return;
        }
        const auto answer = perform(who, what);
        if (!answer) {
            return;
        }
        said = *answer;
    }
}

void world::hold(std::int8_t who) {
    operation& op = *at(m, who).does;
    const policy::holdings wanted = policy::holdings_of(op.machine);
    if (wanted.locks && op.locks.where == lock_claim::at::none) {
        op.locks = {lock_claim::at::wanted, *wanted.locks};
    } else if (!wanted.locks && op.locks.where != lock_claim::at::none) {
        op.locks.where = op.locks.where == lock_claim::at::late ? lock_claim::at::none : lock_claim::at::releasing;
        // While nobody is behind us nobody can tell when they are gone: whoever queues later gets them as late as he
        // would if they were on their way.
        if (op.locks.where == lock_claim::at::releasing && m.locks.of_node.size() < 2 && m.locks.of_state.size() < 2) {
            leave(m.locks.of_node, who);
            leave(m.locks.of_state, who);
            op.locks = {};
            has_own_news = true;
        }
    }
    using sync = policy::holdings::sync;
    if (wanted.of_sync != op.holds.of_sync) {
        if (wanted.of_sync == sync::offered || wanted.of_sync == sync::taken) {
            op.sync.emplace();
            if (wanted.of_sync == sync::taken) {
                op.sync->machine = policy::taking_sync{.deadline = wanted.sync_by};
            }
            resume_sync(who, policy::woken{});
        } else if (op.sync && !op.sync->has_ended) {
            op.sync->is_wanted = false;
            if (std::holds_alternative<policy::offering_sync>(op.sync->machine)) {
                op.sync->pending = {};  // it is cancelled
                op.sync->lock.where = lock_claim::at::releasing;
            } else {
                resume_sync(who, policy::woken{});
                has_own_news = has_own_news || op.sync->has_ended;
            }
        }
    }
    if (wanted.call_to.empty()) {
        op.call.reset();
    } else if (!op.call) {
        op.call.emplace();
        op.call->to = node_named(wanted.call_to);
    }
    if (op.call && wanted.gives_up_call && !op.call->is_given_up) {
        op.call->is_given_up = true;
        if (m.job.from == who && m.job.where != live_job::at::none) {
            fail_job(0);
        }
        op.call->is_over = true;
    }
    op.asks_guest = wanted.asks_guest_to_end;
    op.holds = wanted;
}

// ---- sessions -------------------------------------------------------------------------------------------------------

void world::lose_daemon(std::int8_t who) {
    node& one = at(m, who);
    one.has_session = false;  // what ends here begins nothing
    one.session_left = true;
    if (one.does || one.reference) {
        one.does.reset();
        if (one.reference) {
            one.reference = reference_daemon{};  // it will know nothing, and look at the domain once
        }
        if (m.job.from == who && m.job.where != live_job::at::none) {
            fail_job(0);  // the call ends with its connection
        }
    }
    one.look_again.reset();
    one.pause_until.reset();
}

void world::lose_session(std::int8_t who) {
    node& one = at(m, who);
    if (one.reference) {  // which does not notice: its live call goes on, and it believes in its locks
        one.has_session = false;
        one.session_left = true;
        return;
    }
    lose_daemon(who);
}

void world::begin_session(std::int8_t who) {
    node& one = at(m, who);
    one.has_session = true;
    one.stored = model::daemon_state::run;
    if (one.reference) {
        return;
    }
    read_row(who);
    see_guest(who);
    if (!std::exchange(one.has_list, true)) {
        const bool is_arriving = one.seen.keys.node == who && policy::is_migration(one.seen.keys.state) &&
                                 one.observed == guest_class::incoming;
        one.lists_it = one.guest != guest_here::none && !is_arriving;
        one.memory.listing.is_listed = one.lists_it;
    }
    one.is_list_late = false;  // the first thing that a session writes
    store_list(who);
    policy::adoption& adoption = one.memory.adoption;
    adoption.is_restarting = adoption.is_restarting || adoption.is_adopted;
    adoption.is_adopted = false;
    adoption.untidy();
    one.has_memory = one.has_memory || one.seen.keys.node == who || one.observed != guest_class::absent;
    const auto seen = seen_of(who);
    const record_on_disk left = one.record;
    policy::journal_entry entry;
    entry.role = left.is_sender ? "sender" : "receiver";
    entry.step = left.is_offline ? "offline" : "live";
    entry.created = left.created;
    entry.state_changed = left.state_changed;
    if (left.is_there && !one.memory.migration.has_read_journal && policy::is_migration(seen.state) &&
        !seen.stable.is_known && policy::is_of_this_migration(entry, seen)) {
        one.memory.migration.is_sent_by_us = left.is_sender;
        one.memory.migration.sent_to = left.is_sender ? name_of(left.peer) : "";
        one.memory.migration.noted_last_node = name_of(left.last_node);
    }
    one.memory.migration.has_read_journal = true;
    if (left.is_there && policy::was_going_off(entry, seen)) {
        one.has_memory = true;
        one.memory.migration.was_going_off = true;
    } else if (left.is_there && policy::may_be_handed_over(entry, seen)) {
        one.has_memory = true;
    } else if (left.is_there && !policy::needs_record(seen)) {
        if (!left.is_sender && left.created == seen.wish.created && !policy::is_migration(seen.state) &&
            m.keys.sync == sync_value::offered) {
            m.keys.sync = sync_value::empty;
            m.keys.sync_changed = m.stamp();
        }
        one.record = {};
    }
    look(who);
}

}  // namespace pvc::explore
