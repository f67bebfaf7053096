// What is possible for a reference node, what one of ours sees of it, and which rules hold beside it.
#include "sim/explore/model.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>

namespace pvc::explore {

using model::vm_state;
using at_step = reference_daemon::at;

namespace {

// It may queue, or has its turn.
bool may_go_on(const queue& of, std::int8_t who) {
    return !is_queued(of, who) || is_first(of, who);
}

// ---- what is possible -----------------------------------------------------------------------------------------------

bool may_step(const scene& m, const node& one, std::int8_t who) {
    const reference_daemon& r = *one.reference;
    switch (r.where) {
        case at_step::idle:
        case at_step::stuck: return false;
        case at_step::locking_node: return may_go_on(m.locks.of_node, who);
        case at_step::locking_state: return may_go_on(m.locks.of_state, who);
        case at_step::queueing:
        case at_step::queueing_first: return may_go_on(m.locks.of_sync, who) || m.now >= r.until;
        case at_step::queueing_again: return may_go_on(m.locks.of_sync, who);
        case at_step::calling: return m.job.where == live_job::at::none;
        case at_step::called: return r.has_moved.has_value();
        case at_step::going_off:
            return one.guest != guest_here::runs || !one.libvirt_is_up || m.now >= r.until ||
                   !(m.keys.state == vm_state::shutdown || m.keys.state == vm_state::restart ||
                     policy::is_migration(m.keys.state));
        default: return true;
    }
}

// What it had, lists and does not run any more, as it was read last: it writes the same state once more.
bool may_nudge(const node& one, std::int8_t who) {
    const reference_daemon& r = *one.reference;
    return r.where == at_step::idle && !r.reading && one.lists_it && r.has_handle && r.state == vm_state::start &&
           r.node == who && one.guest != guest_here::runs;
}

}  // namespace

void add_of_reference(const scene& now, std::int8_t who, moves& all) {
    const node& one = see(now, who);
    const reference_daemon& r = *one.reference;
    const auto add = [&](reference_deed what) {
        all.push_back({move::kind::reference, who, static_cast<std::uint8_t>(what)});
    };
    if (r.reading) {
        add(reference_deed::read_rest);
    } else if (r.noticed != now.keys.state_changed) {
        add(reference_deed::notice);
    }
    if (may_step(now, one, who)) {
        add(r.where == at_step::destroying_late || r.where == at_step::creating ? reference_deed::slow_step
                                                                                : reference_deed::step);
    }
    if (may_nudge(one, who) && r.noticed == now.keys.state_changed) {
        add(reference_deed::nudge);
    }
}

bool may_take_long_there(std::uint8_t how) {
    return static_cast<reference_deed>(how) >= reference_deed::slow_step;
}

std::optional<time_point> next_time_of_reference(const scene& now) {
    const std::int8_t who = reference_of(now);
    if (who == nobody || !see(now, who).is_up || !see(now, who).has_session) {
        return std::nullopt;
    }
    const reference_daemon& r = *see(now, who).reference;
    const bool has_limit =
        r.where == at_step::queueing || r.where == at_step::queueing_first || r.where == at_step::going_off;
    return has_limit && r.until > now.now ? std::optional(r.until) : std::nullopt;
}

std::int8_t reference_of(const scene& of) {
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(of.nodes); ++who) {
        if (see(of, who).reference) {
            return who;
        }
    }
    return nobody;
}

// ---- what a receiver of ours sees of its locks ----------------------------------------------------------------------

void world::follow_sender(std::int8_t who) {
    sender_seen& sender = explore::at(m, who).does->sender;
    sender.is_old = false;
    const std::int8_t other = reference_of(m);
    if (is_first(m.locks.of_node, other) && is_first(m.locks.of_state, other)) {
        sender.has_them = true;
        sender.changes = 0;
    }
}

bool world::is_senders_stop(std::int8_t who) {
    const node& one = see(m, who);
    const std::int8_t other = reference_of(m);
    if (other == nobody || !one.does->holds.follows_sender || one.guest == guest_here::arriving) {
        return false;
    }
    follow_sender(who);
    const sender_seen& sender = one.does->sender;
    const bool is_released =
        !is_queued(m.locks.of_state, other) && sender.changes == 1 && sender.changed > one.seen.keys.state_changed;
    const bool is_its = sender.has_them && (is_first(m.locks.of_state, other) || is_released);
    // Clients write under the lock of `state` (vm-domains.md 2): who does not is taken for the sender, whose locks they
    // are.
    reference_daemon& r = *explore::at(m, other).reference;
    if (is_its && !r.state_is_its && m.keys.state_changed == one.seen.keys.state_changed) {
        r.has_misled = true;
        m.last_word = client_word::open;
    }
    return is_its;
}

