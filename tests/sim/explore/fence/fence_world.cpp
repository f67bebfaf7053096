// The world of a fence: what there is, what follows of itself, and how two states are told apart.
#include "sim/explore/fence/fence_world.hpp"

#include "sim/explore/canonical.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace pvc::explore::fences {

using namespace std::chrono_literals;
using model::daemon_state;
using model::vm_state;

namespace {

constexpr duration interval = 5s;
constexpr std::int64_t intervals = 6;
constexpr duration boot_time_of_host = 40s;

std::int8_t named_node(std::string_view text) {
    if (text.size() == 3 && text.starts_with("hv")) {
        return static_cast<std::int8_t>(text[2] - '1');
    }
    return text.size() == 2 && text[0] == 'r' ? static_cast<std::int8_t>(4 + text[1] - '0') : nobody;
}

std::int8_t exchanged(std::int8_t node) {
    return node == 0 || node == 1 ? static_cast<std::int8_t>(1 - node) : node;
}

// A node or a record, the coordinators having exchanged their names.
std::int8_t named_in_exchange(std::string_view text) {
    const std::int8_t one = named_node(text);
    return one >= 4 ? static_cast<std::int8_t>(4 + exchanged(static_cast<std::int8_t>(one - 4))) : exchanged(one);
}

policy::observer_seen observer(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    return {.name = std::string(name_of(who)),
            .is_coordinator = true,
            .is_run = own.is_up,
            .in_maintenance = false,
            .is_heartbeat_fresh = own.is_up,
            .connected_for = now.now - own.connected_since,
            .fence_intervals = intervals,
            .keepalive = interval,
            .coordinators = 3};
}

policy::node_seen seen_dead(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    const duration silent = now.dead.is_up ? duration::zero() : now.now - std::max(own.heard_at, own.connected_since);
    policy::node_seen one;
    one.name = "hv3";
    one.is_coordinator = true;
    one.state = now.keys.state;
    one.state_id = now.keys.state_id;
    one.heartbeat_id = now.keys.heartbeat_id;
    one.silent_for = silent;
    one.was_seen_to_beat = own.saw_it_beat;
    one.has_machines = true;
    one.has_probe_heard_on = true;
    const bool is_answering = !now.dead.board.refuses && !now.dead.board.lies_until;
    if (!now.dead.is_on && is_answering && now.now - now.fell_silent >= 20s) {
        one.power = policy::seen_power::off;
    }
    return one;
}

policy::node_seen seen_other(const world& now, std::int8_t who) {
    const auto other = static_cast<std::int8_t>(1 - who);
    policy::node_seen one;
    one.name = std::string(name_of(other));
    one.is_coordinator = true;
    one.state = daemon_state::run;
    one.state_id = 1;
    one.heartbeat_id = 1;
    one.silent_for = now.at(other).is_up ? duration::zero() : 31s;
    one.was_seen_to_beat = true;
    return one;
}

}  // namespace

std::string_view name_of(std::int8_t who) {
    constexpr std::array<std::string_view, 4> names{"hv1", "hv2", "hv3", "hv4"};
    return who < 0 ? std::string_view("nobody") : names.at(static_cast<std::size_t>(who));
}

world beginning(const bounds& of) {
    world now;
    now.of = of;
    now.faults = of.faults;
    now.writes = of.writes;
    now.fell_silent = now.now;
    for (auto& one : now.fencers) {
        one.connected_since = now.now - 1h;
        one.heard_at = now.now;
    }
    return now;
}

policy::victim_seen seen_victim(const world& now) {
    policy::victim_seen seen;
    seen.state = now.keys.state;
    seen.state_id = now.keys.state_id;
    seen.heartbeat_id = now.keys.heartbeat_id;
    seen.is_recovering = now.keys.is_recovering;
    if (now.keys.proof_by != nobody) {
        const bool is_valid = now.keys.state_id <= now.keys.proof_id && now.keys.heartbeat_id <= now.keys.proof_id;
        seen.proof = policy::stored_proof{"r" + std::string(1, static_cast<char>('0' + now.keys.proof_by)),
                                          std::string(name_of(now.keys.proof_by)), now.keys.proof, is_valid};
    }
    return seen;
}

