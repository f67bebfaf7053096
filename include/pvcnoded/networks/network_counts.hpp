// What became of changes to links, counted for whoever watches the node, and what was told already. The assembly owns
// it, so that it lives as long as the daemon: subjects are made anew with each attempt to start, and go on counting.
// Loop thread only.
#pragma once

#include <cstdint>

namespace pvc::networks {

struct network_counts {
    std::uint64_t changes = 0;   // of links, addresses, routes and settings
    std::uint64_t failures = 0;  // changes that the kernel refused
    std::uint64_t repairs = 0;   // networks that somebody damaged, and that were made right again
    std::uint64_t looks = 0;
    std::uint64_t filter_changes = 0;     // batches that the packet filter took
    std::uint64_t function_changes = 0;   // of settings of virtual functions
    std::uint64_t function_failures = 0;  // those that a driver refused
    std::uint64_t function_repairs = 0;   // settings that somebody changed, and that were put right
    std::uint64_t function_releases = 0;  // functions that were freed
    bool has_told_missing = false;        // what this build does not have
};

}  // namespace pvc::networks
