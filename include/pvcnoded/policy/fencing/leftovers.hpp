// What a recovery has left (README rulings 38, 44; node-lifecycle.md 10.4 row 5): machines that could not be recovered
// and stand in the dead node's `runningdomains`, those that were parked for want of a node, and those that
// were given to one and not seen to run there. Who tries them again,
// when, and what is said of them each hour. Pure; a try is a `guest_recovery` with `may_revive`, under the fence lock.
//
// The shell keeps a `leftover_memory` a dead node over its session, and calls `next_leftover_try` when it has a fresh
// view. F0 stands while the node is `fenced` by that transaction and its heartbeat is that of `fenceproof`.
#pragma once

#include "pvcnoded/policy/fencing/fence_requests.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pvc::policy {

// A machine, as one coordinator sees it without looking closer.
struct leftover_guest {
    uuid id;
    std::string name;
    model::vm_state state = model::vm_state::unknown;
    std::string node;
    bool is_listed = false;  // in the dead node's `runningdomains`
    bool autostart = false;
    std::int64_t state_id = 0;
    std::int64_t autostart_id = 0;
    bool has_rbd = false;  // disks in Ceph
};
// What of these is left over, of a node that is fenced with a proof of `proof_id` (mzxid of `fenceproof`).
[[nodiscard]] std::vector<uuid> leftovers_of(const std::string& dead_node, const std::vector<leftover_guest>& all,
                                             std::int64_t proof_id);

struct leftover_memory {
    std::uint8_t tries = 0;  // in vain, since `first`
    std::optional<time_point> first{};
    time_point last{};
    std::optional<time_point> told{};
    void tried(time_point now);
    friend bool operator==(const leftover_memory&, const leftover_memory&) = default;
};

struct leftover_seen {
    std::string self;
    stored_proof proof;
    bool stands = false;              // F0
    bool is_recovering = false;       // `fence-flush`: its recovery is an attempt's
    bool is_proof_owner_run = false;  // the coordinator that `fenceproof` names is in `run`
    time_point since{};               // this coordinator has seen these leftovers unchanged since
    bool may_act = false;             // coordinator in `run`, heartbeat fresh, tree accepted
    bool has_any = false;
    bool can_any = false;  // some of them this node could recover: without Ceph, or it can ask it
};

struct leftover_next {
    bool tries = false;
    bool tells = false;                 // the hourly error line that names them, the first time after the first try
    std::optional<time_point> after{};  // to be asked again
    friend bool operator==(const leftover_next&, const leftover_next&) = default;
};
// After 5, 10, 20, 40 s, then every 60 s, by the coordinator of the proof; by any other that can while that one is not
// in `run` or has tried for 180 s in vain.
[[nodiscard]] leftover_next next_leftover_try(const leftover_seen& seen, const leftover_memory& memory, time_point now);
[[nodiscard]] duration leftover_pause(std::uint8_t tries);

// A machine that a recovery gave to a node and that was not seen to run there, as it is now.
struct unseen_guest {
    bool is_known = false;       // it could be read
    bool is_listed = false;      // in the running list of that node
    bool is_as_written = false;  // its state is that of the recovery's transaction
};
struct unseen_next {
    enum class kind : std::uint8_t {
        wait,
        tells,  // the hourly warning that names it
        runs,   // it came to run after all
        over,   // somebody else goes on with it
    } what = kind::wait;
    time_point after{};  // to be looked at again
    friend bool operator==(const unseen_next&, const unseen_next&) = default;
};
// Each minute, whether its old node is back or not. `told`: when that was last said.
[[nodiscard]] unseen_next next_unseen_look(const unseen_guest& seen, std::optional<time_point> told, time_point now);

}  // namespace pvc::policy
