// The worlds that the suites of the packet filter run in, by name.
#pragma once

#include "contract/netlink/real_filter.hpp"
#include "contract/netlink/simulated_filter.hpp"

#include <string>
#include <type_traits>

namespace pvc::contract {

using filter_benches = testing::Types<real_filter, simulated_filter>;

struct filter_bench_names {
    template <class Bench>
    static std::string GetName(int /*number*/) {
        return std::is_same_v<Bench, real_filter> ? "real" : "simulated";
    }
};

}  // namespace pvc::contract
