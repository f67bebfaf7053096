// What must never happen to virtual machines, whatever befalls the cluster. The table is in invariants.cpp.
#pragma once

#include "sim/world/judge.hpp"

namespace pvc::sim {

// A reference node has it, or is to have it: what becomes of it is that node's doing, whose defects are known.
[[nodiscard]] bool is_the_references(const judge& of, std::int64_t number);

void nothing_runs_twice(judge& of);
void what_is_written_is_so(judge& of, const seen_change& seen);
void removed_machines_stay_removed(judge& of, const seen_change& seen);
void foreign_disk_locks_are_left_alone(judge& of);
void nothing_is_done_while_libvirt_is_away(judge& of);
void machines_come_to_run(judge& of);
// What rules must be told of by the hypervisors and by the disks.
void listen_to_hypervisors(judge& of);

}  // namespace pvc::sim
