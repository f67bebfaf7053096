// What is begun about nodes that are dead: attempts, what others have left.
#include "fencer_part.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/model/fence_power.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::fencing {

using namespace std::chrono_literals;
using model::daemon_state;

namespace {
constexpr duration machines_every = 15s;
constexpr duration records_again = 10s;
constexpr duration may_power_on_within = 10min;
}  // namespace

// ---- what was left --------------------------------------------------------------------------------------------------

std::optional<policy::victim_seen> fencer_part::victim_of(const policy::node_seen& one) const {
    const auto found = closer_.find(one.name);
    if (found == closer_.end() || !one.state_id || !one.heartbeat_id || !found->second.domain_state->known() ||
        !found->second.proof->known() || !found->second.power->known()) {
        return std::nullopt;
    }
    const auto& look = found->second;
    policy::victim_seen seen;
    seen.state = one.state;
    seen.state_id = *one.state_id;
    seen.heartbeat_id = *one.heartbeat_id;
    seen.is_recovering = look.domain_state->present() &&
                         model::parse_domain_state(look.domain_state->data()) == model::domain_state::fence_flush;
    const auto proof = look.proof->present() ? model::parse_fence_proof(look.proof->data()) : std::nullopt;
    if (proof) {
        const auto written = look.proof->stat().mzxid;
        seen.proof = policy::stored_proof{.record = proof->record,
                                          .by = proof->coordinator,
                                          .which = proof_of(proof->kind),
                                          .is_valid = seen.state_id <= written && seen.heartbeat_id <= written};
    }
    const auto word = look.power->present() ? model::parse_fence_power(look.power->data()) : std::nullopt;
    seen.is_worded = word && !word->is_on && look.power->stat().mzxid > seen.heartbeat_id;
    return seen;
}

void fencer_part::take_up_left_over(const policy::node_seen& one, bool may_detect) {
    const auto victim = victim_of(one);
    if (!victim || runs_.contains(one.name)) {
        return;
    }
    auto& look = closer_.at(one.name);
    learn_records(one.name, look, *victim);
    const bool is_owed = victim->state == daemon_state::fenced && owed_power_on(one.name).has_value();
    const bool is_unsettled =
        victim->state == daemon_state::dead || victim->is_recovering || is_owed || has_recorded_word(one);
    if (!is_unsettled || (!look.are_records_read && !look.are_records_unread)) {
        return;
    }
    want_machines(machines_every);
    auto& memory = memories_[one.name];
    const time_point now = node_.clock().now();
    const auto self = observer();
    memory.look({.mark_id = victim->state_id,
                 .heartbeat_id = victim->heartbeat_id,
                 .is_recovering = victim->is_recovering,
                 .machines = machines_[one.name].hash},
                now);
    const auto next = policy::next_attempt({.victim = *victim,
                                            .may_detect = may_detect,
                                            .may_act = self.is_coordinator && self.is_run && self.is_heartbeat_fresh,
                                            .record = look.record,
                                            .is_recoverable_here = recovery_->can_recover(),
                                            .majority_stays = !one.is_coordinator || majority_stays_by(one.name, {}),
                                            .is_ours = false,
                                            .is_power_owed = is_owed},
                                           memory, now);
    if (next.why) {
        begin(one, *next.why);
    }
}

// Of the node as it is. What could not be read is read again: until then nothing is known of it, and the node is
// nobody's, as one of another coordinator is.
void fencer_part::learn_records(const std::string& node, closer_look& look, const policy::victim_seen& victim) {
    if (look.records_of != victim.state_id || look.records_of_beat != victim.heartbeat_id) {
        look.are_records_read = look.are_records_unread = false;
        look.read_again.reset();
    }
    const bool is_due = !look.read_again || node_.clock().now() >= *look.read_again;
    if (!look.are_records_read && !look.is_reading_records && is_due) {
        look.is_reading_records = true;
        scope_->spawn("records of " + node, [this, node, state = victim.state_id, beat = victim.heartbeat_id] {
            return read_records(node, state, beat);
        });
    }
}

std::optional<time_point> fencer_part::owed_power_on(const std::string& node) const {
    const auto found = closer_.find(node);
    const bool is_owed = found != closer_.end() && found->second.are_records_read && found->second.owed &&
                         node_.clock().now() - *found->second.owed <= may_power_on_within;
    return is_owed ? found->second.owed : std::nullopt;
}

