// Locks and the hand-shake of a node in the explorer's world: what the shell's children do in the daemon.
#include "sim/explore/model.hpp"

#include <algorithm>

namespace pvc::explore {

namespace ask = policy::ask;

// ---- locks ----------------------------------------------------------------------------------------------------------

void world::step_lock(std::int8_t who) {
    operation& op = *at(m, who).does;
    switch (op.locks.where) {
        case lock_claim::at::wanted:
            if (place_of(m.locks.of_node, who) == m.locks.of_node.size()) {
                m.locks.of_node.push_back(who);
            }
            op.locks.where = lock_claim::at::on_first;
            if (m.locks.of_node.front() != who) {
                return;
            }
            [[fallthrough]];
        case lock_claim::at::on_first:
            if (m.now >= op.locks.until) {
                drop_children(who);
                op.locks.where = lock_claim::at::late;
                notify(who);
                return;
            }
            // One step as long as nobody is before us: that somebody queues between changes nothing for him.
            if (place_of(m.locks.of_state, who) == m.locks.of_state.size()) {
                m.locks.of_state.push_back(who);
            }
            if (m.locks.of_state.front() != who) {
                return;
            }
            op.locks = {lock_claim::at::held, {}};
            notify(who);
            return;
        case lock_claim::at::releasing:
            leave(m.locks.of_node, who);
            leave(m.locks.of_state, who);
            op.locks = {};
            notify(who);
            return;
        case lock_claim::at::none:
        case lock_claim::at::held:
        case lock_claim::at::late: return;
    }
}

void world::step_sync_lock(std::int8_t who) {
    hand_shake& shake = *at(m, who).does->sync;
    switch (shake.lock.where) {
        case lock_claim::at::wanted:
            if (m.now >= shake.lock.until) {
                leave(m.locks.of_sync, who);
                shake.lock.where = lock_claim::at::late;
                resume_sync(who, policy::woken{});
                return;
            }
            if (place_of(m.locks.of_sync, who) == m.locks.of_sync.size()) {
                m.locks.of_sync.push_back(who);
                notify_sync();
            }
            if (m.locks.of_sync.front() == who) {
                shake.lock = {lock_claim::at::held, {}};
                resume_sync(who, policy::woken{});
                notify(who);
            }
            return;
        case lock_claim::at::releasing: {
            leave(m.locks.of_sync, who);
            shake.lock = {};
            notify_sync();
            const bool is_cancelled = !shake.is_wanted && std::holds_alternative<policy::offering_sync>(shake.machine);
            if (is_cancelled) {
                shake.has_ended = true;
            } else {
                resume_sync(who, policy::woken{});
            }
            notify(who);
            return;
        }
        case lock_claim::at::none:
        case lock_claim::at::on_first:
        case lock_claim::at::held:
        case lock_claim::at::late: return;
    }
}

namespace {

// In its other steps a hand-shake looks at nothing but its own lock and whether it is wanted still.
bool awaits_others(const hand_shake& shake) {
    if (shake.has_ended) {
        return false;
    }
    if (const auto* sender = std::get_if<policy::taking_sync>(&shake.machine)) {
        using at = policy::taking_sync::at;
        return sender->where == at::waiting || sender->where == at::waiting_behind;
    }
    return std::get<policy::offering_sync>(shake.machine).where == policy::offering_sync::at::waiting;
}

// At who is queued behind the one that holds the lock of the hand-shake: a sender that was granted it goes on.
bool nobody_looks(const scene& m, std::int8_t but) {
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(m.nodes); ++who) {
        const node& one = see(m, who);
        if (who == but || !one.does || !one.does->sync || one.does->sync->has_ended) {
            continue;
        }
        const auto* sender = std::get_if<policy::taking_sync>(&one.does->sync->machine);
        if (sender == nullptr || !sender->is_granted) {
            return false;
        }
    }
    return true;
}

}  // namespace

void world::notify_sync() {
    for (std::int8_t i = 0; i < static_cast<std::int8_t>(m.nodes); ++i) {
        const node& one = see(m, i);
        if (one.is_up && one.has_session && one.does && one.does->sync && !one.does->sync->is_changed &&
            awaits_others(*one.does->sync)) {
            at(m, i).does->sync->is_changed = true;
        }
    }
}

void world::resume_sync(std::int8_t who, const policy::answer& said_first) {
    node& one = at(m, who);
    hand_shake& shake = *one.does->sync;
    policy::answer said = said_first;
    for (int rounds = 0; rounds < 20; ++rounds) {
        auto seen = seen_of(who);
        seen.held.of_sync = state_of(shake.lock);
        seen.held.sync_is_wanted = shake.is_wanted;
        seen.held.sync_written = m.keys.sync_changed;
        seen.held.sync_is_empty = m.keys.sync == sync_value::empty;
        const policy::step next = std::visit(
            [&](auto& machine) {
                auto out = policy::resume(machine, {seen, said, m.now}, one.memory);
                const bool is_had = shake.lock.where != lock_claim::at::none;
                if (machine.wants_lock && !is_had) {
                    shake.lock = {lock_claim::at::wanted, machine.queued_until};
                    if (!m.locks.of_sync.empty() && nobody_looks(m, who)) {
                        m.locks.of_sync.push_back(who);
                    }
                } else if (!machine.wants_lock && is_had) {
                    shake.lock.where =
                        shake.lock.where == lock_claim::at::late ? lock_claim::at::none : lock_claim::at::releasing;
                }
                return std::move(out.next);
            },
            shake.machine);
        shake.pending = {next, false, false, {}};
        if (next.is_over()) {
            shake.has_ended = true;
            leave(m.locks.of_sync, who);
            return;
        }
        const bool is_wait = is_any<ask::change>(next);
        if (is_wait && std::exchange(shake.is_changed, false)) {
            said = policy::woken{};
            continue;
        }
        if (is_wait) {
            return;
        }
        // Who else is there is asked again at every change, and nothing is written on it: it need not be in flight.
        const auto answer = perform(who, next);
        if (!answer) {
            return;
        }
        said = *answer;
    }
}

}  // namespace pvc::explore
