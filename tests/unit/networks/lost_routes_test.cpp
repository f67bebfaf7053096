// Routes that come with addresses, and that somebody took away.
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class lost_routes_test : public network_fixture {};

// Guests are reached by the routes that come with gateways: who flushes a table takes them away.
TEST_F(lost_routes_test, routes_of_gateways_that_somebody_flushed_come_back) {
    auto& hv1 = stage_primary();
    put_network(1001, {{"/ip4_network", "10.1.1.0/24"},
                       {"/ip4_gateway", "10.1.1.1"},
                       {"/ip6_network", "fd00:1::/64"},
                       {"/ip6_gateway", "fd00:1::1"}});
    ASSERT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24 fd00:1::1/64"; }))
        << addresses(hv1, "vmbr1001");
    beat(2s);
    const auto reaches = [&](const std::string& device, std::string_view network) {
        return hv1.kernel.state().has_connected_route(index_of(hv1, device), *parse_host_address(network));
    };
    const auto reaches_all = [&] {
        return reaches("vmbr1001", "10.1.1.0/24") && reaches("vmbr1001", "fd00:1::/64") &&
               reaches("brcluster", "10.98.0.0/24") && reaches("brupstream", "10.98.1.0/24");
    };
    ASSERT_TRUE(reaches_all());
    hv1.kernel.flush_routes();
    EXPECT_FALSE(reaches("vmbr1001", "10.1.1.0/24") || reaches("brcluster", "10.98.0.0/24"));
    EXPECT_TRUE(within(2s, reaches_all)) << hv1.log();
    beat(5s);
    EXPECT_EQ(
        hv1.times_logged("the route 10.1.1.0/24 (source 10.1.1.1) over vmbr1001, of 10.1.1.1/24, was gone, adding "
                         "it again [network-damaged]"),
        1U)
        << hv1.log();
    EXPECT_EQ(hv1.times_logged("route to 10.98.0.0/24 on brcluster is not as it was"), 1U) << hv1.log();
}

// ip -6 route flush table local; … table main. Guests that have a link-local address alone ask that of the bridge.
TEST_F(lost_routes_test, routes_of_ipv6_that_somebody_flushed_come_back_those_of_the_bridge_itself_too) {
    auto& hv1 = stage_primary();
    put_network(1003, {{"/ip6_network", "2001:db8:3::/64"}, {"/ip6_gateway", "2001:db8:3::1"}});
    const std::string gateway = "2001:db8:3::1/64";
    ASSERT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1003") == gateway; })) << addresses(hv1, "vmbr1003");
    beat(2s);
    const auto is_whole = [&] {
        const auto& seen = hv1.kernel.state();
        const int bridge = index_of(hv1, "vmbr1003");
        const auto all = seen.addresses_of(bridge);
        const auto own =
            std::ranges::count_if(all, [](const auto& one) { return !one.is_global() && one.address.address.is_v6(); });
        return all.size() == 2 && own == 1 && std::ranges::all_of(all, &model::link_address::is_taken) &&
               seen.has_connected_route(bridge, *parse_host_address("2001:db8:3::/64")) &&
               seen.has_connected_route(bridge, *parse_host_address("fe80::/64"));
    };
    ASSERT_TRUE(is_whole());
    for (const auto& [main, local] : std::vector<std::pair<bool, bool>>{{false, true}, {true, false}, {true, true}}) {
        hv1.kernel.flush_ipv6(main, local);
        EXPECT_FALSE(is_whole());
        EXPECT_TRUE(within(500ms, is_whole)) << main << local << hv1.log();
        EXPECT_EQ(addresses(hv1, "vmbr1003"), gateway);
        beat(70s);
        EXPECT_TRUE(is_whole());
    }
    EXPECT_TRUE(hv1.logged("network 1003: the route fe80::/64 (metric 256) over vmbr1003 was gone")) << hv1.log();
    EXPECT_TRUE(hv1.logged("network 1003: the local route fe80::")) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
