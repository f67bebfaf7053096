// A coordinator of ours: what the shell does with what a fence and the recovery of a machine ask for, and what must
// hold of each effect.
#include "sim/explore/fence/fence_world.hpp"

#include <algorithm>

namespace pvc::explore::fences {

using namespace std::chrono_literals;
using model::daemon_state;
using model::vm_state;
namespace fence_ask = policy::fence_ask;
namespace fence_said = policy::fence_said;
namespace recovery_ask = policy::recovery_ask;
namespace recovery_said = policy::recovery_said;
using verdict = std::optional<broken_rule>;

namespace {

policy::fence_seen seen_by(const world& now, std::int8_t who) {
    return {.session_lives = true,
            .has_lock = now.lock == who,
            .must_end = false,
            .has_turn = true,
            .is_board_silent = false,
            .has_board_said_on = now.dead.life == 0 && !now.dead.board.has_booted && !now.dead.board.refuses,
            .is_confirmed = false,
            .fences_in_an_hour = 0};
}

// The versions of the last guarded read are those by which the fence knows the node.
bool is_guarded(const world& now, std::int8_t who) {
    const auto& attempt = *now.at(who).attempt;
    return now.lock == who && now.keys.state_id == attempt.mark_id && now.keys.heartbeat_id == attempt.heartbeat_id;
}

void end_attempt(world& now, std::int8_t who) {
    auto& own = now.at(who);
    const auto& attempt = *own.attempt;
    own.memory.ended(attempt.end, attempt.mark_id, attempt.heartbeat_id, now.now);
    own.record.is_closed = own.record.is_closed || attempt.end != policy::fence_end::abandoned;
    own.attempt.reset();
    own.recovery.reset();
    own.recovering = {};
    own.clears_at.reset();
    own.has_read_dead = false;
}

verdict resume(world& now, std::int8_t who, const fence_said::any& said, std::uint32_t number, bool session_lives) {
    auto& own = now.at(who);
    std::vector<policy::fence_act::any> acts;
    auto seen = seen_by(now, who);
    seen.session_lives = session_lives;
    const auto step = own.attempt->resume({seen, said, number, now.now}, acts);
    own.answers_at.reset();
    own.board_answer.reset();
    if (now.lock == who && !own.attempt->wants_lock) {
        now.lock = nobody;
    }
    if (step.is_over()) {
        end_attempt(now, who);
        return std::nullopt;
    }
    if (const auto* const asked = std::get_if<fence_ask::recover>(&step.what)) {
        if (!own.recovery) {
            own.recovery.emplace();
            own.has_read_back = false;
            own.recovery->dead_node = "hv3";
            own.recovery->proof = asked->proof;
            own.recovery->mark_id = asked->mark_id;
            own.recovery->heartbeat_id = asked->heartbeat_id;
            std::vector<policy::fence_entry::guest> notes;
            own.recovering = own.recovery->resume(recovery_said::woken{}, now.now, notes);
        }
    } else {
        own.recovery.reset();
        own.clears_at.reset();
    }
    return std::nullopt;
}

broken_rule broken(std::string_view rule, std::int8_t who, std::string_view what) {
    return {std::string(rule), std::string(name_of(who)) + " " + std::string(what)};
}

verdict has_proof(const world& now, std::int8_t who, std::string_view what) {
    const auto& record = now.at(who).record;
    if (record.proof == policy::fence_proof::none) {
        return broken("fence_has_proof", who, std::string(what) + " without a synced proof");
    }
    if (record.proof == policy::fence_proof::power && !record.is_of_dead_guest && !now.has_reference_acted) {
        return broken("fence_has_proof", who, std::string(what) + ", and hv3 was not off");
    }
    return std::nullopt;
}

// ---- writes about the node ------------------------------------------------------------------------------------------

verdict check_write(const world& now, std::int8_t who, const fence_ask::write& what) {
    const auto& attempt = *now.at(who).attempt;
    switch (what.what) {
        case policy::fence_write::fenced: return has_proof(now, who, "writes fenced");
        case policy::fence_write::role: {
            const bool had_throws = attempt.throws >= policy::fence_limits::throws;
            const bool is_new =
                attempt.origin == policy::fence_origin::silence || attempt.origin == policy::fence_origin::seen_off;
            const bool is_undisturbed = now.faults == now.of.faults && !now.has_reference_acted;
            if (attempt.is_failed && !now.dead.is_on && is_undisturbed) {
                return broken("off_is_believed", who, "does not see off what its board says is");
            }
            return attempt.is_failed && is_new && !had_throws
                       ? verdict(broken("throws_are_had", who, "gives the role away of a node that had no throws"))
                       : std::nullopt;
        }
        case policy::fence_write::flushed: {
            const bool is_its_own = now.guest.node == victim && now.guest.state == vm_state::start;
            return is_its_own && what.left.empty()
                       ? verdict(broken("nothing_forgotten", who, "leaves the machine in no list"))
                       : std::nullopt;
        }
        case policy::fence_write::mark:
        case policy::fence_write::flush: break;
    }
    return std::nullopt;
}

std::int64_t write_keys(world& now, std::int8_t who, const fence_ask::write& what) {
    auto& own = now.at(who);
    const auto id = now.next_id();
    switch (what.what) {
        case policy::fence_write::mark:
            now.keys.state = daemon_state::dead;
            now.keys.state_id = id;
            break;
        case policy::fence_write::fenced:
            now.keys.state = daemon_state::fenced;
            now.keys.state_id = now.keys.proof_id = id;
            now.keys.is_recovering = what.recovers;
            now.keys.proof_by = who;
            now.keys.proof = what.proof;
            own.record.fenced_id = id;
            break;
        case policy::fence_write::flush: now.keys.is_recovering = true; break;
        case policy::fence_write::flushed:
            now.keys.is_recovering = false;
            if (what.resets_figures) {
                now.keys.is_listed = !what.left.empty();
            }
            break;
        case policy::fence_write::role: break;
    }
    return id;
}

verdict write(world& now, std::int8_t who, const fence_ask::write& what, fate how, std::uint32_t number) {
    using end = fence_said::written::end;
    if (how == fate::not_done) {
        return resume(now, who, fence_said::written{}, number, true);
    }
    if (!is_guarded(now, who)) {
        return resume(now, who, fence_said::written{how == fate::done ? end::overtaken : end::unknown, 0}, number,
                      true);
    }
    if (auto wrong = check_write(now, who, what)) {
        return wrong;
    }
    const auto id = write_keys(now, who, what);
    return resume(now, who, how == fate::done ? fence_said::written{end::written, id} : fence_said::written{}, number,
                  true);
}

// ---- the board ------------------------------------------------------------------------------------------------------

verdict check_off(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    if (now.lock != who) {
        return broken("one_fencer", who, "switches hv3 off without the fence lock");
    }
    if (!own.has_read_dead) {
        return broken("living_not_fenced", who, "switches hv3 off, which its last look does not show dead");
    }
    if (!own.record.is_opened) {
        return broken("fence_has_proof", who, "switches hv3 off without a record");
    }
    if (own.attempt->offs == 0 && !own.has_read_majority) {
        return broken("majority_stays", who, "switches hv3 off, and is alone then");
    }
    return std::nullopt;
}

fence_said::board ask_board(world& now, policy::board_command what) {
    const auto& board = now.dead.board;
    if (board.refuses) {
        return {.is_begun = true,
                .status = 1,
                .output = {},
                .errors = "Error: Unable to establish IPMI v2 / RMCP+ session"};
    }
    switch (what) {
        case policy::board_command::off: switch_off(now); break;
        case policy::board_command::on: switch_on(now); break;
        case policy::board_command::status: {
            const bool says_on = now.dead.is_on && !board.lies_until;
            return {.is_begun = true,
                    .status = 0,
                    .output = says_on ? "Chassis Power is on" : "Chassis Power is off",
                    .errors = {}};
        }
    }
    return {.is_begun = true, .status = 0, .output = "Chassis Power Control", .errors = {}};
}

verdict command(world& now, std::int8_t who, const fence_ask::power& what, fate how, std::uint32_t number) {
    auto& own = now.at(who);
    if (how == fate::not_done) {
        return resume(now, who, fence_said::board{.is_begun = true, .status = {}, .output = {}, .errors = {}}, number,
                      true);
    }
    if (own.board_answer) {
        const auto answer = *own.board_answer;
        return resume(now, who, answer, number, true);
    }
    if (boot_time(now.now.time_since_epoch()) - what.sent > 2s) {
        return resume(now, who, fence_said::board{}, number, true);
    }
    if (what.what == policy::board_command::off) {
        if (auto wrong = check_off(now, who)) {
            return wrong;
        }
    }
    if (what.what == policy::board_command::on && now.keys.is_recovering && own.attempt->is_fenced) {
        return broken("power_on_last", who, "switches hv3 on before its machines are recovered");
    }
    auto answer = ask_board(now, what.what);
    if (how == fate::answer_lost) {  // slow
        own.answers_at = now.now + 10s;
        own.board_answer = std::move(answer);
        return std::nullopt;
    }
    return resume(now, who, answer, number, true);
}

verdict record(world& now, std::int8_t who, const fence_ask::record& what, fate how, std::uint32_t number) {
    if (how != fate::done) {
        return resume(now, who, fence_said::synced{false}, number, true);
    }
    auto& own = now.at(who);
    if (const auto* const opened = std::get_if<policy::fence_entry::opened>(&what.entry)) {
        const bool is_going_on = own.record.is_opened && own.record.heartbeat_id == opened->heartbeat_id &&
                                 (own.attempt->is_proof_recorded || own.attempt->owes_power_on);
        if (!is_going_on) {
            const auto fenced_id = own.attempt->is_fenced ? opened->mark_id : 0;
            own.record = {};
            own.record.fenced_id = fenced_id;
            own.record.life = now.dead.life;
        }
        own.record.is_opened = true;
        own.record.heartbeat_id = opened->heartbeat_id;
        own.record.mark_id = opened->mark_id;
    } else if (const auto* const proof = std::get_if<policy::fence_entry::proof>(&what.entry)) {
        own.record.proof = proof->which;
        own.record.heartbeat_id = proof->heartbeat_id;
        own.record.mark_id = proof->mark_id;
        own.record.is_of_dead_guest = !now.dead.is_on || own.record.life != now.dead.life || own.attempt->is_fenced;
        own.record.proven_at = now.now;
    }
    return resume(now, who, fence_said::synced{true}, number, true);
}

fence_said::read read_keys(world& now, std::int8_t who) {
    auto& own = now.at(who);
    const auto seen = seen_victim(now);
    const auto& attempt = *own.attempt;
    const bool is_marked = seen.state == daemon_state::dead || seen.state == daemon_state::fenced;
    own.has_read_dead = is_marked && seen.state_id == attempt.mark_id && seen.heartbeat_id == attempt.heartbeat_id;
    own.has_read_majority = now.at(static_cast<std::int8_t>(1 - who)).is_up;
    return {.victim = seen,
            .has_lock = now.lock == who,
            .in_maintenance = false,
            .majority_stays = own.has_read_majority,
            .sent = boot_time(now.now.time_since_epoch())};
}

}  // namespace

bool can_go(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    if (!own.is_up || !own.attempt) {
        return false;
    }
    const auto& pending = own.attempt->pending;
    if (std::holds_alternative<fence_ask::change>(pending.what)) {
        return now.now >= pending.until;
    }
    if (std::holds_alternative<fence_ask::recover>(pending.what)) {
        return false;
    }
    return !own.answers_at || now.now >= *own.answers_at;
}

verdict wake(world& now, std::int8_t who, bool session_lives) {
    if (!now.at(who).attempt) {
        return std::nullopt;
    }
    const auto answers_at = now.at(who).answers_at;
    const auto answer = now.at(who).board_answer;
    const auto asked = now.at(who).attempt->asked;
    auto wrong = resume(now, who, fence_said::woken{}, 0, session_lives);
    if (now.at(who).attempt && now.at(who).attempt->asked == asked) {
        now.at(who).answers_at = answers_at;  // it goes on waiting for that
        now.at(who).board_answer = answer;
    }
    return wrong;
}

verdict go(world& now, std::int8_t who, fate how) {
    const auto pending = now.at(who).attempt->pending;
    if (std::holds_alternative<fence_ask::change>(pending.what)) {
        return resume(now, who, fence_said::woken{}, 0, true);
    }
    if (std::holds_alternative<fence_ask::guarded_read>(pending.what)) {
        const auto said = how == fate::done ? read_keys(now, who) : fence_said::read{};
        return resume(now, who, said, pending.number, true);
    }
    if (const auto* const what = std::get_if<fence_ask::write>(&pending.what)) {
        return write(now, who, *what, how, pending.number);
    }
    if (const auto* const what = std::get_if<fence_ask::power>(&pending.what)) {
        return command(now, who, *what, how, pending.number);
    }
    if (const auto* const what = std::get_if<fence_ask::record>(&pending.what)) {
        return record(now, who, *what, how, pending.number);
    }
    return std::nullopt;
}

// ---- the recovery of the machine ------------------------------------------------------------------------------------

namespace {

policy::guest_keys stored_guest(const world& now) {
    policy::guest_keys keys;
    keys.state = now.guest.state;
    keys.node = std::string(name_of(now.guest.node));
    keys.last_node = now.guest.last == nobody ? std::string() : std::string(name_of(now.guest.last));
    keys.autostart = now.guest.autostart;
    keys.state_id = now.guest.state_id;
    keys.autostart_id = now.guest.autostart ? now.guest.state_id : 0;
    keys.volumes = {"vms/u1"};
    keys.are_all_rbd = true;
    return keys;
}

bool is_guest_guarded(const world& now, std::int8_t who) {
    const auto& of = *now.at(who).recovery;
    return now.lock == who && now.keys.state_id == of.mark_id && now.keys.heartbeat_id == of.heartbeat_id &&
           now.guest.state_id == of.keys.state_id;
}

recovery_said::others asked_others(const world& now) {
    recovery_said::others said{true, {}};
    for (const std::int8_t node : {std::int8_t{0}, std::int8_t{1}, taker}) {
        const bool has_it = now.guest.runs_beside == node;
        said.nodes.push_back({std::string(name_of(node)), daemon_state::run, has_it,
                              has_it ? policy::remote_answer::alive : policy::remote_answer::absent});
    }
    return said;
}

recovery_said::cleared clear(world& now, std::int8_t who, verdict& wrong) {
    using kind = recovery_said::cleared::kind;
    if (!is_guest_guarded(now, who)) {
        return {kind::changed, {}, {}, {}};
    }
    if (now.guest.lock == nobody) {
        return {kind::clear, {}, {}, {}};
    }
    wrong = has_proof(now, who, "breaks a lock");
    if (!wrong && now.guest.runs_beside == now.guest.lock && !now.has_reference_acted) {
        wrong = broken("living_keeps_its_locks", who,
                       "breaks the lock of the machine that lives on " + std::string(name_of(now.guest.lock)));
    }
    if (now.guest.lock == victim) {
        now.dead.is_blocked = true;
    }
    now.guest.lock = nobody;
    return {kind::clear, {}, {}, {}};
}

fence_said::written move_guest(world& now, std::int8_t who, const recovery_ask::write& what, verdict& wrong) {
    using end = fence_said::written::end;
    using kind = recovery_ask::write::kind;
    if (!is_guest_guarded(now, who)) {
        return {end::overtaken, 0};
    }
    if (what.what == kind::moves || what.what == kind::parks) {
        wrong = has_proof(now, who, "moves a machine");
    }
    now.guest.state_id = now.next_id();
    now.guest.state = what.what == kind::stopped || what.what == kind::parks ? vm_state::stop : vm_state::start;
    now.guest.autostart = what.what == kind::parks;
    if (what.what == kind::moves || what.what == kind::stays || what.what == kind::revives) {
        const auto node_of = [](const std::string& name) {
            return name.empty() ? nobody : static_cast<std::int8_t>(name.back() - '1');
        };
        now.guest.node = node_of(what.node);
        now.guest.last = node_of(what.last_node);
    }
    return {end::written, now.guest.state_id};
}

verdict resume_guest(world& now, std::int8_t who, const recovery_said::any& said) {
    auto& own = now.at(who);
    std::vector<policy::fence_entry::guest> notes;
    own.recovering = own.recovery->resume(said, now.now, notes);
    if (!own.recovering.is_over()) {
        return std::nullopt;
    }
    fence_said::recovered all{.how = fence_said::recovered::end::finished, .left = {}};
    switch (own.recovery->end) {
        case policy::guest_end::node_back: all.how = fence_said::recovered::end::node_back; break;
        case policy::guest_end::abandoned: all.how = fence_said::recovered::end::abandoned; break;
        case policy::guest_end::kept: all.left.emplace_back(); break;
        default: break;
    }
    own.recovery.reset();
    return resume(now, who, all, own.attempt->pending.number, true);
}

}  // namespace

bool can_go_guest(const world& now, std::int8_t who) {
    const auto& own = now.at(who);
    if (!own.is_up || !own.recovery || (own.clears_at && now.now < *own.clears_at)) {
        return false;
    }
    if (std::holds_alternative<recovery_ask::time>(own.recovering.what)) {
        return now.now >= own.recovering.until;
    }
    if (const auto* const runs = std::get_if<recovery_ask::runs>(&own.recovering.what)) {
        return name_of(now.guest.runs_beside) == runs->node || now.now >= own.recovering.until;
    }
    return true;
}

verdict go_guest(world& now, std::int8_t who, fate how) {
    const auto& what = now.at(who).recovering.what;
    verdict wrong;
    if (how == fate::answer_lost && std::holds_alternative<recovery_ask::clear_locks>(what)) {
        now.at(who).clears_at = now.now + 60s;
        return std::nullopt;
    }
    now.at(who).clears_at.reset();
    const bool is_harmless = std::holds_alternative<recovery_ask::guarded_read>(what) ||
                             std::holds_alternative<recovery_ask::time>(what) ||
                             std::holds_alternative<recovery_ask::runs>(what);
    if (now.at(who).has_read_back && !is_harmless) {
        return broken("return_is_heeded", who, "goes on with the machine of a node that it has read to be back");
    }
    if (std::holds_alternative<recovery_ask::guarded_read>(what)) {
        recovery_said::read said;
        if (how == fate::done) {
            said = {seen_victim(now), stored_guest(now), now.lock == who};
            const auto& of = *now.at(who).recovery;
            now.at(who).has_read_back =
                said.victim->state_id != of.mark_id || said.victim->heartbeat_id != of.heartbeat_id;
        }
        return resume_guest(now, who, said);
    }
    if (std::holds_alternative<recovery_ask::others>(what)) {
        return resume_guest(now, who, asked_others(now));
    }
    if (std::holds_alternative<recovery_ask::target>(what)) {
        return resume_guest(now, who, policy::planned_guest{policy::planned_guest::kind::placed, "hv4", "free"});
    }
    if (std::holds_alternative<recovery_ask::clear_locks>(what)) {
        const auto said = how == fate::not_done
                              ? recovery_said::cleared{recovery_said::cleared::kind::refused, {}, {}, {}}
                              : clear(now, who, wrong);
        if (wrong) {
            return wrong;
        }
        return resume_guest(now, who, said);
    }
    if (std::holds_alternative<recovery_ask::prove_silent>(what)) {
        now.dead.is_blocked = now.dead.has_guest;
        return resume_guest(now, who, recovery_said::proven{recovery_said::proven::kind::proven, {}, {}});
    }
    if (std::holds_alternative<recovery_ask::record>(what)) {
        if (how == fate::done) {
            now.at(who).record.proof = policy::fence_proof::storage;
        }
        const auto wrong_words = how == fate::done ? std::nullopt : std::optional<std::string>("no space left");
        return resume_guest(now, who, recovery_said::done{wrong_words});
    }
    if (const auto* const asked = std::get_if<recovery_ask::write>(&what)) {
        const auto said = how == fate::not_done ? fence_said::written{} : move_guest(now, who, *asked, wrong);
        if (wrong) {
            return wrong;
        }
        return resume_guest(now, who, how == fate::done ? said : fence_said::written{});
    }
    if (const auto* const runs = std::get_if<recovery_ask::runs>(&what)) {
        return resume_guest(now, who, recovery_said::seen_to_run{.is = name_of(now.guest.runs_beside) == runs->node});
    }
    return resume_guest(now, who, recovery_said::woken{});
}

verdict carry_out_unheard(world& now, std::int8_t who) {
    return can_go_guest(now, who) ? go_guest(now, who, fate::done) : go(now, who, fate::done);
}

}  // namespace pvc::explore::fences
