// The limits that follow from the configured intervals (node-lifecycle.md 3.1, 4, 7.2, 10.8). An observer judges its
// peers by its own intervals.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <optional>

namespace pvc::policy {

struct intervals {
    std::chrono::seconds keepalive{5};  // KI, 1-3600 s
    int fence = 6;                      // FI, 0-1000 heartbeats; 0: nobody is ever fenced
    int suicide = 0;                    // SI, 0-1000 heartbeats; 0: no self-reset

    [[nodiscard]] duration grace() const { return 2 * keepalive; }  // before a vacancy is acted on
    [[nodiscard]] duration dead_after() const { return fence * keepalive; }
};

// A primary whose last acknowledged heartbeat is this old gives its addresses up by itself: (FI + 6) x KI - KI, just
// before a fence may hand the role over. Empty with FI = 0: then nobody can.
[[nodiscard]] std::optional<duration> isolation_limit(const intervals& times);

// R: a heartbeat older than this resets the machine: max(SI x KI, 30 s); empty with SI = 0.
[[nodiscard]] std::optional<std::chrono::seconds> self_reset_limit(const intervals& times);

// B = R + 10 s: what `selfreset` may publish when the watchdog is armed and maintenance is off; empty (write "off") if
// SI = 0 or B > (FI + 6) x KI, when a fencer would not wait that long.
[[nodiscard]] std::optional<std::chrono::seconds> publishable_lease(const intervals& times);

// A hand-over partner or successor counts as alive while its keepalive is younger than this: max(FI x KI, 30 s).
[[nodiscard]] duration fresh_limit(const intervals& times);

}  // namespace pvc::policy