// Who else is at the lock of the hand-shake. What an earlier migration left there is removed.
bool world::contends(std::int8_t who) {
    const std::int8_t other = reference_of(m);
    const row& seen = see(m, who).seen;
    bool is_there = false;
    for (const std::int8_t one : queue(m.locks.of_sync)) {
        if (one == who) {
            continue;
        }
        const bool is_its = other != nobody && (one == other || one == a_leak + other);
        const std::int64_t made = !is_its        ? 0
                                  : one == other ? see(m, other).reference->queued
                                                 : see(m, other).reference->leaked.value_or(0);
        if (is_its && policy::is_migration(seen.keys.state) && seen.stable.is_known && made < seen.stable.changed) {
            leave(m.locks.of_sync, one);
            if (one != other) {
                explore::at(m, other).reference->leaked.reset();
            }
            notify_sync();
            continue;
        }
        is_there = true;
    }
    return is_there;
}

// ---- rules beside it ------------------------------------------------------------------------------------------------

namespace {

// One of ours has it, or is starting it.
bool may_have(const node& one) {
    const bool starts = one.does && (one.does->what == policy::domain_action::start ||
                                     one.does->what == policy::domain_action::restart);
    return !one.reference && (one.guest != guest_here::none || one.lists_it || starts);
}

}  // namespace

// What came of a move, for the rules and for who follows its locks.
void world::judge_reference(const scene& before, const move& by) {
    const std::int8_t who = reference_of(m);
    if (who == nobody) {
        return;
    }
    reference_daemon& r = *explore::at(m, who).reference;
    const bool is_its = by.what == move::kind::reference;
    if (before.keys.state_changed != m.keys.state_changed) {
        r.state_is_its = is_its;
        r.has_misled = false;
        r.start_is_ours = !is_its && !m.keys.is_a_clients && m.keys.state == vm_state::start;
    }
    r.has_left_word = r.has_left_word && m.keys.sync == sync_value::offered;
    // It looks at the locks of the disks before a start, not at who else has it or is about to.
    const bool has_begun =
        is_its && see(before, who).guest == guest_here::none && see(m, who).guest == guest_here::runs;
    const bool is_told = r.start_is_ours && m.keys.node == who;
    if (has_begun && !is_told) {
        r.is_rash = m.keys.node != who || any_node(m, may_have);
    } else if (running_in(m) == 0) {
        r.is_rash = false;
    }
    if (broken && broken->rule == "one_copy" && r.is_rash) {
        broken.reset();
    }
    const bool is_state_other = before.locks.of_state != m.locks.of_state;
    if (!is_state_other && before.locks.of_node == m.locks.of_node) {
        return;
    }
    const std::int64_t changed = m.stamp();
    for (std::int8_t each = 0; each < static_cast<std::int8_t>(m.nodes); ++each) {
        if (see(m, each).does && see(m, each).does->holds.follows_sender) {
            sender_seen& sender = explore::at(m, each).does->sender;
            sender.is_old = true;
            sender.changes = static_cast<std::uint8_t>(std::min(2, sender.changes + (is_state_other ? 1 : 0)));
            sender.changed = is_state_other ? changed : sender.changed;
        }
    }
}

// It has the guest, is to have it, or says that it failed: what becomes of it is its doing, whose defects are known.
bool is_the_references(const scene& now) {
    const std::int8_t who = reference_of(now);
    if (who == nobody) {
        return false;
    }
    const node& one = see(now, who);
    const bool is_its_fail = now.keys.state == vm_state::fail && one.reference->state_is_its;
    return now.keys.node == who || one.guest != guest_here::none || is_its_fail;
}

// It never goes on, and what others wait for is its own.
bool hangs_on_reference(const scene& now) {
    const std::int8_t who = reference_of(now);
    if (who == nobody) {
        return false;
    }
    const auto is_its = [who](std::int8_t one) { return one == who || one == a_leak + who; };
    const auto has = [&](const auto& queue) { return std::ranges::any_of(queue, is_its); };
    const node& one = see(now, who);
    const reference_daemon& r = *one.reference;
    const bool waits_for_itself =
        r.where == at_step::queueing_again && !now.locks.of_sync.empty() && now.locks.of_sync.front() == a_leak + who;
    const bool is_stuck = one.is_up && one.has_session && !one.session_left && r.where == at_step::stuck;
    return waits_for_itself || (is_stuck && (is_the_references(now) || has(now.locks.of_node) ||
                                             has(now.locks.of_state) || has(now.locks.of_sync)));
}

bool has_misled(const scene& now) {
    const std::int8_t who = reference_of(now);
    return who != nobody && see(now, who).reference->has_misled;
}

bool has_left_word(const scene& now) {
    const std::int8_t who = reference_of(now);
    return who != nobody && see(now, who).reference->has_left_word;
}

bool is_settled_reference(const scene& now) {
    const std::int8_t who = reference_of(now);
    if (who == nobody) {
        return true;
    }
    const node& one = see(now, who);
    moves all;
    add_of_reference(now, who, all);
    return all.empty() && (one.reference->where == at_step::idle || one.reference->where == at_step::stuck);
}

}  // namespace pvc::explore
