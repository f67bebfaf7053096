#include "pvcnoded/policy/domains/live_move.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::policy {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

namespace {

constexpr duration connect_limit = 5s;  // as the shell grants it
constexpr duration answer_time = 500ms;
constexpr duration look_every = 1s;
constexpr duration report_every = 30s;
constexpr duration abort_limit = 10s;
constexpr duration abort_again = 1s;
constexpr duration gone_patience = 2s;  // libvirt ends its call within milliseconds of the guest
constexpr double bytes_a_mib = 1024.0 * 1024.0;
constexpr double page_bytes = 4096.0;

std::int64_t seconds(duration time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

void report(context& c, const progress_read& now, duration running_for) {
    c.info(fmt::format("migrating for {} s: {:.0f} MiB left of {:.0f} MiB, {:.1f} MiB/s", seconds(running_for),
                       static_cast<double>(now.remaining_bytes) / bytes_a_mib,
                       static_cast<double>(now.total_bytes) / bytes_a_mib,
                       static_cast<double>(now.bytes_per_second) / bytes_a_mib));
}

void warn_of_stall(context& c, const progress_read& now, duration stalled_for) {
    c.warning(
        message::migration_stalls,
        fmt::format(
            "its live migration does not converge: nothing gained for {} s, {:.0f} MiB left, it writes {:.1f} MiB/s "
            "while {:.1f} MiB/s are copied. A larger migration_max_downtime, less load in the guest, or a migration "
            "through a shutdown would help; without progress it is ended after {} s (30 s if somebody waits for the "
            "machine)",
            seconds(stalled_for), static_cast<double>(now.remaining_bytes) / bytes_a_mib,
            static_cast<double>(now.dirty_pages_per_second) * page_bytes / bytes_a_mib,
            static_cast<double>(now.bytes_per_second) / bytes_a_mib, seconds(c.seen.stall_limit)));
}

bool is_hopeless(call_end code) {
    return code == call_end::wrong_state || code == call_end::unsafe || code == call_end::unsupported ||
           code == call_end::no_domain;
}

}  // namespace

void live_move::hold(holdings& what) const {
    if (where != at::begin && where != at::over) {
        what.call_to = target;
        what.gives_up_call = gives_up;
        what.follows_daemon_of = target;
    }
}

// Why the job must end now; empty: it goes on.
std::optional<live_end> live_move::reason_to_end(const context& c) const {
    if (c.seen.must_end) {
        return live_end::must_end;
    }
    const bool is_wanted =
        c.seen.is_present && c.seen.node == target && (is_migration(c.seen.state) || c.seen.state == vm_state::start);
    if (!is_wanted) {
        return live_end::withdrawn;
    }
    const auto daemon = c.seen.held.target_daemon;
    if (daemon == model::daemon_state::dead || daemon == model::daemon_state::fenced) {
        return live_end::target_dead;
    }
    return c.now - last_here >= gone_patience ? std::optional(live_end::gone) : std::nullopt;
}

step live_move::wait(context& /*c*/) {
    where = at::waiting;
    return {ask::change{}, next_look, "the end of a live migration"};
}

step live_move::look(context& c) {
    if (c.seen.held.call_outcome) {
        return wind_up(c);
    }
    last_here = c.seen.is_guest(guest_class::absent) ? last_here : c.now;
    why = reason_to_end(c);
    if (c.seen.held.call_begun && !watch) {
        watch.emplace(*c.seen.held.call_begun, c.seen.stall_limit);
        next_report = *c.seen.held.call_begun + report_every;
    }
    if (why) {
        abort_until = c.now + 2 * abort_limit;
        return abort(c);
    }
    if (c.now < next_look) {
        return wait(c);
    }
    next_look = c.now + look_every;
    if (watch) {
        where = at::looking;
        return {ask::progress{}, c.now + guest_query_limit, "libvirt, how far it is"};
    }
    nobody_waited = c.seen.held.somebody_waits ? nobody_waited : c.now;
    if (c.now - nobody_waited >= stall_limit_with_waiter) {
        why = live_end::somebody_waits;
        abort_until = c.now + 2 * abort_limit;
        return abort(c);
    }
    return wait(c);
}

step live_move::judge(context& c, const progress_read& progress) {
    if (c.seen.held.call_outcome) {
        return wind_up(c);
    }
    const bool is_copying = progress.is_known && progress.is_running;
    was_copying = was_copying || is_copying;
    const auto left = is_copying ? std::optional(progress.remaining_bytes) : std::nullopt;
    const auto verdict = watch->observe(c.now, left, c.seen.held.somebody_waits, progress.bytes_per_second);
    if (verdict != migration_watch::verdict::go_on) {
        why = verdict == migration_watch::verdict::no_progress ? live_end::no_progress : live_end::somebody_waits;
        abort_until = c.now + 2 * abort_limit;
        return abort(c);
    }
    if (progress.is_known && watch->must_warn(c.now)) {
        warn_of_stall(c, progress, watch->stalled_for(c.now));
    } else if (progress.is_known && c.now >= next_report) {
        next_report = c.now + report_every;
        report(c, progress, watch->running_for(c.now));
    }
    return wait(c);
}

// The call's own end says what became of it: an abort may be refused, or overtake its call.
step live_move::abort(context& c) {
    if (c.seen.held.call_outcome || c.now >= abort_until) {
        return wind_up(c);
    }
    where = at::aborting;
    return {ask::abort_call{}, c.now + abort_limit, "libvirt to end a live migration"};
}

step live_move::wait_aborted(context& c) {
    if (c.seen.held.call_outcome || c.now >= abort_next) {
        return abort(c);
    }
    where = at::aborted;
    return {ask::change{}, abort_next, "the end of an aborted migration"};
}

// Nothing else is decided before nothing of the call is under way any more.
step live_move::wind_up(context& c) {
    gives_up = gives_up || !c.seen.held.call_outcome;
    watch.reset();
    nobody_waited = last_here = next_look = next_report = abort_until = abort_next = {};
    if (c.seen.held.call_is_over) {
        return finish(c);
    }
    where = at::ending;
    return {ask::change{}, c.now + look_every, "the end of a live call"};
}

// What a libvirt answers is about the machine; of its own connection nobody there knows.
move_fault live_move::whose_fault(std::optional<call_end> ended) const {
    if (why) {
        return why == live_end::no_progress || why == live_end::target_dead ? move_fault::target : move_fault::neither;
    }
    switch (ended.value_or(call_end::timed_out)) {
        case call_end::timed_out:
        case call_end::no_target: return move_fault::target;
        case call_end::unavailable:
        case call_end::too_late: return move_fault::neither;
        default: return move_fault::machine;
    }
}

step live_move::finish(context& c) {
    where = at::over;
    const auto& ended = c.seen.held.call_outcome;
    if (ended == call_end::done) {
        end = live_end::moved;
        return over();
    }
    was_short = !why && !std::exchange(was_copying, false) &&
                c.now - c.seen.held.call_begun.value_or(c.now) <= connect_limit + answer_time;
    const std::string_view silent = why == live_end::gone ? "the guest is gone, and the call does not end"
                                                          : "the call did not end after it was aborted";
    fault = whose_fault(ended);
    text = ended ? c.seen.held.call_text : silent;
    was_busy = !why && ended == call_end::wrong_state &&
               (c.seen.is_guest(guest_class::alive) || c.seen.is_guest(guest_class::paused));
    end = why.value_or(ended && is_hopeless(*ended) ? live_end::hopeless : live_end::failed);
    return over();
}

step live_move::resume(context& c) {
    switch (where) {
        case at::begin:
            nobody_waited = last_here = c.now;
            next_look = c.now + look_every;
            next_report = c.now + report_every;
            where = at::waiting;
            return {ask::change{}, c.now, "the live call to begin"};
        case at::waiting: return look(c);
        case at::looking: return judge(c, c.answer_as<progress_read>());
        case at::aborting:
            abort_next = c.answer_as<call_answer>().end == call_end::done ? abort_until
                                                                          : std::min(abort_until, c.now + abort_again);
            return wait_aborted(c);
        case at::aborted: return wait_aborted(c);
        case at::ending: return wind_up(c);
        case at::over: break;
    }
    return over();
}

}  // namespace pvc::policy
