// Client networks while the world goes on: a kernel that answers late, ports that others move, more keys than can be
// watched (networking.md 5; README rulings 79, 82, 88).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class networks_under_way_test : public network_fixture {};

TEST_F(networks_under_way_test, an_error_names_its_subject_once) {
    auto& hv1 = stage();
    hv1.network.hang();
    put_network(1001);
    beat(20s);
    hv1.network.end_hang();
    hv1.network.broken.insert_or_assign(
        "create VXLAN vxlan1002 (VNI 1002, port 4789) on ens5",
        failure(errc::refused, "create VXLAN vxlan1002 (VNI 1002, port 4789) on ens5", "No"));
    put_network(1002);
    beat(5s);
    EXPECT_TRUE(hv1.logged("network 1002: create VXLAN vxlan1002 (VNI 1002, port 4789) on ens5: refused: No"))
        << hv1.log();
}

// Its creation was not answered, and its network is gone by then.
TEST_F(networks_under_way_test, a_vlan_that_is_made_late_goes_with_its_network) {
    auto& hv1 = stage();
    beat(5s);
    hv1.network.call_time = 400ms;
    put_network(201, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(5s, [&] { return hv1.network.calls.back().starts_with("create VLAN vlan201"); }));
    hv1.network.hang();
    remove_network(201);
    beat(20s);
    EXPECT_EQ(link(hv1, "vlan201"), "gone");
    hv1.network.end_faults();
    EXPECT_TRUE(within(35s, [&] { return hv1.logged("network 201 is removed"); })) << hv1.log();
    EXPECT_EQ(link(hv1, "vlan201"), "gone");
    EXPECT_EQ(link(hv1, "vmbr201"), "gone");
}

// Libvirt moves it after the look that saw it free, while other networks are made.
TEST_F(networks_under_way_test, a_tap_that_was_moved_meanwhile_stays_where_it_is) {
    put_network(1001);
    put_network(1002);
    auto& hv1 = stage();
    hv1.kernel.add_tap("vnet0", "vmbr1002");
    beat(1s);
    hv1.network.call_time = 50ms;
    hv1.kernel.remove_device("vmbr1001");
    hv1.kernel.remove_device("vmbr1002");
    ASSERT_TRUE(within(2s, [&] { return link(hv1, "vmbr1001") != "gone"; }));
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"others"}));
    ASSERT_TRUE(hv1.kernel.apply(model::set_master{"vnet0", "others"}));
    beat(10s);
    EXPECT_NE(link(hv1, "vnet0").find("master others"), std::string::npos) << link(hv1, "vnet0");
    EXPECT_EQ(link(hv1, "vxlan1002"), "mtu 1450 up master vmbr1002");
}

