#include "pvcnoded/model/guest_class.hpp"

namespace pvc::model {

std::string_view to_text(pause_cause cause) {
    switch (cause) {
        case pause_cause::none: return "unknown reason";
        case pause_cause::user: return "by a user";
        case pause_cause::migration: return "migration";
        case pause_cause::io_error: return "I/O error";
        case pause_cause::watchdog: return "watchdog";
        case pause_cause::shutting_down: return "shutting down";
        case pause_cause::starting_up: return "starting up";
        case pause_cause::crashed: return "crashed";
        case pause_cause::other: return "other reason";
    }
    return "unknown reason";
}

std::string_view to_text(guest_class which) {
    switch (which) {
        case guest_class::alive: return "running";
        case guest_class::paused: return "paused";
        case guest_class::incoming: return "migrating";
        case guest_class::ending: return "ending";
        case guest_class::absent: return "not there";
    }
    return "not there";
}

guest_class class_of(const guest_status& status) {
    switch (status.state) {
        case run_state::running:
        case run_state::blocked: return guest_class::alive;
        case run_state::paused:
            if (status.cause == pause_cause::migration) {
                return guest_class::incoming;
            }
            return status.cause == pause_cause::shutting_down ? guest_class::ending : guest_class::paused;
        case run_state::suspended: return guest_class::paused;
        case run_state::shutting_down: return guest_class::ending;
        case run_state::none:
        case run_state::shut_off:
        case run_state::crashed: return guest_class::absent;
    }
    return guest_class::absent;
}

}  // namespace pvc::model
