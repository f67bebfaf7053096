// networking.md 5.3 (step 9), 6: gateways of client networks as addresses of the primary, and those left behind.
#include "network_fixture.hpp"

#include "pvcnoded/policy/networks/gateway_addresses.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;
const whose_links nobodys;

model::client_network network_of(std::uint32_t vni, const std::string& gateway4, const std::string& gateway6 = "") {
    model::client_network network;
    network.vni = vni;
    const auto set = [](model::network_family& family, const std::string& text) {
        if (!text.empty()) {
            const auto parsed = *parse_host_address(text);
            family.gateway = parsed.address;
            family.network = parsed;  // what of it is the host's does not matter here
        }
    };
    set(network.ip4, gateway4);
    set(network.ip6, gateway6);
    return network;
}

texts texts_of(const std::vector<role_address>& all) {
    texts said;
    for (const auto& one : all) {
        said.push_back(std::string(to_text(one.taken_up)) + " " + one.where.text());
    }
    return said;
}

texts texts_of(const std::vector<placed_address>& all) {
    texts said;
    for (const auto& one : all) {
        said.push_back(one.text());
    }
    return said;
}

TEST(gateways, by_number_ipv6_first) {
    const std::vector all{network_of(1001, "10.1.1.1/24", "2001:db8::1/64"), network_of(7, "10.7.0.1/16"),
                          network_of(8, "")};
    const auto gateways = gateway_addresses(all, config_of(network_words::all_on("eth0")));
    EXPECT_EQ(texts_of(gateways),
              (texts{"F 10.7.0.1/16 on vmbr7", "F 2001:db8::1/64 on vmbr1001", "F 10.1.1.1/24 on vmbr1001"}));
    for (const auto& one : gateways) {
        EXPECT_EQ(one.wish, address_wish::as_found);
        EXPECT_NE(one.what.find(one.where.address.address.is_v6() ? "IPv6" : "IPv4"), std::string::npos);
    }
}

TEST(gateways, the_smaller_number_has_the_address) {
    auto bridged = network_of(1, "10.1.1.1/24");
    bridged.type = model::network_type::bridged;
    const std::vector all{network_of(9, "10.1.1.1/25", "2001:db8::9/64"), network_of(7, "10.1.1.1/24"),
                          network_of(8, "10.1.1.1/24"), bridged};
    const auto config = config_of(network_words::all_on("eth0"));
    const auto conflicts = gateway_conflicts(all, config);
    ASSERT_EQ(conflicts.size(), 2U);
    EXPECT_EQ(conflicts[0].loser, 8U);
    EXPECT_EQ(conflicts[1].loser, 9U);
    EXPECT_EQ(conflicts[1].text, "network 9: its gateway 10.1.1.1 is that of network 7, which keeps it");
    EXPECT_EQ(conflicts[1].address.to_string(), "10.1.1.1");
    EXPECT_EQ(texts_of(gateway_addresses(all, config)), (texts{"F 10.1.1.1/24 on vmbr7", "F 2001:db8::9/64 on vmbr9"}));
}

// An address of the link is of one bridge alone.
TEST(gateways, networks_may_have_the_same_link_local_one) {
    const std::vector all{network_of(7, "", "fe80::1/64"), network_of(8, "", "fe80::1/64")};
    const auto config = config_of(network_words::all_on("eth0"));
    EXPECT_TRUE(gateway_conflicts(all, config).empty());
    EXPECT_EQ(texts_of(gateway_addresses(all, config)), (texts{"F fe80::1/64 on vmbr7", "F fe80::1/64 on vmbr8"}));
}