// What this coordinator would begin now, by detection or as an orphan.
std::optional<policy::fence_attempt> attempt_to_begin(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    if (!own.is_up || own.attempt || !now.is_ours(who) || !now.is_begun) {
        return std::nullopt;
    }
    policy::fence_attempt next;
    next.node = "hv3";
    next.record = who == 0 ? "r0" : "r1";
    next.rules = {.keepalive = interval, .recovers = true, .recovers_after_failure = now.of.recovers_after_failure};
    next.is_coordinator = true;
    next.heartbeat_id = now.keys.heartbeat_id;
    next.mark_id = now.keys.state_id;
    next.silent_since = std::max(own.heard_at, own.connected_since);
    const auto self = observer(now, who);
    for (const auto& verdict : policy::judge_nodes(self, {seen_dead(now, who), seen_other(now, who)})) {
        const bool is_dead =
            verdict.what == policy::node_verdict::dead || verdict.what == policy::node_verdict::seen_off;
        if (verdict.name == "hv3" && is_dead) {
            next.origin = verdict.what == policy::node_verdict::dead ? policy::fence_origin::silence
                                                                     : policy::fence_origin::seen_off;
            next.told_off_at = now.now;
            return next;
        }
    }
    policy::left_over left;
    left.victim = seen_victim(now);
    left.may_detect = policy::why_not_judging(self).empty();
    const auto& record = own.record;
    if (record.is_opened && record.heartbeat_id == now.keys.heartbeat_id) {
        const bool is_fenced = record.fenced_id != 0 && record.fenced_id == now.keys.state_id;
        const bool is_dead = record.mark_id == now.keys.state_id;
        left.record = is_fenced                                    ? policy::own_record::fenced
                      : !is_dead                                   ? policy::own_record::none
                      : record.proof == policy::fence_proof::power ? policy::own_record::proven
                                                                   : policy::own_record::opened;
    }
    const bool is_young = record.proven_at && now.now - *record.proven_at <= 10min;
    left.is_power_owed = left.record == policy::own_record::fenced && record.proof == policy::fence_proof::power &&
                         is_young && !record.is_closed;
    if (const auto why = policy::next_attempt(left, own.memory, now.now).why) {
        next.origin = *why;
        next.proof_words = "a record";
        next.owes_power_on = left.is_power_owed && !left.victim.is_recovering;
        return next;
    }
    return std::nullopt;
}

std::vector<time_point> times_to_come(const world& now) {
    std::vector<time_point> all;
    const auto add = [&](std::optional<time_point> when) {
        if (when && *when > now.now && *when < time_point::max()) {
            all.push_back(*when);
        }
    };
    for (std::int8_t who = 0; who < 2; ++who) {
        const auto& own = now.at(who);
        add(own.starts_at);
        add(own.answers_at);
        add(own.clears_at);
        if (own.attempt) {
            add(own.attempt->pending.until);
        }
        if (own.recovery) {
            add(own.recovering.until);
        }
        if (!own.is_up || own.attempt) {
            continue;
        }
        const auto since = std::max(own.heard_at, own.connected_since);
        add(own.connected_since + intervals * interval);
        add(since + intervals * interval + 1s);
        add(since + 10min + 1s);
        add(own.memory.since + policy::fence_memory::orphan_age);
        add(own.memory.not_before);
        if (own.memory.failures > 0) {
            add(own.memory.failed_at + policy::pause_after_failures(own.memory.failures));
        }
    }
    add(now.fell_silent + 20s);
    add(now.dead.boots_at);
    add(now.dead.board.lies_until);
    add(now.dead.board.off_at);
    if (now.of.reference) {
        add(now.fell_silent + intervals * interval + 2s);
        add(now.reference.next);
    }
    return all;
}

