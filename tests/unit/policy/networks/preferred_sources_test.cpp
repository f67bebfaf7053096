// The source that packets have which leave over a route that names none: as the kernel chooses it, and as it stays when
// the route goes to a bridge that has other addresses beside (networking.md 3.1).
#include "pvcnoded/policy/networks/preferred_sources.hpp"
#include "host_plan_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using lines = std::vector<std::string>;

std::vector<model::link_address> given_in_order(const lines& all) {
    std::vector<model::link_address> on;
    for (const auto& one : all) {
        const bool is_narrow = one.ends_with(" link");
        const auto text = one.substr(0, one.find(' '));
        add_as_kernel(
            on, {.address = *parse_host_address(text), .scope = is_narrow ? model::link_scope : model::universe_scope});
    }
    return on;
}

std::string named(const std::string& to, const std::string& gateway, const lines& before, const lines& after) {
    model::network_route route{.to = *parse_host_address(to)};
    if (gateway.empty()) {
        route.scope = model::link_scope;
    } else {
        route.gateway = *parse_address(gateway);
        route.is_onlink = true;
    }
    const auto source = source_to_name(route, given_in_order(before), given_in_order(after));
    return source ? source->to_string() : "";
}

TEST(preferred_sources, of_the_address_that_reaches_the_gateway_or_of_the_first) {
    // A host of a hoster: the way out is by an address without a network, beside a private one.
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {"203.0.113.7/32"}, {"10.0.0.2/24", "203.0.113.7/32"}), "203.0.113.7");
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {"203.0.113.7/32", "10.0.0.2/24"}, {"10.0.0.2/24", "203.0.113.7/32"}),
              "203.0.113.7");
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {"10.0.0.2/24", "203.0.113.7/32"}, {"10.0.0.2/24", "203.0.113.7/32"}),
              "");
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {"203.0.113.7/24"}, {"10.0.0.2/24", "203.0.113.7/24"}), "");
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {"203.0.113.0/31"}, {"10.0.0.2/24", "203.0.113.0/31"}), "");
    // Of one network the first: a second one is never chosen.
    EXPECT_EQ(named("0.0.0.0/0", "10.0.0.250", {"10.0.0.9/24"}, {"10.0.0.2/24", "10.0.0.9/24"}), "10.0.0.9");
    EXPECT_EQ(named("0.0.0.0/0", "10.0.0.250", {"10.0.0.2/24", "10.0.0.9/24"}, {"10.0.0.2/24", "10.0.0.9/24"}), "");
    EXPECT_EQ(named("0.0.0.0/0", "10.0.0.250", {"10.0.0.9/25"}, {"10.0.0.2/24", "10.0.0.9/25"}), "10.0.0.9");
    // On the link itself any is good, also one of scope link, which no packet to elsewhere has.
    EXPECT_EQ(named("198.51.100.0/24", "", {"192.168.5.7/24"}, {"10.0.0.2/24", "192.168.5.7/24"}), "192.168.5.7");
    EXPECT_EQ(named("198.51.100.0/24", "", {"192.168.5.7/24", "10.0.0.2/24"}, {"192.168.5.7/24", "10.0.0.2/24"}), "");
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {"192.168.5.7/24 link", "203.0.113.7/32"},
                    {"10.0.0.2/24", "192.168.5.7/24 link", "203.0.113.7/32"}),
              "203.0.113.7");
    EXPECT_EQ(
        named("198.51.100.0/24", "", {"10.0.0.2/24", "192.168.5.7/24 link"}, {"192.168.5.7/24 link", "10.0.0.2/24"}),
        "")
        << "one of a narrower scope is before it, whenever it came";
    // What is not there cannot be named.
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {"203.0.113.7/32"}, {"10.0.0.2/24"}), "");
    EXPECT_EQ(named("0.0.0.0/0", "203.0.113.1", {}, {"10.0.0.2/24"}), "");
}