TEST(gateways, ipv6_needs_an_mtu) {
    auto words = network_words::all_on("eth0");
    auto small = network_of(7, "10.7.0.1/16");
    small.ip6 = network_of(7, "", "fd00:7::1/64").ip6;
    auto large = small;
    large.vni = 8;
    large.ip4 = {};
    large.ip6 = network_of(8, "", "fd00:8::1/64").ip6;
    small.mtu = 1279;
    large.mtu = 1280;
    const std::vector all{small, large};
    const auto conflicts = gateway_conflicts(all, config_of(words));
    ASSERT_EQ(conflicts.size(), 1U);
    EXPECT_EQ(conflicts[0].text,
              "network 7: IPv6 is not possible with its MTU of 1279, only from 1280 on: its gateway fd00:7::1 is not "
              "set");
    EXPECT_EQ(texts_of(gateway_addresses(all, config_of(words))),
              (texts{"F 10.7.0.1/16 on vmbr7", "F fd00:8::1/64 on vmbr8"}));
    words.cluster_mtu = words.storage_mtu = words.upstream_mtu = 1329;  // what VXLAN leaves of it
    EXPECT_EQ(texts_of(gateway_addresses(all, config_of(words))), texts{"F 10.7.0.1/16 on vmbr7"});
}

// With it the way to other nodes would lead into the client network. A wider one leaves the host's own routes first.
TEST(gateways, a_network_that_would_change_what_the_host_reaches_has_none) {
    const auto config = config_of(network_words::all_on("eth0"));
    const auto& cluster = config.networks.cluster.subnet;
    const auto address = ip::address_v4(cluster.address().to_uint() + 193).to_string();
    const auto wider = "/" + std::to_string(cluster.prefix_length() - 2);
    const auto beside = ip::address_v4(cluster.broadcast().to_uint() + (9U << 16U)).to_string();
    const std::vector all{network_of(6, address + "/" + std::to_string(cluster.prefix_length())),
                          network_of(7, address + "/26"), network_of(8, "10.7.0.1/16"), network_of(9, address + wider),
                          network_of(10, beside + "/8")};
    const auto conflicts = gateway_conflicts(all, config);
    ASSERT_EQ(conflicts.size(), 3U);
    for (const std::size_t at : {0U, 1U}) {
        EXPECT_EQ(conflicts[at].loser, 6U + at);
        EXPECT_NE(conflicts[at].text.find("overlaps the cluster network " + cluster.to_string()), std::string::npos);
    }
    EXPECT_EQ(conflicts[2].loser, 9U) << "the address may be another node's";
    EXPECT_NE(conflicts[2].text.find(" has its gateway in the cluster network "), std::string::npos);
    EXPECT_EQ(texts_of(gateway_addresses(all, config)),
              (texts{"F 10.7.0.1/16 on vmbr8", "F " + beside + "/8 on vmbr10"}));
}

