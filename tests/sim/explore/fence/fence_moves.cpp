// What can happen next in the world of a fence, and what comes of it.
#include "sim/explore/fence/fence_world.hpp"

#include <algorithm>
#include <set>

namespace pvc::explore::fences {

using namespace std::chrono_literals;
using kind = move::kind;
using model::daemon_state;
using model::vm_state;
namespace fence_ask = policy::fence_ask;

namespace {

constexpr duration restart_time = 20s;

bool is_asking(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    return own.is_up && own.attempt && !std::holds_alternative<fence_ask::change>(own.attempt->pending.what);
}

template <class What>
bool is_asking_for(const world& now, std::int8_t who) {
    return is_asking(now, who) && std::holds_alternative<What>(now.at(who).attempt->pending.what) &&
           !now.at(who).answers_at;
}

bool waits_for_lock(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    return own.is_up && own.attempt && own.attempt->wants_lock && now.lock == nobody;
}

void add_prompt(const world& now, std::vector<move>& out) {
    for (std::int8_t who = 0; who < 2; ++who) {
        const auto& own = now.at(who);
        if (waits_for_lock(now, who)) {
            out.push_back({kind::grant, who});
        }
        if (attempt_to_begin(now, who)) {
            out.push_back({kind::begin, who});
        }
        if (can_go_guest(now, who)) {
            out.push_back({kind::go_guest, who});
        } else if (can_go(now, who)) {
            out.push_back({kind::go, who});
        }
        if (!own.is_up && own.starts_at && now.now >= *own.starts_at) {
            out.push_back({kind::start, who});
        }
    }
    if (now.dead.boots_at && now.now >= *now.dead.boots_at) {
        out.push_back({kind::boot});
    }
    if (now.dead.is_back) {
        out.push_back({kind::say_run});
    }
    if (now.dead.board.off_at && now.now >= *now.dead.board.off_at) {
        out.push_back({kind::soft_off});
    }
    if (can_step_reference(now)) {
        out.push_back({kind::reference});
    }
}

bool is_in_sequence(const world& now) {
    return std::ranges::any_of(now.fencers, [&now](const fencer& one) {
        const bool has_just_heard_on = one.attempt && one.attempt->heard_on_at &&
                                       now.now - *one.attempt->heard_on_at <= policy::fence_limits::fresh;
        return one.attempt && !one.attempt->is_fenced &&
               (one.attempt->is_off_sent || one.attempt->off.heard_on() || has_just_heard_on);
    });
}

void add_faults(const world& now, std::vector<move>& out) {
    for (std::int8_t who = 0; who < 2; ++who) {
        const auto& own = now.at(who);
        if (!own.is_up || (!now.is_ours(who) && who == 1)) {
            continue;
        }
        const bool is_under_way = can_go_guest(now, who) || (is_asking(now, who) && can_go(now, who));
        if (own.attempt) {
            out.push_back({kind::crash, who});
            if (is_under_way) {
                out.push_back({kind::crash_done, who});
            }
        }
        if (now.lock == who) {
            out.push_back({kind::lose_lock, who});
        }
        const bool writes =
            is_asking_for<fence_ask::write>(now, who) ||
            (can_go_guest(now, who) && std::holds_alternative<policy::recovery_ask::write>(own.recovering.what));
        if (writes) {
            out.push_back({kind::lose_answer, who});
            out.push_back({kind::lose_write, who});
        }
        if (can_go_guest(now, who) && std::holds_alternative<policy::recovery_ask::clear_locks>(own.recovering.what)) {
            out.push_back({kind::lose_write, who});
            out.push_back({kind::slow, who});
        }
        if (can_go_guest(now, who) && std::holds_alternative<policy::recovery_ask::record>(own.recovering.what)) {
            out.push_back({kind::full_disk, who});
        }
        if (is_asking_for<fence_ask::record>(now, who)) {
            out.push_back({kind::full_disk, who});
        }
        if (is_asking_for<fence_ask::power>(now, who)) {
            out.push_back({kind::slow, who});
            out.push_back({kind::lose_write, who});
        }
    }
    auto& board = now.dead.board;
    if (!board.refuses) {
        out.push_back({kind::refuse});
        if (!board.is_soft) {
            out.push_back({kind::soften});
        }
        if (!board.lies_until && !is_in_sequence(now)) {
            out.push_back({kind::lie});
        }
    }
}

void add_others(const world& now, std::vector<move>& out) {
    const bool may_come_back = (now.dead.is_on && !now.dead.is_up && !now.dead.boots_at) || !now.dead.is_on;
    if (may_come_back) {
        out.push_back({kind::come_back});
    }
    if (now.guest.state == vm_state::start) {
        out.push_back({kind::client_stop});
    }
}

std::optional<broken_rule> crash(world& now, std::int8_t who) {
    auto& own = now.at(who);
    own.is_up = false;
    own.starts_at = now.now + restart_time;
    own.attempt.reset();
    own.recovery.reset();
    own.recovering = {};
    own.clears_at.reset();
    own.answers_at.reset();
    own.board_answer.reset();
    own.has_read_dead = false;
    own.memory.forget();
    if (now.lock == who) {
        now.lock = nobody;
    }
    return std::nullopt;
}

void beats(world& now) {
    now.keys.heartbeat_id = now.next_id();
    now.dead.is_up = now.dead.is_back = true;
    now.dead.board.has_booted = false;
}

// A host that boots says so before anything else, and beats; one that was cut off beats.
void come_back(world& now) {
    if (!now.dead.is_on) {
        switch_on(now);
        return;
    }
    beats(now);
}

void boot(world& now) {
    now.dead.boots_at.reset();
    now.keys.state = daemon_state::init;
    now.keys.state_id = now.next_id();
    beats(now);
}

void say_run(world& now) {
    now.dead.is_back = false;
    if (now.dead.has_guest && now.guest.node != victim) {
        now.dead.has_guest = false;  // it is another node's by now
    }
    if (now.keys.state != daemon_state::run) {
        now.keys.state = daemon_state::run;
        now.keys.state_id = now.next_id();
    }
    now.keys.is_recovering = false;
    now.keys.proof_by = nobody;
}

void begin_as(world& now, beginning_of how, bool loses_power) {
    now.is_begun = true;
    now.dead.is_up = false;
    now.dead.has_guest = true;
    auto& guest = now.guest;
    switch (how) {
        case beginning_of::own: break;
        case beginning_of::leaving:
            guest.state = vm_state::migrate;
            guest.node = taker;
            guest.last = victim;
            break;
        case beginning_of::listed_only:
        case beginning_of::arriving:
            now.dead.has_guest = false;
            guest.runs_beside = 1;
            guest.lock = 1;
            guest.node = how == beginning_of::arriving ? victim : std::int8_t{1};
            guest.last = how == beginning_of::arriving ? std::int8_t{1} : nobody;
            guest.state = how == beginning_of::arriving ? vm_state::migrate : vm_state::start;
            break;
    }
    if (loses_power) {
        lose_power(now);
    }
}

std::optional<broken_rule> begin(world& now, std::int8_t who) {
    auto& own = now.at(who);
    own.attempt = attempt_to_begin(now, who);
    const bool is_orphan =
        own.attempt->origin == policy::fence_origin::orphan || own.attempt->origin == policy::fence_origin::interrupted;
    if (is_orphan && own.memory.failures == 0 && now.now - own.memory.since < policy::fence_memory::orphan_age) {
        return broken_rule{"orphans_rest", std::string(name_of(who)) + " takes up what another may be at"};
    }
    return wake(now, who, true);
}

std::optional<broken_rule> change(world& now, const move& one) {
    switch (one.what) {
        case kind::choose: begin_as(now, static_cast<beginning_of>(one.other), one.who == 1); break;
        case kind::begin: return begin(now, one.who);
        case kind::grant: now.lock = one.who; return wake(now, one.who, true);
        case kind::go: return go(now, one.who, fate::done);
        case kind::go_guest: return go_guest(now, one.who, fate::done);
        case kind::boot: boot(now); break;
        case kind::say_run: say_run(now); break;
        case kind::soft_off: lose_power(now); break;
        case kind::start: {
            auto& own = now.at(one.who);
            own.is_up = true;
            own.starts_at.reset();
            own.connected_since = own.heard_at = now.now;
            own.saw_it_beat = false;
            own.seen_heartbeat = now.keys.heartbeat_id;
            break;
        }
        case kind::reference: step_reference(now); break;
        case kind::pass_time: {
            const auto all = times_to_come(now);
            now.now = *std::ranges::min_element(all);
            break;
        }
        case kind::crash: --now.faults; return crash(now, one.who);
        case kind::crash_done: {
            --now.faults;
            auto wrong = carry_out_unheard(now, one.who);
            const auto ignored = crash(now, one.who);
            static_cast<void>(ignored);
            return wrong;
        }
        case kind::lose_lock:
            --now.faults;
            now.lock = nobody;
            return wake(now, one.who, true);
        case kind::lose_answer:
        case kind::lose_write: {
            --now.faults;
            const auto how = one.what == kind::lose_answer ? fate::answer_lost : fate::not_done;
            return can_go_guest(now, one.who) ? go_guest(now, one.who, how) : go(now, one.who, how);
        }
        case kind::full_disk:
            --now.faults;
            return can_go_guest(now, one.who) ? go_guest(now, one.who, fate::not_done)
                                              : go(now, one.who, fate::not_done);
        case kind::slow:
            --now.faults;
            return can_go_guest(now, one.who) ? go_guest(now, one.who, fate::answer_lost)
                                              : go(now, one.who, fate::answer_lost);
        case kind::refuse:
            --now.faults;
            now.dead.board.refuses = true;
            break;
        case kind::heal: now.dead.board.refuses = false; break;
        case kind::soften:
            --now.faults;
            now.dead.board.is_soft = true;
            break;
        case kind::lie:
            --now.faults;
            now.dead.board.lies_until = now.now + 4s;
            now.dead.board.has_booted = true;
            break;
        case kind::come_back:
            --now.writes;
            come_back(now);
            break;
        case kind::client_stop:
            --now.writes;
            now.guest.state = vm_state::stop;
            now.guest.state_id = now.next_id();
            break;
    }
    return std::nullopt;
}

}  // namespace

std::vector<move> moves_of(const world& now) {
    std::vector<move> out;
    if (!now.is_begun) {
        for (std::int8_t power = 0; power < 2; ++power) {
            for (std::int8_t how = 0; how < 4; ++how) {
                out.push_back({kind::choose, power, how});
            }
        }
        return out;
    }
    add_prompt(now, out);
    if (out.empty() && !times_to_come(now).empty() && !is_at_rest(now)) {
        out.push_back({kind::pass_time});
    }
    // One answer that does not come is a fault of its own: this one lasts for an attempt.
    const bool is_attempted = now.at(0).attempt || now.at(1).attempt;
    if (now.dead.board.refuses && !is_attempted) {
        out.push_back({kind::heal});
    }
    if (now.faults > 0 && !is_at_rest(now)) {
        add_faults(now, out);
    }
    if (now.writes > 0 && !is_at_rest(now)) {
        add_others(now, out);
    }
    return out;
}

std::optional<broken_rule> apply(world& now, const move& one) {
    if (auto wrong = change(now, one)) {
        return wrong;
    }
    settle(now);
    return wrong_now(now);
}

}  // namespace pvc::explore::fences