TEST(preferred_sources, of_ipv6_the_only_one_that_there_was) {
    EXPECT_EQ(named("::/0", "fe80::1", {"2001:db8::7/128"}, {"fd00::2/64", "2001:db8::7/128"}), "2001:db8::7");
    EXPECT_EQ(named("::/0", "fe80::1", {"2001:db8::7/127", "fe80::7/64"}, {"2001:db8::7/127", "fe80::9/64"}), "");
    // Which of them depends on where a packet goes: none is named.
    EXPECT_EQ(
        named("::/0", "fe80::1", {"2001:db8::7/64", "fd55::7/64"}, {"fd00::2/64", "fd55::7/64", "2001:db8::7/64"}), "");
}

TEST(preferred_sources, a_route_that_names_one_keeps_it_and_several_ways_have_one_together) {
    model::network_route route{.to = *parse_host_address("0.0.0.0/0"),
                               .ways = {{.gateway = *parse_address("203.0.113.1"), .is_onlink = true},
                                        {.gateway = *parse_address("203.0.113.2"), .is_onlink = true}}};
    const auto before = given_in_order({"203.0.113.7/32", "198.51.100.7/24"});
    const auto after = given_in_order({"10.0.0.2/24", "203.0.113.7/32", "198.51.100.7/24"});
    EXPECT_EQ(source_to_name(route, before, after), *parse_address("203.0.113.7"));
    route.ways[1].gateway = *parse_address("198.51.100.1");
    EXPECT_EQ(source_to_name(route, before, after), std::nullopt) << "they differ";
    route.ways.pop_back();
    route.source = *parse_address("198.51.100.7");
    EXPECT_EQ(source_to_name(route, before, after), std::nullopt);
}

// ---- and in a plan
// ----------------------------------------------------------------------------------------------------------

toy_kernel host_of_addresses(const lines& all) {
    auto kernel = bare_host({"eth0"});
    kernel.apply(model::set_up{"eth0"});
    for (const auto& one : all) {
        kernel.add_address("eth0", one);
    }
    return kernel;
}

config::node_config config_on_eth0() {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.gateway = "None";
    return config_of(words);
}

TEST(preferred_sources, the_way_out_of_a_host_keeps_its_source) {
    auto kernel = host_of_addresses({"203.0.113.7/32"});
    model::network_route out{
        .to = *parse_host_address("0.0.0.0/0"), .gateway = *parse_address("203.0.113.1"), .is_onlink = true};
    kernel.add_route("eth0", {.is = out});
    settle(kernel, config_on_eth0());
    out.source = *parse_address("203.0.113.7");
    const auto seen = kernel.state();
    ASSERT_EQ(seen.link_routes().size(), 1U);
    EXPECT_EQ(seen.link_routes()[0], (model::link_route{.is = out, .link = kernel.link("brcluster").index}));
}

// Who asks for a neighbour does it by the first address of that network.
TEST(preferred_sources, the_first_address_of_a_network_stays_the_first) {
    auto kernel = host_of_addresses({"10.0.0.9/24", "10.0.0.10/24"});
    settle(kernel, config_on_eth0());
    EXPECT_EQ(kernel.addresses_of("brcluster"),
              (lines{"10.0.1.2/24", "10.0.2.2/24", "10.0.0.9/24", "10.0.0.10/24", "10.0.0.2/24"}));
    auto own_first = host_of_addresses({"10.0.0.2/24", "10.0.0.9/24"});
    settle(own_first, config_on_eth0());
    EXPECT_EQ(own_first.addresses_of("brcluster"), (lines{"10.0.0.2/24", "10.0.1.2/24", "10.0.2.2/24", "10.0.0.9/24"}));
}

// Of what was there the kernel takes the newest first.
TEST(preferred_sources, addresses_of_ipv6_come_in_their_order) {
    auto kernel = host_of_addresses({"fd55::3/64", "fd55::2/64", "fd55::1/64"});
    const auto plan = settle(kernel, config_on_eth0());
    EXPECT_NE(steps_of(plan).find("add fd55::1/64 to brcluster\nadd fd55::2/64 to brcluster\n"
                                  "add fd55::3/64 to brcluster\nremove fd55::3/64 from eth0\n"),
              std::string::npos)
        << steps_of(plan);
}

