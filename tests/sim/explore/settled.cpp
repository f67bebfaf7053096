// What is to be so once nothing goes on. Beside a reference node its own doings are left out (model_beside.cpp).
#include "sim/explore/model.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

#include <algorithm>

namespace pvc::explore {

using model::vm_state;

bool is_row_old(const scene& m, const node& one) {
    return !one.seen.is_known || one.seen.keys.state_changed != m.keys.state_changed ||
           one.seen.keys.node_changed != m.keys.node_changed || one.seen.keys.last_changed != m.keys.last_changed ||
           (one.seen.keys.state == vm_state::stop && one.seen.keys.sync_changed != m.keys.sync_changed &&
            m.keys.sync_changed == m.keys.state_changed);
}

bool is_settled(const scene& now) {
    if (hangs_on_reference(now)) {
        return true;
    }
    const bool is_busy = any_node(now, [](const node& one) {
        return !one.is_up || !one.has_session || one.session_left || !one.libvirt_is_up || one.does;
    });
    if (is_busy || !is_settled_reference(now) || now.job.where != live_job::at::none || !now.clients.empty()) {
        return false;
    }
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(now.nodes); ++who) {
        const node& one = see(now, who);
        if (one.reference) {
            continue;
        }
        if (is_row_old(now, one) || one.observed != class_of(one.guest) || one.look_again || one.pause_until ||
            one.is_list_late || one.is_going_off || one.is_remnant) {
            return false;
        }
    }
    return true;
}

namespace {

// Of locks, halves and running lists: whatever a reference node does, these are ours.
std::optional<broken_rule> wrong_with_ours(const scene& now) {
    const auto is_ours = [&now](std::int8_t one) { return one < a_leak && one != reference_of(now); };
    for (const auto* queue : {&now.locks.of_node, &now.locks.of_state, &now.locks.of_sync}) {
        if (std::ranges::any_of(*queue, is_ours)) {
            return broken_rule{"locks_are_given_back", "a lock is left while nothing goes on"};
        }
    }
    for (std::int8_t who = 0; who < static_cast<std::int8_t>(now.nodes); ++who) {
        const node& one = see(now, who);
        if (one.reference) {
            continue;
        }
        const bool is_half = one.guest == guest_here::arriving || one.guest == guest_here::left;
        if (is_half) {
            return broken_rule{"guests_are_right", "half of a migration is left on " + name_of(who) + ": `" +
                                                       std::string(model::to_text(now.keys.state)) + "`"};
        }
        if (one.lists_it != (one.guest == guest_here::runs)) {
            return broken_rule{"running_list", "the running list of " + name_of(who) + " is wrong"};
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<broken_rule> wrong_when_settled(const scene& now) {
    if (hangs_on_reference(now)) {
        return std::nullopt;
    }
    if (auto wrong = wrong_with_ours(now); wrong || is_the_references(now)) {
        return wrong;
    }
    const auto runs = running_in(now);
    const bool is_on = now.keys.state == vm_state::start;
    const std::string state(model::to_text(now.keys.state));
    const bool is_locked_elsewhere = now.disk_locked_by != nobody && now.disk_locked_by != now.keys.node;
    const bool has_failed = (now.may_fail || is_locked_elsewhere) && now.keys.state == vm_state::fail && runs == 0;
    if (now.last_word == client_word::run && !has_failed && (!is_on || runs != 1)) {
        return broken_rule{"clients_word",
                           "it is to run, is `" + state + "` and runs " + std::to_string(runs) + " times"};
    }
    if (now.last_word == client_word::off && (now.keys.state != vm_state::stop || runs != 0)) {
        return broken_rule{"clients_word",
                           "it is to be off, is `" + state + "` and runs " + std::to_string(runs) + " times"};
    }
    const bool is_off = now.keys.state == vm_state::stop;
    const bool may_be_either = now.last_word == client_word::moved_off || now.last_word == client_word::open;
    if (may_be_either && !has_failed && !(is_on && runs == 1) && !(is_off && runs == 0)) {
        return broken_rule{"clients_word",
                           "it was moved, is `" + state + "` and runs " + std::to_string(runs) + " times"};
    }
    if (is_on && see(now, now.keys.node).guest != guest_here::runs) {
        return broken_rule{"guests_are_right", "it is `start` on " + name_of(now.keys.node) + " and runs elsewhere"};
    }
    if (now.keys.sync != sync_value::empty && !has_left_word(now)) {
        return broken_rule{"guests_are_right", "a word of a migration is left in `migrate_sync_lock`"};
    }
    return std::nullopt;
}

}  // namespace pvc::explore
