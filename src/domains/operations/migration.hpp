// Keys and records of migrations: who contends for the lock of the hand-shake, the words in it, the journal.
// Specification: vm-domains.md 8.
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/policy/domains/hand_over.hpp"
#include "pvcnoded/policy/domains/migration_journal.hpp"

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

// A missing key counts as empty and is made (README ruling 27), unless the domain goes. False: it does.
async::awaitable<bool> make_sync_key(operation& op);

// The word of a receiver that it may come, as long as it is to come by the row: a word that is written later would
// stay. False: it was not written.
async::awaitable<bool> write_offer(operation& op);
// {state = stop, our mark}: what is off here is handed over to its new node (README ruling 26).
async::awaitable<write_end> write_hand_over(operation& op);
// {state = start}, and what the migration left in `migrate_sync_lock` taken back by the same transaction.
async::awaitable<write_end> write_taken_over(operation& op);
// RBD disks of the stored definition; empty also if it cannot be read.
async::awaitable<result<std::vector<std::string>>> stored_volumes(operation& op);

// <dynamic_directory>/migrations/<uuid>; on the disk some time later.
void write_journal(operation& op, std::string_view role, std::string peer, std::string_view step);
void remove_journal(operation& op);
[[nodiscard]] std::optional<policy::journal_entry> read_journal(const disk_records& records, const uuid& id);
// Once a session, when everything was read: what a session or a daemon before this one left of migrations that are
// over.
async::awaitable<void> tidy_journals(domain_parts& parts, core::session& s);

}  // namespace pvc::domains
