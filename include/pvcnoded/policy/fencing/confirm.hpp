// Whether an operator's word that a node is off is taken (`pvcnodectl fence confirm NODE`, README ruling 43), as this
// coordinator sees the node. Pure; who asks has shown that he is root and has typed the node's name.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/fencing/power_answer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

struct confirm_seen {
    std::string node;
    std::string self;
    bool is_coordinator = false;            // this node; a hypervisor names those to ask
    std::vector<std::string> coordinators;  // the others, of ours or not
    bool is_known = false;                  // there is such a node
    std::optional<model::daemon_state> state;
    duration silent_for{};  // since this daemon last saw its heartbeat move
    duration looked_for{};  // how long it has looked at all, without a break
    std::int64_t fence_intervals = 0;
    duration keepalive{};
    board_power board = board_power::unknown;  // asked just now
    bool although_on = false;
    bool is_under_way = false;  // its recovery, on a proof
};
// Why it is refused, and what would help: one sentence each. Empty: it is taken.
[[nodiscard]] std::string why_not_confirmed(const confirm_seen& seen);
// What a word that was given waited for in vain. `holder`: of the fence lock, as its child says ("hv2:1:fencing:a dead
// node"); empty: nobody else has it.
[[nodiscard]] std::string why_word_waits(std::string_view holder);

}  // namespace pvc::policy
