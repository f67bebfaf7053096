// Client networks on a host that is set up, carried out on a toy kernel.
#pragma once

#include "network_fixture.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {

inline network_words client_words() {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.bridge_device = "eth0";
    words.bridge_mtu = "1500";
    return words;
}

// A host that is set up.
inline toy_kernel host_of(const config::node_config& config, int mtu = 1500) {
    toy_kernel kernel;
    for (const auto& name : {"eth0", "eth1", "eth2", "eth3"}) {
        auto link = link_named(name, "", mtu);
        link.is_up = true;
        kernel.add(link);
    }
    carry_out(kernel, plan_host(config, kernel.state()));
    return kernel;
}

inline model::client_network managed(std::uint32_t vni) {
    model::client_network network;
    network.vni = vni;
    return network;
}

inline model::client_network bridged(std::uint32_t vni) {
    auto network = managed(vni);
    network.type = model::network_type::bridged;
    return network;
}

// Plans, carries out, looks again until all is right (the second look learns the index of a new bridge); the first
// plan.
inline network_plan settle(toy_kernel& kernel, const model::client_network& wanted, const config::node_config& config,
                           network_memory& memory) {
    auto first = plan_network(wanted, config, kernel.state(), memory);
    carry_out(kernel, first);
    memory = first.next;
    const auto second = plan_network(wanted, config, kernel.state(), memory);
    EXPECT_EQ(steps_of(second), "");
    EXPECT_TRUE(second.damage.empty());
    memory = second.next;
    EXPECT_EQ(plan_network(wanted, config, kernel.state(), memory).next, memory);
    return first;
}

inline network_plan settle(toy_kernel& kernel, const model::client_network& wanted, const config::node_config& config) {
    network_memory memory;
    return settle(kernel, wanted, config, memory);
}

}  // namespace pvc::policy
