// Runs one machine of a domain: resumes it with what is seen and answered, holds what it wants to hold, and carries out
// what it asks. It decides nothing. Specification: architecture.md, "Machines"; vm-domains.md 5.2.
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/policy/domains/operations.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

// The machine for what the tables say, if that takes a step (policy::machine_for). Returns when it is over, or throws
// when it is cancelled; what it held is given back in either case.
async::awaitable<void> run_machine(operation& op, policy::domain_action action);

// Where the operation on a domain stands: what it waits for and until when, and what it would wait for next on each
// answer. Empty: none runs.
[[nodiscard]] std::optional<core::machine_view::operation> view_operation(const domain_parts& parts,
                                                                          const domain_row& row);
// The same in lines.
[[nodiscard]] std::vector<std::string> explain_operation(const domain_parts& parts, const domain_row& row);

}  // namespace pvc::domains