// More keys than a session may watch: it survives its connection, and what has no watch is noticed in time.
TEST_F(networks_under_way_test, more_keys_than_can_be_watched) {
    put_network(7, {{"/ip4_network", "10.7.0.0/24"}, {"/ip4_gateway", "10.7.0.1"}});
    put_network(8);
    const std::string long_name(4000, 'n');
    const auto put_acl = [&](const std::string& name, const std::string& rule) {
        const std::string root = "/networks/7/firewall_rules/in/" + name;
        ensemble.put({{root, ""}, {root + "/order", "1"}, {root + "/rule", rule}});
    };
    for (int number = 100; number < 250; ++number) {
        put_acl(long_name + std::to_string(number), "tcp dport " + std::to_string(number) + " accept");
    }
    auto& hv1 = stage();
    beat(5s);
    EXPECT_TRUE(hv1.logged("keys of client networks are beyond the watch budget")) << hv1.log();
    const auto& link = hv1.connector.link();
    const auto session = link.session_id();
    hv1.connector.link().drop();
    beat(30s);
    EXPECT_EQ(link.session_id(), session);
    for (auto* client : link.clients()) {
        EXPECT_EQ(client->state().value().now, zookeeper::link::connected);
        EXPECT_LE(client->watch_bytes(), zookeeper::watch_budget_bytes);
    }
    const auto rules = [&] {
        std::size_t count = 0;
        for (const auto& chain : hv1.filter_table.chains()) {
            count += chain.name == "vxlan7-in" ? chain.rules.size() : 0;
        }
        return count;
    };
    ASSERT_EQ(rules(), 151U);
    // One without a watch, if any has none: it is looked at within 60 s, with a machine here within 15.
    ensemble.put("/networks/7/firewall_rules/in/" + long_name + "249/rule", "no rule");
    EXPECT_TRUE(within(62s, [&] { return rules() == 150U; }));
    hv1.kernel.add_tap("vnet0", "vmbr7");
    beat(20s);
    ensemble.put("/networks/7/firewall_rules/in/" + long_name + "248/rule", "no rule");
    EXPECT_TRUE(within(16s, [&] { return rules() == 149U; }));
    // Those that are gone make room.
    for (int number = 100; number < 250; ++number) {
        ensemble.remove_tree("/networks/7/firewall_rules/in/" + long_name + std::to_string(number));
    }
    put_acl("short", "accept");
    EXPECT_TRUE(within(62s, [&] { return rules() == 2U; }));
    beat(62s);
    EXPECT_GT(ensemble.watches("/networks/7/firewall_rules/in/short/rule"), 0U);
    EXPECT_EQ(hv1.times_logged("beyond the watch budget"), 1U);
}

// The kernel says that it is done, and shows it to nobody; or somebody undoes it at once.
TEST_F(networks_under_way_test, what_is_never_seen_as_it_was_made_holds_up_nobody) {
    auto& hv1 = stage_primary();
    put_network(8, {{"/ip4_network", "10.8.0.0/24"}, {"/ip4_gateway", "10.8.0.1"}});
    ASSERT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr8") == "10.8.0.1/24"; })) << hv1.log();
    beat(2s);
    auto& changed = hv1.kernel.changed;
    const auto undo = [&hv1] {
        hv1.kernel.remove("brstorage", *parse_host_address("10.254.0.1/24"));
        ignore(hv1.kernel.apply(model::set_down{"vxlan8"}), "it is there");
    };
    // It is called until the node has ended, after the test.
    changed = [before = changed, undo, is_undoing = std::make_shared<bool>(false)] {
        if (!std::exchange(*is_undoing, true)) {
            undo();
            *is_undoing = false;
        }
        before();
    };
    undo();
    beat(2s);
    put_network(9, {{"/ip4_network", "10.9.0.0/24"}, {"/ip4_gateway", "10.9.0.1"}});
    EXPECT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr9") == "10.9.0.1/24"; })) << hv1.log();
    EXPECT_LE(hv1.times_logged("[network-damaged]"), 4U) << hv1.log();
}

// Each addition takes its time; twenty take no longer than one (networking.md 6).
TEST_F(networks_under_way_test, gateways_of_twenty_networks_are_taken_up_as_one_batch) {
    constexpr int count = 20;
    for (int number = 1; number <= count; ++number) {
        put_network(1000 + number, {{"/ip4_network", fmt::format("10.1.{}.0/24", number)},
                                    {"/ip4_gateway", fmt::format("10.1.{}.1", number)}});
    }
    auto& hv1 = stage();
    ASSERT_TRUE(within(10s, [&] { return link(hv1, "vmbr1020") != "gone"; })) << hv1.log();
    beat(2s);
    const auto have_one = [&] {
        int found = 0;
        for (int number = 1; number <= count; ++number) {
            found += addresses(hv1, fmt::format("vmbr{}", 1000 + number)).empty() ? 0 : 1;
        }
        return found;
    };
    ASSERT_EQ(have_one(), 0);
    hv1.addresses.call_time = 200ms;
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return have_one() > 0; }, 60s);
    EXPECT_LT(seconds_until([&] { return have_one() == count; }, 60s), 0.5) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
