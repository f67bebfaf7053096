// A host before a daemon was there, and plans for it that are carried out.
#pragma once

#include "network_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pvc::policy {

inline toy_kernel bare_host(const std::vector<std::string>& devices, int mtu = 1500) {
    toy_kernel kernel;
    auto lo = link_named("lo", "", 65536);
    lo.is_loopback = true;
    lo.is_up = true;
    kernel.add(lo);
    for (const auto& name : devices) {
        kernel.add(link_named(name, "", mtu));
    }
    return kernel;
}

// Plans, carries it out, and sees that nothing is left; the first plan.
inline host_plan settle(toy_kernel& kernel, const config::node_config& config) {
    auto plan = plan_host(config, kernel.state());
    carry_out(kernel, plan);
    EXPECT_EQ(steps_of(plan_host(config, kernel.state())), "");
    return plan;
}

}  // namespace pvc::policy
