// Why each node is, or is not, fenced now, what is missing, and what would be done next: for whoever asks
// (`pvcnodectl explain fences`). The same decisions as the fencer's (detection.hpp, order.hpp), on the same view, in
// words. Pure: nothing is done by asking. Specification: node-lifecycle.md 10.1, 10.4; README rulings 31, 39, 42, 43,
// 46, 76.
#pragma once

#include "pvcnoded/policy/fencing/detection.hpp"
#include "pvcnoded/policy/fencing/order.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

// Of one node, as this coordinator knows it.
struct fence_view {
    node_seen node;
    std::string board_trouble;  // why a fencer may not use its board, as a clause; empty: it may
    // Its fence, if one is under way here: how far it is, and what it waits for.
    std::string stage;
    std::string waits_for;
    // Of a node that is down, or silent for some time; empty: its keys are not read yet.
    std::optional<victim_seen> victim;
    own_record record = own_record::none;
    bool are_records_unread = false;
    bool is_recoverable_here = true;
    std::size_t machines_left = 0;  // that its recovery, which is over, has left
    fence_memory memory;
    std::string left_off;  // order.hpp, why_left_off
};

struct explained_fence {
    std::string node;
    std::string what;            // what it is: "well", "dead", "being fenced"
    std::string why;             // one clause
    std::string missing;         // what would be needed; empty: nothing
    std::string next;            // what is done next, or would be
    std::optional<duration> in;  // until then, if nothing changes; empty: now, or not by time
    friend bool operator==(const explained_fence&, const explained_fence&) = default;
};

// Of each node but the observer, in ascending order of names. `lock_holder`: who else has the fence lock; empty:
// nobody. `now`: on the clock of `memory`.
[[nodiscard]] std::vector<explained_fence> explain_fences(const observer_seen& self, const std::vector<fence_view>& all,
                                                          const std::string& lock_holder, time_point now);

}  // namespace pvc::policy
