// The claim of a vacancy: own name into /config/primary_node, if nobody's stands there. Specification:
// node-lifecycle.md 3.2 (S8), 7.2 (C3).
#pragma once

#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/role/coordinator_rules.hpp"

#include <optional>

namespace pvc::role {

// Conditional on the version that is read now, which must be the one of `decided_on` where a decision was made before,
// and on `held`, where it is made under a lock. Errors: refused (it is not vacant, or not as it was: the cause names
// who has it), version_conflict, already_exists (somebody was faster), and those of a session that broke.
async::awaitable<result<void>> claim_vacancy(core::session& s, time_point deadline,
                                             std::optional<policy::primary_view> decided_on = {},
                                             const zookeeper::held_lock* held = nullptr);

}  // namespace pvc::role