void settle(world& now) {
    if (now.dead.board.lies_until && now.now >= *now.dead.board.lies_until) {
        now.dead.board.lies_until.reset();
    }
    auto& guest = now.guest;
    const bool is_wanted = guest.state == vm_state::start;
    if (is_wanted && guest.node == taker && guest.runs_beside == nobody && guest.lock == nobody) {
        guest.runs_beside = taker;
        guest.lock = taker;
    }
    if (guest.runs_beside != nobody && guest.state == vm_state::stop) {
        guest.runs_beside = nobody;
        guest.lock = guest.lock == victim ? victim : nobody;
    }
    if (now.dead.is_up && !now.dead.is_back) {
        if (now.dead.has_guest && guest.state == vm_state::stop) {
            now.dead.has_guest = false;
        }
        if (!now.dead.has_guest && is_wanted && guest.node == victim && guest.runs_beside == nobody) {
            now.dead.has_guest = true;
            now.dead.is_blocked = false;
            guest.lock = victim;
        }
    }
    for (auto& own : now.fencers) {
        if (!own.is_up) {
            continue;
        }
        if (own.seen_heartbeat != now.keys.heartbeat_id) {
            own.seen_heartbeat = now.keys.heartbeat_id;
            own.heard_at = now.now;
            own.saw_it_beat = true;
        }
        if (now.dead.is_up) {
            own.heard_at = now.now;
        }
        const bool is_down = now.keys.state == daemon_state::dead || now.keys.state == daemon_state::fenced;
        if (is_down) {
            const auto machines = static_cast<std::uint64_t>(guest.node == victim ? 1 : 0);
            own.memory.look({now.keys.state_id, now.keys.heartbeat_id, now.keys.is_recovering, machines}, now.now);
            own.memory.failures = std::min<std::uint8_t>(own.memory.failures, 4);
        } else {
            own.memory.forget();
        }
    }
}

void lose_power(world& now) {
    now.dead.is_on = now.dead.is_up = now.dead.is_back = false;
    now.dead.has_guest = now.dead.is_blocked = false;
    ++now.dead.life;
    now.dead.boots_at.reset();
    now.dead.board.off_at.reset();
}

void switch_off(world& now) {
    if (now.dead.board.lies_until || !now.dead.is_on) {
        return;
    }
    if (now.dead.board.is_soft) {
        now.dead.board.off_at = now.now + 20s;
    } else {
        lose_power(now);
    }
}

void switch_on(world& now) {
    if (!now.dead.is_on) {
        now.dead.is_on = true;
        ++now.dead.life;
        now.dead.boots_at = now.now + boot_time_of_host;
    }
}

std::optional<broken_rule> wrong_now(const world& now) {
    const bool may_write_there = now.dead.is_on && now.dead.has_guest && !now.dead.is_blocked;
    if (may_write_there && now.guest.runs_beside != nobody && !now.has_reference_acted) {
        return broken_rule{"never_twice",
                           "the machine runs on hv3 and on " + std::string(name_of(now.guest.runs_beside))};
    }
    return std::nullopt;
}

bool is_at_rest(const world& now) {
    if (!now.is_begun || now.lock != nobody) {
        return false;
    }
    for (const auto& own : now.fencers) {
        if (own.attempt || !own.is_up) {
            return false;
        }
    }
    const bool is_over = (now.dead.is_up && !now.dead.is_back && now.keys.state == daemon_state::run) ||
                         (now.keys.state == daemon_state::fenced && !now.keys.is_recovering);
    const bool runs = now.guest.runs_beside != nobody || (now.dead.is_up && now.dead.has_guest);
    return is_over && (runs || now.guest.state != vm_state::start);
}

// ---- identity -------------------------------------------------------------------------------------------------------

