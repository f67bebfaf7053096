// The locks that the machine of an operation holds over several of its steps.
// Specification: zookeeper-schema.md 4; vm-domains.md 8.3.
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/core/kept_locks.hpp"
#include "pvcnoded/policy/domains/domain_seen.hpp"

#include <string>

namespace pvc::domains {

using core::kept_locks;
using core::scope_to_end;

// As a machine sees it.
[[nodiscard]] policy::held_now::locks seen_by_machine(kept_locks::status of);

// `node` and `state` of the domain, by then: those of a sender. They are checked by each write meanwhile.
kept_locks::with_locks migration_locks(operation& op, time_point deadline);
// `migrate_sync_lock`, by then.
kept_locks::with_locks sync_lock(operation& op, time_point deadline, std::string reason);
// Whether somebody waits behind us for the lock of `state`.
[[nodiscard]] bool somebody_waits(const operation& op, const zookeeper::watched& state_children);

}  // namespace pvc::domains
