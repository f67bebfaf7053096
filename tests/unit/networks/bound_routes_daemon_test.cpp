// Routes of an operator over a bridge that has nothing but an address of the primary, at hand-overs (networking.md 6).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class bound_routes_daemon_test : public network_fixture {
protected:
    // hv1 is primary, and the only address of vmbr1001 is the gateway of its network.
    sim_node& stage_gateway() {
        auto& hv1 = stage_primary();
        put_network(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
        EXPECT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; })) << hv1.log();
        beat(2s);
        route_of("10.78.0.0/16");
        route_of("10.79.0.0/16", "10.1.1.9");
        route_of("10.80.0.0/16").source = *parse_address("10.1.1.1");
        for (const auto& one : routes_) {
            hv1.kernel.add_route("vmbr1001", {.is = one});
        }
        beat(2s);
        return hv1;
    }
    model::network_route& route_of(std::string_view to, std::string_view by = {}) {
        routes_.push_back({.to = *parse_host_address(to)});
        if (by.empty()) {
            routes_.back().scope = model::link_scope;
        } else {
            routes_.back().gateway = *parse_address(by);
        }
        return routes_.back();
    }
    // "10.78.0.0/16 10.79.0.0/16"
    static std::string there(const sim_node& node) {
        std::string text;
        for (const auto& one : node.kernel.state().link_routes()) {
            if (node.kernel.state().name_of(one.link) == "vmbr1001") {
                text += (text.empty() ? "" : " ") + one.is.to.text();
            }
        }
        return text;
    }
    void hand_over(sim_node& to_or_from, const std::string& to) {
        put_peer("hv2", "coordinator", "run", to == "hv1" ? "secondary" : "primary");
        ensemble.put(primary_key, to);
        seconds_until([&] { return role_of(to_or_from) == (to == "hv1" ? "primary" : "secondary"); }, 60s);
        beat(2s);
    }
    std::vector<model::network_route> routes_;
};

TEST_F(bound_routes_daemon_test, they_outlive_a_hand_over_there_and_back) {
    auto& hv1 = stage_gateway();
    ASSERT_EQ(there(hv1), "10.78.0.0/16 10.79.0.0/16 10.80.0.0/16");
    hand_over(hv1, "hv2");
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "");
    EXPECT_EQ(there(hv1), "10.78.0.0/16");
    hand_over(hv1, "hv1");
    ASSERT_EQ(addresses(hv1, "vmbr1001"), "10.1.1.1/24");
    EXPECT_EQ(there(hv1), "10.78.0.0/16 10.79.0.0/16 10.80.0.0/16") << hv1.log();
    EXPECT_TRUE(
        hv1.logged("the route 10.79.0.0/16 via 10.1.1.9 over vmbr1001, which went with an address of the "
                   "primary, is there again"));
    // What the operator takes away himself stays away.
    ignore(hv1.kernel.apply(model::remove_route{routes_[1], "vmbr1001"}), "it is there");
    beat(40s);
    EXPECT_EQ(there(hv1), "10.78.0.0/16 10.80.0.0/16");
}

TEST_F(bound_routes_daemon_test, a_daemon_that_is_killed_leaves_them_to_the_next_one) {
    auto& hv1 = stage_gateway();
    hand_over(hv1, "hv2");
    ASSERT_EQ(there(hv1), "10.78.0.0/16");
    hv1.kill();
    beat(2s);
    start(hv1);
    hand_over(hv1, "hv1");
    EXPECT_EQ(there(hv1), "10.78.0.0/16 10.79.0.0/16 10.80.0.0/16") << hv1.log();
}

// Its addresses go before it is known what networks there are.
TEST_F(bound_routes_daemon_test, a_start_that_takes_away_what_a_killed_primary_left_keeps_them) {
    auto& hv1 = stage_gateway();
    hv1.kill();
    put_peer("hv2", "coordinator", "run", "primary");
    ensemble.put(primary_key, "hv2");
    beat(2s);
    start(hv1);
    beat(2s);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "");
    EXPECT_TRUE(hv1.logged("remove 10.1.1.1/24 on vmbr1001: primary_node says hv2")) << hv1.log();
    EXPECT_EQ(there(hv1), "10.78.0.0/16");
    hand_over(hv1, "hv1");
    EXPECT_EQ(there(hv1), "10.78.0.0/16 10.79.0.0/16 10.80.0.0/16") << hv1.log();
}