namespace {

void each_id(world& now, const std::function<void(std::int64_t&)>& what) {
    what(now.keys.state_id);
    what(now.keys.heartbeat_id);
    what(now.keys.proof_id);
    what(now.guest.state_id);
    for (auto& own : now.fencers) {
        what(own.seen_heartbeat);
        if (own.memory.seen) {
            what(own.memory.seen->mark_id);
            what(own.memory.seen->heartbeat_id);
        }
        what(own.memory.failed_mark);
        what(own.memory.ended_mark);
        what(own.memory.settled_mark);
        what(own.memory.failed_heartbeat);
        what(own.record.heartbeat_id);
        what(own.record.mark_id);
        what(own.record.fenced_id);
        if (own.attempt) {
            what(own.attempt->heartbeat_id);
            what(own.attempt->mark_id);
            if (auto* const asked = std::get_if<policy::fence_ask::recover>(&own.attempt->pending.what)) {
                what(asked->mark_id);
                what(asked->heartbeat_id);
            }
        }
        if (own.recovery) {
            what(own.recovery->mark_id);
            what(own.recovery->heartbeat_id);
            what(own.recovery->zxid);
            what(own.recovery->keys.state_id);
            what(own.recovery->keys.autostart_id);
        }
    }
}

// Ages, clipped: beyond an hour and a bit one is like the other.
class fence_identity {
public:
    fence_identity(time_point now, bool is_exchanged)
        : now_(now), of_(now, boot_time(now.time_since_epoch()), is_exchanged ? named_in_exchange : named_node) {}
    void put(time_point when) { put(std::optional(when)); }
    void put(std::optional<time_point> when) {
        if (!when || *when == time_point{} || *when == time_point::max()) {
            of_.put(!when ? 0 : 1);
            return;
        }
        of_.put(2);
        of_.put(std::clamp<duration>(*when - now_, -2h, 2h));
    }
    template <class T>
    void put(const T& value) {
        of_.put(value);
    }
    part_identity finish() { return of_.finish(); }

private:
    time_point now_;
    canonical of_;
};

// So old is as old as can be, of what it has heard of the node; who never saw it beat waits for longer.
duration oldest_of(const fencer& own) {
    return own.saw_it_beat ? duration(32s) : duration(11min);
}

// Where a coordinator stands, of the two: what most often differs comes first.
auto rank_of(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    const auto* const attempt = own.attempt ? &*own.attempt : nullptr;
    using at = policy::fence_attempt::at;
    const std::tuple fence(attempt != nullptr, attempt != nullptr ? attempt->where : at::over,
                           attempt != nullptr ? attempt->after : at::over,
                           attempt != nullptr ? attempt->origin : policy::fence_origin::silence,
                           attempt != nullptr ? attempt->throws : std::uint8_t{0},
                           attempt != nullptr ? attempt->offs : std::uint8_t{0},
                           attempt != nullptr ? attempt->looks : std::uint8_t{0},
                           attempt != nullptr ? attempt->pending.until : time_point{},
                           own.recovery ? own.recovery->where : policy::guest_recovery::at::over);
    const std::tuple record(own.record.is_opened, own.record.proof, own.record.heartbeat_id, own.record.mark_id,
                            own.record.fenced_id, own.record.is_closed);
    const std::tuple heard(own.seen_heartbeat, std::max(own.heard_at, now.now - oldest_of(own)),
                           std::max(own.connected_since, now.now - oldest_of(own)),
                           std::max(own.memory.since, now.now - policy::fence_memory::orphan_age), own.memory.failures,
                           own.fences);
    return std::tuple(now.lock == who, fence, own.is_up, own.starts_at.value_or(time_point{}), now.keys.proof_by == who,
                      record, now.guest.runs_beside == who, heard);
}

// Two coordinators of ours are alike but for their names: a world in which they have exchanged them is the same world,
// and goes on in the same ways. Their rank says which of the two is the first, and so as which world it is known.
bool is_second_first(const world& now) {
    return !now.of.reference && rank_of(now, 1) < rank_of(now, 0);
}

}  // namespace

