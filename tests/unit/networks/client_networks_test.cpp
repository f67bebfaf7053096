// The links and gateways of client networks on a simulated daemon (networking.md 5, cases 22 to 35, 39, 40).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class client_networks_test : public network_fixture {};

TEST_F(client_networks_test, case_22_a_managed_network_has_its_links_and_the_primary_writes_the_mtu) {
    auto& hv1 = stage_primary();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return mtu_key(1001) == "1450"; }));
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    const auto seen = hv1.kernel.state();
    const auto* base = seen.find("vxlan1001");
    ASSERT_TRUE(base->vxlan);
    EXPECT_EQ(base->vxlan->vni, 1001U);
    EXPECT_EQ(base->vxlan->port, 4789);
    EXPECT_TRUE(base->vxlan->is_learning);
    EXPECT_FALSE(base->vxlan->has_local || base->vxlan->has_remote);
    EXPECT_EQ(seen.name_of(base->lower), "ens5");
    EXPECT_FALSE(hv1.kernel.has_checksums("vmbr1001"));
    EXPECT_EQ(hv1.network.sysctl("net/ipv6/conf/vmbr1001/accept_dad").value(), "0");
    EXPECT_EQ(hv1.network.sysctl("net/ipv6/conf/vmbr1001/accept_ra").value(), "0");
    EXPECT_EQ(hv1.network.sysctl("net/ipv6/conf/vmbr1001/autoconf").value(), "0");
}

TEST_F(client_networks_test, case_22_others_leave_the_mtu_alone) {
    auto& hv1 = stage();
    put_network(1001);
    beat(10s);
    EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    EXPECT_EQ(mtu_key(1001), "");
}

// Another node is named right before this one looks who is, or right before its write reaches the server.
TEST_F(client_networks_test, case_22_who_is_not_named_any_more_leaves_the_mtu_alone) {
    for (const bool is_at_the_look : {true, false}) {
        auto& hv1 = nodes.empty() ? stage_primary() : nodes.front();
        bool is_named = false;
        hv1.connector.link().on_request = [&](const zookeeper::request& request) {
            const bool is_look = request.what == zookeeper::request::kind::get && request.path == primary_key;
            const bool is_write = std::ranges::any_of(request.operations, [](const zookeeper::operation& one) {
                return one.what == zookeeper::operation::kind::set && one.path.ends_with("/mtu");
            });
            if ((is_at_the_look ? is_look : is_write) && !std::exchange(is_named, true)) {
                ensemble.put(primary_key, "hv2");
            }
            return sim::verdict::answer;
        };
        const int vni = is_at_the_look ? 1001 : 1002;
        put_network(vni);
        ASSERT_TRUE(within(2s, [&] { return is_named; })) << hv1.log();
        EXPECT_FALSE(within(5ms, [&] { return mtu_key(vni) != ""; }));
        EXPECT_EQ(mtu_key(vni), "") << hv1.log();
        hv1.connector.link().on_request = nullptr;
        ensemble.put(primary_key, "hv1");
        beat(30s);
    }
}

TEST_F(client_networks_test, case_23_an_mtu_that_is_too_large_is_clamped_here_and_stays_as_it_is_stored) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/mtu", "9000"}});
    beat(5s);
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    EXPECT_EQ(mtu_key(1001), "9000");
    const std::string told =
        "network 1001: MTU 9000 is not possible: the cluster network has 1500, of which VXLAN takes 50, so 1450 is set";
    EXPECT_EQ(hv1.times_logged(told), 1U) << hv1.log();
    change(1001, {{"/mtu", "65536"}});
    beat(2s);
    EXPECT_EQ(hv1.times_logged("network 1001: MTU 65536 is not possible"), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("this is over")) << hv1.log();
    change(1001, {{"/mtu", "1400"}});
    beat(2s);
    EXPECT_EQ(hv1.times_logged("this is over: network 1001: MTU 65536 is not possible"), 1U) << hv1.log();
}

