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

// To whoever asks something about other nodes meanwhile.
inline constexpr std::string_view zookeeper_is_away =
    "ZooKeeper is away (see status): nothing can be said of nodes here, nor asked for, until it is back; ask again "
    "then, or ask another coordinator";
// Its connection may break a moment later, or it has much to read.
inline constexpr std::string_view zookeeper_is_late =
    "ZooKeeper did not answer in time: it may be away (see status); ask again (--timeout), or ask another coordinator";

// That its board was ordered to switch it on, since its last heartbeat.
struct order_before {
    duration ago{};
    std::string by;  // the coordinator
    friend bool operator==(const order_before&, const order_before&) = default;
};
// So long what becomes of that order is open: a command to a board takes up to 30 s, and boards carry orders out late.
inline constexpr duration order_is_open = std::chrono::seconds(60);

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
    bool is_under_way = false;              // its recovery, on a proof
    bool is_noted = false;                  // the word, where every fence of the node reads it before it switches it on
    std::optional<order_before> ordered{};  // before it was noted
    std::string taken_before{};  // the record of such a word whose recovery is over, and whose; empty: there is none
};
// Why it is refused, and what would help: one sentence each. Empty: it is taken.
[[nodiscard]] std::string why_not_confirmed(const confirm_seen& seen);

// Whether a fence that failed is tried again now, as an operator asks for (`pvcnodectl fence retry NODE`), and not
// after its pause (order.hpp). Pure; who asks is root. All that a fence rests on is looked at as ever: this ends the
// wait.
struct retry_seen {
    std::string node;
    std::string self;
    bool is_coordinator = false;
    std::vector<std::string> coordinators;
    bool is_known = false;
    std::optional<model::daemon_state> state;
    std::string not_judging;    // why this node fences nobody now; empty: it does
    bool is_under_way = false;  // a fence of it, here
    bool has_failed = false;    // this coordinator's last fence of it, and it has neither written nor beaten since
};
[[nodiscard]] std::string why_not_retried(const retry_seen& seen);

// What a word that was given waited for in vain. `holder`: of the fence lock, as its child says ("hv2:1:fencing:a dead
// node"), and whether that is a node; empty: nobody else has it. `fence_waits_for`: what this node's own fence does;
// empty: it has none, or goes on.
[[nodiscard]] std::string why_word_waits(std::string_view holder, bool is_node, std::string_view fence_waits_for);

// Whether a word about a node as it was `then` is about it as it is `now`: not once its heartbeat has moved, nor once
// it has written a state itself (one of the reference that boots writes `init` and `run` before it beats). Others write
// `dead` and `fenced`.
struct node_of_word {
    std::optional<std::int64_t> heartbeat_id;
    std::optional<std::int64_t> state_id;
    std::optional<model::daemon_state> state;
};
[[nodiscard]] bool word_stands(const node_of_word& then, const node_of_word& now);

}  // namespace pvc::policy
