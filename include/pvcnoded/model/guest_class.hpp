// What a hypervisor says of a guest, and the five classes that decisions are made on. The numbers of libvirt are turned
// into these once, in the adapter. Specification: vm-domains.md 4.1.
#pragma once

#include <cstdint>
#include <string_view>

namespace pvc::model {

enum class run_state : std::uint8_t { none, running, blocked, paused, shutting_down, shut_off, crashed, suspended };

// Why a guest is paused.
enum class pause_cause : std::uint8_t {
    none,
    user,
    migration,  // an incoming migration that is not finished, or a source after its hand-over
    io_error,
    watchdog,
    shutting_down,  // the guest is off, its process is still there
    starting_up,
    crashed,
    other,
};
[[nodiscard]] std::string_view to_text(pause_cause cause);

// A: executes. P: alive, does not execute. I: one side of a migration that is not finished. D: the guest is off, its
// process not yet gone. N: not there. "Not known" is not a class: nothing may be decided then.
enum class guest_class : std::uint8_t { alive, paused, incoming, ending, absent };
[[nodiscard]] std::string_view to_text(guest_class which);

struct guest_status {
    run_state state = run_state::none;
    pause_cause cause = pause_cause::none;

    friend bool operator==(const guest_status&, const guest_status&) = default;
};
[[nodiscard]] guest_class class_of(const guest_status& status);

}  // namespace pvc::model