TEST_F(client_networks_test, networks_that_overlap_each_other_are_told_and_kept) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    put_network(1002, {{"/ip4_network", "10.1.1.128/25"}, {"/ip4_gateway", "10.1.1.129"}});
    put_network(1003, {{"/ip4_network", "10.1.1.64/26"}, {"/ip4_gateway", "10.1.1.65"}});
    beat(5s);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "10.1.1.1/24");
    EXPECT_EQ(addresses(hv1, "vmbr1002"), "10.1.1.129/25");
    const std::string told = "network 1002: its 10.1.1.128/25 overlaps 10.1.1.0/24 of network 1001";
    EXPECT_EQ(hv1.times_logged(told), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("network 1003: its 10.1.1.64/26 overlaps 10.1.1.0/24 of network 1001"), 1U);
    change(1002, {{"/ip4_network", "10.1.2.0/24"}, {"/ip4_gateway", "10.1.2.1"}});
    beat(3s);
    EXPECT_EQ(hv1.times_logged("this is over: " + told), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("this is over"), 1U) << hv1.log();
}

TEST_F(client_networks_test, case_24_an_mtu_that_is_none_counts_as_empty_and_stays) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/mtu", "abc"}});
    beat(5s);
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    EXPECT_EQ(mtu_key(1001), "abc");
    EXPECT_TRUE(hv1.logged("/networks/1001/mtu"));
}

TEST_F(client_networks_test, acls_are_followed_with_their_keys) {
    auto& hv1 = stage();
    put_network(1001);
    beat(2s);
    const auto told = [&](const std::string& name, const std::string& got) {
        return within(1s, [&] {
            return hv1.logged("/networks/1001/firewall_rules/" + name + "/order: expected a number from 0 up, got \"" +
                              got);
        });
    };
    change(1001, {{"/firewall_rules", ""},
                  {"/firewall_rules/in", ""},
                  {"/firewall_rules/in/ssh", ""},
                  {"/firewall_rules/in/ssh/order", "first"},
                  {"/firewall_rules/in/ssh/rule", "accept"}});
    EXPECT_TRUE(told("in/ssh", "first"));
    change(1001, {{"/firewall_rules/in/ssh/order", "second"}});
    EXPECT_TRUE(told("in/ssh", "second"));
    change(1001,
           {{"/firewall_rules/out", ""}, {"/firewall_rules/out/a b", ""}, {"/firewall_rules/out/a b/order", "x"}});
    EXPECT_TRUE(told("out/a b", "x"));
    // One that goes is forgotten; when it comes back it is looked at again.
    ensemble.remove_tree("/networks/1001/firewall_rules/in/ssh");
    beat(2s);
    change(1001, {{"/firewall_rules/in/ssh", ""}, {"/firewall_rules/in/ssh/order", "third"}});
    EXPECT_TRUE(told("in/ssh", "third"));
    // Another one comes in its place, with as many keys.
    ensemble.remove_tree("/networks/1001/firewall_rules/in/ssh");
    change(1001, {{"/firewall_rules/in/www", ""}, {"/firewall_rules/in/www/order", "fourth"}});
    EXPECT_TRUE(told("in/www", "fourth"));
    change(1001, {{"/firewall_rules/in/www/order", "0"}, {"/mtu", "1400"}});
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vxlan1001") == "mtu 1400 up master vmbr1001"; }));
}

TEST_F(client_networks_test, case_25_an_mtu_is_changed_live) {
    auto& hv1 = stage();
    put_network(1001, {{"/mtu", "1450"}});
    beat(2s);
    const int before = index_of(hv1, "vmbr1001");
    change(1001, {{"/mtu", "1400"}});
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vxlan1001") == "mtu 1400 up master vmbr1001"; }));
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "mtu 1400 up"; }));
    EXPECT_EQ(index_of(hv1, "vmbr1001"), before);
}

TEST_F(client_networks_test, case_28_numbers_that_cannot_be_are_told_of_and_touch_no_other) {
    auto& hv1 = stage();
    put_network(5000, {{"/nettype", "bridged"}});
    ensemble.put("/networks/x7", "garbage");
    ensemble.put("/networks/16777216", "too large");
    ensemble.put("/networks/0", "none");
    put_network(7);
    beat(3s);
    EXPECT_EQ(link(hv1, "vmbr5000"), "gone");
    EXPECT_EQ(link(hv1, "vmbr7"), "mtu 1450 up");
    EXPECT_EQ(hv1.times_logged("/networks/x7"), 1U);
    EXPECT_EQ(hv1.times_logged("/networks/16777216"), 1U);
    EXPECT_GE(hv1.times_logged("5000"), 1U);
    EXPECT_TRUE(hv1.is_ready());
}

