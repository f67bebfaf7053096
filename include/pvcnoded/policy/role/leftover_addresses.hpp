// A daemon that starts may find addresses of the primary on its machine: the one before it was primary and was killed.
// Whether they stay until its own takeover asserts them anew, or have to go, because another node has them or may have
// them soon. Asked as long as this daemon has not had the role. Specification: networking.md 6 ("Stale addresses",
// cases 39, 95, 96); node-lifecycle.md 4 ("Daemon (re)started while isolated").
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/policy/intervals.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace pvc::policy {

// /config/primary_node, as far as it can be told now.
struct named_primary {
    std::optional<std::string> node;  // empty: nobody
};

struct leftover_view {
    std::string self;
    std::optional<named_primary> primary;  // empty: it cannot be read now
    // The record of the last heartbeat is of this boot and says `primary` or `takeover`.
    bool was_primary = false;
    // Since the sending of the last heartbeat that was acknowledged in this boot, by whichever daemon; empty: of none
    // is known.
    std::optional<duration> heartbeat_age;
    intervals times;
};

struct leftover_decision {
    bool must_go = false;
    std::string reason;
    std::optional<duration> decide_again_in;  // if nothing changes before; empty: only then
};

[[nodiscard]] leftover_decision decide_leftovers(const leftover_view& view);

}  // namespace pvc::policy