// What the file does not name: other links of the host, and routes that somebody made.
TEST(gateways, a_network_that_would_change_what_the_host_reaches_by_itself_has_none) {
    const auto config = config_of(network_words::all_on("eth0"));
    toy_kernel kernel;
    for (const auto* name : {"eth0", "eth1"}) {
        kernel.add(link_named(name));
        kernel.apply(model::set_up{name});
    }
    for (const auto* name : {"vmbr7", "vmbr8", "virbr0", "lo"}) {
        auto link = link_named(name, std::string_view(name) == "lo" ? "" : "bridge");
        link.is_loopback = link.name == "lo";
        link.is_up = true;
        kernel.add(link);
    }
    for (const auto* bridge : {"vmbr7", "vmbr8"}) {
        const auto card = std::string("eth") + bridge[4];
        kernel.add(link_named(card));
        kernel.apply(model::set_master{card, bridge});
    }
    kernel.add_address("eth1", "192.0.2.10/24");
    kernel.add_address("eth1", "2001:db8:1::10/64");
    kernel.add_address("eth1", "fe80::10/64");
    kernel.add_address("vmbr7", "198.51.100.1/24");
    kernel.add_address("vmbr8", "198.51.101.1/24");
    kernel.add_address("virbr0", "192.168.122.1/24");
    kernel.add_address("lo", "203.0.113.1/32");
    const auto route = [&](const std::string& to, const std::string& gateway, std::uint8_t protocol = 4) {
        model::link_route one{{*parse_host_address(to)}};
        one.is.gateway = ip::make_address(gateway);
        one.is.protocol = protocol;
        kernel.add_route("eth1", one);
    };
    route("10.66.0.0/16", "192.0.2.1");
    route("10.0.0.0/8", "192.0.2.1");
    route("10.68.7.0/24", "192.0.2.1");
    route("10.67.0.0/16", "192.0.2.1", 186);  // RTPROT_BGP
    const own_bridges own{{8, {kernel.link("vmbr8").index, true}}};
    const auto reach = reach_of_host({7}, config, kernel.state(), own);
    const auto said = [&](const std::string& gateway4, const std::string& gateway6 = "") {
        const std::vector all{network_of(1001, gateway4, gateway6)};
        const auto conflicts = gateway_conflicts(all, config, reach);
        EXPECT_EQ(gateway_addresses(all, config, reach).empty(), !conflicts.empty());
        return conflicts.empty() ? std::string() : conflicts.front().text;
    };
    EXPECT_EQ(said("192.0.2.129/25"),
              "network 1001: 192.0.2.129/25 overlaps 192.0.2.0/24 of eth1, a network of this host's own: its gateway "
              "192.0.2.129 is not set");
    EXPECT_NE(said("192.0.2.1/24"), "");
    EXPECT_NE(said("192.0.2.1/16").find(" has its gateway in 192.0.2.0/24 of eth1"), std::string::npos);
    EXPECT_EQ(said("192.0.77.1/16"), "") << "wider: the kernel prefers the host's own";
    EXPECT_NE(said("", "2001:db8:1::1/80"), "");
    EXPECT_EQ(said("", "2001:db8:2::1/64"), "");
    EXPECT_EQ(said("", "fe80::1/64"), "");
    EXPECT_EQ(said("10.68.7.1/25"),
              "network 1001: 10.68.7.1/25 lies in 10.68.7.0/24, to which this host has a route over eth1: its gateway "
              "10.68.7.1 is not set");
    EXPECT_EQ(said("10.68.7.1/24"), "");
    EXPECT_EQ(said("10.66.7.1/24"), "") << "a part of what a router of the site has";
    const auto told = network_overlaps(std::vector{network_of(1001, "10.66.7.1/24")}, config, reach);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front(), (network_overlap{1001, 0,
                                             "network 1001: its 10.66.7.0/24 lies in 10.66.0.0/16, to which this host "
                                             "has a route over eth1: as primary it reaches these addresses in the "
                                             "network alone"}));
    EXPECT_TRUE(network_overlaps(std::vector{network_of(1001, "10.69.7.1/24")}, config, reach).empty());
    EXPECT_EQ(said("192.168.122.254/25"),
              "network 1001: 192.168.122.254/25 overlaps 192.168.122.0/24 of virbr0, a network of this host's own: its "
              "gateway 192.168.122.254 is not set");
    EXPECT_NE(said("192.168.122.1/24"), "");
    for (const auto* other : {"10.66.0.1/16", "10.67.7.1/24", "10.1.1.1/24", "198.51.100.1/24", "198.51.101.1/24",
                              "192.168.123.1/24", "203.0.113.1/24"}) {
        EXPECT_EQ(said(other), "") << other;
    }
    const own_bridges none;
    EXPECT_EQ(reach_of_host({}, config, kernel.state(), none).size(), reach.size() + 2) << "bridges of the host";
}

// Both are kept as they are, and it is said.
// Anybody who may make networks could take the ways of each primary.
TEST(gateways, a_network_that_is_as_good_as_a_default_route_has_none) {
    const auto config = config_of({});
    struct row {
        std::string network;
        std::string gateway;
        bool has_one;
    };
    for (const auto& one : std::vector<row>{{"128.0.0.0/1", "199.0.0.1", false},
                                            {"96.0.0.0/7", "97.0.0.1", false},
                                            {"97.0.0.0/8", "97.0.0.1", true},
                                            {"2000::/3", "2a00::99", false},
                                            {"2a00::/15", "2a00::99", false},
                                            {"2a00::/16", "2a00::99", true},
                                            {"fc00::/7", "fd00:7::1", false},
                                            {"fd00::/8", "fd00:7::1", true}}) {
        auto network = network_of(7, "");
        auto& family = one.network.find(':') == std::string::npos ? network.ip4 : network.ip6;
        family.network = parse_host_address(one.network).value();
        family.gateway = ip::make_address(one.gateway);
        const std::vector all{network};
        EXPECT_EQ(gateway_addresses(all, config).size(), one.has_one ? 1U : 0U) << one.network;
        const auto conflicts = gateway_conflicts(all, config);
        ASSERT_EQ(conflicts.size(), one.has_one ? 0U : 1U) << one.network;
        if (!one.has_one) {
            EXPECT_EQ(conflicts[0].text, fmt::format("network 7: {} is as good as a default route of this host: its "
                                                     "gateway {} is not set",
                                                     one.network, one.gateway));
        }
    }
}