TEST_F(client_networks_test, case_29_a_removed_network_leaves_nothing) {
    auto& hv1 = stage();
    put_network(1001);
    put_network(1002);
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "vmbr1001") != "gone" && link(hv1, "vmbr1002") != "gone"; }));
    beat(1s);
    remove_network(1001);
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "gone" && link(hv1, "vxlan1001") == "gone"; }));
    EXPECT_EQ(link(hv1, "vmbr1002"), "mtu 1450 up");
    beat(1s);
    EXPECT_TRUE(hv1.logged("network 1001 is removed"));
}

// Whoever removes a network removes its keys one by one: none of them comes back meanwhile.
TEST_F(client_networks_test, an_mtu_key_that_is_removed_stays_away) {
    auto& hv1 = stage_primary();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return mtu_key(1001) == "1450"; }));
    ensemble.remove_tree("/networks/1001/mtu");
    beat(3s);
    EXPECT_FALSE(ensemble.get("/networks/1001/mtu").has_value());
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
}

TEST_F(client_networks_test, a_network_that_is_removed_key_by_key_is_no_mistake) {
    auto& hv1 = stage();
    put_network(1001);
    put_network(1002);
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "vmbr1001") != "gone" && link(hv1, "vmbr1002") != "gone"; }));
    beat(1s);
    for (const auto* key : {"/description", "/mtu", "/nettype", "/ip4_network", "/ip4_gateway", "/ip6_network"}) {
        ensemble.remove_tree(std::string("/networks/1001") + key);
        loop.run_for(300ms);
    }
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    remove_network(1001);
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "gone"; }));
    // Of one that stays so it is said, and its links stay.
    ensemble.remove_tree("/networks/1002/nettype");
    beat(4s);
    EXPECT_FALSE(hv1.logged("/networks/1001/nettype")) << hv1.log();
    EXPECT_EQ(hv1.times_logged("/networks/1002/nettype"), 1U);
    EXPECT_EQ(link(hv1, "vmbr1002"), "mtu 1450 up");
}

TEST_F(client_networks_test, a_tree_without_the_list_is_told_of_and_leaves_all_as_it_is) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "vmbr1001") == "mtu 1450 up"; }));
    beat(1s);
    ensemble.remove_tree("/networks");
    beat(5s);
    EXPECT_EQ(hv1.times_logged("/networks is missing"), 1U);
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    EXPECT_TRUE(hv1.is_ready());
}

TEST_F(client_networks_test, an_mtu_that_somebody_changed_is_damage_and_one_that_was_wished_is_none) {
    auto& hv1 = stage_primary();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return mtu_key(1001) == "1450"; }));
    change(1001, {{"/mtu", "1400"}});
    beat(2s);
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1400 up");
    EXPECT_FALSE(hv1.logged("repairing it")) << hv1.log();
    ASSERT_TRUE(hv1.kernel.apply(model::set_mtu{"vmbr1001", 1300}));
    beat(2s);
    ASSERT_TRUE(hv1.kernel.apply(model::set_mtu{"vxlan1001", 1350}));
    beat(2s);
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1400 up");
    EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1400 up master vmbr1001");
    EXPECT_TRUE(hv1.logged("network 1001: vmbr1001 had MTU 1300, repairing it")) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 1001: vxlan1001 had MTU 1350, repairing it")) << hv1.log();
}

