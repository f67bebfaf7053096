// Where a virtual machine should go: among the nodes that may take it, the one with the best figure. Pure; figures are
// the texts that nodes publish, and one that cannot be read only takes its node out of the choice.
// Specification: node-lifecycle.md 9.
#pragma once

#include "pvcnoded/model/states.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

enum class target_selector : std::uint8_t { mem, memprov, load, vcpus, vms };
[[nodiscard]] std::string_view to_text(target_selector selector);
// In any case, blanks around it allowed; "none", "" and unknown words: empty.
[[nodiscard]] std::optional<target_selector> parse_target_selector(std::string_view text);

// The domain's own wish, else the cluster's, else what is configured here, else `mem`.
[[nodiscard]] target_selector effective_selector(std::string_view of_domain, std::string_view of_cluster,
                                                 std::string_view configured);

// A node as it is stored; a missing key is an empty text.
struct node_offer {
    std::string name;
    model::daemon_state daemon = model::daemon_state::stop;
    model::domain_state domain = model::domain_state::unknown;
    std::string memfree;
    std::string memused;
    std::string memprov;
    std::string cpuload;
    std::string vcpualloc;
    std::string domainscount;
};

struct target_request {
    target_selector selector = target_selector::mem;
    std::vector<std::string> limit;  // names of allowed nodes; empty: all
    std::string current;             // never chosen
};

struct target_choice {
    std::string node;
    std::string reason;  // "most free memory (8000 MiB)", for the operator
};

// A node as a place for one domain, figures aside.
struct possible_node {
    std::string name;
    bool is_allowed = false;     // by the domain's limit
    bool takes_domains = false;  // it runs, and it is ready

    friend bool operator==(const possible_node&, const possible_node&) = default;
};

// Whether the node may take domains at all: it runs, and it is ready.
[[nodiscard]] bool takes_domains(const node_offer& node);
[[nodiscard]] bool is_allowed(const target_request& request, std::string_view node);
// Empty: no node can take it. `nodes` in any order; of equals the first by name.
[[nodiscard]] std::optional<target_choice> select_target(const target_request& request, std::vector<node_offer> nodes);

}  // namespace pvc::policy
