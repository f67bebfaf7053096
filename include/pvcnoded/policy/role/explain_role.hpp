// Which of the rules C1 to C7 decides now, for whoever asks: the same decision as the actor's, on the same snapshot,
// and where it is to do nothing, why. Nothing is done by asking. Specification: node-lifecycle.md 7.2.
#pragma once

#include "pvcnoded/policy/role/coordinator_rules.hpp"

#include <string>

namespace pvc::policy {

// `decide`, with a reason in any case; without a rule it is the state in which none applies.
[[nodiscard]] coordinator_decision explain_role(const coordinator_view& view);

}  // namespace pvc::policy
