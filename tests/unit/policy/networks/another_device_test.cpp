// Client networks whose device is another one in the configuration than it was: `bridge_device`, or that of the cluster
// network (README ruling 79: what the record has is this daemon's).
#include "client_plan_fixture.hpp"

namespace pvc::policy {
namespace {

network_words words_on(const std::string& device) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.bridge_device = device;
    return words;
}

// Network 7 as it was set up on the device before, with the record of that.
struct before_the_change {
    explicit before_the_change(const model::client_network& network) {
        settle(kernel, network, before, memory);
        whose.bases = bases_after_look({}, plan_network(network, before, kernel.state(), memory).bases, kernel.state());
        memory = {};  // another daemon
        memory.own_bridge = kernel.link("vmbr7").index;
    }
    config::node_config before = config_of(words_on("eth1"));
    toy_kernel kernel = host_of(before);
    network_memory memory;
    whose_links whose;
};

TEST(another_device, the_base_is_made_anew_there_as_soon_as_that_is_there) {
    const auto wanted = bridged(7);
    before_the_change host(wanted);
    host.kernel.add(link_named("vnet0", "tun"));
    host.kernel.apply(model::set_master{"vnet0", "vmbr7"});
    const int index = host.kernel.link("vlan7").index;
    ASSERT_TRUE(host.whose.bases.at("vlan7").is_own);
    const auto now = config_of(words_on("eth7"));
    auto plan = plan_network(wanted, now, host.kernel.state(), host.memory, host.whose);
    EXPECT_FALSE(plan.is_refused);
    carry_out(host.kernel, plan);
    EXPECT_EQ(host.kernel.link("vlan7").index, index) << "it works until then";
    EXPECT_EQ(host.kernel.master_of("vlan7"), "vmbr7");
    EXPECT_NE(remarks_of(plan.remarks).find("device eth7 is missing"), std::string::npos);
    auto fresh = link_named("eth7");
    fresh.is_up = true;
    host.kernel.add(fresh);
    plan = plan_network(wanted, now, host.kernel.state(), host.memory, host.whose);
    EXPECT_EQ(plan.bases, (own_bases{{"vlan7", {recorded_base::coming, true}}}));
    const auto steps = steps_of(plan);
    EXPECT_LT(steps.find("delete link vlan7"), steps.find("create VLAN vlan7 (id 7) on eth7"));
    EXPECT_TRUE(plan.damage.empty());
    carry_out(host.kernel, plan);
    EXPECT_EQ(host.kernel.link("vlan7").lower, host.kernel.link("eth7").index);
    EXPECT_EQ(host.kernel.master_of("vlan7"), "vmbr7");
    EXPECT_EQ(host.kernel.master_of("vnet0"), "vmbr7");
    EXPECT_EQ(host.kernel.link("vmbr7").index, host.memory.own_bridge);
    EXPECT_EQ(steps_of(plan_network(wanted, now, host.kernel.state(), plan.next, host.whose)), "");
}

TEST(another_device, a_vxlan_follows_the_cluster_network) {
    const auto wanted = managed(7);
    before_the_change host(wanted);
    auto words = words_on("eth1");
    words.cluster_device = "eth2";
    const auto now = config_of(words);
    const auto plan = plan_network(wanted, now, host.kernel.state(), host.memory, host.whose);
    carry_out(host.kernel, plan);
    EXPECT_EQ(host.kernel.link("vxlan7").lower, host.kernel.link("eth2").index);
    EXPECT_EQ(host.kernel.master_of("vxlan7"), "vmbr7");
}

TEST(another_device, what_the_record_does_not_have_is_refused_as_it_was) {
    const auto wanted = bridged(7);
    before_the_change host(wanted);
    const auto now = config_of(words_on("eth2"));
    for (const bool is_used : {false, true}) {
        whose_links whose;
        if (is_used) {
            whose.bases["vlan7"] = {host.kernel.link("vlan7").index, false};
        }
        const auto plan = plan_network(wanted, now, host.kernel.state(), host.memory, whose);
        EXPECT_TRUE(plan.is_refused);
        EXPECT_EQ(remarks_of(plan.remarks),
                  "error network-refused: network 7: vlan7 is there and is not VLAN 7 on eth2\n");
    }
}

// What somebody put on top of it would go with it.
TEST(another_device, a_base_that_somebody_uses_stays) {
    const auto wanted = bridged(7);
    before_the_change host(wanted);
    host.kernel.apply(model::make_vlan{"inner", "vlan7", 9});
    const auto now = config_of(words_on("eth2"));
    const auto plan = plan_network(wanted, now, host.kernel.state(), host.memory, host.whose);
    EXPECT_EQ(steps_of(plan).find("delete"), std::string::npos);
    EXPECT_NE(remarks_of(plan.remarks).find("inner stands on it"), std::string::npos);
}

TEST(another_device, a_network_that_is_gone_leaves_nothing_there) {
    before_the_change host(bridged(7));
    const auto now = config_of(words_on("eth2"));
    const own_bridges own{{7, {host.memory.own_bridge, false}}};
    carry_out(host.kernel, plan_sweep({}, now, host.kernel.state(), own, host.whose));
    EXPECT_FALSE(host.kernel.has("vlan7") || host.kernel.has("vmbr7"));
}

TEST(another_device, a_network_of_the_other_type_takes_its_place) {
    before_the_change host(bridged(7));
    const auto now = config_of(words_on("eth2"));
    const auto plan = plan_network(managed(7), now, host.kernel.state(), host.memory, host.whose);
    carry_out(host.kernel, plan);
    EXPECT_FALSE(host.kernel.has("vlan7"));
    EXPECT_EQ(host.kernel.master_of("vxlan7"), "vmbr7");
}

}  // namespace
}  // namespace pvc::policy
