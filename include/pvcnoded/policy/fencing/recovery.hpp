// The recovery of one machine of a dead node (node-lifecycle.md 10.5 rows a to d; vm-domains.md 15; storage.md 6.4;
// README rulings 12, 38, 44, 89): a value that is resumed with the answer to its last question. Eight of them run side
// by side (while `holds_slot`), and of those four at once clear locks.
//
// What the shell must guarantee:
// - A guarded read is one view of the machine's keys, of the dead node's `daemonstate` and `keepalive`, and of the own
//   fence lock, read on this session; `sent` is the boot time of its sending.
// - Clearing locks, proving by storage and blocklisting take a guarded read of their own before each lock or client
//   (placement/rbd_clearing: `for_recovery`, `prove_silent`): the dead node by the ids of F0, the own lock, and the
//   machine's `state` and `node` as in the last read here; each begins within 2 s of it, or not at all.
// - A write is one transaction under the exclusive lock on the machine's `state` (waited for 15 s at most) with the
//   versions of the last read of `state`, `node`, `lastnode` and `node_autostart`, the versions of the dead node's
//   `daemonstate` and `keepalive`, the own child of the fence lock, and for a move the target's `daemonstate` and
//   `domainstate`.
// - The hypervisors that are asked are those of every node but the dead one, this one included, all at once, 5 s each.
// - `target` is answered by one planner (recovery_plan.hpp) for all machines.
// Where the proof is by storage a node is found first: a machine that no node takes is left as it is, its clients too.
// A proof can be taken again: who had the disks is remembered, and recorded.
#pragma once

#include "pvcnoded/policy/domains/resolve_rules.hpp"
#include "pvcnoded/policy/fencing/fence_requests.hpp"
#include "pvcnoded/policy/fencing/recovery_plan.hpp"
#include "pvcnoded/policy/placement/storage_proof.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pvc::policy {

struct guest_keys {
    model::vm_state state = model::vm_state::unknown;
    std::string node;
    std::string last_node;
    bool autostart = false;
    std::int64_t state_id = 0;  // of the transaction that wrote it
    std::int64_t autostart_id = 0;
    std::vector<std::string> volumes;    // of `/rbdlist` and of the XML, each once
    bool are_all_rbd = false;            // all disks that its XML has
    std::string unreadable;              // why its XML cannot be read; empty: it can
    std::vector<std::string> listed_by;  // nodes but the dead one whose `runningdomains` has it
    friend bool operator==(const guest_keys&, const guest_keys&) = default;
};

namespace recovery_ask {

struct nothing {  // it is over
    friend bool operator==(const nothing&, const nothing&) = default;
};
struct time {  // [woken]
    friend bool operator==(const time&, const time&) = default;
};
struct guarded_read {  // [read]
    friend bool operator==(const guarded_read&, const guarded_read&) = default;
};
struct others {  // [others]
    friend bool operator==(const others&, const others&) = default;
};
struct target {  // [planned_guest]
    std::string preferred;
    bool is_again = false;  // what was planned is no longer right
    friend bool operator==(const target&, const target&) = default;
};
// [cleared] `blocked`: clients that are on Ceph's blocklist already, seen there: a lock of theirs, and of nobody
// else's, is broken without blocklisting by the break itself, which Ceph did not understand.
struct clear_locks {
    std::vector<std::string> volumes;
    std::vector<std::string> blocked;
    friend bool operator==(const clear_locks&, const clear_locks&) = default;
};
struct prove_silent {  // [proven] nobody can write to these any more (README ruling 12 b)
    std::vector<std::string> volumes;
    clients_before before{};
    friend bool operator==(const prove_silent&, const prove_silent&) = default;
};
struct record {  // [done] on the disk, synced, before anything rests on it (46)
    fence_entry::guest entry;
    friend bool operator==(const record&, const record&) = default;
};
struct blocklist {  // [done] by the monitors' command `osd blocklist add`, the time as a number
    std::string address;
    std::chrono::seconds time{};
    friend bool operator==(const blocklist&, const blocklist&) = default;
};
struct blocklisted {  // [blocklist_read]
    friend bool operator==(const blocklisted&, const blocklisted&) = default;
};
struct write {  // [written]
    enum class kind : std::uint8_t {
        stopped,  // `stop`
        stays,    // `start`, `node`, `lastnode`: no lock is touched
        moves,    // `start`, `node`, `lastnode`
        parks,    // `stop`, `node_autostart` True, in one transaction
        revives,  // `start`, `node`, `lastnode`, `node_autostart` False
    } what = kind::stopped;
    std::string node;
    std::string last_node;
    friend bool operator==(const write&, const write&) = default;
};
struct runs {  // [seen_to_run] it is seen to run there, by the running list of that node or its hypervisor
    std::string node;
    friend bool operator==(const runs&, const runs&) = default;
};

using any = std::variant<nothing, time, guarded_read, others, target, clear_locks, prove_silent, record, blocklist,
                         blocklisted, write, runs>;

}  // namespace recovery_ask