TEST_F(client_networks_test, an_address_that_somebody_added_beside_the_gateway_is_damage_and_an_old_gateway_is_none) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; }));
    change(1001, {{"/ip4_gateway", "10.1.1.2"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.2/24"; }));
    EXPECT_FALSE(hv1.logged("none of its network's")) << hv1.log();
    ASSERT_TRUE(hv1.kernel.apply(model::add_address{"vmbr1001", parse_host_address("10.9.9.9/24").value()}));
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.2/24"; })) << addresses(hv1, "vmbr1001");
    EXPECT_EQ(hv1.times_logged("10.9.9.9/24 on vmbr1001 is none of its network's addresses, removing it"), 1U)
        << hv1.log();
}

// What the daemon took away itself is no damage.
TEST_F(client_networks_test, removed_and_made_again_is_no_damage) {
    auto& hv1 = stage();
    for (const auto pause : {10ms, 50ms, 110ms, 150ms, 210ms, 300ms}) {
        put_network(1001);
        ASSERT_TRUE(within(2s, [&] { return link(hv1, "vxlan1001") != "gone"; }));
        beat(1s);
        remove_network(1001);
        loop.run_for(pause);
        put_network(1001);
        beat(2s);
        EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    }
    EXPECT_FALSE(hv1.logged("repairing it")) << hv1.log();
}

TEST_F(client_networks_test, a_bridge_of_the_hosts_owner_is_left_alone) {
    auto& hv1 = add_networked();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr8"}));
    ASSERT_TRUE(hv1.kernel.apply(model::add_address{"vmbr8", parse_host_address("192.0.2.5/24").value()}));
    start(hv1);
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    for (const int vni : {7, 8}) {
        put_network(
            vni, {{"/ip4_network", fmt::format("10.1.{}.0/24", vni)}, {"/ip4_gateway", fmt::format("10.1.{}.1", vni)}});
    }
    beat(5s);
    EXPECT_EQ(addresses(hv1, "vmbr8"), "192.0.2.5/24");
    EXPECT_EQ(link(hv1, "vxlan8"), "gone");
    EXPECT_EQ(addresses(hv1, "vmbr7"), "10.1.7.1/24");  // and holds up no other
    EXPECT_EQ(hv1.times_logged("network 8: vmbr8 is somebody else's: it has the address 192.0.2.5/24"), 1U);
    // Whoever owned it takes it away: then it is the network's.
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"vmbr8"}));
    EXPECT_TRUE(within(3s, [&] { return addresses(hv1, "vmbr8") == "10.1.8.1/24"; })) << hv1.log();
}

TEST_F(client_networks_test, a_refused_network_keeps_no_gateway_from_another) {
    auto& hv1 = stage_primary();
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vxlan7"}));
    for (const int vni : {7, 8}) {
        put_network(vni, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    }
    EXPECT_TRUE(within(3s, [&] { return addresses(hv1, "vmbr8") == "10.1.1.1/24"; })) << hv1.log();
    EXPECT_EQ(addresses(hv1, "vmbr7"), "");
}

TEST_F(client_networks_test, case_31_what_is_right_is_adopted_with_what_hangs_on_it) {
    put_network(1001);
    auto& hv1 = stage();
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    const int bridge = index_of(hv1, "vmbr1001");
    const int base = index_of(hv1, "vxlan1001");
    hv1.kill();
    hv1.network.calls.clear();
    start(hv1);
    beat(2s);
    EXPECT_EQ(index_of(hv1, "vmbr1001"), bridge);
    EXPECT_EQ(index_of(hv1, "vxlan1001"), base);
    EXPECT_EQ(link(hv1, "vnet0"), "mtu 1450 up master vmbr1001");
    for (const auto& call : hv1.network.calls) {
        EXPECT_TRUE(call.starts_with("set net/") || call.starts_with("switch checksums") ||
                    call.starts_with("set hardware address"))
            << call;
    }
}

TEST_F(client_networks_test, the_bridges_are_there_before_the_node_runs) {
    for (int vni = 1; vni <= 60; ++vni) {
        put_network(vni);
    }
    auto& hv1 = add_networked();
    hv1.start();
    const std::string daemon_state = "/nodes/hv1/daemonstate";
    ASSERT_TRUE(run_until([&] { return value(daemon_state) == "run"; }, 60s));
    for (int vni = 1; vni <= 60; ++vni) {
        EXPECT_EQ(link(hv1, "vxlan" + std::to_string(vni)), fmt::format("mtu 1450 up master vmbr{}", vni));
    }
}

TEST_F(client_networks_test, case_32_and_33_gateways_are_the_primarys_alone_and_are_announced) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"},
                       {"/ip4_gateway", "10.1.1.1"},
                       {"/ip6_network", "fd00:1::/64"},
                       {"/ip6_gateway", "fd00:1::1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24 fd00:1::1/64"; }))
        << addresses(hv1, "vmbr1001") << hv1.log();
    loop.run_for(10ms);  // until the answer is there
    const auto& told = hv1.addresses.announced;
    EXPECT_NE(std::ranges::find(told, "10.1.1.1 on vmbr1001"), told.end());
    EXPECT_NE(std::ranges::find(told, "fd00:1::1 on vmbr1001"), told.end());
    // The role goes, and with it both.
    ensemble.put(primary_key, "hv2");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 120s);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "");
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
}

