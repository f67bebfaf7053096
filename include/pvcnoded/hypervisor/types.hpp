// Values of the hypervisor port: guests, events, figures, errors. No type of a library crosses the port.
// Specification: vm-domains.md 4.1, 6.1, 9; runtime-design.md 3.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/guest_figures.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pvc::hypervisor {

// Why a call failed. A caller decides by this; the text is what the hypervisor said, verbatim.
enum class call_error : std::uint8_t {
    unavailable,  // no connection, or it broke: nothing is known (libvirt 38 on a dead connection, 39, close callback)
    timed_out,    // no answer within the deadline: the outcome is unknown
    too_late,     // a guarded step that could not start in time: nothing was done
    no_domain,    // 42
    wrong_state,  // 55, operation invalid: for a create, "already active"
    being_removed,  // 9 for a create while an old instance of the same UUID is still being removed
    unsupported,    // 3
    unsafe,         // 81
    aborted,        // 78
    refused,        // of a question to another node: it refuses the connection
    hanging,        // the same: it took the connection, and did not answer in time
    no_target,      // of a migration: its target was not reached in time, or the connection to it broke
    other,          // of a migration: either side refused it
};
[[nodiscard]] std::string_view to_text(call_error code);

struct call_failure {
    call_error code = call_error::other;
    std::string text;

    // boost::system::result needs a default constructor and no aggregate (runtime-design.md 1.3).
    call_failure() = default;
    call_failure(call_error why, std::string said) : code(why), text(std::move(said)) {}
};
[[noreturn]] void throw_exception_from_error(const call_failure& error, const boost::source_location& where);

template <class T>
using call_result = boost::system::result<T, call_failure>;

using model::guest;
using model::guest_figures;

enum class event_kind : std::uint8_t {
    status,  // lifecycle: `status` is what the guest is now
    rebooted,
    io_error,  // of a disk; `detail` names it
    watchdog,
    devices_changed,  // attached or detached: the live XML is another
    job_ended,        // a migration job of this guest ended
};
struct guest_event {
    event_kind what = event_kind::status;
    uuid id;
    model::guest_status status;  // of `status` events
    std::string detail;          // for a log line
};

// How far a running migration is.
struct migration_progress {
    bool running = false;
    std::uint64_t total_bytes = 0;
    std::uint64_t processed_bytes = 0;
    std::uint64_t remaining_bytes = 0;
    std::uint64_t dirty_pages_per_second = 0;
    std::uint64_t bytes_per_second = 0;
    std::uint64_t downtime_ms = 0;  // expected
};

enum class shutdown_way : std::uint8_t {
    any,  // guest agent if connected, else ACPI
    acpi,
};

struct connection_state {
    bool up = false;
    std::uint64_t generation = 0;  // grows with every connection
    std::string reason;            // why it is down

    friend bool operator==(const connection_state&, const connection_state&) = default;
};

}  // namespace pvc::hypervisor
