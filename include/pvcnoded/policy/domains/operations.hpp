// All machines of a domain, and which one does what the tables say. Specification: vm-domains.md 4, 5.2.
#pragma once

#include "pvcnoded/policy/domains/domain_table.hpp"
#include "pvcnoded/policy/domains/going_off.hpp"
#include "pvcnoded/policy/domains/hand_shake.hpp"
#include "pvcnoded/policy/domains/receiving.hpp"
#include "pvcnoded/policy/domains/sending.hpp"
#include "pvcnoded/policy/domains/settling.hpp"
#include "pvcnoded/policy/domains/starting.hpp"

namespace pvc::policy {

using domain_machine = std::variant<adopting, keeping, cleaning_up, starting, going_off, settling_shutdown,
                                    dropping_half, ending_hung, sending, receiving, having_arrived, taking_over,
                                    seeing_taken_over, resolving_sent, resolving_own, handing_over_ended>;

// Empty: the tables ask for nothing that takes a step.
[[nodiscard]] std::optional<domain_machine> machine_for(domain_action action);
[[nodiscard]] outcome resume(domain_machine& machine, const event& what, domain_memory& memory);
// What it wants to hold from now on.
[[nodiscard]] holdings holdings_of(const domain_machine& machine);

}  // namespace pvc::policy
