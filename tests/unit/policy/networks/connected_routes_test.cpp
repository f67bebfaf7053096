// networking.md 3.1: which routes to the network of an address the kernel makes by itself, and which a program made
// that has its address without (noprefixroute): these go along with the device, as nobody makes them again.
#include "pvcnoded/policy/networks/connected_routes.hpp"
#include "network_fixture.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pvc::policy {
namespace {

using lines = std::multiset<std::string>;

// "10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster"
lines connected_lines(const toy_kernel& kernel) {
    lines all;
    const auto state = kernel.state();
    for (const auto& one : state.connected_routes()) {
        if (!one.network.text().starts_with("10.0.1.") && !one.network.text().starts_with("10.0.2.")) {
            all.insert(fmt::format("{} metric {}{} on {}", one.network.text(), one.metric,
                                   one.source ? " source " + one.source->to_string() : "", state.name_of(one.link)));
        }
    }
    for (const auto& one : state.link_routes()) {
        all.insert(to_text(one.is) + " on " + std::string(state.name_of(one.link)));
    }
    return all;
}

struct given_one {
    std::string address;
    bool is_bare = false;  // noprefixroute
    std::uint32_t lifetime = model::forever;
};
struct own_route {
    std::string to;
    std::uint32_t metric = 0;
    std::string source{};
    std::string gateway{};
};

model::link_address bare_or_not(const given_one& one) {
    return {.address = *parse_host_address(one.address),
            .is_permanent = one.lifetime == model::forever,
            .lifetime = {one.lifetime, one.lifetime},
            .settings = {.flags = one.is_bare ? model::no_prefix_route : 0U}};
}

model::link_route as_by_kernel(const own_route& one) {
    const auto to = *parse_host_address(one.to);
    const bool is_v4 = to.address.is_v4();
    model::network_route route{
        .to = to, .metric = one.metric, .protocol = static_cast<std::uint8_t>(one.gateway.empty() ? 2 : 16)};
    if (!one.source.empty()) {
        route.source = *parse_address(one.source);
    }
    if (!one.gateway.empty()) {
        route.gateway = *parse_address(one.gateway);
    } else if (is_v4) {
        route.scope = model::link_scope;
    }
    return {.is = route};
}

struct device_before {
    std::string what;
    std::vector<given_one> addresses;
    std::vector<own_route> routes;
    lines after;
};

// 10.0.0.2/24 is this node's own in the cluster network.
const std::vector<device_before>& all_orders() {
    static const std::vector<device_before> all{
        {"lease first, own second",
         {{"10.0.0.48/24", true, 600}, {"10.0.0.2/24"}},
         {{"10.0.0.0/24", 1024, "10.0.0.48"}, {"0.0.0.0/0", 1024, "10.0.0.48", "10.0.0.250"}},
         {"10.0.0.0/24 metric 1024 source 10.0.0.48 on brcluster",
          "default route via 10.0.0.250 (metric 1024, source 10.0.0.48) on brcluster"}},
        {"own first, lease second",
         {{"10.0.0.2/24"}, {"10.0.0.48/24", true, 600}},
         {{"10.0.0.0/24", 1024, "10.0.0.48"}, {"0.0.0.0/0", 1024, "10.0.0.48", "10.0.0.250"}},
         {"10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster", "10.0.0.0/24 metric 1024 source 10.0.0.48 on brcluster",
          "default route via 10.0.0.250 (metric 1024, source 10.0.0.48) on brcluster"}},
        {"both without a route, two routes of one metric",
         {{"10.0.0.46/24", true}, {"10.0.0.2/24", true}},
         {{"10.0.0.0/24", 100, "10.0.0.46"}, {"10.0.0.0/24", 100, "10.0.0.2"}},
         {"10.0.0.0/24 metric 100 source 10.0.0.46 on brcluster",
          "10.0.0.0/24 metric 100 source 10.0.0.2 on brcluster"}},
        {"the route of a program, of the kernel's metric",
         {{"10.0.0.46/24", true}, {"10.0.0.2/24"}},
         {{"10.0.0.0/24", 0, "10.0.0.46"}},
         {"10.0.0.0/24 metric 0 source 10.0.0.46 on brcluster"}},
        {"likewise, without a source",
         {{"10.0.0.46/24", true}, {"10.0.0.2/24"}},
         {{"10.0.0.0/24"}},
         {"10.0.0.0/24 metric 0 source 10.0.0.46 on brcluster"}},
        {"own, and one more of the kernel's metric",
         {{"10.0.0.2/24"}, {"10.0.0.46/24", true}},
         {{"10.0.0.0/24", 0, "10.0.0.46"}},
         {"10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster", "10.0.0.0/24 metric 0 source 10.0.0.46 on brcluster"}},
        {"another network, noprefixroute first",
         {{"10.44.0.18/24", true}, {"10.44.0.19/24"}},
         {{"10.44.0.0/24", 100, "10.44.0.18"}, {"10.45.0.0/16", 0, "", "10.44.0.1"}},
         {"10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster", "10.44.0.0/24 metric 100 source 10.44.0.18 on brcluster",
          "route 10.45.0.0/16 via 10.44.0.1 on brcluster"}},
        {"another network, noprefixroute second",
         {{"10.44.0.19/24"}, {"10.44.0.18/24", true}},
         {{"10.44.0.0/24", 100, "10.44.0.18"}},
         {"10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster", "10.44.0.0/24 metric 0 source 10.44.0.19 on brcluster",
          "10.44.0.0/24 metric 100 source 10.44.0.18 on brcluster"}},
        {"IPv6, noprefixroute second",
         {{"fd44::13/64"}, {"fd44::14/64", true}},
         {{"fd44::/64", 100}},
         {"10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster", "fd44::/64 metric 100 on brcluster",
          "fd44::/64 metric 256 on brcluster"}},
        {"IPv6, noprefixroute first",
         {{"fd44::14/64", true}, {"fd44::13/64"}},
         {{"fd44::/64", 100}},
         {"10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster", "fd44::/64 metric 100 on brcluster",
          "fd44::/64 metric 256 on brcluster"}},
        {"IPv6, the kernel's route behind an address that is gone",
         {{"fd44::14/64", true}},
         {{"fd44::/64", 256}},
         {"10.0.0.0/24 metric 0 source 10.0.0.2 on brcluster", "fd44::/64 metric 256 on brcluster"}},
    };
    return all;
}

TEST(connected_routes, those_of_programs_go_along_whatever_the_order_of_the_addresses) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.gateway = "None";
    const auto config = config_of(words);
    for (const auto& row : all_orders()) {
        toy_kernel kernel;
        kernel.add(link_named("eth0"));
        kernel.apply(model::set_up{"eth0"});
        for (const auto& one : row.addresses) {
            kernel.add_address("eth0", bare_or_not(one));
        }
        for (const auto& one : row.routes) {
            kernel.add_route("eth0", as_by_kernel(one));
        }
        const auto plan = plan_host(config, kernel.state());
        carry_out(kernel, plan);
        EXPECT_EQ(connected_lines(kernel), row.after) << row.what << '\n' << steps_of(plan);
        EXPECT_EQ(kernel.addresses_of("eth0"), std::vector<std::string>()) << row.what;
        EXPECT_EQ(steps_of(plan_host(config, kernel.state())), "") << row.what;
    }
}

