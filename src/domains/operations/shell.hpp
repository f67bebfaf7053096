// Runs one machine of a domain: resumes it with what is seen and answered, holds what it wants to hold, and carries out
// what it asks. It decides nothing. Specification: architecture.md, "Machines"; vm-domains.md 5.2.
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/policy/domains/operations.hpp"

namespace pvc::domains {

// Returns when the machine is over, or throws when it is cancelled; what it held is given back in either case.
async::awaitable<void> run_machine(operation& op, policy::domain_machine machine);

}  // namespace pvc::domains
