// What must never happen to virtual machines, whatever befalls the cluster. The table is in invariants.cpp.
#pragma once

#include "sim/world/judge.hpp"

namespace pvc::sim {

// A reference node has it, or is to have it: what becomes of it is that node's doing, whose defects are known.
[[nodiscard]] bool is_the_references(const judge& of, std::int64_t number);

// Nothing keeps this node's daemon from its work, or has done so of late.
[[nodiscard]] bool is_undisturbed(const judge& of, const member& one);

void nothing_runs_twice(judge& of);
void what_is_written_is_so(judge& of, const seen_change& seen);
void removed_machines_stay_removed(judge& of, const seen_change& seen);
void foreign_disk_locks_are_left_alone(judge& of);
void nothing_is_done_while_libvirt_is_away(judge& of);
void machines_come_to_run(judge& of);
void running_lists_are_true(judge& of);
void lists_keep_what_is_there(judge& of, const seen_change& seen);
// vm-domains.md 11.3: what the running list of this node says of the machine. Empty: either is right.
[[nodiscard]] std::optional<bool> belongs_into_list(const judge& of, member& one, std::int64_t number);
void clients_have_the_last_word(judge& of, const seen_change& seen);
// Empty: its state is what clients last asked for. Else what is wrong.
[[nodiscard]] std::optional<std::string> against_the_wish(const judge& of, std::int64_t number);
// Told of every change; the transaction before it is looked at.
void transactions_rest_on_what_was_read(judge& of, const recorded_change& change, member* writer);
// What rules must be told of by the hypervisors and by the disks.
void listen_to_hypervisors(judge& of);

}  // namespace pvc::sim
