#include "operations/live.hpp"

#include "pvcnoded/policy/domains/domain_timing.hpp"

#include <fmt/format.h>

namespace pvc::domains {

using namespace std::chrono_literals;
using hypervisor::call_error;
using model::vm_state;

namespace {

constexpr duration connect_limit = 5s;
constexpr duration look_every = 1s;
constexpr duration report_every = 30s;
constexpr duration abort_limit = 10s;
constexpr duration abort_again = 1s;
constexpr duration gone_patience = 2s;  // libvirt ends its call within milliseconds of the guest
constexpr double mib = 1024.0 * 1024.0;

// Why the job must end now; empty: it goes on.
std::optional<live_end> reason_to_end(const operation& op, const std::string& target,
                                      const zookeeper::watched& daemon_state) {
    if (op.must_end()) {
        return live_end::must_end;
    }
    const bool is_same_node = op.row.node != nullptr && *op.row.node == target;
    const bool is_wanted =
        op.row.is_present && is_same_node && (policy::is_migration(op.row.state) || op.row.state == vm_state::start);
    if (!is_wanted) {
        return live_end::withdrawn;
    }
    const auto daemon = model::parse_daemon_state(daemon_state.data());
    if (daemon_state.known() && daemon_state.present() &&
        (daemon == model::daemon_state::dead || daemon == model::daemon_state::fenced)) {
        return live_end::target_dead;
    }
    return std::nullopt;
}

void report(operation& op, const hypervisor::migration_progress& now, duration running_for) {
    op.info(fmt::format("migrating for {} s: {:.0f} MiB left of {:.0f} MiB, {:.1f} MiB/s",
                        std::chrono::duration_cast<std::chrono::seconds>(running_for).count(),
                        static_cast<double>(now.remaining_bytes) / mib, static_cast<double>(now.total_bytes) / mib,
                        static_cast<double>(now.bytes_per_second) / mib));
}

void warn_of_stall(operation& op, const hypervisor::migration_progress& now, duration stalled_for) {
    constexpr double page_bytes = 4096.0;
    op.warning(
        message::migration_stalls,
        fmt::format(
            "its live migration does not converge: nothing gained for {} s, {:.0f} MiB left, it writes {:.1f} MiB/s "
            "while "
            "{:.1f} MiB/s are copied. A larger migration_max_downtime, less load in the guest, or a migration through "
            "a "
            "shutdown would help; without progress it is ended after {} s (30 s if somebody waits for the machine)",
            std::chrono::duration_cast<std::chrono::seconds>(stalled_for).count(),
            static_cast<double>(now.remaining_bytes) / mib,
            static_cast<double>(now.dirty_pages_per_second) * page_bytes / mib,
            static_cast<double>(now.bytes_per_second) / mib, op.node.config->hypervisor.stall_limit.count()));
}

bool is_hopeless(call_error code) {
    return code == call_error::wrong_state || code == call_error::unsafe || code == call_error::unsupported ||
           code == call_error::no_domain;
}

}  // namespace

async::awaitable<live_result> migrate_live(operation& op, std::string target,
                                           const zookeeper::watched& state_children) {
    live_result outcome;
    const auto& settings = op.node.config->hypervisor;
    // Its clocks run from when the call has its thread: one that waits for another's end is not slow.
    const auto begun = std::make_shared<std::optional<time_point>>();
    auto daemon_state = op.s.watches.add(model::node_path(target, model::node_key::daemon_state),
                                         zookeeper::watch_kind::data, op.here.changed);
    std::optional<live_end> why;
    bool was_copying = false;
    hypervisor::migration how;
    how.peer = op.address_of(target);
    how.data_uri = "tcp://" + op.address_of(target);
    how.connect_within = connect_limit;
    how.begun = begun;
    how.mib_per_second = settings.migration_bandwidth;
    migration_calls::call call(op.calls, op.id, std::move(how), op.here.changed);
    const auto& ended = call.outcome();
    policy::migration_watch watch(op.now(), settings.stall_limit);
    bool is_watched = false;
    time_point nobody_waited = op.now();
    time_point last_here = op.now();
    time_point next_look = op.now() + look_every;
    time_point next_report = op.now() + report_every;
    while (!ended) {
        why = reason_to_end(op, target, *daemon_state);
        last_here = op.is_guest(model::guest_class::absent) ? last_here : op.now();
        if (!why && op.now() - last_here >= gone_patience) {
            why = live_end::gone;
        }
        if (*begun && !std::exchange(is_watched, true)) {
            watch = policy::migration_watch(**begun, settings.stall_limit);
            next_report = **begun + report_every;
        }
        if (!why && !is_watched && op.now() >= next_look) {
            next_look = op.now() + look_every;
            nobody_waited = somebody_waits(op, state_children) ? nobody_waited : op.now();
            if (op.now() - nobody_waited >= policy::stall_limit_with_waiter) {
                why = live_end::somebody_waits;
            }
        } else if (!why && op.now() >= next_look) {
            next_look = op.now() + look_every;
            auto progress = co_await op.hv.progress(op.id, op.now() + query_limit);
            if (ended) {
                break;
            }
            was_copying = was_copying || (progress && progress->running);
            const auto left = progress && progress->running ? std::optional(progress->remaining_bytes) : std::nullopt;
            const auto verdict = watch.observe(op.now(), left, somebody_waits(op, state_children),
                                               progress ? progress->bytes_per_second : 0);
            if (verdict != policy::migration_watch::verdict::go_on) {
                why = verdict == policy::migration_watch::verdict::no_progress ? live_end::no_progress
                                                                               : live_end::somebody_waits;
            } else if (progress && watch.must_warn(op.now())) {
                warn_of_stall(op, *progress, watch.stalled_for(op.now()));
            } else if (progress && op.now() >= next_report) {
                next_report = op.now() + report_every;
                report(op, *progress, watch.running_for(op.now()));
            }
        }
        if (why) {
            const time_point until = op.now() + 2 * abort_limit;
            while (!ended && op.now() < until) {
                // The call's own end says what became of it: an abort may be refused, or overtake its call.
                auto aborted = co_await op.hv.abort_migration(op.id, op.now() + abort_limit);
                const time_point next = aborted ? until : std::min(until, op.now() + abort_again);
                while (!ended && op.now() < next) {
                    co_await op.wait(next, "the end of an aborted migration");
                }
            }
            break;
        }
        co_await op.wait(next_look, "the end of a live migration");
    }
    if (!ended) {
        call.give_up();
    }
    while (!call.has_ended()) {
        co_await op.wait(op.now() + look_every, "the end of a live call");
    }
    if (ended && *ended) {
        outcome.end = live_end::moved;
        outcome.ended_well = true;
        co_return outcome;
    }
    constexpr duration answer_time = 500ms;
    const time_point began = begun->value_or(op.now());
    outcome.was_short = !why && !was_copying && op.now() - began <= connect_limit + answer_time;
    const std::string_view silent = why == live_end::gone ? "the guest is gone, and the call does not end"
                                                          : "the call did not end after it was aborted";
    outcome.text = ended ? ended->error().text : std::string(silent);
    outcome.was_busy = !why && ended && ended->error().code == call_error::wrong_state &&
                       (op.is_guest(model::guest_class::alive) || op.is_guest(model::guest_class::paused));
    outcome.end = why.value_or(ended && is_hopeless(ended->error().code) ? live_end::hopeless : live_end::failed);
    co_return outcome;
}

}  // namespace pvc::domains