TEST_F(client_networks_test, case_33_a_secondary_has_no_gateway) {
    auto& hv1 = stage();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    beat(5s);
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "");
}

TEST_F(client_networks_test, case_34_a_gateway_and_its_network_change_together) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; }));
    hv1.addresses.calls.clear();
    change(1001, {{"/ip4_network", "10.1.1.0/25"}, {"/ip4_gateway", "10.1.1.126"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.126/25"; }))
        << addresses(hv1, "vmbr1001");
    for (const auto& call : hv1.addresses.calls) {
        EXPECT_TRUE(call == "add 10.1.1.126/25 on vmbr1001" || call == "remove 10.1.1.1/24 on vmbr1001") << call;
    }
    change(1001,
           {{"/ip4_network", "10.1.1.0/26"}});  // only the prefix length; the gateway is no address of it any more
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001").empty(); })) << addresses(hv1, "vmbr1001");
    change(1001, {{"/ip4_network", "10.1.1.0/24"}});
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.126/24"; }));
}

TEST_F(client_networks_test, case_35_a_family_that_is_switched_off_goes) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"},
                       {"/ip4_gateway", "10.1.1.1"},
                       {"/ip6_network", "fd00:1::/64"},
                       {"/ip6_gateway", "fd00:1::1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24 fd00:1::1/64"; }));
    change(1001, {{"/ip6_network", ""}, {"/ip6_gateway", ""}});
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; }));
}

TEST_F(client_networks_test, an_ipv6_gateway_below_1280_is_told_once_and_is_nobodys_fault) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"},
                       {"/ip4_gateway", "10.1.1.1"},
                       {"/ip6_network", "fd00:1::/64"},
                       {"/ip6_gateway", "fd00:1::1"}});
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24 fd00:1::1/64"; }));
    change(1001, {{"/mtu", "1000"}});
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; }));
    beat(70s);
    EXPECT_EQ(hv1.times_logged("fd00:1::1"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("IPv6 is not possible with its MTU of 1000"), 1U) << hv1.log();
    change(1001, {{"/mtu", "1400"}});
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24 fd00:1::1/64"; }));
}

TEST_F(client_networks_test, case_39_gateways_that_a_killed_primary_left_go_with_another_name_and_stay_with_its_own) {
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    auto& hv1 = stage_primary();
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; }));
    beat(6s);
    hv1.kill();
    hv1.addresses.calls.clear();
    hv1.start();
    run_until([&] {
        EXPECT_EQ(addresses(hv1, "vmbr1001"), "10.1.1.1/24");
        return role_of(hv1) == "primary" && hv1.is_ready();
    });
    hv1.kill();
    ensemble.put(primary_key, "hv2");
    put_peer("hv2", "coordinator", "run", "primary");
    start(hv1);
    EXPECT_TRUE(within(1s, [&] { return addresses(hv1, "vmbr1001").empty(); }));
}

TEST_F(client_networks_test, a_gateway_that_changed_while_no_daemon_ran_goes_with_the_start_of_the_next) {
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    auto& hv1 = stage_primary();
    ASSERT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; }));
    beat(6s);
    hv1.kill();
    change(1001, {{"/ip4_gateway", "10.1.1.2"}});
    start(hv1);
    EXPECT_TRUE(run_until([&] { return addresses(hv1, "vmbr1001") == "10.1.1.2/24"; }, 30s))
        << addresses(hv1, "vmbr1001");
}

TEST_F(client_networks_test, case_40_a_network_that_comes_in_the_middle_of_a_takeover_has_its_gateway) {
    auto& hv1 = stage();
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put(primary_key, "hv1");
    ASSERT_TRUE(run_until([&] { return addresses(hv1, "lo").find("169.254.169.254") != std::string::npos; }, 60s));
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    EXPECT_TRUE(within(1s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; }));
}