TEST_F(bound_routes_daemon_test, they_outlive_another_gateway_of_the_network) {
    auto& hv1 = stage_gateway();
    ensemble.put("/networks/1001/ip4_gateway", "10.1.1.2");
    ASSERT_TRUE(within(10s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.2/24"; })) << hv1.log();
    beat(2s);
    EXPECT_EQ(there(hv1), "10.78.0.0/16 10.79.0.0/16") << "one had the former one as its source";
    ensemble.put("/networks/1001/ip4_gateway", "10.1.1.1");
    ASSERT_TRUE(within(10s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; })) << hv1.log();
    beat(2s);
    EXPECT_EQ(there(hv1), "10.78.0.0/16 10.79.0.0/16 10.80.0.0/16") << hv1.log();
}

// While they are there.
TEST_F(bound_routes_daemon_test, those_that_cannot_come_back_are_named_before) {
    auto& hv1 = stage_gateway();
    auto wrapped = route_of("10.91.12.0/24", "10.1.1.20");
    hv1.kernel.add_route("vmbr1001", {.is = wrapped, .more = "its packets are wrapped"});
    beat(2s);
    EXPECT_EQ(hv1.times_logged("the route 10.91.12.0/24 via 10.1.1.20 over vmbr1001 goes with an address of the "
                               "primary, and it does not come back with that, because its packets are wrapped"),
              1U)
        << hv1.log();
    EXPECT_EQ(hv1.times_logged("does not come back"), 1U);
    hand_over(hv1, "hv2");
    EXPECT_EQ(there(hv1), "10.78.0.0/16");
}

// Neither before, nor when somebody happens to look again: here one that is none of the network's.
TEST_F(bound_routes_daemon_test, an_address_goes_when_the_routes_of_its_link_are_on_record) {
    auto& hv1 = stage_gateway();
    hv1.host.disk_time = 61ms;
    auto another = route_of("10.81.0.0/16");
    another.source = *parse_address("10.1.1.1");
    hv1.kernel.add_route("vmbr1001", {.is = another});
    hv1.kernel.add("vmbr1001", "10.1.1.77/24");
    std::string record;
    time_point noted;
    ASSERT_TRUE(within(5s, [&] {
        if (const auto& now = hv1.host.files["/run/pvc/client-bridges"]; now != record) {
            record = now;
            noted = loop.clock().now();
        }
        return addresses(hv1, "vmbr1001") == "10.1.1.1/24";
    })) << hv1.log();
    EXPECT_NE(record.find("10.81.0.0/16"), std::string::npos) << record;
    EXPECT_LT(loop.clock().now() - noted, 2ms);
}

// Another to the same place that needs no address stays on the bridge meanwhile.
TEST_F(bound_routes_daemon_test, one_comes_back_in_its_place_beside_one_that_stayed) {
    auto& hv1 = stage_gateway();
    const auto place_of = [&](std::string_view gateway) {
        for (const auto& one : hv1.kernel.state().link_routes()) {
            const bool is_it =
                gateway.empty() ? !one.is.gateway : one.is.gateway && one.is.gateway->to_string() == gateway;
            if (is_it && one.is.to.text() == "10.90.5.0/24") {
                return std::to_string(one.place);
            }
        }
        return std::string("none");
    };
    const auto places = [&] { return place_of("10.1.1.19") + place_of("") + place_of("10.1.1.20"); };
    hv1.kernel.add_route("vmbr1001", {.is = route_of("10.90.5.0/24", "10.1.1.19")});
    hv1.kernel.add_route("vmbr1001", {.is = route_of("10.90.5.0/24")});
    hv1.kernel.add_route("vmbr1001", {.is = route_of("10.90.5.0/24", "10.1.1.20")});
    beat(2s);
    EXPECT_EQ(places(), "012");
    for (int times = 0; times < 2; ++times) {
        hand_over(hv1, "hv2");
        EXPECT_EQ(places(), "none0none") << hv1.log();
        beat(40s);
        hand_over(hv1, "hv1");
        EXPECT_EQ(places(), "012") << hv1.log();
    }
}

// Of IPv6 the kernel takes it away in place of its own.
TEST_F(bound_routes_daemon_test, one_to_the_network_of_a_gateway_outlives_a_hand_over_and_a_flush) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip6_network", "2001:db8:3::/64"}, {"/ip6_gateway", "2001:db8:3::1"}});
    ASSERT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1001") == "2001:db8:3::1/64"; })) << hv1.log();
    beat(2s);
    auto route = route_of("2001:db8:3::/64");
    route.metric = 50;
    route.scope = model::universe_scope;
    hv1.kernel.add_route("vmbr1001", {.is = route});
    beat(2s);
    const auto is_left = [&] {
        const auto& seen = hv1.kernel.state();
        return there(hv1) == "2001:db8:3::/64" && !seen.has_connected_route(seen.find("vmbr1001")->index, route.to);
    };
    hand_over(hv1, "hv2");
    EXPECT_TRUE(is_left()) << hv1.log();
    hand_over(hv1, "hv1");
    EXPECT_EQ(there(hv1), "2001:db8:3::/64");
    hv1.kernel.flush_ipv6(false, true);
    beat(2s);
    EXPECT_EQ(addresses(hv1, "vmbr1001"), "2001:db8:3::1/64");
    EXPECT_EQ(there(hv1), "2001:db8:3::/64") << hv1.log();
}

// The operator did it, and no daemon ran.
TEST_F(bound_routes_daemon_test, one_that_was_taken_away_while_no_daemon_ran_stays_away) {
    auto& hv1 = stage_gateway();
    hv1.kill();
    ignore(hv1.kernel.apply(model::remove_route{routes_[1], "vmbr1001"}), "it is there");
    beat(1s);
    start(hv1);
    beat(40s);
    EXPECT_EQ(there(hv1), "10.78.0.0/16 10.80.0.0/16");
}

}  // namespace
}  // namespace pvc::node
