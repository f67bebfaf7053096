// The heartbeat (node-lifecycle.md 2.1, 3.2 S8, 4, 6.1).
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pvc::policy {

// What a heartbeat does to own daemonstate.
struct heartbeat_view {
    std::optional<model::daemon_state> stored;  // as last read; empty: missing or an unknown word
    bool started = false;                       // S13 reached; between S8 and S13 the keepalive goes alone
    bool terminating = false;
    bool fence_cleanup_done = false;  // see heartbeat_plan::needs_fence_cleanup
};

struct heartbeat_plan {
    // Written in the same transaction, conditionally on the version read; empty: daemonstate is not touched.
    std::optional<model::daemon_state> write_state;
    // A running daemon finds itself `fenced`: it was declared off, yet is alive. Until local domains that others may
    // have started are destroyed, heartbeats do not write `run` (node-lifecycle.md 4, last row).
    bool needs_fence_cleanup = false;
};

[[nodiscard]] heartbeat_plan plan_heartbeat(const heartbeat_view& view);

// A guest that runs on a node which finds itself `fenced`: whether it ends before that node says `run`.
struct fenced_guest {
    bool is_known = false;      // it has an entry below /domains
    std::string node;           // empty: missing
    bool is_recovered = false;  // own domainstate is `fence-flush`: its domains are being moved, their locks broken
};
[[nodiscard]] bool is_forfeited(const fenced_guest& guest, std::string_view self);

// Age of the last acknowledged heartbeat: since it was sent, on the boot-time clock; never negative.
[[nodiscard]] duration heartbeat_age(boot_time sent, boot_time now);

}  // namespace pvc::policy