TEST_F(client_networks_test, two_networks_with_one_gateway) {
    auto& hv1 = stage_primary();
    for (const int vni : {1001, 1002}) {
        put_network(vni, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    }
    beat(3s);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "10.1.1.1/24");
    EXPECT_EQ(addresses(hv1, "vmbr1002"), "");
    EXPECT_EQ(hv1.times_logged("network 1002: its gateway 10.1.1.1 is that of network 1001"), 1U);
    remove_network(1001);
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1002") == "10.1.1.1/24"; }));
}

TEST_F(client_networks_test, what_somebody_damages_is_repaired_and_said) {
    put_network(1001);
    auto& hv1 = stage();
    hv1.kernel.add_tap("vnet0", "vmbr1001");
    beat(2s);
    hv1.kernel.remove_device("vxlan1001");
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vxlan1001") == "mtu 1450 up master vmbr1001"; }));
    beat(2s);
    EXPECT_EQ(hv1.times_logged("repairing it"), 1U);
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"vnet0", ""}));
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vnet0").find("master vmbr1001") != std::string::npos; }));
    beat(2s);
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"vmbr1001"}));
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vnet0").find("master vmbr1001") != std::string::npos; }))
        << link(hv1, "vnet0");
    EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    ASSERT_TRUE(hv1.kernel.apply(model::set_down{"vmbr1001"}));
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vmbr1001") == "mtu 1450 up"; }));
}

TEST_F(client_networks_test, one_that_the_kernel_refuses_is_told_of_once_and_holds_up_no_other) {
    auto& hv1 = stage();
    hv1.network.broken.insert_or_assign("create VXLAN vxlan1001",
                                        failure(errc::refused, "vxlan1001", "No buffer space"));
    put_network(1001);
    put_network(1002);
    beat(40s);
    EXPECT_EQ(link(hv1, "vxlan1001"), "gone");
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up") << "machines here reach each other";
    EXPECT_EQ(link(hv1, "vxlan1002"), "mtu 1450 up master vmbr1002");
    EXPECT_EQ(hv1.times_logged("network 1001: create VXLAN"), 1U);
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return link(hv1, "vxlan1001") == "mtu 1450 up master vmbr1001"; }));
}

TEST_F(client_networks_test, a_part_of_the_host_that_cannot_be_set_up_holds_up_no_network) {
    put_network(1001);
    auto& hv1 = add_networked();
    hv1.network.broken.insert_or_assign("add 10.254.0.1/24 to brstorage", failure(errc::refused, "brstorage", "No"));
    start(hv1);
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vxlan1001") == "mtu 1450 up master vmbr1001"; }));
}

// Too small for IPv6 the bridge has lost them, and the kernel refuses the first one when they come back.
TEST_F(client_networks_test, settings_that_were_refused_in_a_repair_are_made_later) {
    put_network(1001);
    auto& hv1 = stage();
    beat(1s);
    ASSERT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    const std::string key = "net/ipv6/conf/vmbr1001/accept_ra";
    hv1.network.broken.insert_or_assign("set " + key, failure(errc::refused, key, "Operation not permitted"));
    ASSERT_TRUE(hv1.kernel.apply(model::set_mtu{"vxlan1001", 1000}));
    beat(1s);
    EXPECT_EQ(hv1.kernel.sysctls().read(key), "1");
    hv1.network.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return hv1.kernel.sysctls().read(key) == "0"; }));
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
}

// It was large enough before, and is so again when the daemon looks: only the setting tells.
TEST_F(client_networks_test, settings_that_went_while_a_network_was_made_are_made_again) {
    auto& hv1 = stage();
    hv1.network.call_time = 100ms;
    put_network(1001);
    const std::string key = "net/ipv6/conf/vmbr1001/accept_ra";
    ASSERT_TRUE(within(5s, [&] { return hv1.kernel.sysctls().read(key) == "0"; }));
    ASSERT_TRUE(hv1.kernel.apply(model::set_mtu{"vmbr1001", 1000}));
    ASSERT_TRUE(within(5s, [&] { return hv1.kernel.sysctls().read(key) == "1"; }));
    EXPECT_TRUE(within(10s, [&] { return hv1.kernel.sysctls().read(key) == "0"; }));
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
}