namespace recovery_said {

struct woken {};
struct read {
    std::optional<victim_seen> victim{};  // empty: nobody could be asked
    std::optional<guest_keys> guest{};    // empty: its keys are gone
    bool has_lock = false;
};
struct other_node_said {
    std::string node;
    model::daemon_state daemon = model::daemon_state::stop;
    bool lists_it = false;
    remote_answer answer = remote_answer::silent;
};
struct others {
    bool is_known = false;  // the nodes could be read
    std::vector<other_node_said> nodes;
};
struct cleared {
    enum class kind : std::uint8_t {
        clear,
        refused,         // some lock is still there
        not_understood,  // Ceph refused to break or blocklist with -22: `address` is the client's
        no_ceph,         // it cannot be asked from here: no permission, no helper, storage function off
        changed,         // a guarded read did not show what it was to show
    } what = kind::changed;
    std::string reason;
    std::string address;
    std::vector<recorded_lock> locks;
};
struct proven {
    enum class kind : std::uint8_t { proven, refused, no_ceph, changed } what = kind::changed;
    std::string reason;
    std::vector<std::string> clients;  // that had them: blocklisted where it is proven
};
struct done {
    std::optional<std::string> error;  // empty: it is done
};
struct blocklist_read {
    std::vector<std::string> addresses;
    std::optional<std::string> error;
};
struct seen_to_run {
    bool is = false;
    bool is_changed = false;  // its state was written since, by whoever goes on with it
};

using any = std::variant<woken, read, others, planned_guest, cleared, proven, done, blocklist_read, fence_said::written,
                         seen_to_run>;

}  // namespace recovery_said

struct recovery_step {
    recovery_ask::any what;
    time_point until = time_point::max();
    std::string_view reason;

    [[nodiscard]] bool is_over() const { return std::holds_alternative<recovery_ask::nothing>(what); }
};
[[nodiscard]] std::string to_text(const recovery_ask::any& what);

struct recovery_limits {
    static constexpr duration read = std::chrono::seconds(5);
    static constexpr duration others = std::chrono::seconds(10);
    static constexpr duration target = std::chrono::seconds(10);
    static constexpr duration locks = std::chrono::seconds(120);
    static constexpr duration write = std::chrono::seconds(20);  // the lock on its state, and the transaction
    static constexpr duration runs = std::chrono::seconds(90);
    static constexpr duration pause = std::chrono::seconds(1);
    static constexpr int tries = 5;
    static constexpr std::size_t clients = 16;  // that are blocklisted one by one
};

struct guest_recovery {
    enum class at : std::uint8_t {
        begin,
        reading,
        pausing,
        asking_others,
        reading_again,   // right before locks are touched
        choosing_first,  // a node for it, before a proof by storage shuts its clients out
        proving,
        recording,  // that proof
        clearing,
        reading_client,  // right before a client is blocklisted by command
        blocklisting,
        looking_at_blocklist,
        choosing,
        reading_last,  // right before the write
        writing,
        watching,
        over,
    };

    // Given.
    uuid id{};
    std::string dead_node{};
    fence_proof proof = fence_proof::power;
    std::int64_t mark_id = 0;  // F0
    std::int64_t heartbeat_id = 0;
    // A leftover (38, 44): one that was parked is started, if the transaction that parked it still stands and is
    // younger than `proof_id`, the write of `fenceproof`.
    bool may_revive = false;
    std::int64_t proof_id = 0;
    clients_before before{};  // that its disks had while the dead node's heartbeat was this one

    // What it remembers.
    at where = at::begin;
    guest_keys keys{};
    bool is_proven_silent = false;
    bool is_cleared = false;
    bool is_plan_wrong = false;
    bool is_reviving = false;
    int tries = 0;
    std::string client{};
    std::vector<std::string> blocked{};
    recovery_ask::write wanted{};
    planned_guest planned{};
    guest_end end = guest_end::kept;
    std::string why{};  // of `kept`, `parked`, `needs_ceph`: one clause
    std::int64_t zxid = 0;
    std::optional<bool> ran{};

    // Late answers are the shell's business: it asks one thing at a time and cancels what it does not wait for. A step
    // that was not answered by its end is answered as failed. Cancelled between two steps nothing is left behind.
    [[nodiscard]] recovery_step resume(const recovery_said::any& said, time_point now,
                                       std::vector<fence_entry::guest>& notes);
    // It is one of those that run side by side; what it then waits for holds up nobody.
    [[nodiscard]] bool holds_slot() const { return where != at::watching && where != at::over; }

private:
    struct context;
    recovery_step ask(context& c, recovery_ask::any what, at which, duration limit, std::string_view reason);
    recovery_step read(context& c, at which);
    recovery_step finish(context& c, guest_end how, std::string words);
    recovery_step finish_written(context& c);
    recovery_step again(context& c);
    recovery_step judge(context& c, const recovery_said::read& said);
    recovery_step decide(context& c);
    recovery_step asked_others(context& c, const recovery_said::others& said);
    recovery_step deal_with_disks(context& c);
    recovery_step disks_read(context& c);
    recovery_step ask_for_target(context& c, at which);
    recovery_step chosen_first(context& c, const planned_guest& said);
    recovery_step proven(context& c, const recovery_said::proven& said);
    recovery_step cleared(context& c, const recovery_said::cleared& said);
    recovery_step looked_at_blocklist(context& c, const recovery_said::blocklist_read& said);
    recovery_step choose(context& c);
    recovery_step chosen(context& c, const planned_guest& said);
    recovery_step written(context& c, const fence_said::written& said);
    recovery_step watched(context& c, const recovery_said::seen_to_run& said);
};

}  // namespace pvc::policy
