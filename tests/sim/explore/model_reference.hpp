// A node of the reference in the explorer's world: its passes over the domain and its operations, step by step, with
// their defects. The same facts as in tests/sim/foreign (vm-domains.md 4, 5.1, 6, 8.3, 8.4 "REF82", 8.6, A), as a
// value. Its fixed pauses may be of any length: what ours does must not rest on them. Its limits are times.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace pvc::explore {

// What a move of it is (`move::how`). Those from `slow_step` on may take long.
enum class reference_deed : std::uint8_t { notice, read_rest, step, slow_step, nudge };

struct reference_daemon {
    enum class at : std::uint8_t {
        idle,
        stuck,  // a thread ended with its flag set (H03, H05, H07): the domain is not managed until the daemon restarts
        // Start.
        looking_at_disk,
        creating,
        listing_created,
        writing_running,
        // Stop, terminate.
        destroying,
        unlisting_destroyed,
        writing_destroyed,
        // Shutdown; of a restart and of an offline move too.
        asking_off,
        going_off,
        unlisting_off,
        writing_off,
        writing_restart,
        restarting,
        // Send.
        locking_node,
        locking_state,
        looking,
        queueing,
        checking,
        calling,
        called,
        unlisting_moved,
        releasing_node,
        releasing_state,
        releasing_sync,
        destroying_late,
        unlisting_late,
        rolling_back,
        rolled_back_node,
        rolled_back_state,
        // Receive.
        offering,
        queueing_first,
        holding,
        queueing_again,
        looking_for_guest,
        listing_arrived,
        writing_arrived,
        releasing_last,
        clearing_word,
    } where = at::idle;

    // What its watch has seen, and a pass that has read `state` and not yet the rest: the keys are read one by one
    // (H34).
    std::int64_t noticed = 0;
    std::optional<model::vm_state> reading;
    // What the pass read that is acted on; the nudge goes by it too.
    model::vm_state state = model::vm_state::unknown;
    std::int8_t node = -1;
    bool has_handle = false;     // libvirt was asked while the domain was its own, and had it (H01)
    std::int8_t last_node = -1;  // remembered since the last completed move (H26)
    // Of the operation.
    std::int8_t target = -1;
    std::uint8_t tries = 0;
    bool has_outlived = false;           // `stop` was written with the guest running (H08)
    bool fails = false;                  // what it received does not execute (H24)
    std::optional<bool> has_moved;       // the live call has ended
    time_point until{};                  // of a lock, of a shutdown
    std::int64_t queued = 0;             // its child at the lock of the hand-shake
    std::optional<std::int64_t> leaked;  // one that is never given back (H04)

    // What is its own doing, for the rules (docs/simulation.md, "Beside a reference node").
    bool state_is_its = false;   // the `state` that stands it wrote itself
    bool start_is_ours = false;  // it is a `start`, and was written by one of ours
    bool is_rash = false;        // it has begun a second copy, and nobody of ours told it to
    bool has_misled = false;     // a client's `stop` without a lock, under its locks, counts as its hand-over
    bool has_left_word = false;  // what stands in `migrate_sync_lock` it wrote itself
};

[[nodiscard]] std::string_view to_text(reference_daemon::at where);

}  // namespace pvc::explore