// By an own record; else, as no other machine's clock counts, since this session saw it die; else by the servers'
// stamp.
time_point fencer_part::proven_at(const std::string& node) const {
    const auto& clock = node_.clock();
    const auto found = closer_.find(node);
    if (found == closer_.end()) {
        return clock.now();
    }
    const auto& look = found->second;
    if (look.found && look.found->proof) {
        return clock.now() - policy::age_in_record(*look.found, look.found->proof->at, node_.machine.boot_id,
                                                   model::fence_moment_of(clock));
    }
    if (look.was_seen_to_die && look.dead_since) {
        return *look.dead_since;
    }
    const wall_time stamped = look.proof->present() ? wall_time(look.proof->stat().mtime) : wall_time();
    return clock.now() - std::max<duration>(clock.wall_now() - stamped, duration::zero());
}

bool fencer_part::has_recorded_word(const policy::node_seen& one) const {
    const auto found = closer_.find(one.name);
    return found != closer_.end() && found->second.record == policy::own_record::worded && one.state_id &&
           found->second.records_of == *one.state_id && one.heartbeat_id &&
           found->second.records_of_beat == *one.heartbeat_id;
}

async::awaitable<void> fencer_part::read_records(std::string node, std::int64_t state_id, std::int64_t heartbeat_id) {
    constexpr duration looked_back = 24h * 7;
    const auto since = node_.clock().wall_now() - looked_back;
    const auto all = co_await owner_.ledgers_.records().about(node, since);
    changed_.notify();
    const auto found = closer_.find(node);
    if (found == closer_.end()) {
        co_return;
    }
    auto& look = found->second;
    look.is_reading_records = false;
    look.are_records_read = all.has_value();
    look.are_records_unread = !all;
    look.records_of = state_id;
    look.records_of_beat = heartbeat_id;
    look.record = policy::own_record::none;
    look.found.reset();
    look.owed.reset();
    look.left_off.clear();
    if (!all) {
        look.read_again = node_.clock().now() + records_again;
        co_return;
    }
    std::vector<model::fence_record> own;
    std::ranges::copy_if(*all, std::back_inserter(own),
                         [&](const auto& one) { return one.coordinator == node_.self(); });
    memories_[node].recall(
        policy::failures_in(own, state_id, heartbeat_id, node_.machine.boot_id, model::fence_moment_of(node_.clock())),
        state_id, heartbeat_id, node_.clock().now());
    const auto owed = policy::proof_of_owed_power_on(own, state_id, heartbeat_id, node_.machine.boot_id,
                                                     model::fence_moment_of(node_.clock()));
    look.owed = owed ? std::optional(node_.clock().now() - *owed) : std::nullopt;
    look.left_off = policy::why_left_off(own, state_id);
    for (const auto& one : own) {
        const auto says = policy::what_record_says(one, state_id, heartbeat_id);
        if (!says) {
            co_return;
        }
        if (*says == policy::own_record::none) {
            continue;
        }
        look.record = policy::as_old_as_it_is(*says, one, node_.machine.boot_id, model::fence_moment_of(node_.clock()));
        look.found = look.record == policy::own_record::none ? std::nullopt : std::optional(one);
        co_return;
    }
}

// ---- attempts -------------------------------------------------------------------------------------------------------

