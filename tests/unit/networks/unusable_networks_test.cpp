// Networks that are refused, or whose keys cannot be used: what becomes of their gateways is said with why.
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class unusable_networks_test : public network_fixture {
protected:
    void put_with_gateway(int vni, const std::map<std::string, std::string>& more = {}) {
        std::map<std::string, std::string> keys{{"/ip4_network", fmt::format("10.1.{}.0/24", vni - 1000)},
                                                {"/ip4_gateway", fmt::format("10.1.{}.1", vni - 1000)}};
        keys.insert(more.begin(), more.end());
        put_network(vni, keys);
    }
};

// A slip of whoever wrote the key takes no guest's network away.
TEST_F(unusable_networks_test, one_whose_type_becomes_rubbish_stays_as_it_was_with_its_gateway) {
    auto& hv1 = stage_primary();
    put_with_gateway(1001);
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; })) << hv1.log();
    beat(1s);
    change(1001, {{"/nettype", "manged"}});
    EXPECT_FALSE(within(60s, [&] { return addresses(hv1, "vmbr1001") != "10.1.1.1/24"; })) << hv1.log();
    EXPECT_EQ(hv1.times_logged("/networks/1001/nettype: expected managed or bridged, got \"manged\": it stays as it "
                               "was, with its gateway 10.1.1.1/24 and its rules"),
              1U)
        << hv1.log();
    EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    // Also one that takes the role now.
    ensemble.put(primary_key, "hv2");
    put_peer("hv2", "coordinator", "run", "primary");
    ASSERT_TRUE(within(30s, [&] { return addresses(hv1, "vmbr1001").empty(); })) << hv1.log();
    change(1001, {{"/nettype", "managed"}, {"/ip4_gateway", "10.1.1.2"}});
    beat(2s);
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put(primary_key, "hv1");
    EXPECT_TRUE(within(60s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.2/24"; })) << hv1.log();
    remove_network(1001);
    EXPECT_TRUE(within(5s, [&] { return link(hv1, "vmbr1001") == "gone"; }));
}

// Nor is it over with a key that somebody deletes: a daemon that starts then gives no gateway.
TEST_F(unusable_networks_test, what_is_said_of_a_type_is_not_over_with_its_key) {
    auto& hv1 = stage_primary();
    put_with_gateway(1001);
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; })) << hv1.log();
    beat(1s);
    change(1001, {{"/nettype", "manged"}});
    beat(1s);
    ensemble.remove_tree("/networks/1001/nettype");
    EXPECT_FALSE(within(60s, [&] { return addresses(hv1, "vmbr1001") != "10.1.1.1/24"; })) << hv1.log();
    EXPECT_FALSE(hv1.logged("this is over")) << hv1.log();
    EXPECT_EQ(hv1.times_logged("/networks/1001/nettype: expected managed or bridged, got \"\": it stays as it was"), 1U)
        << hv1.log();
}

// Nothing is known of what it was.
TEST_F(unusable_networks_test, one_whose_type_is_rubbish_at_the_start_has_no_gateway) {
    put_with_gateway(1001, {{"/nettype", "routed"}});
    auto& hv1 = stage_primary();
    beat(5s);
    EXPECT_EQ(link(hv1, "vmbr1001"), "gone");
    EXPECT_EQ(hv1.times_logged("/networks/1001/nettype: expected managed or bridged, got \"routed\": it is not set up, "
                               "and has no gateway; machines in vmbr1001 are filtered"),
              1U)
        << hv1.log();
    change(1001, {{"/nettype", "managed"}});
    EXPECT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; })) << hv1.log();
}

TEST_F(unusable_networks_test, a_key_on_which_a_gateway_hangs_says_that_there_is_none) {
    auto& hv1 = stage_primary();
    put_with_gateway(1001, {{"/ip6_network", "fd00:1::/64"}, {"/ip6_gateway", "fd00:1::1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001").find("10.1.1.1/24") != std::string::npos; }));
    change(1001, {{"/ip4_network", "10.1.1"}});
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "fd00:1::1/64"; })) << hv1.log();
    EXPECT_TRUE(
        hv1.logged("/networks/1001/ip4_network: expected an IPv4 network (10.1.1.0/24), got \"10.1.1\": it has "
                   "no IPv4 gateway"))
        << hv1.log();
}

TEST_F(unusable_networks_test, one_that_is_refused_says_what_becomes_of_its_gateway) {
    auto& hv1 = add_networked({.bridge_device = ""});
    ASSERT_TRUE(hv1.kernel.apply(model::make_vxlan{"vxlan1001", "ens5", 1001}));
    hv1.kernel.add("vxlan1001", "192.0.2.10/24");
    put_with_gateway(1001);
    put_with_gateway(1002);
    start(hv1);
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put(primary_key, "hv1");
    ASSERT_TRUE(within(60s, [&] { return addresses(hv1, "vmbr1002") == "10.1.2.1/24"; })) << hv1.log();
    EXPECT_EQ(
        hv1.times_logged("network 1001: vxlan1001 is a link of this host's own: it has 192.0.2.10/24: its gateway "
                         "10.1.1.1/24 is not set on this node, and machines in vmbr1001 are filtered"),
        1U)
        << hv1.log();
    beat(1s);
    change(1002, {{"/nettype", "bridged"}});
    beat(10s);
    EXPECT_EQ(addresses(hv1, "vmbr1002"), "10.1.2.1/24");
    EXPECT_EQ(hv1.times_logged("network 1002: bridge_device is not configured: its gateway 10.1.2.1/24 stays, and "
                               "machines in vmbr1002 are filtered"),
              1U)
        << hv1.log();
}

}  // namespace
}  // namespace pvc::node