// The route to the network of an address, where a device has several of one network, and the tool that gave it some of
// them (systemd-networkd, NetworkManager) made the route by itself. Of IPv4 the kernel makes one for the first of them
// alone; of IPv6 it leaves its own one behind where an address has `noprefixroute`.
class networks_of_addresses : public testing::Test {
protected:
    networks_of_addresses() {
        words_.gateway = "None";
        kernel_.add(link_named("eth0"));
        kernel_.apply(model::set_up{"eth0"});
    }
    void give(const std::string& address, bool has_route) {
        kernel_.add_address("eth0", {.address = *parse_host_address(address),
                                     .settings = {.flags = has_route ? 0U : model::no_prefix_route}});
    }
    void way(const std::string& to, std::uint32_t metric, const std::string& gateway = "") {
        constexpr std::uint8_t by_itself = 2;  // RTPROT_KERNEL
        model::network_route made{.to = *parse_host_address(to), .metric = metric};
        if (gateway.empty()) {
            made.protocol = by_itself;
            made.scope = made.to.address.is_v4() ? model::link_scope : model::universe_scope;
        } else {
            made.gateway = *parse_address(gateway);
        }
        kernel_.add_route("eth0", {.is = made});
    }
    // "10.88.0.0/24 metric 100 on brcluster"
    std::vector<std::string> after_the_move() {
        const auto config = config_of(words_);
        auto plan = plan_host(config, kernel_.state());
        carry_out(kernel_, plan);
        EXPECT_EQ(steps_of(plan_host(config, kernel_.state())), "");
        steps_ = steps_of(plan);
        std::vector<std::string> all;
        const auto seen = kernel_.state();
        for (const auto& one : seen.connected_routes()) {
            all.push_back(fmt::format("{} metric {} on {}", one.network.text(), one.metric, seen.name_of(one.link)));
        }
        return all;
    }
    [[nodiscard]] bool has_step(const std::string& line) const { return steps_.find(line + "\n") != std::string::npos; }

    network_words words_ = network_words::all_on("eth0");
    toy_kernel kernel_;
    std::string steps_;
};

bool is_among(const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
}

TEST_F(networks_of_addresses, a_second_one_of_ipv4_has_none_and_the_first_ones_goes_along) {
    give("10.0.0.48/24", false);
    give("10.0.0.2/24", true);  // that of the file
    way("10.0.0.0/24", 1024);
    way("0.0.0.0/0", 1024, "10.0.0.250");
    give("10.88.0.18/24", false);
    give("10.88.0.19/24", true);
    way("10.88.0.0/24", 100);
    const auto after = after_the_move();
    EXPECT_TRUE(is_among(after, "10.0.0.0/24 metric 1024 on brcluster")) << steps_;
    EXPECT_TRUE(is_among(after, "10.88.0.0/24 metric 100 on brcluster")) << steps_;
    EXPECT_TRUE(has_step("add default route via 10.0.0.250 (metric 1024) on brcluster")) << steps_;
}

TEST_F(networks_of_addresses, of_two_routes_to_one_network_both_go_along) {
    give("10.0.0.9/24", true);
    give("10.0.0.49/24", false);
    way("10.0.0.0/24", 1024);
    const auto after = after_the_move();
    EXPECT_TRUE(is_among(after, "10.0.0.0/24 metric 0 on brcluster")) << steps_;
    EXPECT_TRUE(is_among(after, "10.0.0.0/24 metric 1024 on brcluster")) << steps_;
}

TEST_F(networks_of_addresses, what_the_kernel_would_leave_behind_of_ipv6_is_taken_away) {
    give("fd44::13/64", true);
    give("fd44::14/64", false);
    way("fd44::/64", 100);
    const auto after = after_the_move();
    EXPECT_TRUE(is_among(after, "fd44::/64 metric 256 on brcluster")) << steps_;
    EXPECT_TRUE(is_among(after, "fd44::/64 metric 100 on brcluster")) << steps_;
    EXPECT_TRUE(has_step("remove route fd44::/64 (metric 256) on eth0")) << steps_;
}

}  // namespace
}  // namespace pvc::policy