void fencer_part::begin(const policy::node_seen& one, policy::fence_origin why) {
    if (!one.state_id || !one.heartbeat_id) {
        return;
    }
    const auto victim = victim_of(one);
    const bool owes_power_on = why == policy::fence_origin::recovering && victim && !victim->is_recovering &&
                               owed_power_on(one.name).has_value();
    if (!may_queue_ && !owes_power_on) {
        waiting_.insert(one.name);
        if (why != policy::fence_origin::operators_word) {
            return;
        }
        // It stands in line all the same: whoever has the lock sees that, and does not switch the node on at once.
    }
    using action = config::fence_action;
    policy::fence_attempt machine;
    machine.node = one.name;
    machine.rules = {.keepalive = node_.times.keepalive,
                     .recovers = node_.config->fencing.successful == action::migrate,
                     .recovers_after_failure = node_.config->fencing.failed == action::migrate};
    machine.origin = why;
    machine.is_coordinator = one.is_coordinator;
    machine.heartbeat_id = *one.heartbeat_id;
    machine.mark_id = *one.state_id;
    machine.silent_since = node_.clock().now() - one.silent_for;
    if (const auto power = powers_.find(one.name); power != powers_.end() && power->second.answered) {
        machine.told_off_at = *power->second.answered;
    }
    auto ledger = owner_.ledgers_.begin(one.name);
    const auto closer = closer_.find(one.name);
    const auto* found = closer != closer_.end() && closer->second.found ? &*closer->second.found : nullptr;
    const bool goes_on = why == policy::fence_origin::proven || why == policy::fence_origin::resumed ||
                         why == policy::fence_origin::recovering;
    if (goes_on && found != nullptr) {
        ledger->follow(found->id);
        machine.proof_words = found->proof ? found->proof->text : std::string();
        machine.stored = found->proof ? proof_of(found->proof->kind) : machine.stored;
    }
    const bool is_fenced = victim && victim->state == daemon_state::fenced && victim->proof && victim->proof->is_valid;
    if (why == policy::fence_origin::operators_word && is_fenced) {
        ledger->follow(victim->proof->record);  // which tells what was recovered
    }
    if (why == policy::fence_origin::proven) {
        machine.power_on_until = proven_at(one.name) + may_power_on_within;
    }
    if (why == policy::fence_origin::recovering) {
        const bool is_word = victim && victim->proof && victim->proof->which == policy::fence_proof::operators_word;
        const bool is_own_word =
            found != nullptr && found->proof && found->proof->kind == model::fence_proof_kind::operator_word;
        if (victim && victim->proof && (found == nullptr || !found->proof)) {
            ledger->follow(victim->proof->record);
        }
        if (machine.proof_words.empty()) {
            machine.proof_words = victim && victim->proof ? fmt::format("proven by node {}, record {}",
                                                                        victim->proof->by, victim->proof->record)
                                                          : std::string("proven before");
        }
        machine.owes_power_on = owes_power_on;
        const time_point since = owes_power_on ? *owed_power_on(one.name) : proven_at(one.name);
        machine.power_on_until = is_word || is_own_word ? time_point::min() : since + may_power_on_within;
    }
    auto made = std::make_shared<fence_run>(fence_tools{session_, *this, lock_, boards_, owner_.ledgers_, *recovery_},
                                            std::move(machine), std::move(ledger));
    if (const auto word = words_.find(one.name); word != words_.end()) {
        made->take_word(word->second.word.although_on, word->second.word.by);
    }
    runs_[one.name] = made;
    begun_in_[one.name] = session_.ticks.value();
    scope_->spawn("fence of " + one.name, [this, made] { return carry_out(made); });
}

async::awaitable<void> fencer_part::carry_out(std::shared_ptr<fence_run> which) {
    struct ending {
        fencer_part& part;
        fence_run& run;
        ~ending() {
            const auto& machine = run.machine();
            const auto end = machine.end;
            ++part.owner_.counts_->attempts.at(static_cast<std::size_t>(end));
            if (run.has_had_lock() || machine.is_let_go) {
                auto& memory = part.memories_[machine.node];
                memory.ended(end, machine.mark_id, machine.heartbeat_id, part.node_.clock().now());
            }
            // One that came during its power-on is of a fence of its own.
            if (run.has_had_lock() && (machine.has_word || !machine.is_let_go)) {
                part.words_.erase(machine.node);
            }
            if (const auto closer = part.closer_.find(machine.node); closer != part.closer_.end()) {
                closer->second.are_records_read = false;
            }
            part.runs_.erase(machine.node);
            part.give_turn();
            part.changed_.notify();
        }
    };
    const ending guard{*this, *which};
    co_await which->run();
    if (which->machine().end == policy::fence_end::unrecordable && !std::exchange(is_disk_awaited_, true)) {
        scope_->spawn("records to be written again", [this] { return await_disk(); });
    }
}

// Once a record can be written again, nobody waits for the end of his five minutes.
async::awaitable<void> fencer_part::await_disk() {
    constexpr duration tried_every = 30s;
    for (bool can_write = false; !can_write;) {
        co_await async::sleep_for(node_.clock(), tried_every, "another try to write a record");
        const auto tried = co_await owner_.ledgers_.records().try_write();
        can_write = tried.has_value();
    }
    is_disk_awaited_ = false;
    for (auto& one : memories_) {
        one.second.not_before.reset();
    }
    changed_.notify();
}

}  // namespace pvc::fencing