// A host that is made safe has IPv6 off for new links, and in the end somebody switches it off on this one.
TEST_F(client_networks_test, a_network_with_ipv6_has_its_gateway_whatever_new_links_have) {
    auto& hv1 = stage_primary();
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv6/conf/default/disable_ipv6", "1"}));
    put_network(1001, {{"/ip6_network", "fd00:1::/64"}, {"/ip6_gateway", "fd00:1::1"}});
    put_network(1002);
    const auto has_gateway = [&](const std::string& bridge) {
        return addresses(hv1, bridge).find("fd00:1::1/64") != std::string::npos;
    };
    EXPECT_TRUE(within(3s, [&] { return has_gateway("vmbr1001"); })) << hv1.log();
    EXPECT_EQ(hv1.kernel.sysctls().read("net/ipv6/conf/vmbr1002/disable_ipv6"), "1");
    EXPECT_FALSE(hv1.logged("network-damaged")) << hv1.log();
    beat(2s);
    ASSERT_TRUE(hv1.kernel.apply(model::set_sysctl{"net/ipv6/conf/vmbr1001/disable_ipv6", "1"}));
    ASSERT_FALSE(has_gateway("vmbr1001"));
    EXPECT_TRUE(within(10s, [&] { return has_gateway("vmbr1001"); })) << hv1.log();
    EXPECT_EQ(hv1.times_logged("network 1001: IPv6 was off on vmbr1001, repairing it"), 1U) << hv1.log();
    // One that gets it later.
    change(1002, {{"/ip6_network", "fd00:2::/64"}, {"/ip6_gateway", "fd00:2::1"}});
    EXPECT_TRUE(within(3s, [&] { return addresses(hv1, "vmbr1002").find("fd00:2::1/64") != std::string::npos; }))
        << hv1.log();
    EXPECT_EQ(hv1.times_logged("IPv6 was off on vmbr1002"), 0U) << hv1.log();
}

// The device of the cluster network goes with what stands on it: the bridge alone tells nobody whose it is.
TEST_F(client_networks_test, a_gateway_goes_also_from_a_bridge_that_lost_its_base) {
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    put_network(1002, {{"/ip4_network", "10.1.2.0/24"}, {"/ip4_gateway", "10.1.2.1"}});
    auto& hv1 = stage_primary();
    ASSERT_EQ(addresses(hv1, "vmbr1001") + " " + addresses(hv1, "vmbr1002"), "10.1.1.1/24 10.1.2.1/24");
    hv1.kernel.remove_device("ens5");
    beat(1s);
    change(1001, {{"/ip4_gateway", "None"}});
    remove_network(1002);
    EXPECT_TRUE(within(2s, [&] { return addresses(hv1, "vmbr1001").empty(); })) << addresses(hv1, "vmbr1001");
    EXPECT_TRUE(within(2s, [&] { return link(hv1, "vmbr1002") == "gone"; })) << link(hv1, "vmbr1002");
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
}

TEST_F(client_networks_test, links_stay_while_zookeeper_is_away_and_when_the_daemon_ends) {
    put_network(1001);
    auto& hv1 = stage();
    beat(1s);
    hv1.connector.link().cut();
    loop.run_for(60s);
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    hv1.kernel.remove_device("vxlan1001");  // also without a session
    EXPECT_TRUE(within(1s, [&] { return link(hv1, "vxlan1001") == "mtu 1450 up master vmbr1001"; }));
    hv1.stop();
    EXPECT_EQ(link(hv1, "vmbr1001"), "mtu 1450 up");
    EXPECT_EQ(addresses(hv1, "brcluster"), "10.98.0.1/24");
}

TEST_F(client_networks_test, removed_and_made_again_at_once) {
    put_network(1001);
    auto& hv1 = stage();
    for (int again = 0; again < 3; ++again) {
        remove_network(1001);
        put_network(1001, {{"/mtu", "1400"}});
        beat(1s);
        EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1400 up master vmbr1001");
    }
}

}  // namespace
}  // namespace pvc::node
