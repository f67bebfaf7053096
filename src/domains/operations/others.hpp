// What other nodes say about a domain: their running lists and their hypervisors. Specification: vm-domains.md 6.1
// step 3, 4.2 (`shutdown`/N), 8.4 (R6).
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/policy/domains/requests.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

using policy::other_node;
using policy::remote_answer;

// All nodes but this one, as stored now. Errors: those of a session that broke.
async::awaitable<result<std::vector<other_node>>> read_others(operation& op);

// What the hypervisor of another node says of it, by `until` or in 5 s.
async::awaitable<remote_answer> ask_node(operation& op, std::string node, std::optional<time_point> until = {});
// Several at once.
async::awaitable<std::map<std::string, remote_answer>> ask_all(operation& op, std::vector<std::string> nodes);

}  // namespace pvc::domains
