// The configured intervals, and what the configuration itself has to know of their arithmetic: how long others wait
// before they fence, and the lease of self-reset (config.md 5.5; node-lifecycle.md 4, 10.4, 10.8). The limits by which
// the rules judge are in policy/intervals.hpp, which has these too.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <optional>

namespace pvc::config {

struct intervals {
    std::chrono::seconds keepalive{5};  // KI, 1-3600 s
    int fence = 6;                      // FI, 0-1000 heartbeats; 0: nobody is ever fenced
    int suicide = 0;                    // SI, 0-1000 heartbeats; 0: no self-reset

    [[nodiscard]] std::chrono::seconds grace() const { return 2 * keepalive; }  // before a vacancy is acted on
    // FI x KI: a node whose heartbeat is older counts as dead.
    [[nodiscard]] std::chrono::seconds dead_after() const { return fence * keepalive; }
    // (FI + 6) x KI: the saving throws behind that; then it is fenced, if it is fenced at all.
    [[nodiscard]] std::chrono::seconds fenced_after() const { return (fence + saving_throws) * keepalive; }

    static constexpr int saving_throws = 6;  // node-lifecycle.md 10.2
};

// R: a heartbeat older than this resets the machine: max(SI x KI, 30 s); empty with SI = 0.
[[nodiscard]] std::optional<std::chrono::seconds> self_reset_limit(const intervals& times);

// B = R + 10 s: by then a machine that resets itself is down; empty with SI = 0.
[[nodiscard]] std::optional<std::chrono::seconds> self_reset_lease(const intervals& times);

// B as `selfreset` may publish it when the watchdog is armed and maintenance is off; empty (write "off") also if
// B > (FI + 6) x KI, when a fencer would not wait that long.
[[nodiscard]] std::optional<std::chrono::seconds> publishable_lease(const intervals& times);

}  // namespace pvc::config
