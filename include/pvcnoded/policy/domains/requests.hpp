// What machines ask for, and what they are told: effects with an answer, one at a time (`ask`), and acts that need none
// (`act`). Each is carried out by one function of the shell and by one of the explorer's model.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/message.hpp"
#include "pvcnoded/model/states.hpp"
#include "pvcnoded/policy/domains/domain_seen.hpp"
#include "pvcnoded/policy/domains/move_fault.hpp"
#include "pvcnoded/policy/domains/resolve_rules.hpp"
#include "pvcnoded/policy/placement/disk_users.hpp"
#include "pvcnoded/policy/placement/rbd_lock_seen.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pvc::policy {

// Another node, as stored: its daemon's state, and whether its `runningdomains` has the domain.
struct other_node {
    std::string name;
    model::daemon_state daemon = model::daemon_state::stop;
    bool lists_it = false;

    friend bool operator==(const other_node&, const other_node&) = default;
};

// What becomes of `migrate_sync_lock` in the transaction that writes the state.
enum class sync_word : std::uint8_t {
    kept,
    handed_over,  // the mark of a hand-over (README ruling 26)
    taken_back,   // what a migration left there
};

// Own keys of the domain that only its node writes; one that is gone is not made again.
enum class own_key : std::uint8_t { sync_word, vnc };

// What a question to libvirt about one guest may take.
inline constexpr duration guest_query_limit = std::chrono::seconds(5);

// In brackets: the alternative of `answer` that comes back. Times are limits of the step that asks.
namespace ask {

struct nothing {};  // the machine is over
struct change {};   // [woken] something about the domain is another
struct time {};     // [woken] the deadline, whatever happens

// Its keys. Writes are guarded by what is seen when they are asked for, and by the locks that are held.
struct row {};        // [row_read]
struct write_state {  // [write_end]
    model::vm_state state = model::vm_state::unknown;
    sync_word sync = sync_word::kept;
};
struct write_placement {  // [write_end]
    model::vm_state state = model::vm_state::unknown;
    std::string node;
    std::string last_node;
};
struct write_last_node {  // [write_end]
    std::string last_node;
};
struct clear_own {  // [yes] false: not written, or nobody knows
    own_key key = own_key::vnc;
};
struct offer_to_receive {};  // [yes] its identifier into `migrate_sync_lock`: it may come; false: not written
struct connection {};        // [yes] the session is connected again
struct sending_keys {        // [wishes_read] of a domain that is to be sent
    std::string target;
};

// Running list.
struct set_listed {  // [yes] it is stored; false: not within 2 s, and is written later
    bool runs = false;
};

// Other nodes, as stored.
struct others {};     // [others_read] all but this one
struct daemon_runs {  // [yes] its daemon says so
    std::string node;
};
struct node_exists {  // [yes]
    std::string node;
};
struct whose_stop {};  // [yes] the `stop` was written under the locks of a reference sender

// Other nodes, their hypervisors.
struct target {  // [remote_answer] a fenced node has nothing
    std::string node;
};
struct nodes {  // [nodes_asked] all at once
    std::vector<std::string> names;
};

// The hypervisor here.
struct own_guest {};   // [yes] false: no answer; the class is in what is seen
struct destroy {};     // [call_answer]
struct resume_guest {  // [call_answer] begins while the proof is valid, or not at all
    boot_time proof{};
};
struct set_downtime {  // [call_answer] from the stored text
    std::string stored;
};
struct progress {};    // [progress_read] of the live call
struct abort_call {};  // [call_answer]

// Locks on its disks.
struct rbd_verdict {  // [rbd_judged] with a look at the node that was to have the other half
    std::string target{};
};
struct list_rbd_locks {  // [rbd_listed] of each of these volumes
    std::vector<std::string> volumes;
};
struct prepare_rbd_break {  // [call_answer] its image is opened, and the lock looked for: nothing is changed
    lock_to_break which;
    std::chrono::seconds block_for{};  // as of the break
};
struct disk_users {  // [disk_users_read] who else here has these volumes open
    std::vector<std::string> volumes;
};
struct break_rbd_lock {  // [call_answer] this very lock; begins while the proof is valid, or not at all
    lock_to_break which;
    boot_time proof{};
    std::chrono::seconds block_for{};  // its client; zero: as Ceph is configured
};

// The lock of the hand-shake.
struct contenders {};     // [contenders_read] who else is at it
struct make_sync_key {};  // [yes] false: the domain goes

// A sender that has forgotten that it is one (README ruling 30).
struct stranded_keys {};  // [keys_compared]
struct take_back {        // [write_end] under the lock of `state`: it stays with that node
    std::string node;
    std::int64_t changed = 0;
};

// A creation.
struct definition {};  // [definition_read] what is to be created
struct monitors {};    // [call_answer] whether one of Ceph's answers now
struct write_reason {  // [yes] why it waits, into failedreason unless it is there; as long as this is the wish
    std::string reason;
    policy::wish began_with;
};
struct bridges_look {};   // [yes] a look at the links of this node that began now is told of; false: not in time
struct network_is_gone {  // [yes] no key of a network has this bridge; false: it has, or nobody knows
    std::string bridge;
};
struct create {  // [call_answer] what was read last; begins while the proof is valid, or not at all
    boot_time proof{};
};
struct end_crashed {};  // [woken] a guest that crashed and was kept goes
struct write_started {  // [yes] state, failedreason, vnc; as long as it is still wanted
    policy::wish began_with;
};
struct write_failed {  // [write_end] `fail` with its reason; as long as this is the wish
    std::string reason;
    policy::wish began_with;
};

// What a guest that runs needs.
struct publish_vnc {};                  // [yes] false: what runs could not be read
struct live_xml {};                     // [yes] likewise
struct end_console {};                  // [woken]
struct clear_reason {                   // [yes] false: somebody has written since
    std::optional<std::string> only{};  // what is stored is cleared if it is this; empty: whatever it is
    bool of_a_wait = false;             // if it says why a daemon before this one waited (is_reason_to_wait)
};

using any =
    std::variant<nothing, change, time, row, write_state, write_placement, write_last_node, clear_own, offer_to_receive,
                 connection, sending_keys, set_listed, others, daemon_runs, node_exists, whose_stop, target, nodes,
                 own_guest, destroy, resume_guest, set_downtime, progress, abort_call, rbd_verdict, list_rbd_locks,
                 prepare_rbd_break, disk_users, break_rbd_lock, contenders, make_sync_key, stranded_keys, take_back,
                 definition, create, end_crashed, write_started, write_failed, publish_vnc, live_xml, end_console,
                 clear_reason, monitors, write_reason, bridges_look, network_is_gone>;

}  // namespace ask

