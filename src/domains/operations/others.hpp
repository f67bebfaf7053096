// What other nodes say about a domain: their running lists, and their hypervisors when a list cannot be believed.
// Specification: vm-domains.md 6.1 step 3, 4.2 (`shutdown`/N), 8.4 (R6).
#pragma once

#include "operations/operation.hpp"
#include "pvcnoded/policy/domains/resolve_rules.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pvc::domains {

struct other_node {
    std::string name;
    model::daemon_state daemon = model::daemon_state::stop;
    bool lists_it = false;  // in its `runningdomains`
};

// Whether a node can have this name; what clients write into `node` may be anything.
[[nodiscard]] bool may_be_a_node(std::string_view name);

// All nodes but this one, as stored now. Errors: those of a session that broke.
async::awaitable<result<std::vector<other_node>>> read_others(operation& op);

using policy::remote_answer;

// What the hypervisor of another node says of it, by `until` or in 5 s.
async::awaitable<remote_answer> ask(operation& op, std::string node, std::optional<time_point> until = {});
// Several at once.
async::awaitable<std::map<std::string, remote_answer>> ask_all(operation& op, std::vector<std::string> nodes);

// Waits until no other node has the domain in its list, asking the hypervisor of one that keeps it there.
struct release_rules {
    bool includes_stopped = false;  // lists of nodes in `stop` and `dead` count too
    duration ask_after{};
    std::optional<duration> give_up_after;
    std::string receiver;  // a node whose own list does not count: it is the one to start it
};
struct release_outcome {
    enum class kind : std::uint8_t { clear, changed, still_there } what = kind::changed;
    std::string node;
};
// `goes_on` is asked at every wake-up; false: `changed`.
async::awaitable<release_outcome> wait_released(operation& op, release_rules rules, std::function<bool()> goes_on);

}  // namespace pvc::domains
