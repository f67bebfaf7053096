// The rules about client networks see what they are about, and nothing else.
#include "sim/subjects/networks/networks.hpp"
#include "sim/world/judged_cluster.hpp"

namespace pvc::sim {

using namespace std::chrono_literals;

class network_rules_test : public judged_cluster {
protected:
    network_rules_test() : judged_cluster(two_nodes({.networking = true})) {}

    void SetUp() override {
        perform("start hv1");
        pass(10s);
        perform("start hv2");
        pass(60s);
        perform("network create 1001 managed 10.1.1.1/24 fd00:1::1/64");
        pass(60s);
        assert_calm();
    }
    // Nothing is repaired any more, and no rule is told of it.
    static void blind(sim_node& node) {
        node.network.broken.insert_or_assign("look", failure(errc::io, "links", "refused"));
    }

    sim_node& hv1 = world.members[0]->node;
    sim_node& hv2 = world.members[1]->node;
};

TEST_F(network_rules_test, what_a_network_consists_of) {
    blind(hv2);
    const std::pair<model::network_change, std::string_view> all[] = {
        {model::set_down{"vxlan1001"}, "vxlan1001 is not there and up"},
        {model::set_master{"vxlan1001", ""}, "vxlan1001 is no port"},
        {model::set_mtu{"vxlan1001", 1400}, "has MTU 1400"},
        {model::set_sysctl{"net/ipv6/conf/vmbr1001/accept_ra", "1"}, "takes part in IPv6"},
        {model::set_down{"vmbr1001"}, "vmbr1001 is no bridge that is up"},
        {model::delete_link{"vmbr1001"}, "vmbr1001 is no bridge that is up"},
    };
    const model::network_change repairs[] = {
        model::set_up{"vxlan1001"}, model::set_master{"vxlan1001", "vmbr1001"}, model::set_mtu{"vxlan1001", 1450},
        model::set_sysctl{"net/ipv6/conf/vmbr1001/accept_ra", "0"}, model::set_up{"vmbr1001"}};
    for (std::size_t i = 0; i < std::size(all); ++i) {
        EXPECT_TRUE(watch.missing().empty()) << watch.missing().front();
        ASSERT_TRUE(hv2.kernel.apply(all[i].first));
        EXPECT_TRUE(misses(all[i].second)) << all[i].second;
        if (i < std::size(repairs)) {
            ASSERT_TRUE(hv2.kernel.apply(repairs[i]));
        }
    }
}

TEST_F(network_rules_test, one_that_does_not_stand_is_seen_on_a_calm_node) {
    blind(hv2);
    hv2.kernel.remove_device("vxlan1001");
    pass(3s);
    EXPECT_EQ(broken(), "networks_stand");
}

TEST_F(network_rules_test, what_is_left_of_one_is_seen_after_half_a_minute) {
    blind(hv2);
    perform("network remove 1001");
    pass(25s);
    EXPECT_EQ(broken(), "");
    EXPECT_TRUE(hv1.kernel.state().find("vmbr1001") == nullptr);
    pass(10s);
    EXPECT_EQ(broken(), "networks_stand");
}

// Of another type now, which cannot be made without its device: the base that was there is not to go for that.
TEST_F(network_rules_test, a_base_that_goes_for_one_that_cannot_be_made) {
    blind(hv2);
    hv2.kernel.remove_device(hv2.settings.bridge_device);
    world.ensemble.put("/networks/1001/nettype", "bridged");
    pass(2s);
    EXPECT_EQ(broken(), "");
    hv2.kernel.remove_device("vxlan1001");
    pass(2s);
    EXPECT_EQ(broken(), "changes_are_whole");
}

TEST_F(network_rules_test, the_bridge_of_a_machine_may_stay) {
    hv2.kernel.add_tap("vnet0", "vmbr1001");
    perform("network remove 1001");
    pass(60s);
    EXPECT_EQ(broken(), "");
}

TEST_F(network_rules_test, a_gateway_beside_the_primarys) {
    blind(hv2);
    hv2.kernel.add("vmbr1001", "10.1.1.1/24");
    pass(10s);
    EXPECT_TRUE(broken() == "one_holder" || broken() == "secondary_without_addresses") << broken();
}

TEST_F(network_rules_test, a_gateway_that_is_missing) {
    blind(hv1);
    ASSERT_TRUE(hv1.kernel.has("vmbr1001", *parse_host_address("fd00:1::1/64")));
    hv1.kernel.remove("vmbr1001", *parse_host_address("fd00:1::1/64"));
    EXPECT_TRUE(misses("has no fd00:1::1/64"));
}

TEST_F(network_rules_test, links_of_others_that_are_changed) {
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"tap99", ""}));
    pass(15s);
    EXPECT_EQ(broken(), "foreign_links");
}

// The API's habits, and keys that say nothing.
TEST_F(network_rules_test, what_clients_write) {
    const auto value = [&](const std::string& key) { return world.ensemble.get("/networks/" + key).value_or("-"); };
    EXPECT_EQ(value("1001") + " " + value("1001/ip4_network") + " " + value("1001/ip4_gateway") + " " +
                  value("1001/ip6_network"),
              "net1001 10.1.1.0/24 10.1.1.1 fd00:1::/64");
    perform("network create 200 bridged none none");
    EXPECT_EQ(value("200/nettype") + " " + value("200/ip4_network") + " " + value("200/domain"), "bridged None None");
    perform("network set 1001 ip4_gateway garbage");
    EXPECT_EQ(gateways_of(world).size(), 1U);
    perform("network set 1001 mtu");
    perform("network set 7 mtu 1400");
    EXPECT_EQ(value("1001/mtu") + value("7"), "-");
    perform("network remove 1001");
    EXPECT_EQ(networks_of(world).size(), 1U);
}

}  // namespace pvc::sim