struct woken {};
struct yes {
    std::optional<bool> is;  // empty: not known
};
struct row_read {
    enum class end : std::uint8_t { fresh, gone, failed } what = end::failed;
    boot_time proof{};  // of `fresh`: when the read was sent

    [[nodiscard]] bool is_fresh() const { return what == end::fresh; }
};
enum class write_end : std::uint8_t {
    written,
    overtaken,  // somebody else changed it meanwhile, or it is gone: decide again
    failed,     // the session is in trouble, or the outcome is unknown: decide again when it was read
};
// How an effect that reaches outside ended.
struct call_answer {
    call_end end = call_end::other;
    std::string text;
};
struct others_read {
    bool is_known = false;
    std::vector<other_node> nodes;
};
struct nodes_asked {
    std::vector<std::pair<std::string, remote_answer>> answers;

    [[nodiscard]] std::optional<remote_answer> of(const std::string& node) const;
};
struct rbd_judged {
    enum class verdict : std::uint8_t { not_read, no_disks, own, foreign, unreadable } what = verdict::not_read;
    std::string reason;
    bool is_unlocked = false;        // of `own`: nobody has a lock
    bool has_target_fallen = false;  // likewise: it was fenced, or began anew, since `state` was written
};
struct rbd_listed {
    std::vector<volume_locks> volumes;
    std::vector<std::string> own_addresses;  // of the host whose locks are our own
};
struct disk_users_read {
    enum class end : std::uint8_t { known, no_libvirt, failed } what = end::failed;
    std::string reason{};  // of `failed`: what could not be read
    std::vector<disk_user> users{};
};
struct wishes_read {
    bool is_known = false;
    bool is_target_known = false;
    std::string method;
    std::optional<std::string> max_downtime;  // empty: it is not to be set
};
struct progress_read {
    bool is_known = false;
    bool is_running = false;
    std::uint64_t remaining_bytes = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t bytes_per_second = 0;
    std::uint64_t dirty_pages_per_second = 0;
};
struct contenders_read {
    enum class end : std::uint8_t { read, no_key, failed } what = end::failed;
    bool is_there = false;  // another node
};
struct keys_compared {
    bool is_known = false;
    bool is_contended = false;
    std::int64_t changed = 0;  // newest transaction among the keys of the migration
};
struct definition_read {
    enum class end : std::uint8_t { read, unusable, missing, failed } what = end::failed;
    std::string reason{};                // of `unusable`
    std::vector<std::string> volumes{};  // of `read`: its RBD disks
};
using answer = std::variant<woken, yes, row_read, write_end, call_answer, others_read, remote_answer, nodes_asked,
                            rbd_judged, rbd_listed, disk_users_read, wishes_read, progress_read, contenders_read,
                            keys_compared, definition_read>;

// Done at once, in order, before what is asked.
namespace act {

struct line {  // of the log, about this domain
    enum class level : std::uint8_t { info, state, warning, error } how = level::info;
    message id{};  // of warning and error
    std::string text;
};
struct write_record {  // of a migration, on the disk of this host
    std::string role;
    std::string peer;
    std::string step;
};
struct drop_record {};
struct pause {  // after a failure that another attempt at once would only repeat
    duration time{};
};
struct note_arrival {};  // whoever empties this node wants to know
struct note_stay {       // likewise: it was not moved to that node
    std::string target;
    move_fault fault = move_fault::neither;
};
struct follow_console {};    // its log, as long as it runs here
struct arrived_home {};      // where it came from is of no concern any more
struct tell_pause {};        // that it does not execute, once, if so
struct created {};           // the guest that is here now is new
struct tell_vnc_problem {};  // if clients cannot read its VNC address
struct forget_live {};       // what is known of its definition is of a guest that is gone

using any = std::variant<line, write_record, drop_record, pause, note_arrival, note_stay, follow_console, arrived_home,
                         tell_pause, created, tell_vnc_problem, forget_live>;

}  // namespace act

}  // namespace pvc::policy