TEST(gateways, networks_that_overlap_each_other_are_told) {
    const auto config = config_of(network_words::all_on("eth0"));
    const auto overlaps = [&](const std::vector<model::client_network>& all) {
        texts said;
        for (const auto& one : network_overlaps(all, config)) {
            EXPECT_TRUE(one.text.starts_with("network " + std::to_string(one.inner) + ": its ")) << one.text;
            EXPECT_NE(one.text.find(" of network " + std::to_string(one.outer) + ": "), std::string::npos) << one.text;
            said.push_back(one.text.substr(0, one.text.rfind(':')));
        }
        return said;
    };
    const auto outer = network_of(1001, "10.1.1.1/24");
    const auto inner = network_of(1002, "10.1.1.129/25");
    EXPECT_EQ(network_overlaps(std::vector{inner, outer}, config).at(0).text,
              "network 1002: its 10.1.1.128/25 overlaps 10.1.1.0/24 of network 1001: the primary reaches the addresses "
              "of both in one of the two only");
    EXPECT_EQ(texts_of(gateway_addresses(std::vector{inner, outer}, config)),
              (texts{"F 10.1.1.1/24 on vmbr1001", "F 10.1.1.129/25 on vmbr1002"}));
    // The same network twice, with gateways of their own; the smaller number is the outer one.
    EXPECT_EQ(overlaps({network_of(9, "10.1.1.1/24"), network_of(8, "10.1.1.2/24")}),
              texts{"network 9: its 10.1.1.0/24 overlaps 10.1.1.0/24 of network 8"});
    // Of many the next one around each, whatever the numbers; both families.
    EXPECT_EQ(overlaps({network_of(3, "10.1.0.1/16", "fd00::1/48"), outer, inner, network_of(4, "10.1.2.1/24"),
                        network_of(5, "10.2.0.1/16", "fd00:0:0:7::1/64")}),
              (texts{"network 4: its 10.1.2.0/24 overlaps 10.1.0.0/16 of network 3",
                     "network 5: its fd00:0:0:7::/64 overlaps fd00::/48 of network 3",
                     "network 1001: its 10.1.1.0/24 overlaps 10.1.0.0/16 of network 3",
                     "network 1002: its 10.1.1.128/25 overlaps 10.1.1.0/24 of network 1001"}));
    // None: beside each other, without a gateway, bridged, or one that loses its gateway anyway.
    EXPECT_EQ(overlaps({network_of(8, "10.1.1.1/25"), inner, network_of(9, "10.1.2.1/24")}), texts());
    auto bare = inner;
    bare.ip4.gateway.reset();
    auto bridged = inner;
    bridged.type = model::network_type::bridged;
    EXPECT_EQ(overlaps({outer, bare, bridged, network_of(1003, "10.1.1.1/26")}), texts());
}