identity identity_of(const world& now) {
    world one = now;
    std::vector<std::int64_t> known{0};
    each_id(one, [&known](std::int64_t& id) { known.push_back(id); });
    std::ranges::sort(known);
    const auto rest = std::ranges::unique(known);
    known.erase(rest.begin(), rest.end());
    each_id(one, [&known](std::int64_t& id) { id = std::ranges::lower_bound(known, id) - known.begin(); });
    const bool is_exchanged = is_second_first(one);
    if (is_exchanged) {
        for (std::int8_t* const node : {&one.lock, &one.keys.proof_by, &one.guest.node, &one.guest.last,
                                        &one.guest.runs_beside, &one.guest.lock}) {
            *node = exchanged(*node);
        }
    }
    fence_identity out(one.now, is_exchanged);
    out.put(one.is_begun);
    out.put(one.faults);
    out.put(one.writes);
    out.put(one.has_reference_acted);
    out.put(std::max(one.fell_silent, one.now - (one.of.reference ? 32s : 20s)));
    auto dead = one.dead;
    out.put(dead.life == 0);
    out.put(dead.is_on);
    out.put(dead.is_up);
    out.put(dead.is_back);
    out.put(dead.has_guest);
    out.put(dead.is_blocked);
    out.put(dead.board.refuses);
    out.put(dead.board.is_soft);
    out.put(dead.board.lies_until);
    out.put(dead.board.has_booted);
    out.put(dead.board.off_at);
    out.put(dead.boots_at);
    out.put(one.keys);
    out.put(one.guest);
    out.put(one.lock);
    out.put(one.reference.where);
    out.put(one.reference.next <= one.now ? std::optional<time_point>() : one.reference.next);
    out.put(one.reference.throws);
    out.put(one.reference.was_off);
    for (const std::size_t place : {0U, 1U}) {
        auto& own = one.fencers.at(is_exchanged ? 1 - place : place);
        out.put(own.is_up);
        out.put(own.starts_at);
        const duration oldest = oldest_of(own);
        out.put(std::max(own.connected_since, one.now - oldest));
        out.put(own.saw_it_beat);
        out.put(own.seen_heartbeat);
        out.put(std::max(own.heard_at, one.now - oldest));
        out.put(own.memory.seen);
        out.put(own.attempt ? time_point{} : std::max(own.memory.since, one.now - policy::fence_memory::orphan_age));
        out.put(own.memory.failures);
        out.put(own.memory.failures > 0 ? std::optional(own.memory.failed_at) : std::nullopt);
        out.put(own.memory.failed_mark);
        out.put(own.memory.ended_mark == one.keys.state_id);
        out.put(own.memory.settled_mark == one.keys.state_id);
        out.put(own.memory.failed_heartbeat);
        out.put(own.memory.not_before && *own.memory.not_before > one.now ? own.memory.not_before : std::nullopt);
        out.put(own.record.is_opened);
        out.put(own.record.proof);
        out.put(own.record.heartbeat_id);
        out.put(own.record.mark_id);
        out.put(own.record.fenced_id);
        out.put(own.record.is_closed);
        const bool may_owe = own.record.proven_at && !own.record.is_closed && own.record.fenced_id == one.keys.state_id;
        out.put(may_owe ? std::optional(std::max(*own.record.proven_at, one.now - 11min)) : std::nullopt);
        out.put(own.record.is_of_dead_guest);
        out.put(own.record.life == now.dead.life);
        out.put(own.fences);
        out.put(own.has_read_dead);
        out.put(own.has_read_majority);
        out.put(own.has_read_back);
        out.put(own.answers_at);
        out.put(own.clears_at);
        if (own.board_answer) {
            out.put(own.board_answer->status);
            out.put(own.board_answer->output == "Chassis Power is off");
        }
        out.put(own.attempt.has_value());
        if (own.attempt) {
            auto attempt = *own.attempt;
            attempt.asked = attempt.pending.number = 0;
            if (auto* const command = std::get_if<policy::fence_ask::power>(&attempt.pending.what)) {
                command->sent = {};
            }
            if (auto* const record = std::get_if<policy::fence_ask::record>(&attempt.pending.what)) {
                const auto index = record->entry.index();
                out.put(static_cast<std::uint8_t>(index));
                record->entry = {};
            }
            attempt.silent_since = {};
            // Limits that are over are over, however long ago; what was seen off needs its looks no more.
            for (time_point* const limit : {&attempt.limit, &attempt.soft_until, &attempt.look_until}) {
                *limit = std::max(*limit, one.now);
            }
            if (attempt.proof != policy::fence_proof::none || attempt.is_failed) {
                attempt.off = {};
            }
            const bool is_told_for_good = attempt.origin != policy::fence_origin::seen_off || attempt.is_unseen_off ||
                                          attempt.is_off_sent || attempt.proof != policy::fence_proof::none;
            attempt.told_off_at = is_told_for_good ? time_point{} : std::max(attempt.told_off_at, one.now - 3s);
            attempt.proven_at = attempt.proof == policy::fence_proof::none || attempt.is_let_go
                                    ? time_point{}
                                    : std::max(attempt.proven_at, one.now - policy::fence_limits::after_proof);
            const bool is_heard_of_use = attempt.heard_on_at && !attempt.is_off_sent &&
                                         one.now - *attempt.heard_on_at <= policy::fence_limits::fresh;
            attempt.heard_on_at = is_heard_of_use ? attempt.heard_on_at : std::nullopt;
            if (attempt.moved_at) {
                attempt.moved_at = std::max(*attempt.moved_at, one.now - 2 * interval);
            }
            out.put(attempt);
        }
        out.put(own.recovery.has_value());
        if (own.recovery) {
            out.put(*own.recovery);
            out.put(static_cast<std::uint8_t>(own.recovering.what.index()));
            out.put(own.recovering.until);
        }
    }
    const auto part = out.finish();
    identity_builder all;
    all.word(part.bytes.a);
    all.word(part.bytes.b);
    for (const auto stamp : part.stamps) {
        all.half_word(static_cast<std::uint32_t>(stamp));
    }
    return all.finish();
}

}  // namespace pvc::explore::fences
