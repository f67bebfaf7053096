// One virtual machine as this node sees it. Every domain of the cluster has a row, small, since there may be ten
// thousand; what belongs here or runs here has a `here` part too. Specification: vm-domains.md 5.2.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/model/domain_xml.hpp"
#include "pvcnoded/model/guest_class.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/domains/domain_memory.hpp"
#include "pvcnoded/policy/domains/domain_table.hpp"
#include "pvcnoded/policy/placement/disk_users.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
// The machine of the operation that runs; see operations/shell.hpp.
struct running_machine;

// What is kept of a domain that belongs here, runs here, or is being worked on; what is remembered of it beside its
// keys is in the parts of domain_memory.
struct local_domain : policy::domain_memory {
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
    std::optional<policy::domain_action> doing;  // the same, if the tables asked for it
    const running_machine* running = nullptr;    // the same, step by step; for whoever asks what it waits for
    bool is_read = false;                        // what is below was read from its keys
    bool must_end = false;                       // the running operation winds up: the daemon stops
    bool is_being_created = false;               // the running operation tells libvirt to create it, or has done so
    bool is_handed_over = false;                 // its `stop` is the hand-over of a move through a shutdown
    time_point state_since{};                    // when this `state` was seen first
    time_point class_since{};                    // when the guest came into its present class
    std::optional<model::domain_xml> live;       // what runs
    bool live_is_stale = true;
    std::int64_t stored_memory_mib = 0;           // of the stored XML
    std::int64_t stored_xml = 0;                  // its mzxid
    std::vector<policy::disk_user> stored_disks;  // RBD images, as they were read last to be created
    std::vector<std::string> bridges;             // that it names
    std::vector<std::string> pools;               // of Ceph, of its disks
    std::optional<time_point> pause_until;        // after a failure that another attempt at once would only repeat
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

// What keeps a machine from being started that is to run here, if that lies outside of it.
[[nodiscard]] policy::start_cause waits_for(const domain_row& row);

}  // namespace pvc::domains
