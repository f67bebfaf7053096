// The limits that follow from the configured intervals, all of them: who multiplies an interval does it here (or, for
// what the configuration must know, in config/intervals.hpp). An observer judges its peers by its own intervals.
// Specification: node-lifecycle.md 3.1 (table), 4, 7.2, 10.8; config.md 7.2; runtime-design.md 2.5.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/config/intervals.hpp"

#include <cstddef>
#include <optional>

namespace pvc::policy {

using config::intervals;
using config::publishable_lease;
using config::self_reset_limit;

// ---- the heartbeat and its tick (node-lifecycle.md 3.1, 4) ----

// The next point of the fixed cadence start, start + interval, … that lies after `now`: missed ticks coalesce into one.
// `interval` > 0. Before `start` it is `start`.
[[nodiscard]] time_point next_tick(time_point start, duration interval, time_point now);
// How long a tick may gather figures, counted from its beginning: KI - 1 s, and not less than three quarters of KI.
[[nodiscard]] duration figures_budget(duration interval);
// When a tick that began at 0 has read the heartbeats of others, whatever is missing: it never runs into the next one.
[[nodiscard]] duration tick_budget(duration interval);
// Heartbeats that were due while ZooKeeper was away.
[[nodiscard]] std::int64_t missed_heartbeats(duration away, duration interval);
// A peer's mean interval lies between half and twice our own: scheduling alone can do that, another setting cannot.
[[nodiscard]] bool is_same_cadence(duration peer_interval, duration own_interval);
// The supervisor's limit once the configuration is read (config.md 7.2): FI x KI, 30 to 60 s; 60 s without fencing.
[[nodiscard]] std::chrono::seconds watchdog_limit(const intervals& times);

// ---- roles (node-lifecycle.md 7.2) ----

// A primary whose last acknowledged heartbeat is this old gives its addresses up by itself (C6): (FI + 6) x KI - KI,
// just before a fence may hand the role over. Empty with FI = 0: then nobody can.
[[nodiscard]] std::optional<duration> isolation_limit(const intervals& times);
// From then on a silent holder of the role has given it up by itself: one KI later. Empty with FI = 0.
[[nodiscard]] std::optional<duration> silence_limit(const intervals& times);
// A hand-over partner or successor counts as alive while its keepalive is younger than this: max(FI x KI, 30 s).
[[nodiscard]] duration fresh_limit(const intervals& times);
// C5: a named node that has not been in `run` for this long will not take the role: max(FI x KI, 120 s).
[[nodiscard]] duration absence_limit(const intervals& times);
// C5: a node in `shutdown` whose keepalive stands still for this long is gone: max(FI x KI, 2 x KI).
[[nodiscard]] duration quiet_limit(const intervals& times);
// C5' (README ruling 22): a named node that runs and does not take the role refuses it: max(4 x KI, 20 s).
[[nodiscard]] duration refusal_limit(const intervals& times);

// ---- another daemon with our name (node-lifecycle.md 3.2, S8) ----

// A record whose heartbeat is older by its own stamp is nobody's: 3 x KI + 10 s.
[[nodiscard]] duration twin_forgotten_after(const intervals& times);
// A live twin with the same interval beats at least once in this time: 2 x KI, at most 60 s.
[[nodiscard]] duration twin_wait(const intervals& times);

// ---- keys that are not watched (runtime-design.md 2.5) ----

// In how many intervals' time so many things have been looked at, `each_interval` (> 0) in one.
[[nodiscard]] duration round_time(duration interval, std::size_t things, std::size_t each_interval);
// How many a rate allows in one interval, at least 1.
[[nodiscard]] std::size_t per_interval(duration interval, double per_second);

}  // namespace pvc::policy
