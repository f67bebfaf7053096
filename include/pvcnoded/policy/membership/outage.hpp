// What an operator is told while ZooKeeper is away: when, and with which words. Nothing is more alarming than a log
// that stands still. Times are as long as the connection has been gone. Specification: node-lifecycle.md 4
// (isolation), 6.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <optional>
#include <string>

namespace pvc::policy {

struct outage {
    duration away{};
    std::string cause;                     // of the last attempt to connect; may be empty
    std::optional<duration> until_fenced;  // peers may fence this node then; empty: no heartbeat was ever acknowledged
};

// When the next line is due after one at `told` (zero: none yet): at 10 s, at 1 min, then every 5 min.
[[nodiscard]] duration next_outage_line(duration told);

// "ZooKeeper has been away for 1 min: connection refused; peers may fence this node in 45 s"
[[nodiscard]] std::string outage_text(const outage& now);

// "connected to ZooKeeper again after 95 s without it, about 19 heartbeats were missed"
[[nodiscard]] std::string outage_end_text(duration away, duration keepalive_interval);

}  // namespace pvc::policy
