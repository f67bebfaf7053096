// Host names to numeric addresses, on the offload pool.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/zookeeper/client.hpp"

#include <string>
#include <vector>

namespace pvc::zookeeper {

struct resolved_servers {
    std::vector<std::string> addresses;  // "10.0.0.1:2181", IPv6 without brackets: the library splits at the last ':'
    std::string problems;                // names that did not resolve, and why
};

// Every name to all its addresses; numeric ones pass. A look-up that fails or hangs is left out and named in
// `problems`.
async::awaitable<resolved_servers> resolve(async::offload& pool, async::timers& clock, time_point deadline,
                                           const std::vector<server_address>& servers);

}  // namespace pvc::zookeeper
