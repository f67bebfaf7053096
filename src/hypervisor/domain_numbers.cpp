#include "pvcnoded/hypervisor/domain_numbers.hpp"

#include <array>
#include <string_view>

namespace pvc::hypervisor {

using model::guest_status;
using model::pause_cause;
using model::run_state;

namespace {

pause_cause cause_from_reason(int reason) {
    switch (reason) {
        case 1: return pause_cause::user;
        case 2: return pause_cause::migration;
        case 5: return pause_cause::io_error;
        case 6: return pause_cause::watchdog;
        case 8: return pause_cause::shutting_down;
        case 10: return pause_cause::crashed;
        case 11: return pause_cause::starting_up;
        default: return pause_cause::other;  // saving, dumping, snapshots, post-copy, failed calls
    }
}

pause_cause cause_from_detail(int detail) {
    switch (detail) {
        case 0: return pause_cause::user;
        case 1: return pause_cause::migration;
        case 2: return pause_cause::io_error;
        case 3: return pause_cause::watchdog;
        default: return pause_cause::other;
    }
}

constexpr int started = 2;
constexpr int suspended = 3;
constexpr int resumed = 4;
constexpr int stopped = 5;
constexpr int shutting_down = 6;
constexpr int suspended_by_guest = 7;
constexpr int crashed = 8;
constexpr int started_by_migration = 1;

}  // namespace

guest_status status_from_numbers(int state, int reason) {
    switch (state) {
        case 1: return {run_state::running, pause_cause::none};
        case 2: return {run_state::blocked, pause_cause::none};
        case 3: return {run_state::paused, cause_from_reason(reason)};
        case 4: return {run_state::shutting_down, pause_cause::none};
        case 5: return {run_state::shut_off, pause_cause::none};
        case 6: return {run_state::crashed, pause_cause::none};
        case 7: return {run_state::suspended, pause_cause::none};
        default: return {run_state::none, pause_cause::none};
    }
}

std::optional<guest_status> status_from_event(int event, int detail) {
    switch (event) {
        case started:
            // An incoming migration: the guest is set up, and executes when RESUMED says so.
            return detail == started_by_migration ? guest_status{run_state::paused, pause_cause::migration}
                                                  : guest_status{run_state::running, pause_cause::none};
        case suspended: return guest_status{run_state::paused, cause_from_detail(detail)};
        case resumed: return guest_status{run_state::running, pause_cause::none};
        case stopped: return guest_status{run_state::shut_off, pause_cause::none};
        case shutting_down: return guest_status{run_state::shutting_down, pause_cause::none};
        case suspended_by_guest: return guest_status{run_state::suspended, pause_cause::none};
        case crashed: return guest_status{run_state::crashed, pause_cause::none};
        default: return std::nullopt;  // defined, undefined
    }
}

std::string event_text(int event, int detail) {
    constexpr std::array<std::string_view, 9> names{"defined", "undefined", "started",       "suspended",
                                                    "resumed", "stopped",   "shutting down", "suspended by itself",
                                                    "crashed"};
    const bool known = event >= 0 && static_cast<std::size_t>(event) < names.size();
    std::string text(known ? names[static_cast<std::size_t>(event)] : "event " + std::to_string(event));
    return text + " (" + std::to_string(detail) + ")";
}

}  // namespace pvc::hypervisor
