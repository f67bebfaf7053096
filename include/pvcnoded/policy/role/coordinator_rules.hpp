// The primary role (node-lifecycle.md 7.2): rules C1-C7 as a pure function of a snapshot. Level-triggered: asked on
// every change, at the end of every transition, when the node becomes ready, and in every tick. The answer is one
// action; the actor waits 0.5 s and asks again before it starts a transition, and makes every write conditional on the
// version in the snapshot.
//
// All durations are the observer's own monotonic time, counted from its own last (re)connection at the earliest.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/intervals.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// /config/primary_node.
struct primary_view {
    std::optional<std::string> node;  // nobody: "none", "" or missing (model::parse_primary_node)
    std::int32_t version = 0;         // data version, for the conditional write
    duration unchanged_for{};
    std::int64_t written = 0;  // zxid of the last write
};

// Another coordinator's entry below /nodes. A name that has no entry here has no node key.
struct coordinator_peer {
    std::string name;
    model::daemon_state daemon = model::daemon_state::stop;
    model::router_state router = model::router_state::client;
    duration keepalive_unchanged_for{};  // since the id of its keepalive changed; a missing key does not change
    duration stopped_for{};              // in state `stop` or `fenced`, without a break; 0 in other states
    duration not_run_for{};              // since it was last seen in `run`
    bool has_beaten = true;              // its keepalive was seen to change since we are connected
    duration daemon_unchanged_for{};
    duration router_unchanged_for{};
    std::int64_t router_written = 0;  // zxid of the last write of its role
};

// README ruling 87: a reference node that was told of a successor, and whose heartbeat has written its own name back
// meanwhile, gives everything up all the same and looks at the key no more (written_back.hpp finds that out).
struct returned_name {
    std::string by;
    bool was_named = false;  // this node, by the write before
    duration seen_for{};     // as long as nobody is on the way to the role
};

struct coordinator_view {
    std::string self;
    model::daemon_mode mode = model::daemon_mode::coordinator;
    model::router_state role = model::router_state::secondary;  // what this daemon is doing
    std::optional<model::router_state> stored_role;             // what own routerstate says, if that is known
    duration role_unchanged_for{};                              // since own routerstate was written
    bool started = false;                                       // S12 done and `run` written
    bool terminating = false;
    bool session_live = false;
    bool in_transition = false;  // a takeover or relinquish scope is open: only C6 and C7 apply
    duration heartbeat_age{};    // of the last acknowledged heartbeat, since it was sent
    primary_view primary;
    std::optional<returned_name> returned;
    std::vector<coordinator_peer> peers;  // coordinators other than self
    intervals times;

    [[nodiscard]] bool ready() const { return started && !terminating && session_live; }
};

enum class coordinator_action : std::uint8_t {
    none,
    start_takeover,    // routerstate secondary -> takeover, then 7.3
    start_relinquish,  // routerstate primary -> relinquish, then 7.4
    claim,             // write own name into primary_node, no transition
    clear_to_none,     // write `none` into primary_node; contention follows
    contend,           // lock on primary_node, at most 0.4 s, then write own name if still_vacant()
    demote,            // give addresses and services up locally, without locks; write `secondary` when connected
};
[[nodiscard]] std::string_view to_text(coordinator_action action);

struct coordinator_decision {
    coordinator_action action = coordinator_action::none;
    std::string_view rule;               // "C1" … ; "" if no rule applies
    std::string reason;                  // one line for log and task tree; for `none`: what is waited for, or ""
    bool is_at_once = false;             // a transition without the 0.5 s
    std::optional<duration> again_in{};  // to be asked again then, if nothing changes before
};

// README ruling 22. It rests on the role of every coordinator: the write checks them all.
inline constexpr std::string_view rule_refusal = "C5'";
// README ruling 87. Whoever was named claims the key; else it is cleared, which checks the roles as well.
inline constexpr std::string_view rule_written_back = "C1'";

// C6: why this node, if it is primary or on its way, must give the role up by itself; empty: it need not. Asked also
// without a session.
[[nodiscard]] std::optional<std::string> isolation_reason(duration heartbeat_age, const intervals& times);

[[nodiscard]] coordinator_decision decide(const coordinator_view& view);

// Y of rule C1: it was primary (or on its way) and may still hold the addresses without hearing of us.
[[nodiscard]] bool is_silent(const coordinator_peer& peer, const intervals& times);

// A contender that has got the lock writes only if nobody wrote since its decision (AC76).
[[nodiscard]] bool still_vacant(const primary_view& decided_on, const primary_view& now);

// 7.4, start of a takeover: whether a partner is expected to walk through the phases with us.
[[nodiscard]] bool is_peer_expected(const coordinator_view& view);

// Termination step 4: whether another coordinator can take the role over, so that waiting for it makes sense.
[[nodiscard]] bool is_successor_expected(const coordinator_view& view);

// C7, asked before each step of a takeover: why it has to be undone; empty: go on.
[[nodiscard]] std::optional<std::string> withdraw_reason(const coordinator_view& view, bool own_contenders_present);

}  // namespace pvc::policy
