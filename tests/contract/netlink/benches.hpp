// The worlds that the suites run in, by name.
#pragma once

#include "contract/netlink/real_network.hpp"
#include "contract/netlink/simulated_network.hpp"

#include <string>
#include <type_traits>

namespace pvc::contract {

using network_benches = testing::Types<real_network, simulated_network>;

struct bench_names {
    template <class Bench>
    static std::string GetName(int /*number*/) {
        return std::is_same_v<Bench, real_network> ? "real" : "simulated";
    }
};

}  // namespace pvc::contract
