// What sender and receiver of a migration share: the sync lock and who contends for it, the locks of the sender, the
// journal. Specification: vm-domains.md 8.
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/policy/domains/hand_over.hpp"
#include "pvcnoded/policy/domains/migration_journal.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

// The contenders of others on the sync lock. One that belongs to an earlier migration (created before the last
// non-migration state that this daemon saw) is stale and deleted on sight (8.5).
async::awaitable<result<bool>> peer_contends(operation& op);

// Whether the sender of a domain that comes here is one of the reference, which says nothing when it hands over: known
// by the locks that one session has. To be asked at each change while the receiver waits.
class reference_sender {
public:
    explicit reference_sender(operation& op);
    async::awaitable<bool> look();  // false: it could not be read
    // Whether the `stop` that the row shows was written under its locks.
    async::awaitable<std::optional<bool>> wrote_stop();  // empty: nobody knows yet

private:
    operation& op_;
    std::unique_ptr<zookeeper::watched> of_node_;
    std::unique_ptr<zookeeper::watched> of_state_;
    std::uint64_t seen_of_node_ = 0;
    std::uint64_t seen_of_state_ = 0;
    std::optional<policy::sender_locks> locks_;
};

// The receiver's side of the hand-shake: holds the lock until the sender is queued behind, again and again, until it is
// cancelled. A child of the operation's scope.
struct receiver_lock {
    bool peer_seen = false;
    bool is_held = false;  // now: nobody else is at it
};
async::awaitable<void> offer_sync_lock(operation& op, receiver_lock& state);

// The sender's side: queues when the receiver was seen, holds the lock until told.
struct sender_lock {
    bool granted = false;
    bool alone = false;   // the receiver was there, and has gone idle
    bool failed = false;  // it never showed, or the lock was not granted in time
    bool must_release = false;
    bool released = false;
    async::wakeup changed;
    async::wakeup done;

    // Releases and waits until that is done, at most 2 s.
    async::awaitable<void> release(async::timers& clock);
};
async::awaitable<void> take_sync_lock(operation& op, sender_lock& state, time_point deadline);

// What a receiver that is gone left in `migrate_sync_lock`. Only with the locks of a sender: no other migration can
// have begun.
async::awaitable<void> clear_sync_value(operation& op);

// Runs `body` with the locks of `node` and `state` held; they are checked by each of its writes. Errors: timed_out (not
// acquired in time), and those of a broken session.
async::awaitable<result<void>> with_migration_locks(operation& op, time_point deadline,
                                                    std::function<async::awaitable<void>()> body);
// True if a client, or somebody, waits for the lock of `state` behind us.
[[nodiscard]] bool somebody_waits(const operation& op, const zookeeper::watched& state_children);

// What became of a live call that failed, or of a half that was found (8.7).
enum class resolution : std::uint8_t {
    moved,               // the target has it
    clean_failure,       // it is here, and only here
    unanswered,          // it runs here, the target does not answer: no fallback
    kept_without_proof,  // it runs here, the target holds a halted copy: no fallback
    ended,               // it is nowhere: hand over as after a shutdown
    let_go,              // nothing is known and nothing was done
    overtaken,           // this migration is no longer wanted
};
async::awaitable<resolution> resolve(operation& op, std::string target);

// {state = stop, our mark}: what is off here is handed over to its new node (README ruling 26).
async::awaitable<write_result> write_hand_over(operation& op);
// {state = start}, and what the migration left in `migrate_sync_lock` taken back by the same transaction.
async::awaitable<write_result> write_taken_over(operation& op);
// After the guest is at that target, or off: the receiver moves the state on, or we do after 10 s, but only from what
// was `handed` over: this migration to that target, or our own `stop`. Anything else is somebody's word.
async::awaitable<void> await_receiver(operation& op, std::string target, operation::view handed);

// After the hand-over of what is off: a target that dropped the request is asked once more, after 10 s.
async::awaitable<void> see_it_start(operation& op, std::string target);
// Whether the daemon of that node says that it runs.
async::awaitable<bool> target_runs(operation& op, std::string target);

// RBD disks of the stored definition; empty also if it cannot be read.
async::awaitable<result<std::vector<std::string>>> stored_volumes(operation& op);

// What a rollback restores as `lastnode`: that of the last placement outside a migration, as this daemon saw it or the
// one before noted it; else what fits (8.3).
[[nodiscard]] std::string previous_last_node(const operation& op);

// <dynamic_directory>/migrations/<uuid>; on the disk some time later.
void write_journal(operation& op, std::string_view role, std::string peer, std::string_view step);
void remove_journal(operation& op);
[[nodiscard]] std::optional<policy::journal_entry> read_journal(const core::node_context& node, const uuid& id);
// Once a session, when everything was read: what a session or a daemon before this one left of migrations that are
// over.
async::awaitable<void> tidy_journals(domain_parts& parts, core::session& s);

}  // namespace pvc::domains
