// One virtual machine as this node sees it. Every domain of the cluster has a row, small, since there may be ten
// thousand; what belongs here or runs here has a `here` part too. Specification: vm-domains.md 5.2.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/model/guest_class.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/domains/domain_timing.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pvc::domains {

struct domain_row;

// The last placement outside a migration that was seen.
struct stable_placement {
    model::vm_state state = model::vm_state::unknown;
    bool was_owner = false;
    const std::string* node = nullptr;
    std::int64_t changed = 0;  // mzxid of that `state`
    std::int32_t version = 0;  // of that `state`

    [[nodiscard]] bool known() const { return changed != 0; }
};

// A console that is followed; see console.cpp.
class console_watch;

// What is kept of a domain that belongs here, runs here, or is being worked on.
struct local_domain {
    explicit local_domain(domain_row& owner);
    local_domain(const local_domain&) = delete;
    local_domain& operator=(const local_domain&) = delete;
    ~local_domain();

    domain_row& row;
    std::string name;       // value of the domain's root key
    std::string last_node;  // value of `lastnode`
    std::int32_t last_node_version = -1;
    std::string word;  // the stored state, if it is none that we know

    async::wakeup changed;       // for the operation: desired or observed state is another, or it must end
    std::string_view operation;  // what runs; empty: nothing
    bool is_read = false;        // what is below was read from its keys
    bool must_end = false;       // the running operation winds up: the daemon stops
    bool is_adopted = false;     // console, list and VNC were seen to for the guest that runs
    bool owes_vnc = false;       // the live definition could not be read when it was adopted
    bool owes_reason = false;    // it was started, and the reason of an earlier failure is still there
    bool is_listed = false;      // in the running list
    // A create whose answer never came (libvirtd stood still): it may happen yet, so the domain counts as running.
    std::optional<time_point> lost_creation;
    bool is_sent_by_us = false;                  // we began to send it in this migration
    bool is_stale_half = false;                  // class I here, and proven to be what a migration left behind
    std::int64_t sync_written = 0;               // mzxid of what we wrote last into `migrate_sync_lock`
    bool was_going_off = false;                  // a daemon before this one was shutting it down to move it
    std::int64_t seen_there = 0;                 // the migration (mzxid of `state`) whose target said that it runs it
    bool is_handed_over = false;                 // its `stop` is the hand-over of a move through a shutdown
    std::string told_console_name{};             // one that cannot be the name of a file
    bool has_record = false;                     // of a migration, on the disk of this host
    bool is_restarting = false;                  // it ended by itself and is being started again
    bool is_clean = false;                       // nothing is left to tidy up for a guest that is not here
    bool is_forgotten = false;                   // the same but for the keys below the domain
    std::string stable_last_node;                // `lastnode` of the last stable placement
    std::optional<std::string> noted_last_node;  // the same as a daemon before this one noted it
    bool has_read_journal = false;
    std::int64_t adopted_state = 0;         // mzxid of `state` when it was adopted
    policy::restart_spacing spacing;        // of automatic restarts
    time_point not_before{};                // of the next automatic restart
    std::optional<time_point> power_down;   // since when it is being shut down, over operations that do so
    bool was_asked = false;                 // in this shutdown the guest got the request
    time_point state_since{};               // when this `state` was seen first
    time_point class_since{};               // when the guest came into its present class
    std::int64_t told_state = -1;           // mzxid of the `state` that was reported already (0: it was missing)
    std::int64_t nowhere = -1;              // mzxid of the `node` that was reported to name no node
    time_point nowhere_until{};             // the nodes are asked for it again
    std::int64_t mark_ended_for = 0;        // mzxid of the `state` that ended the mark of a flush
    bool told_pause = false;                // that the guest does not execute
    bool told_unreadable = false;           // that what libvirt says of it cannot be read
    std::optional<model::domain_xml> live;  // what runs
    bool live_is_stale = true;
    std::int64_t stored_memory_mib = 0;     // of the stored XML
    std::int64_t stored_xml = 0;            // its mzxid
    std::optional<time_point> pause_until;  // after a failure that another attempt at once would only repeat
    struct {
        std::string_view action;  // what was begun last, for which state,
        std::int64_t state_changed = 0;
        time_point since{};  // and how often since then
        unsigned times = 0;
    } repeated;
    std::shared_ptr<console_watch> console;
};

struct domain_row {
    uuid id;
    model::vm_state state = model::vm_state::unknown;
    bool is_known = false;     // read in this session
    bool is_present = false;   // its keys exist
    bool is_owner = false;     // `node` is this node
    bool state_armed = false;  // watches of `state` and `node` are set
    bool node_armed = false;
    bool is_gone = false;  // no longer a child of /domains
    std::int32_t state_version = -1;
    std::int32_t node_version = -1;
    std::int64_t created = 0;        // czxid of the root key: the identity
    std::int64_t state_changed = 0;  // mzxid of `state`
    std::int64_t node_changed = 0;   // mzxid of `node`
    const std::string* node = nullptr;
    stable_placement stable;
    // It is to run here and was seen to run there, without having been off in between.
    const std::string* came_from = nullptr;
    std::unique_ptr<local_domain> here;
};

// A state in which it runs on its node, or is about to.
[[nodiscard]] constexpr bool is_to_run(model::vm_state state) {
    return state == model::vm_state::start || state == model::vm_state::restart;
}

// Without a `node` nobody knows where it belongs (keys that are just being removed one by one, or were lost): that is
// no reason to end a guest. Only a state in which it must be off everywhere counts then.
[[nodiscard]] bool is_nobodys(const domain_row& row);

}  // namespace pvc::domains
