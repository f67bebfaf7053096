// Live, as often as it may help; then through a shutdown.
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"
#include "pvcnoded/policy/domains/sending.hpp"

#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;

namespace {
constexpr duration downtime_limit = 5s;
constexpr duration pause_between_tries = 500ms;
constexpr duration busy_patience = 30s;
constexpr int live_tries_max = 3;
constexpr duration leave_patience = 10s;
}  // namespace

step sending::begin_move(context& c) {
    nobody_waited = {};
    told_turn = false;
    if (max_downtime) {
        where = at::setting_downtime;
        return {ask::set_downtime{*std::exchange(max_downtime, std::nullopt)}, c.now + downtime_limit,
                "libvirt, to set its maximum downtime"};
    }
    return attempt_move(c);
}

step sending::downtime_set(context& c) {
    const auto& set = c.answer_as<call_answer>();
    if (set.end != call_end::done) {
        c.warning(message::migration_downtime, "its maximum downtime could not be set: " + set.text);
    }
    return attempt_move(c);
}

step sending::attempt_move(context& c) {
    if (!std::exchange(has_tried, true)) {
        c.memory.migration.is_sent_by_us = true;
        c.memory.migration.sent_to = target;
        c.acts.emplace_back(act::write_record{"sender", target, "live"});
        may_fall_back = !c.seen.held.sync_alone;
    }
    if (attempt == 1) {
        c.state("migrating to node " + shown(target));
    }
    move = {.target = target};
    who = {};
    where = at::moving;
    return resume(c);
}

step sending::has_moved(context& c) {
    if (move.end == live_end::moved) {
        leave_by = c.now + leave_patience;
        forget_tries();
        return wait_gone(c);
    }
    c.warning(message::migration_attempt,
              move.text.empty() ? "the live migration ended early" : "live migration: " + move.text);
    why = "live migration failed: " + move.text;
    fault = move.fault;
    who = {.target = target, .holds_locks = true};
    where = at::resolving;
    return resume(c);
}

step sending::is_resolved(context& c) {
    bool may_try_again = move.end != live_end::hopeless;
    switch (who.end) {
        case resolution::moved: return finish_moved(c);
        case resolution::ended: return finish_ended(c);
        case resolution::let_go: is_let_go = !c.seen.is_guest(guest_class::absent); return unlock(c);
        case resolution::overtaken: return unlock(c);
        case resolution::unanswered:
            // What could not even begin may be tried again (8.6), what broke on its way may not (8.3).
            may_fall_back = false;
            may_try_again = may_try_again && move.was_short;
            fault = move_fault::target;
            break;
        case resolution::kept_without_proof:
            may_fall_back = false;
            may_try_again = false;
            break;
        case resolution::clean_failure: may_fall_back = !c.seen.held.sync_alone; break;
    }
    if (move.end == live_end::must_end || c.seen.must_end) {
        return roll_back(c, "the daemon stops");
    }
    return is_unchanged(c) ? judge_try(c, may_try_again) : unlock(c);
}

// Of what is over nothing is remembered: two that go on alike are alike.
void sending::forget_tries() {
    move = {};
    who = {};
    power = {};
    busy_until.reset();
    max_downtime.reset();
    attempt = 1;
    has_tried = may_fall_back = false;
    why.clear();
    fault = move_fault::neither;
}

step sending::judge_try(context& c, bool may_try_again) {
    switch (move.end) {
        case live_end::target_dead:
            may_fall_back = false;
            why = "node " + shown(target) + " died";
            return give_up_live(c);
        case live_end::somebody_waits:
            may_fall_back = false;
            why = "it did not converge, and somebody waits for the machine";
            return give_up_live(c);
        case live_end::no_progress:
            why = "live migration made no progress for " +
                  std::to_string(std::chrono::duration_cast<std::chrono::seconds>(c.seen.stall_limit).count()) + " s";
            return give_up_live(c);
        default: return try_again(c, may_try_again);
    }
}

step sending::try_again(context& c, bool may_try_again) {
    // The job of an earlier session, or somebody else's, takes a moment to go.
    busy_until = move.was_busy ? busy_until.value_or(c.now + busy_patience) : busy_until;
    const bool is_busy = move.was_busy && who.end == resolution::clean_failure && c.now < *busy_until;
    if (!is_busy && (!may_try_again || attempt == live_tries_max)) {
        return give_up_live(c);
    }
    attempt += is_busy ? 0 : 1;
    where = at::pausing_tries;
    return {ask::time{}, c.now + pause_between_tries,
            is_busy ? "an earlier job of libvirt to end" : "the next try of a live migration"};
}

step sending::give_up_live(context& c) {
    if (!may_fall_back || !mode(c).offline) {
        return roll_back(c, why);
    }
    where = at::asking_target;
    return {ask::daemon_runs{target}, time_point::max(), "whether its new node is there"};
}

step sending::move_offline(context& c) {
    if (where == at::asking_target) {
        c.warning(message::migration_offline, why + ": moving it through a shutdown");
    }
    wants_turn = false;
    c.state("moving to node " + shown(target) + " through a shutdown");
    c.memory.migration.is_sent_by_us = false;  // it is here and nowhere else: when it has ended, that was its end
    c.acts.emplace_back(act::write_record{"sender", target, "offline"});
    forget_tries();
    where = at::powering_down;
    return power_down(c);
}

step sending::power_down(context& c) {
    step next = power.resume(c, is_unchanged(c) && mode(c).offline);
    if (!next.is_over()) {
        return next;
    }
    if (std::exchange(power, {}).end == power_end::off) {
        return finish_ended(c);
    }
    return c.seen.must_end && is_unchanged(c) ? roll_back(c, "the daemon stops") : unlock(c);
}

}  // namespace pvc::policy
