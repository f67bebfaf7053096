// A node of ours: what the shell does with what a machine asks for, and what must hold of it.
#include "sim/explore/role/role_world.hpp"

#include <algorithm>

namespace pvc::explore::roles {

using model::lock_kind;
using model::router_state;
using policy::candidate;
using policy::role_answer;
namespace role_ask = policy::role_ask;

namespace {

bool is_candidate_there(const world& now, std::int8_t who) {
    return std::ranges::any_of(now.queue(role_lock::primary), [who](const contender& one) { return one.owner != who; });
}

policy::hand_over_seen seen_by(const world& now, std::int8_t who, std::int8_t heard) {
    policy::hand_over_seen seen;
    constexpr bool is_late = false;
    seen.view = view_of(now, who, is_late);
    for (auto& peer : seen.view.peers) {
        if (heard != nobody && peer.name == name_of(heard)) {
            peer.keepalive_unchanged_for = duration::zero();
        }
    }
    for (const auto& one : now.queue(role_lock::sync)) {
        // What of its own is still to be deleted is nobody else's.
        if (one.owner != who) {
            seen.on_sync.push_back({one.sequence, one.is_reader ? model::lock_tag::rlock : model::lock_tag::lock});
        }
    }
    const auto& does = now.at(who).does;
    const auto* const own = own_in(now.queue(role_lock::sync), who);
    seen.has_waited_for_writer = does && does->has_waited;
    if (does && own != nullptr) {
        (does->is_queued ? seen.queued_on_sync : seen.own_on_sync) = own->sequence;
        seen.known_reader = does->known_reader;
        seen.was_overtaken = does->is_overtaken && !does->is_queued;
    }
    seen.is_candidate_there = is_candidate_there(now, who);
    return seen;
}

bool is_candidate(const transition& of) {
    return std::holds_alternative<candidate>(of.machine);
}

// Times count from the beginning of time again: what is left of a limit, and not when it was set.
void set_back(transition& of, duration by) {
    constexpr duration since_began = std::chrono::seconds(1);
    if (of.pending.until != time_point::max()) {
        of.pending.until -= by;
    }
    std::visit(
        [by](auto& machine) { machine.limit = machine.limit == time_point{} ? time_point{} : machine.limit - by; },
        of.machine);
    if (auto* const taking = std::get_if<candidate>(&of.machine)) {
        taking->began = start_of_time - since_began;
    }
}

policy::role_step resume(transition& of, const policy::role_event& e) {
    return std::visit([&e](auto& machine) { return machine.resume(e); }, of.machine);
}

std::optional<broken_rule> check_end(const world& now, std::int8_t who) {
    for (const auto which : {role_lock::primary, role_lock::sync}) {
        if (own_in(now.queue(which), who) != nullptr) {
            return broken_rule{"nothing_stays_locked",
                               std::string(name_of(who)) + " is done and keeps " + std::string(to_text(which))};
        }
    }
    const member& own = now.at(who);
    if (own.role == router_state::primary ? own.held != everything : own.held != 0) {
        return broken_rule{own.role == router_state::primary ? "a_primary_has_all" : "nothing_is_left_behind",
                           std::string(name_of(who)) + " is " + std::string(to_text(own.role))};
    }
    return std::nullopt;
}

bool write_role(world& now, std::int8_t who, const role_ask::write_role& what) {
    const router_state to = what.to;
    const auto& queue = now.queue(role_lock::primary);
    // Who is named is checked with it.
    const bool is_named_again = to == router_state::relinquish && what.named && now.named == who;
    const bool may = !is_named_again && (to != router_state::primary ||
                                         (now.named == who && !queue.empty() && own_in(queue, who) == &queue.front()));
    if (may) {
        now.at(who).role = to;
        store_role(now, now.at(who), to);
    }
    return may;
}

bool is_blocked(const contenders& queue, const contender& own, lock_kind kind) {
    return std::ranges::any_of(queue, [&](const contender& one) {
        return one.sequence < own.sequence &&
               model::waits_for(kind, one.is_reader ? model::lock_tag::rlock : model::lock_tag::lock);
    });
}

bool is_draining(const contenders& queue, const transition& of) {
    return std::ranges::any_of(
        queue, [&of](const contender& one) { return std::ranges::find(of.drain, one.sequence) != of.drain.end(); });
}

std::optional<broken_rule> go_for_lock(world& now, std::int8_t who, const role_ask::have_lock& lock) {
    transition& does = *now.at(who).does;
    auto& queue = now.queue(lock.which);
    if (!does.is_queued) {
        does.has_waited = does.has_waited ||
                          (lock.which == role_lock::sync && std::ranges::any_of(queue, [who](const contender& one) {
                               return one.owner != who && !one.is_reader;
                           }));
        queue.push_back({who, lock.kind == lock_kind::read, false, ++now.last_sequence});
        does.is_queued = true;
        does.drain.clear();
        return std::nullopt;
    }
    const auto* const own = own_in(queue, who);
    const bool is_had = own != nullptr && !is_blocked(queue, *own, lock.kind);
    does.is_queued = false;
    does.known_reader = -1;
    return answer(now, who, is_had ? role_answer::done : role_answer::passed, start_of_time);
}

std::optional<broken_rule> release(world& now, std::int8_t who, role_lock which) {
    auto& queue = now.queue(which);
    transition& does = *now.at(who).does;
    if (now.at(who).to_zookeeper != link::up) {
        if (auto* const own = own_in(queue, who)) {
            own->is_orphan = own->is_left = true;
        }
    } else {
        const auto* const own = own_in(queue, who);
        if (which == role_lock::sync) {
            does.is_between = now.of.reference != nobody && own != nullptr && !own->is_reader;
            does.is_overtaken = false;
        }
        if (which == role_lock::sync && own != nullptr && !own->is_reader) {
            does.drain.clear();
            for (const auto& one : queue) {
                if (one.is_reader && does.drain.size() < does.drain.capacity()) {
                    does.drain.push_back(one.sequence);
                    does.known_reader = std::max(does.known_reader, one.sequence);
                }
            }
        }
        remove_own(queue, who);
    }
    return answer(now, who, role_answer::done, start_of_time);
}

std::optional<broken_rule> give_up(world& now, std::int8_t who, role_phase which) {
    member& own = now.at(who);
    const std::uint8_t part = part_of(which);
    if (is_candidate(*own.does)) {
        if (part != 0 && which != role_phase::b && (own.held & ~(part | (part - 1))) != 0) {
            return broken_rule{"undone_in_reverse", std::string(name_of(who)) + " gives phase " +
                                                        std::string(to_text(which)) + " up before a later one"};
        }
    } else if (now.is_undisturbed && now.of.reference == nobody && (part & addresses) != 0 &&
               (now.at(now.named).held & part) == 0) {
        return broken_rule{"in_step", std::string(name_of(who)) + " gives phase " + std::string(to_text(which)) +
                                          " up before " + std::string(name_of(now.named)) + " has it"};
    }
    const bool is_done_in_b = !is_candidate(*own.does) && which == role_phase::g;
    own.held &= static_cast<std::uint8_t>(is_done_in_b ? 255 : ~part);
    own.left &= static_cast<std::uint8_t>(~part);
    return answer(now, who, role_answer::done, start_of_time);
}

}  // namespace

std::optional<broken_rule> take_up(world& now, std::int8_t who, role_phase which) {
    member& own = now.at(who);
    // In phase B the other side acts.
    const std::uint8_t part = which == role_phase::b ? 0 : part_of(which);
    for (std::int8_t other = 0; other < now.of.nodes; ++other) {
        const member& one = now.at(other);
        if (other == who || part == 0 || one.to_zookeeper == link::crashed) {
            continue;
        }
        const bool may_hear = (own.up_since & (1 << other)) != 0;
        if ((one.held & part & addresses) != 0 && !may_hear && one.role != router_state::relinquish) {
            return broken_rule{"one_holder", std::string(name_of(who)) + " takes phase " + std::string(to_text(which)) +
                                                 " up, and " + std::string(name_of(other)) +
                                                 " holds it and never heard of that"};
        }
        // In step: what comes before this phase has gone, and with C the services.
        const auto before = static_cast<std::uint8_t>(services | ((part & addresses) != 0 ? part - 1 : addresses));
        if (now.is_undisturbed && now.of.reference == nobody && (one.held & before) != 0) {
            return broken_rule{"in_step", std::string(name_of(who)) + " takes phase " + std::string(to_text(which)) +
                                              " up, and " + std::string(name_of(other)) +
                                              " has not given up what comes before it"};
        }
    }
    own.held |= part;
    own.left &= static_cast<std::uint8_t>(~part);
    return std::nullopt;
}

std::optional<broken_rule> answer(world& now, std::int8_t who, role_answer said, time_point when, std::int8_t heard,
                                  duration ahead) {
    member& own = now.at(who);
    auto seen = seen_by(now, who, heard);
    seen.candidate_ahead = ahead;
    own.does->is_queued = false;
    own.does->pending = resume(*own.does, {seen, said, when});
    own.does->has_waited = false;
    set_back(*own.does, when - start_of_time);
    if (own.does->pending.is_over()) {
        own.does.reset();
        return check_end(now, who);
    }
    return std::nullopt;
}

bool can_call_off(const world& now, std::int8_t who) {
    const auto& does = now.at(who).does;
    if (!does || std::holds_alternative<role_ask::change>(does->pending.what)) {
        return false;
    }
    const auto seen = seen_by(now, who, nobody);
    return std::visit([&seen](const auto& machine) { return machine.must_end(seen); }, does->machine);
}

// How far a candidate is ahead is asked once, when `relinquish` is written.
bool can_find_ahead(const world& now, std::int8_t who) {
    const auto& does = now.at(who).does;
    const auto* const role = does ? std::get_if<role_ask::write_role>(&does->pending.what) : nullptr;
    return role != nullptr && role->to == router_state::relinquish && is_candidate_there(now, who);
}

// One of ours comes to the end of A without its partner when its limit has passed, or that one is silent for longer.
bool is_surely_ahead(const world& now, std::int8_t who) {
    return std::ranges::any_of(now.queue(role_lock::primary), [&now, who](const contender& one) {
        const auto& does = now.at(one.owner).does;
        const auto* const taking = does ? std::get_if<candidate>(&does->machine) : nullptr;
        return one.owner != who && !one.is_orphan && taking != nullptr && taking->withdrawn.empty() &&
               taking->phase != role_phase::a;
    });
}

std::optional<broken_rule> go_behind(world& now, std::int8_t who) {
    const bool is_written = write_role(now, who, std::get<role_ask::write_role>(now.at(who).does->pending.what));
    return answer(now, who, is_written ? role_answer::done : role_answer::failed, start_of_time, nobody,
                  policy::hand_over_limits::late + duration(1));
}

static bool is_passed(const world& now, std::int8_t who) {
    const auto* const one = std::get_if<candidate>(&now.at(who).does->machine);
    return one != nullptr && one->is_passed(seen_by(now, who, nobody));
}

bool can_go(const world& now, std::int8_t who) {
    const member& own = now.at(who);
    if (!own.does || own.to_zookeeper == link::crashed) {
        return false;
    }
    const auto& what = own.does->pending.what;
    if (std::holds_alternative<role_ask::change>(what)) {
        transition other = *own.does;
        const auto seen = seen_by(now, who, nobody);
        const auto next = resume(other, {seen, role_answer::woken, start_of_time});
        set_back(other, duration::zero());
        // Another question, or the same with another limit or in another place.
        return next.what.index() != what.index() || next.until != own.does->pending.until ||
               !(other.machine == own.does->machine);
    }
    if (std::holds_alternative<role_ask::release>(what) || std::holds_alternative<role_ask::give_up>(what)) {
        return true;
    }
    if (own.to_zookeeper != link::up) {
        return false;
    }
    if (const auto* const lock = std::get_if<role_ask::have_lock>(&what)) {
        const auto& queue = now.queue(lock->which);
        if (!own.does->is_queued) {
            return lock->kind != lock_kind::write || !is_draining(queue, *own.does);
        }
        const auto* const own_child = own_in(queue, who);
        return own_child != nullptr && (!is_blocked(queue, *own_child, lock->kind) || is_passed(now, who));
    }
    return true;
}

std::optional<broken_rule> go(world& now, std::int8_t who) {
    const auto what = now.at(who).does->pending.what;
    if (std::holds_alternative<role_ask::change>(what)) {
        return answer(now, who, role_answer::woken, start_of_time);
    }
    if (const auto* const lock = std::get_if<role_ask::have_lock>(&what)) {
        return go_for_lock(now, who, *lock);
    }
    if (const auto* const lock = std::get_if<role_ask::release>(&what)) {
        return release(now, who, lock->which);
    }
    if (const auto* const up = std::get_if<role_ask::take_up>(&what)) {
        auto broken = take_up(now, who, up->which);
        return broken ? broken : answer(now, who, role_answer::done, start_of_time);
    }
    if (const auto* const given = std::get_if<role_ask::give_up>(&what)) {
        return give_up(now, who, given->which);
    }
    if (const auto* const role = std::get_if<role_ask::write_role>(&what)) {
        const bool is_written = write_role(now, who, *role);
        if (is_written && role->to == router_state::relinquish && now.named == who) {
            return broken_rule{"who_is_named_keeps_it", std::string(name_of(who)) + " is named and relinquishes"};
        }
        return answer(now, who, is_written ? role_answer::done : role_answer::failed, start_of_time);
    }
    return answer(now, who, role_answer::done, start_of_time);
}

// A write whose acknowledgement did not come.
void store_what_is_written(world& now, std::int8_t who) {
    const auto& does = now.at(who).does;
    const auto* const role = does ? std::get_if<role_ask::write_role>(&does->pending.what) : nullptr;
    if (role != nullptr) {
        const auto before = now.at(who).role;
        static_cast<void>(write_role(now, who, *role));
        now.at(who).role = before;
    }
}

std::optional<broken_rule> follow_rule(world& now, std::int8_t who, bool is_late) {
    using policy::coordinator_action;
    member& own = now.at(who);
    if (now.of.reference != nobody) {
        own.memory = looked_at(now, who);
    }
    const auto decision = policy::decide(view_of(now, who, is_late));
    // A holder that looks at the key no more is known by what it wrote: who has seen that waits for nothing (C5'). One
    // whose last tick wrote its name only after it had relinquished is not.
    if (decision.rule == policy::rule_refusal && now.is_undisturbed && !own.memory.by.empty()) {
        return broken_rule{"it_is_taken_soon", std::string(name_of(who)) + " waits for " +
                                                   std::string(name_of(now.named)) + ", which will not take the role"};
    }
    switch (decision.action) {
        case coordinator_action::none:
        case coordinator_action::demote: break;
        case coordinator_action::claim:
        case coordinator_action::contend: set_named(now, who); break;
        case coordinator_action::clear_to_none: set_named(now, nobody); break;
        case coordinator_action::start_takeover:
        case coordinator_action::start_relinquish: {
            own.does.emplace();
            if (own.role == router_state::primary) {
                own.does->machine = policy::holder{};
            }
            for (std::int8_t other = 0; other < now.of.nodes; ++other) {
                const auto bit = static_cast<std::uint8_t>(1 << other);
                // Who was in touch as these addresses were taken, and has been cut off since, gives way at its
                // isolation limit: that lasts as long as it holds them, whatever begins here meanwhile.
                const bool gives_way = (now.at(other).held & own.held & addresses) != 0;
                const bool may_hear =
                    now.at(other).to_zookeeper == link::up || ((own.up_since & bit) != 0 && gives_way);
                own.up_since = static_cast<std::uint8_t>(may_hear ? own.up_since | bit : own.up_since & ~bit);
            }
            return answer(now, who, role_answer::woken, start_of_time);
        }
    }
    return std::nullopt;
}

}  // namespace pvc::explore::roles
