// `--check-config --against-host`: what the daemon would change of this host's own network, were it started now. Looks,
// and changes nothing. Specification: networking.md 3.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/config/node_config.hpp"

#include <string>
#include <vector>

namespace pvc::app {

struct host_comparison {
    std::vector<std::string> lines;     // what would be changed, each step; "nothing would be changed"
    std::vector<std::string> warnings;  // what stands in the way
    bool is_possible = true;            // false: something that is configured cannot be set up on this host as it is
};

// Errors: those of a look (netlink/network_stack.hpp).
[[nodiscard]] result<host_comparison> compare_with_host(const config::node_config& config);

}  // namespace pvc::app
