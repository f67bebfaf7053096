// A plan for the network in words, as `pvcnoded --check-config --against-host` and `pvcnodectl explain networks` show
// it. Specification: networking.md 3.1, 5.3.
#pragma once

#include "pvcnoded/policy/networks/client_plan.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <string>
#include <vector>

namespace pvc::policy {

// A line each: first what is wrong, then what would be done, in order ("would create bridge brcluster"); "nothing to
// change" if nothing would.
[[nodiscard]] std::vector<std::string> describe(const host_plan& plan);
[[nodiscard]] std::vector<std::string> describe(const network_plan& plan);

}  // namespace pvc::policy