TEST(connected_routes, the_kernel_makes_them_for_primary_addresses_that_have_one) {
    const auto text = [](const std::vector<model::link_address>& all) {
        std::string made;
        for (const auto& one : routes_of_kernel(all)) {
            made +=
                fmt::format("{} {} {}\n", one.network.text(), one.metric, one.source ? one.source->to_string() : "-");
        }
        return made;
    };
    const auto plain = [](const std::string& address) { return bare_or_not({address}); };
    const auto bare = [](const std::string& address) { return bare_or_not({address, true}); };
    EXPECT_EQ(text({plain("10.0.0.2/24"), plain("10.0.0.3/24"), plain("10.0.0.4/25")}),
              "10.0.0.0/24 0 10.0.0.2\n10.0.0.0/25 0 10.0.0.4\n");
    EXPECT_EQ(text({bare("10.0.0.2/24"), plain("10.0.0.3/24")}), "");
    EXPECT_EQ(text({plain("10.0.0.3/24"), bare("10.0.0.2/24")}), "10.0.0.0/24 0 10.0.0.3\n");
    EXPECT_EQ(text({plain("10.0.0.2/32")}), "");
    auto with_peer = plain("10.0.0.2/32");
    with_peer.peer = *parse_address("10.9.0.1");
    EXPECT_EQ(text({with_peer}), "10.9.0.1/32 0 10.0.0.2\n");
    auto of_metric = plain("fd00::3/64");
    of_metric.settings.metric = 7;
    EXPECT_EQ(text({bare("fd00::2/64"), plain("fd00::1/64"), of_metric, plain("fd01::1/128")}),
              "fd00::/64 256 -\nfd00::/64 7 -\nfd01::1/128 256 -\n");
}

}  // namespace
}  // namespace pvc::policy