TEST(gateways, those_left_behind_are_on_bridges_with_their_own_base) {
    const auto config = config_of(network_words::all_on("eth0"));
    toy_kernel kernel;
    kernel.add(link_named("eth0"));
    carry_out(kernel, plan_host(config, kernel.state()));
    for (const auto vni : {7U, 8U}) {
        carry_out(kernel, plan_network(network_of(vni, ""), config, kernel.state(), {}));
    }
    kernel.add(link_named("vmbr9", "bridge"));
    for (const auto* name : {"vmbr7", "vmbr8", "vmbr9"}) {
        kernel.add_address(name, std::string("10.0.9.") + name[4] + "/24");
    }
    kernel.add_address("vmbr7", "2001:db8::1/64");
    kernel.add_address("vmbr7", "2001:db8::2/64", false);  // of an advertisement: another matter
    kernel.add_address("vmbr7", "fe80::1/64");
    kernel.apply(model::set_master{"vxlan8", "vmbr9"});
    EXPECT_EQ(texts_of(gateways_left_behind(config, kernel.state(), {}, &nobodys)),
              (texts{"10.0.9.7/24 on vmbr7", "2001:db8::1/64 on vmbr7"}));
    const std::vector networks{network_of(7, "10.0.9.7/24"), network_of(8, "10.0.9.8/24")};
    EXPECT_EQ(texts_of(gateways_of_nobody(networks, config, kernel.state())), texts{"2001:db8::1/64 on vmbr7"});
    // Those that had their base by the record too; one of a bridged network has other addresses.
    const int index = kernel.link("vmbr9").index;
    EXPECT_EQ(texts_of(gateways_left_behind(config, kernel.state(), {{9, {index, true}}}, &nobodys)),
              (texts{"10.0.9.7/24 on vmbr7", "2001:db8::1/64 on vmbr7", "10.0.9.9/24 on vmbr9"}));
    for (const auto& other :
         {own_bridges{{9, {index, false}}}, own_bridges{{9, {index + 1, true}}}, own_bridges{{8, {index, true}}}}) {
        EXPECT_EQ(gateways_left_behind(config, kernel.state(), other, &nobodys),
                  gateways_left_behind(config, kernel.state(), {}, &nobodys));
    }
    // Another prefix length is another address.
    EXPECT_EQ(gateways_of_nobody(std::vector{network_of(7, "10.0.9.7/25")}, config, kernel.state()).size(), 2U);
}

TEST(gateways, what_a_start_removes_of_a_primary_that_was_killed) {
    using namespace std::chrono_literals;
    const auto config = config_of(network_words::all_on("eth0"));
    toy_kernel kernel;
    auto lo = link_named("lo");
    lo.is_loopback = true;
    kernel.add(lo);
    kernel.add(link_named("eth0"));
    carry_out(kernel, plan_host(config, kernel.state()));
    carry_out(kernel, plan_network(network_of(7, "10.0.9.7/24"), config, kernel.state(), {}));
    EXPECT_TRUE(found_of_primary(config, kernel.state(), {}, &nobodys).empty());
    for (const auto* text : {"10.0.2.254/24", "10.0.0.254/16", "10.0.0.77/24"}) {
        kernel.add_address("brcluster", text);
    }
    kernel.add_address("lo", "169.254.169.254/32");
    kernel.add_address("vmbr7", "10.0.9.7/24");
    kernel.add(link_named("vmbr8", "bridge"));
    kernel.add_address("vmbr8", "10.0.9.8/24");
    const own_bridges own{{8, {kernel.link("vmbr8").index, true}}};
    const auto found = found_of_primary(config, kernel.state(), own, &nobodys);
    EXPECT_EQ(texts_of(found), (texts{"10.0.2.254/24 on brcluster", "10.0.0.254/16 on brcluster",
                                      "169.254.169.254/32 on lo", "10.0.9.7/24 on vmbr7", "10.0.9.8/24 on vmbr8"}));
    network_words off;
    off.is_networking = false;
    EXPECT_TRUE(found_of_primary(config_of(off), kernel.state(), own, &nobodys).empty());

    leftover_view view;
    const std::vector two{found.front(), found.back()};
    const std::string why = ": no record of this boot says that this node was primary";
    EXPECT_EQ(describe_leftovers(view, two),
              (leftover_lines{{"addresses of the primary: would remove 10.0.2.254/24 from brcluster" + why,
                               "addresses of the primary: would remove 10.0.9.8/24 from vmbr8" + why}}));
    view.was_primary = true;
    view.heartbeat_age = 3s;
    EXPECT_EQ(describe_leftovers(view, two),
              (leftover_lines{
                  {}, "if another node is primary: would remove 10.0.2.254/24 on brcluster, 10.0.9.8/24 on vmbr8"}));
    view.heartbeat_age = 100s;
    EXPECT_EQ(describe_leftovers(view, two).changes.size(), 2U);
    EXPECT_EQ(describe_leftovers(view, {}), leftover_lines());
}

}  // namespace
}  // namespace pvc::policy
