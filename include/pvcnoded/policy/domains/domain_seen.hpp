// A domain as the daemon sees it at one moment: what machines decide on. A value with views into the daemon, built anew
// for each resumption. Specification: vm-domains.md 4.1, 5.2.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/model/guest_class.hpp"
#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace pvc::policy {

// What is wanted of a domain: another incarnation, another write of `state` or `node` is another wish.
struct wish {
    std::int64_t created = 0;        // czxid of the root key
    std::int64_t state_changed = 0;  // mzxid of `state`
    std::int64_t node_changed = 0;   // mzxid of `node`

    friend bool operator==(const wish&, const wish&) = default;
};

// How an effect that reaches outside ended.
enum class call_end : std::uint8_t {
    done,
    unavailable,    // no connection, or it broke: nothing is known
    timed_out,      // the outcome is unknown
    too_late,       // a guarded step that could not start in time: nothing was done
    no_domain,      // libvirt does not have it
    wrong_state,    // invalid in its present state; of a creation: it is active already
    being_removed,  // of a creation: an earlier instance is still on its way out
    unsupported,
    unsafe,
    no_target,  // of a live call: its target was not reached in time, or the connection to it broke
    other,
};

// The first bridge named in the definition that was read last with which something is the matter.
struct bridge_seen {
    enum class kind : std::uint8_t {
        fine,     // none
        coming,   // it is not there, and somebody may make it yet
        refused,  // its network is
        unknown,  // it is not there, and belongs to no network
    } what = kind::fine;
    std::string_view name{};
    std::string_view why{};
};

// Things that last over several steps. A machine says which it wants (`holdings`); the shell sees to it, and this is
// how far it has come.
struct held_now {
    enum class locks : std::uint8_t {
        none,
        pending,
        held,
        late,     // not had in time
        no_keys,  // the domain is gone
        failed,   // see `locks_text`
    };
    locks of_migration = locks::none;  // on `node` and `state`
    std::string_view locks_text;       // of `late` and `failed`
    bool somebody_waits = false;       // behind us, for the one on `state`

    // The lock of `migrate_sync_lock`; see hand_shake.hpp.
    bool sync_granted = false;   // to the sender: the receiver stands by
    bool sync_alone = false;     // the receiver was there, and has gone idle
    bool sync_failed = false;    // it never showed, or the lock was not granted in time
    bool sync_released = false;  // nothing of it is held or queued any more
    bool sync_is_held = false;   // by the receiver, now: nobody else is at it

    // The lock itself, for the machine of the hand-shake, and the value of its key.
    locks of_sync = locks::none;
    bool sync_is_wanted = true;
    std::optional<std::int64_t> sync_written;  // mzxid; empty: not known, or there is none
    bool sync_is_empty = true;

    bool has_turn = false;  // to migrate, or to be created

    // The live call.
    std::optional<time_point> call_begun;  // it has its thread
    bool call_is_over = false;             // nothing of it is under way any more
    std::optional<call_end> call_outcome;
    std::string_view call_text;

    // Watched keys of other nodes.
    std::optional<model::daemon_state> target_daemon;  // empty: not known, or no known word
    bool target_lists_it = false;
};

// A domain as the daemon sees it now. Text is valid for one resumption.
struct domain_seen {
    bool is_present = false;  // its keys exist
    bool is_owner = false;    // `node` is this node
    model::vm_state state = model::vm_state::unknown;
    std::string_view node;  // empty: none
    std::string_view self;
    std::string_view last_node;
    std::string_view came_from;  // it is to run here and ran there, without having been off in between
    policy::wish wish;
    std::int32_t state_version = -1;
    // The last placement outside a migration that was seen.
    struct {
        bool is_known = false;
        bool was_owner = false;
        model::vm_state state = model::vm_state::unknown;
        std::string_view node;
        std::int32_t state_version = 0;
    } stable;
    std::optional<model::guest_class> guest;  // empty: not known
    bool is_handed_over = false;              // its `stop` is the hand-over of a move through a shutdown
    bool is_half_made = false;                // libvirt began to set it up, and it has never executed
    bool holds_starts = false;                // nothing may be created: after a fence
    bool must_end = false;                    // the daemon stops: wind up
    bool is_awaited = false;                  // a client's command waits for the end of its operation
    bool are_networks_coming = false;         // they have not been as they shall be since the node came up
    bridge_seen bridge;
    bool names_bridges = false;       // its definition that was read last, on a node that keeps bridges
    std::uint64_t bridge_losses = 0;  // grows whenever a bridge of this node is seen to be gone
    bool has_storage = true;          // Ceph can be asked on this node
    std::uint64_t ceph_answers = 0;   // grows whenever Ceph answered for an image of its pools
    bool is_connected = true;         // to ZooKeeper
    time_point class_since{};         // when the guest came into its class
    time_point state_since{};         // when this `state` was seen first
    duration shutdown_timeout{};      // vm_shutdown_timeout
    duration stall_limit{};           // of a live migration
    held_now held;

    [[nodiscard]] bool is_guest(model::guest_class which) const { return guest == which; }
};

}  // namespace pvc::policy
