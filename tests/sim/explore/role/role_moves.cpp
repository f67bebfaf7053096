// What can happen next in the world of the role, and what comes of it.
#include "sim/explore/role/role_world.hpp"

#include <algorithm>

namespace pvc::explore::roles {

using kind = move::kind;
using model::lock_kind;
using model::router_state;
using policy::candidate;
using policy::role_answer;
namespace role_ask = policy::role_ask;

namespace {

const candidate* candidate_of(const member& own) {
    return own.does ? std::get_if<candidate>(&own.does->machine) : nullptr;
}

bool is_expecting(const member& own) {
    const auto* const taking = candidate_of(own);
    return taking != nullptr && taking->where == candidate::at::expecting_partner;
}

bool has_orphan(const world& now, std::int8_t who) {
    return std::ranges::any_of(now.queues, [who](const contenders& queue) {
        return std::ranges::any_of(queue, [who](const contender& one) { return one.owner == who && one.is_orphan; });
    });
}

// What a daemon could not delete it deletes as soon as it is in touch again (zookeeper/lock), before anything else of
// it, and before any limit ends.
bool is_reaping(const world& now, std::int8_t who) {
    return now.at(who).to_zookeeper == link::up && std::ranges::any_of(now.queues, [who](const contenders& queue) {
               return std::ranges::any_of(queue,
                                          [who](const contender& one) { return one.owner == who && one.is_left; });
           });
}

bool has_rule(const world& now, std::int8_t who, bool is_late) {
    const member& own = now.at(who);
    if (own.to_zookeeper != link::up || own.does || now.is_reference(who)) {
        return false;
    }
    const auto action = policy::decide(view_of(now, who, is_late)).action;
    // Contention waits for the lock of the role 0.4 s; then it is tried again.
    const bool is_contention = action == policy::coordinator_action::contend;
    return action != policy::coordinator_action::none && (!is_contention || now.queue(role_lock::primary).empty());
}

// What happens without any delay.
void add_prompt(const world& now, std::int8_t who, std::vector<move>& out) {
    const member& own = now.at(who);
    if (own.to_zookeeper == link::crashed || is_reaping(now, who)) {
        return;
    }
    if (now.is_reference(who)) {
        const bool is_up = own.to_zookeeper == link::up;
        if (now.release == 0) {
            out.push_back({kind::choose, who, 1});
            out.push_back({kind::choose, who, 2});
            return;
        }
        if (is_up && own.is_leaving) {
            out.push_back({kind::leave, who});
        } else if (is_up && own.has_edge) {
            out.push_back({kind::react, who});
        }
        if (can_tick(now, who)) {
            out.push_back({kind::tick, who});
        }
        if (can_step(now, who)) {
            out.push_back({kind::step, who});
        }
        return;
    }
    if (can_go(now, who)) {
        const bool may_be_behind = can_find_ahead(now, who);
        const bool is_behind = may_be_behind && is_surely_ahead(now, who);
        if (!is_behind) {
            out.push_back({kind::go, who});
        }
        if (is_behind || (may_be_behind && !now.is_undisturbed)) {
            out.push_back({kind::go_behind, who});
        }
    }
    if (has_rule(now, who, false)) {
        out.push_back({kind::rule, who});
    }
    if (now.of.reference != nobody && own.to_zookeeper == link::up && !(looked_at(now, who) == own.memory)) {
        out.push_back({kind::look, who});
    }
    if (!own.does && own.to_zookeeper == link::up && own.stored != own.role) {
        out.push_back({kind::align, who});
    }
    if (own.left != 0 && now.named != who && !own.does && own.to_zookeeper == link::up) {
        out.push_back({kind::drop_left, who});
    }
    for (std::int8_t other = 0; other < now.of.nodes; ++other) {
        if (is_expecting(own) && other != who && own.to_zookeeper == link::up &&
            now.at(other).to_zookeeper == link::up) {
            out.push_back({kind::beat, who, other});
        }
    }
}

bool is_waiting_for_a_lock(const member& own) {
    return own.does && std::holds_alternative<role_ask::have_lock>(own.does->pending.what);
}

// A limit that may end: of a lock that is waited for, or of a wait.
bool has_limit(const world& now, std::int8_t who) {
    const member& own = now.at(who);
    if (own.to_zookeeper == link::crashed) {
        return false;
    }
    if (now.is_reference(who)) {
        return can_time_out_reference(now, who);
    }
    if (!own.does || own.does->pending.until == time_point::max()) {
        return false;
    }
    // A silence is seen before the wait for a heartbeat has ended.
    bool is_silence_first = false;
    for (std::int8_t other = 0; other < now.of.nodes; ++other) {
        const member& one = now.at(other);
        is_silence_first =
            is_silence_first || (is_expecting(own) && one.to_zookeeper != link::up && one.heard == silence::fresh);
    }
    return !is_silence_first;
}

// The reader that a writer of ours steps aside for.
const contender* reader_before(const world& now, std::int8_t who) {
    const member& own = now.at(who);
    if (!is_waiting_for_a_lock(own) || !own.does->is_queued || own.to_zookeeper != link::up) {
        return nullptr;
    }
    const auto& lock = std::get<role_ask::have_lock>(own.does->pending.what);
    const auto& queue = now.queue(lock.which);
    const auto* const child = own_in(queue, who);
    const bool is_behind = lock.kind == lock_kind::write && child != nullptr && child != queue.data();
    return is_behind && (child - 1)->is_reader ? child - 1 : nullptr;
}

bool is_somebody_reaping(const world& now) {
    for (std::int8_t who = 0; who < now.of.nodes; ++who) {
        if (is_reaping(now, who)) {
            return true;
        }
    }
    return false;
}

// Somebody who is waited for, perhaps, and out of touch.
bool is_somebody_away(const world& now) {
    for (std::int8_t other = 0; other < now.of.nodes; ++other) {
        const member& one = now.at(other);
        const bool has_part = one.role != router_state::secondary || one.stored != router_state::secondary ||
                              now.named == other || std::ranges::any_of(now.queues, [other](const contenders& queue) {
                                  return std::ranges::find(queue, other, &contender::owner) != queue.end();
                              });
        if (one.to_zookeeper != link::up && one.heard != silence::past && has_part) {
            return true;
        }
    }
    return false;
}

void add_timed(const world& now, std::int8_t who, bool is_prompt, std::vector<move>& out) {
    const member& own = now.at(who);
    if (reader_before(now, who) != nullptr) {
        out.push_back({kind::step_aside, who});
    }
    if (is_waiting_for_a_lock(own) && !own.does->is_queued && !own.does->drain.empty() && !can_go(now, who) &&
        own.to_zookeeper == link::up) {
        out.push_back({kind::drained, who});
    }
    const bool is_late = (!is_prompt || is_somebody_away(now)) && !is_somebody_reaping(now);
    if (has_limit(now, who)) {
        if (is_late) {
            out.push_back({kind::time_out, who});
        } else if (now.faults > 0) {
            out.push_back({kind::late, who});
        }
    }
    if (is_late && !has_rule(now, who, false) && has_rule(now, who, true)) {
        out.push_back({kind::late_rule, who});
    }
    if (can_call_off(now, who)) {
        out.push_back({kind::call_off, who});
        const auto& what = own.does->pending.what;
        if (std::holds_alternative<role_ask::take_up>(what) || std::holds_alternative<role_ask::write_role>(what)) {
            out.push_back({kind::call_off_done, who});
        }
    }
}

void add_absent(const world& now, std::int8_t who, std::vector<move>& out) {
    const member& own = now.at(who);
    if (own.to_zookeeper == link::cut && own.does && !can_go(now, who)) {
        const auto& what = own.does->pending.what;
        if (!std::holds_alternative<role_ask::change>(what) &&
            !(std::holds_alternative<role_ask::have_lock>(what) && own.does->is_queued)) {
            out.push_back({kind::fail, who});
        }
    }
    const bool is_lost = has_orphan(now, who) || (own.to_zookeeper == link::cut && own.has_session);
    if (is_lost) {
        out.push_back({kind::vanish, who});
    }
    if (own.to_zookeeper == link::up) {
        return;
    }
    if (own.heard == silence::fresh || (own.heard == silence::silent && !is_lost)) {
        out.push_back({kind::grow_silent, who});
    }
    out.push_back({own.to_zookeeper == link::cut ? kind::heal : kind::restart, who});
}

void add_faults(const world& now, std::int8_t who, std::vector<move>& out) {
    const member& own = now.at(who);
    if (own.to_zookeeper == link::crashed) {
        return;
    }
    out.push_back({kind::crash, who});
    if (own.to_zookeeper != link::up) {
        return;
    }
    out.push_back({kind::cut, who});
    if (own.does && std::holds_alternative<role_ask::write_role>(own.does->pending.what)) {
        out.push_back({kind::cut_done, who});
    }
    if (own.does && own_in(now.queue(role_lock::primary), who) != nullptr) {
        out.push_back({kind::lose_role_lock, who});
    }
    if (own.does && own_in(now.queue(role_lock::sync), who) != nullptr) {
        out.push_back({kind::lose_sync_lock, who});
    }
}

void end_session(world& now, std::int8_t who) {
    for (auto& queue : now.queues) {
        for (auto& one : queue) {
            one.is_orphan = one.is_orphan || one.owner == who;
            one.is_left = one.is_left && one.owner != who;
        }
    }
}

void remove_orphans(world& now, std::int8_t who) {
    for (auto& queue : now.queues) {
        const auto gone =
            std::ranges::remove_if(queue, [who](const contender& one) { return one.owner == who && one.is_orphan; });
        queue.erase(gone.begin(), gone.end());
    }
}

void give_up_by_itself(member& own) {
    own.does.reset();
    own.held = own.left = own.up_since = 0;
    own.role = router_state::secondary;
}

// The scope of the session has ended: so has the transition, and what it had is given up beside it.
void unwind(member& own) {
    if (own.does) {
        give_up_by_itself(own);
    }
}

std::optional<broken_rule> time_out(world& now, std::int8_t who) {
    if (now.is_reference(who)) {
        time_out_reference(now, who);
        return std::nullopt;
    }
    auto& does = *now.at(who).does;
    const auto until = does.pending.until;
    if (const auto* const lock = std::get_if<role_ask::have_lock>(&does.pending.what)) {
        if (does.is_queued && now.at(who).to_zookeeper != link::up) {
            if (auto* const own = own_in(now.queue(lock->which), who)) {
                own->is_orphan = own->is_left = true;
            }
        } else if (does.is_queued) {
            remove_own(now.queue(lock->which), who);
        }
        return answer(now, who, role_answer::failed, until);
    }
    return answer(now, who, role_answer::woken, until);
}

std::optional<broken_rule> call_off(world& now, std::int8_t who, bool is_done) {
    auto& does = *now.at(who).does;
    const auto what = does.pending.what;
    if (const auto* const lock = std::get_if<role_ask::have_lock>(&what); lock != nullptr && does.is_queued) {
        remove_own(now.queue(lock->which), who);
    }
    if (const auto* const up = std::get_if<role_ask::take_up>(&what); up != nullptr && is_done) {
        if (auto broken = take_up(now, who, up->which)) {
            return broken;
        }
    }
    if (is_done) {
        store_what_is_written(now, who);
    }
    return answer(now, who, role_answer::ended, start_of_time);
}

std::optional<broken_rule> lose_lock(world& now, std::int8_t who, role_lock which) {
    auto& does = *now.at(who).does;
    if (const auto* const lock = std::get_if<role_ask::have_lock>(&does.pending.what);
        lock != nullptr && does.is_queued && lock->which != which) {
        remove_own(now.queue(lock->which), who);  // what was under way is called off
    }
    remove_own(now.queue(which), who);
    return answer(now, who, role_answer::lost, start_of_time);
}

void grow_silent(member& own, bool is_reference) {
    if (own.heard == silence::fresh) {
        own.heard = silence::silent;
        return;
    }
    own.heard = silence::past;
    if (own.to_zookeeper == link::crashed || is_reference) {
        own.is_fenced = true;  // switched off: nothing of it is left
        own.to_zookeeper = link::crashed;
        own.walks.reset();
        own.has_edge = own.has_tick = own.is_leaving = false;
    }
    give_up_by_itself(own);  // C6, or the fence
}

void come_back(world& now, std::int8_t who) {
    member& own = now.at(who);
    own.to_zookeeper = link::up;
    own.heard = silence::fresh;
    own.has_session = true;
    own.is_fenced = false;
    for (std::int8_t other = 0; other < now.of.nodes; ++other) {
        if (now.at(other).does) {
            now.at(other).up_since |= static_cast<std::uint8_t>(1 << who);
        }
    }
    if (!own.does && !now.is_reference(who)) {
        store_role(now, own, own.role);  // what the key says must be what it does
    }
}

void restart(world& now, std::int8_t who) {
    member& own = now.at(who);
    own.role = router_state::secondary;
    store_role(now, own, own.role);
    own.has_edge = false;
    if (now.is_reference(who) || now.named != who) {
        own.left = 0;  // its own start leaves addresses there: that is known
    }
    come_back(now, who);
    if (now.is_reference(who) && now.named == who) {
        own.has_edge = true;  // the first value that its watch gives
    }
}

void crash(world& now, std::int8_t who) {
    member& own = now.at(who);
    own.to_zookeeper = link::crashed;
    own.has_session = false;
    end_session(now, who);
    own.does.reset();
    own.walks.reset();
    own.has_edge = own.has_tick = own.is_leaving = false;
    own.memory = {};
    own.left = static_cast<std::uint8_t>(own.left | (own.held & addresses));
    own.held = 0;
}

std::optional<broken_rule> disturb(world& now, const move& one) {
    now.is_undisturbed = false;
    now.faults -= one.what == kind::client ? 0 : 1;
    switch (one.what) {
        case kind::crash: crash(now, one.who); break;
        case kind::cut_done: store_what_is_written(now, one.who); [[fallthrough]];
        case kind::cut: now.at(one.who).to_zookeeper = link::cut; break;
        case kind::lose_role_lock: return lose_lock(now, one.who, role_lock::primary);
        case kind::lose_sync_lock: return lose_lock(now, one.who, role_lock::sync);
        case kind::late: now.is_timely = false; return time_out(now, one.who);
        case kind::client:
            --now.writes;
            set_named(now, one.other);
            break;
        default: break;
    }
    return std::nullopt;
}

}  // namespace

std::vector<move> moves_of(const world& now) {
    std::vector<move> out;
    for (std::int8_t who = 0; who < now.of.nodes; ++who) {
        add_prompt(now, who, out);
    }
    const bool is_prompt = !out.empty();
    for (std::int8_t who = 0; who < now.of.nodes; ++who) {
        add_timed(now, who, is_prompt, out);
        add_absent(now, who, out);
        if (now.faults > 0) {
            add_faults(now, who, out);
        }
    }
    for (std::int8_t whom = nobody; now.writes > 0 && whom < now.of.nodes; ++whom) {
        if (whom != now.named) {
            out.push_back({kind::client, nobody, whom});
        }
    }
    return out;
}

namespace {

std::optional<broken_rule> happen(world& now, const move& one) {
    if (!one.is_quiet()) {
        return disturb(now, one);
    }
    member& own = now.at(one.who);
    switch (one.what) {
        case kind::choose: now.release = static_cast<std::uint8_t>(one.other); break;
        case kind::rule: return follow_rule(now, one.who, false);
        case kind::late_rule: return follow_rule(now, one.who, true);
        case kind::go: return go(now, one.who);
        case kind::go_behind: return go_behind(now, one.who);
        case kind::beat: return answer(now, one.who, role_answer::woken, start_of_time, one.other);
        case kind::align: store_role(now, own, own.role); break;
        case kind::drop_left: own.left = 0; break;
        case kind::react: react_reference(now, one.who); break;
        case kind::leave: leave_reference(now, one.who); break;
        case kind::look: own.memory = looked_at(now, one.who); break;
        case kind::tick: tick_reference(now, one.who); break;
        case kind::step: step_reference(now, one.who); break;
        case kind::step_aside: {
            const std::int64_t reader = reader_before(now, one.who)->sequence;
            remove_own(now.queue(role_lock::sync), one.who);
            own.does->is_queued = false;
            own.does->drain.assign(1, reader);
            break;
        }
        case kind::drained: own.does->drain.clear(); break;
        case kind::time_out: return time_out(now, one.who);
        case kind::call_off: return call_off(now, one.who, false);
        case kind::call_off_done: return call_off(now, one.who, true);
        case kind::fail: return answer(now, one.who, role_answer::failed, start_of_time);
        case kind::vanish:
            if (own.to_zookeeper == link::cut) {
                end_session(now, one.who);
                own.has_session = false;
                unwind(own);
            }
            remove_orphans(now, one.who);
            break;
        case kind::grow_silent: grow_silent(own, now.is_reference(one.who)); break;
        case kind::heal: come_back(now, one.who); break;
        case kind::restart: restart(now, one.who); break;
        default: break;
    }
    return std::nullopt;
}

}  // namespace

std::optional<broken_rule> apply(world& now, const move& one) {
    auto broken = happen(now, one);
    return broken ? broken : wrong_now(now);
}

}  // namespace pvc::explore::roles
