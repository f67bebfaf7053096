// Starts units and waits until they are up, all of them together within one limit: a unit that does not come up delays
// the start-up once, not once for each unit. Specification: config.md 7.2 (case 40), node-lifecycle.md 3.5.
#pragma once

#include "pvcnoded/services/service_manager.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace pvc::services {

struct unit_state {
    std::string unit;
    std::optional<failure> start_failure{};  // why the request to start it failed
    bool active = false;                     // seen active within the limit
    duration waited{};                       // until it was seen active, or until it was given up

    // "zookeeper.service is active", "… is not active after 5.0 s", "…: refused: …": for a log line.
    [[nodiscard]] std::string text() const;
};

inline constexpr duration readiness_limit = std::chrono::seconds(5);

// Requests the start of each unit, in order, then asks for the state of those that are not active yet, 50 ms after the
// last answer and up to 500 ms later the longer it takes. Returns one entry a unit, in the given order, at the latest
// when `limit` has passed. A unit whose start was refused, or for which there is no service manager, is not waited for;
// one whose start timed out is. Never fails. Cancellation passes through; started units stay started.
async::awaitable<std::vector<unit_state>> start_and_wait(service_manager& services, async::timers& clock,
                                                         std::vector<std::string> units,
                                                         duration limit = readiness_limit);

}  // namespace pvc::services
