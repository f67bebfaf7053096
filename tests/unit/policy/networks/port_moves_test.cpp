// networking.md 3.1, on hosts that the system's own configuration set up: what is on a device goes to its bridge, with
// its routes, so that a host that was reached still is. Each plan is carried out on a toy kernel and made again.
#include "network_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;

network_words one_device(const std::string& gateway) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.gateway = gateway;
    return words;
}

// Up, with these addresses.
toy_kernel host_with(const std::vector<std::pair<std::string, texts>>& devices) {
    toy_kernel kernel;
    for (const auto& [name, addresses] : devices) {
        kernel.add(link_named(name));
        kernel.apply(model::set_up{name});
        for (const auto& one : addresses) {
            kernel.add_address(name, one);
        }
    }
    return kernel;
}

model::network_route route_to(const std::string& to, const std::string& gateway = "", std::uint32_t metric = 0) {
    model::network_route route;
    route.to = *parse_host_address(to);
    route.gateway = gateway.empty() ? std::nullopt : std::optional(*parse_address(gateway));
    route.metric = metric;
    return route;
}

host_plan settle_host(toy_kernel& kernel, const config::node_config& config) {
    auto plan = plan_host(config, kernel.state());
    carry_out(kernel, plan);
    EXPECT_EQ(steps_of(plan_host(config, kernel.state())), "");
    return plan;
}

// "default route via 10.0.0.254 on brcluster"
texts routes_of(const toy_kernel& kernel) {
    texts all;
    const auto state = kernel.state();
    for (const auto& one : state.link_routes()) {
        all.push_back(to_text(one.is) + " on " + std::string(state.name_of(one.link)));
    }
    return all;
}

TEST(port_moves, without_a_configured_gateway_the_hosts_own_default_route_goes_along) {
    auto kernel = host_with({{"eth0", {"10.0.2.2/24"}}});
    kernel.add_route("10.0.2.1", "eth0", 100);
    const auto config = config_of(one_device("None"));
    const auto plan = settle_host(kernel, config);
    EXPECT_EQ(routes_of(kernel), texts{"default route via 10.0.2.1 (metric 100) on brcluster"});
    EXPECT_NE(steps_of(plan).find("make eth0 a port of brcluster\n"
                                  "add default route via 10.0.2.1 (metric 100) on brcluster\n"
                                  "remove default route via 10.0.2.1 (metric 100) on eth0\n"
                                  "remove 10.0.2.2/24 from eth0\n"),
              std::string::npos)
        << steps_of(plan);
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-device-configured: device eth0 has routes, which are moved to brcluster: default route "
              "via 10.0.2.1 (metric 100)\n");
    EXPECT_EQ(remarks_of(plan_host(config, kernel.state()).remarks), "");
}

TEST(port_moves, a_default_route_that_stays_is_not_lost) {
    const auto config = config_of(one_device("10.0.2.1"));
    auto with_metric = host_with({{"eth0", {"10.0.0.2/16"}}});
    with_metric.add_route("10.0.0.250", "eth0", 50);
    settle_host(with_metric, config);
    EXPECT_EQ(routes_of(with_metric), (texts{"default route via 10.0.2.1 on brcluster",
                                             "default route via 10.0.0.250 (metric 50) on brcluster"}));
    auto kernel = host_with({{"eth0", {"10.0.0.2/16"}}});
    kernel.add_route("10.0.0.250", "eth0");
    const auto plan = settle_host(kernel, config);
    EXPECT_EQ(routes_of(kernel), texts{"default route via 10.0.0.250 on brcluster"});
    const std::string stays =
        "warning network-route: the default route is by 10.0.0.250 on brcluster and not by 10.0.2.1 on brcluster: it "
        "stays\n";
    EXPECT_TRUE(remarks_of(plan.remarks).starts_with(stays)) << remarks_of(plan.remarks);
    EXPECT_EQ(remarks_of(plan_host(config, kernel.state()).remarks), stays);
}

TEST(port_moves, all_that_routes_say_is_kept) {
    auto kernel = host_with({{"eth0", {"10.0.0.2/24", "fd00::2/64"}}});
    auto to_admin = route_to("10.77.0.0/16", "10.0.0.250", 7);
    to_admin.source = *parse_address("10.0.0.2");
    to_admin.protocol = 4;
    auto on_link = route_to("198.51.100.1/32");
    on_link.scope = 253;
    auto by_it = route_to("0.0.0.0/0", "198.51.100.1");
    auto elsewhere = route_to("203.0.113.0/24", "192.0.2.9");
    elsewhere.is_onlink = true;
    const auto of_six = route_to("::/0", "fe80::1", 1024);
    for (const auto& one : {to_admin, by_it, on_link, elsewhere, of_six}) {
        kernel.add_route("eth0", {.is = one});
    }
    settle_host(kernel, config_of(one_device("None")));
    const auto seen = kernel.state();
    ASSERT_EQ(seen.link_routes().size(), 5U);
    for (const auto& one : {to_admin, by_it, on_link, elsewhere, of_six}) {
        const auto found = std::ranges::find(seen.link_routes(), one, &model::link_route::is);
        ASSERT_NE(found, seen.link_routes().end()) << to_text(one);
        EXPECT_EQ(seen.name_of(found->link), "brcluster") << to_text(one);
    }
}

TEST(port_moves, what_a_host_is_managed_over_goes_along_whatever_its_network) {
    auto kernel = host_with({{"eth0", {"192.168.5.7/24", "fd55::7/64"}}});
    kernel.add_route("192.168.5.250", "eth0");
    kernel.add_route("eth0", {.is = route_to("::/0", "fd55::250", 1024)});
    kernel.add_route("eth0", {.is = route_to("10.77.0.0/16", "192.168.5.250", 7)});
    const auto config = config_of(one_device("10.0.2.1"));
    const auto plan = settle_host(kernel, config);
    EXPECT_NE(steps_of(plan).find("make eth0 a port of brcluster\nadd 192.168.5.7/24 to brcluster\n"
                                  "add fd55::7/64 to brcluster\n"),
              std::string::npos)
        << steps_of(plan);
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-route: the default route is by 192.168.5.250 on brcluster and not by 10.0.2.1 on "
              "brcluster: it stays\n"
              "warning network-device-configured: device eth0 has 192.168.5.7/24, fd55::7/64, which nobody would reach "
              "on a port: that is moved to brcluster\n"
              "warning network-device-configured: device eth0 has routes, which are moved to brcluster: default route "
              "via 192.168.5.250, route 10.77.0.0/16 via 192.168.5.250 (metric 7), default route via fd55::250 (metric "
              "1024)\n");
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
    EXPECT_EQ(kernel.addresses_of("brcluster"),
              (texts{"10.0.0.2/24", "10.0.1.2/24", "10.0.2.2/24", "192.168.5.7/24", "fd55::7/64"}));
    for (const auto& one : routes_of(kernel)) {
        EXPECT_TRUE(one.ends_with(" on brcluster")) << one;
    }
    EXPECT_EQ(kernel.state().link_routes().size(), 3U);
    // A daemon that was killed between the steps left it on the port.
    kernel.add_address("eth0", "192.168.6.7/24");
    settle_host(kernel, config);
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
}

TEST(port_moves, what_has_a_lifetime_cannot_be_kept_and_is_named_with_its_default_route) {
    auto kernel = host_with({{"eth0", {}}});
    kernel.add_address("eth0", "192.168.5.7/24", false);
    kernel.add_route("192.168.5.250", "eth0", 100);
    const auto config = config_of(one_device("None"));
    EXPECT_EQ(remarks_of(plan_host(config, kernel.state()).remarks),
              "warning network-device-configured: device eth0 has 192.168.5.7/24 for a limited time, by a lease or a "
              "router advertisement: that cannot be kept on a port of brcluster, nor the default route via "
              "192.168.5.250 (metric 100)\n"
              "warning network-device-configured: the default route via 192.168.5.250 (metric 100) over eth0 cannot "
              "be moved to brcluster, because no address there reaches its gateway: it goes, or leads nowhere, with "
              "the device as a port\n");
    kernel.add_address("eth0", "fd55::7/64", false);
    const auto said = remarks_of(plan_host(config, kernel.state()).remarks);
    EXPECT_NE(said.find("device eth0 has 192.168.5.7/24, fd55::7/64 for a limited time"), std::string::npos) << said;
    EXPECT_NE(said.find("(metric 100), nor a default route of a router advertisement\n"), std::string::npos) << said;
}

TEST(port_moves, what_is_of_another_bridge_stays_on_a_port) {
    auto kernel = host_with({{"eth0", {}}, {"eth1", {}}, {"eth2", {}}});
    const auto config = config_of({});
    settle_host(kernel, config);
    kernel.add_address("eth0", "10.0.2.77/24");
    EXPECT_EQ(steps_of(plan_host(config, kernel.state())), "");
    EXPECT_EQ(remarks_of(plan_host(config, kernel.state()).remarks),
              "warning network-device-configured: device eth0 has 10.0.2.77/24, which cannot be used on a port of "
              "brcluster\n");
}

TEST(port_moves, what_cannot_be_moved_is_told_before_each_by_a_line) {
    auto kernel = host_with({{"eth0", {"10.0.0.2/24"}}});
    kernel.add_address("eth0", "192.0.2.7/24", false);
    kernel.add_route("eth0", {.is = route_to("0.0.0.0/0", "10.0.0.250"), .table = 77});
    kernel.add_route("eth0", {.is = route_to("10.77.0.0/16", "10.0.0.250"),
                              .more = "it goes by the nexthop object 5, which names the device"});
    kernel.add_route("eth0", {.is = route_to("10.78.0.0/16", "192.0.2.1")});
    kernel.add(link_named("brcluster", "bridge"));
    kernel.apply(model::set_up{"brcluster"});
    kernel.add_address("brcluster", "203.0.113.2/24");
    kernel.add_route("brcluster", {.is = route_to("10.79.0.0/16", "203.0.113.1")});
    kernel.add_route("eth0", {.is = route_to("10.79.0.0/16", "10.0.0.250")});
    const auto plan = settle_host(kernel, config_of(one_device("None")));
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-device-configured: device eth0 has routes, which are moved to brcluster: default route "
              "via 10.0.0.250 of table 77\n"
              "warning network-device-configured: device eth0 has 192.0.2.7/24 for a limited time, by a lease or a "
              "router advertisement: that cannot be kept on a port of brcluster\n"
              "warning network-device-configured: the route 10.77.0.0/16 via 10.0.0.250 over eth0 cannot be moved to "
              "brcluster, because it goes by the nexthop object 5, which names the device: it goes, or leads nowhere, "
              "with the device as a port\n"
              "warning network-device-configured: the route 10.78.0.0/16 via 192.0.2.1 over eth0 cannot be moved to "
              "brcluster, because no address there reaches its gateway: it goes, or leads nowhere, with the device as "
              "a port\n"
              "warning network-device-configured: the route 10.79.0.0/16 via 10.0.0.250 over eth0 cannot be moved to "
              "brcluster, because another one of its metric is there: it goes, or leads nowhere, with the device as a "
              "port\n");
    EXPECT_EQ(std::ranges::count_if(routes_of(kernel), [](const auto& one) { return one.ends_with(" on eth0"); }),
              3);  // with an address that is left on the device they stay
}

// ---- as it was
// ------------------------------------------------------------------------------------------------------------------

model::link_address given(const std::string& address, model::address_settings settings,
                          model::address_lifetime lifetime = {}) {
    return {.address = *parse_host_address(address), .lifetime = lifetime, .settings = std::move(settings)};
}

// NetworkManager, networkd and people give metrics, so that another card has the way: it keeps it.
TEST(port_moves, addresses_are_what_they_were_given) {
    const auto config = config_of(one_device("None"));
    auto fresh = host_with({{"eth0", {"10.0.0.2/24"}}});
    fresh.add_address("eth0", given("10.88.0.8/24", {.metric = 600, .broadcast = *parse_address("10.88.0.255")}));
    fresh.add_address("eth0", given("172.30.5.1/8", {.flags = model::no_prefix_route}));
    fresh.add_address("eth0", given("fd55:5::5/64", {.metric = 2000}, {.preferred = 0}));
    fresh.add_address("eth0", given("fd55:6::6/64", {.flags = model::home_address | model::manages_temporary}));
    fresh.add_address("eth0", given("10.89.0.8/24", {.label = "eth0:1"}));
    auto kernel = fresh;
    const auto plan = settle_host(kernel, config);
    EXPECT_NE(steps_of(plan).find("add 10.88.0.8/24 (metric 600, broadcast 10.88.0.255) to brcluster\n"
                                  "add 172.30.5.1/8 (noprefixroute) to brcluster\n"
                                  "add 10.89.0.8/24 to brcluster\n"
                                  "add fd55:6::6/64 (home, mngtmpaddr) to brcluster\n"
                                  "add fd55:5::5/64 (metric 2000, deprecated) to brcluster\n"),
              std::string::npos)
        << steps_of(plan);
    EXPECT_NE(remarks_of(plan.remarks).find("10.89.0.8/24 (without its label eth0:1), which nobody would reach"),
              std::string::npos)
        << remarks_of(plan.remarks);
    const auto there = kernel.state().addresses_of(kernel.link("brcluster").index);
    for (const auto& was : fresh.state().addresses_of(fresh.link("eth0").index)) {
        const auto found = std::ranges::find(there, was.address, &model::link_address::address);
        ASSERT_NE(found, there.end()) << was.address.text();
        auto settings = was.settings;
        settings.label.clear();
        EXPECT_EQ(found->settings, settings) << was.address.text();
        EXPECT_EQ(found->lifetime, was.lifetime) << was.address.text();
        EXPECT_TRUE(found->is_permanent);
        // And back.
        const auto back = undo_of(model::remove_address{"eth0", was.address}, fresh.state());
        ASSERT_TRUE(back);
        auto again = fresh;
        again.apply(model::remove_address{"eth0", was.address});
        EXPECT_EQ(again.apply(*back), "");
        const auto all = again.state().addresses_of(again.link("eth0").index);
        EXPECT_NE(std::ranges::find(all, was), all.end()) << to_text(*back);
    }
}

// As a hoster gives it, with the default route by the far end.
TEST(port_moves, an_address_with_a_far_end_goes_along_with_the_routes_by_that) {
    auto kernel = host_with({{"eth0", {}}});
    kernel.add_address_with_peer("eth0", "192.168.5.7/32", "192.168.5.250");
    kernel.add_route("192.168.5.250", "eth0", 100);
    settle_host(kernel, config_of(one_device("None")));
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
    EXPECT_EQ(routes_of(kernel), texts{"default route via 192.168.5.250 (metric 100) on brcluster"});
    const auto there = kernel.state().addresses_of(kernel.link("brcluster").index);
    EXPECT_EQ(there.back().peer, *parse_address("192.168.5.250"));
}

// It sets noprefixroute everywhere, and makes the route by itself: what is behind it is reached by that.
constexpr std::uint8_t by_kernel = 2;  // RTPROT_KERNEL

TEST(port_moves, a_route_to_its_network_that_somebody_made_goes_along_with_its_address) {
    const auto config = config_of(one_device("None"));
    auto kernel = host_with({{"eth0", {"10.0.0.2/24", "fe80::1/64"}}});
    kernel.add_address("eth0", given("10.88.0.8/24", {.flags = model::no_prefix_route}));
    kernel.add_address("eth0", given("fd55::8/64", {.flags = model::no_prefix_route}));
    auto v4 = route_to("10.88.0.0/24", "", 425);
    v4.source = *parse_address("10.88.0.8");
    v4.scope = model::link_scope;
    v4.protocol = by_kernel;
    auto v6 = route_to("fd55::/64", "", 1024);
    v6.protocol = by_kernel;
    for (const auto& one : {v4, v6, route_to("10.91.0.0/16", "10.88.0.250", 425)}) {
        kernel.add_route("eth0", {.is = one});
    }
    const auto before = kernel.state();
    const auto plan = settle_host(kernel, config);
    EXPECT_NE(steps_of(plan).find("add route 10.88.0.0/24 (metric 425, source 10.88.0.8) on brcluster\n"
                                  "add route fd55::/64 (metric 1024) on brcluster\n"
                                  "add route 10.91.0.0/16 via 10.88.0.250 (metric 425) on brcluster\n"),
              std::string::npos)
        << steps_of(plan);
    const auto seen = kernel.state();
    const int bridge = kernel.link("brcluster").index;
    EXPECT_NE(std::ranges::find(seen.connected_routes(),
                                model::connected_route{bridge, v4.to, 425, *parse_address("10.88.0.8")}),
              seen.connected_routes().end());
    EXPECT_NE(std::ranges::find(seen.connected_routes(), model::connected_route{bridge, v6.to, 1024}),
              seen.connected_routes().end());
    const auto back = undo_of(model::remove_route{v4, "eth0"}, before);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, model::network_change(model::add_route{v4, "eth0"}));
}

// Two of one place with one metric cannot be there, whoever made them.
TEST(port_moves, a_route_that_the_kernel_has_there_by_itself_only_goes) {
    const auto config = config_of(one_device("None"));
    auto kernel = host_with({{"eth0", {}}, {"eth9", {}}});
    kernel.add_address("eth0", given("10.0.0.2/24", {.flags = model::no_prefix_route}));
    kernel.add_address("eth0", given("10.88.0.8/24", {.flags = model::no_prefix_route}));
    kernel.add_address("eth9", given("10.88.0.9/24", {.metric = 425}));
    auto made = route_to("10.88.0.0/24", "", 425);
    made.protocol = by_kernel;
    for (const auto& one : {route_to("10.0.0.0/24"), made}) {
        kernel.add_route("eth0", {.is = one});
    }
    const auto plan = settle_host(kernel, config);
    EXPECT_NE(steps_of(plan).find("remove route 10.0.0.0/24 on eth0\n"), std::string::npos) << steps_of(plan);
    EXPECT_EQ(steps_of(plan).find("add route"), std::string::npos) << steps_of(plan);
    EXPECT_NE(
        remarks_of(plan.remarks)
            .find("the route 10.88.0.0/24 (metric 425) over eth0 cannot be moved to brcluster, because another one "
                  "of its metric is there"),
        std::string::npos)
        << remarks_of(plan.remarks);
    EXPECT_EQ(routes_of(kernel), texts{});
}

TEST(port_moves, routes_with_settings_of_several_ways_and_of_other_tables_go_along) {
    auto kernel = host_with({{"eth0", {"10.0.0.2/24"}}, {"eth9", {"203.0.113.2/24"}}});
    auto with_mtu = route_to("10.91.0.0/16", "10.0.0.250");
    with_mtu.settings = "as the kernel says it";
    auto several = route_to("10.94.0.0/16");
    several.ways = {{.gateway = *parse_address("10.0.0.250")}, {.gateway = *parse_address("10.0.0.251"), .weight = 7}};
    const auto everywhere = route_to("0.0.0.0/0", "10.0.0.250");
    const auto far = route_to("10.95.0.0/16", "10.0.0.250");
    const std::vector<model::link_route> all{
        {.is = with_mtu}, {.is = several}, {.is = everywhere, .table = 100}, {.is = far, .table = 100}};
    for (const auto& one : all) {
        kernel.add_route("eth0", one);
    }
    kernel.add_route("eth9", {.is = route_to("10.95.0.0/16", "203.0.113.1"), .table = 101});
    const auto plan = settle_host(kernel, config_of(one_device("None")));
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-device-configured: device eth0 has routes, which are moved to brcluster: default route "
              "via 10.0.0.250 of table 100, route 10.95.0.0/16 via 10.0.0.250 of table 100, route 10.91.0.0/16 via "
              "10.0.0.250 (with settings of its own), route 10.94.0.0/16 via 10.0.0.250, 10.0.0.251\n");
    EXPECT_TRUE(plan.unmoved.empty());
    const auto seen = kernel.state();
    for (auto one : all) {
        one.link = kernel.link("brcluster").index;
        EXPECT_NE(std::ranges::find(seen.link_routes(), one), seen.link_routes().end()) << to_text(one.is);
    }
    // One that is not the kernel's to move is not taken for a main one of the same place.
    EXPECT_EQ(std::ranges::count(seen.link_routes(), kernel.link("eth9").index, &model::link_route::link), 1);
}

// ---- what is lost
// ---------------------------------------------------------------------------------------------------------------

// It is said until it is back, or until somebody has removed what is left of it.
TEST(port_moves, a_route_that_is_lost_is_told_of_for_as_long_as_it_is) {
    const auto config = config_of(one_device("None"));
    auto kernel = host_with({{"eth0", {"10.0.0.2/24"}}});
    const model::link_route by_object{.is = route_to("10.93.0.0/16", "10.0.0.250"),
                                      .more = "it goes by the nexthop object 5, which names the device"};
    const std::string text =
        "the route 10.93.0.0/16 via 10.0.0.250 over eth0 cannot be moved to brcluster, because it goes by the nexthop "
        "object 5, which names the device: it goes, or leads nowhere, with the device as a port";
    const auto said = [](const lost_routes& lost) {
        return lost.remarks.empty() ? std::string() : lost.remarks.front().text;
    };
    kernel.add_route("eth0", by_object);
    // Not yet a port: the plan alone tells of it, again and again where that fails.
    auto plan = plan_host(config, kernel.state());
    auto lost = routes_lost({}, plan, kernel.state());
    EXPECT_EQ(said(lost), "");
    ASSERT_EQ(lost.next.size(), 1U);
    EXPECT_EQ(lost.next.front().text, text);
    lost = routes_lost(lost.next, plan, kernel.state());
    EXPECT_EQ(said(lost), "");
    EXPECT_EQ(lost.next.size(), 1U);
    const auto next = lost.next;
    auto with_port = kernel;
    carry_out(with_port, plan);
    for (int look = 0; look < 3; ++look) {
        plan = plan_host(config, with_port.state());
        lost = routes_lost(lost.next, plan, with_port.state());
        EXPECT_EQ(said(lost), text);
        EXPECT_TRUE(plan.remarks.empty());
    }
    // Back, by whoever, over whatever.
    auto with_route = with_port;
    with_route.add_route("brcluster", {.is = by_object.is});
    EXPECT_EQ(said(routes_lost(lost.next, plan_host(config, with_route.state()), with_route.state())), "");
    // The device is a port no more.
    auto without_port = with_port;
    without_port.apply(model::set_master{"eth0", ""});
    EXPECT_EQ(said(routes_lost(lost.next, plan_host(config, without_port.state()), without_port.state())), "");
    // On the port, where it leads nowhere, the plan tells of it until somebody removes it.
    auto dead = with_port;
    dead.add_route("eth0", by_object);
    plan = plan_host(config, dead.state());
    EXPECT_EQ(remarks_of(plan.remarks), "warning network-device-configured: " + text + "\n");
    lost = routes_lost(next, plan, dead.state());
    EXPECT_TRUE(lost.remarks.empty() && lost.next.empty());
    EXPECT_TRUE(plan.unmoved.empty());
}

TEST(port_moves, a_dead_default_route_is_no_hindrance_but_for_its_own_place) {
    for (const std::uint32_t metric : {0U, 100U}) {
        auto kernel = host_with({{"eth0", {"10.0.2.2/24"}}});
        kernel.add_address("eth0", "192.0.2.7/24", false);
        kernel.add_route("192.0.2.1", "eth0", metric);
        settle_host(kernel, config_of(one_device("10.0.2.1")));
        const auto routes = routes_of(kernel);
        EXPECT_EQ(std::ranges::find(routes, "default route via 10.0.2.1 on brcluster") != routes.end(), metric != 0);
    }
}

TEST(port_moves, an_address_of_a_network_in_which_this_node_has_none_goes_along) {
    auto words = one_device("10.0.2.1");
    words.upstream_address = "None";
    auto kernel = host_with({{"eth0", {"10.0.2.78/24"}}});
    kernel.add_route("10.0.2.1", "eth0");
    settle_host(kernel, config_of(words));
    EXPECT_EQ(routes_of(kernel), texts{"default route via 10.0.2.1 on brcluster"});
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
}

// No packet to elsewhere shall have such an address: it is there what it was here. One of the bridge's own network, or
// of one that the bridge has, is as those of it are, as the kernel has it.
TEST(port_moves, an_address_keeps_its_scope) {
    auto kernel = host_with({{"eth0", {"10.0.0.2/24"}}});
    kernel.add_address_of_scope_link("eth0", "192.168.5.7/24");
    kernel.add_address_of_scope_link("eth0", "10.0.0.99/24");
    const auto config = config_of(one_device("None"));
    const auto plan = settle_host(kernel, config);
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
    EXPECT_NE(steps_of(plan).find("add 192.168.5.7/24 (scope link) to brcluster\n"), std::string::npos)
        << steps_of(plan);
    EXPECT_NE(steps_of(plan).find("add 10.0.0.99/24 to brcluster\n"), std::string::npos) << steps_of(plan);
    std::map<std::string, std::uint8_t> scopes;
    for (const auto& one : kernel.state().addresses_of(kernel.link("brcluster").index)) {
        scopes[one.address.text()] = one.scope;
    }
    EXPECT_EQ(scopes["192.168.5.7/24"], model::link_scope);
    EXPECT_EQ(scopes["10.0.0.99/24"], model::universe_scope);
    EXPECT_NE(remarks_of(plan.remarks).find("192.168.5.7/24, which nobody would reach on a port"), std::string::npos)
        << remarks_of(plan.remarks);
    // What was to come back does as it was.
    kernel.add_address_of_scope_link("eth0", "192.168.6.7/24");
    const auto undone = undo_of(model::remove_address{"eth0", *parse_host_address("192.168.6.7/24")}, kernel.state());
    ASSERT_TRUE(undone);
    EXPECT_EQ(to_text(*undone), "add 192.168.6.7/24 (scope link) to eth0");
}

TEST(port_moves, routes_over_the_bridge_and_over_other_devices_are_left_alone) {
    auto kernel = host_with({{"eth0", {"10.0.0.2/24"}}, {"eth9", {"192.0.2.7/24"}}});
    const auto config = config_of(one_device("None"));
    settle_host(kernel, config);
    kernel.add_route("brcluster", {.is = route_to("10.77.0.0/16", "10.0.0.250")});
    kernel.add_route("eth9", {.is = route_to("10.78.0.0/16", "192.0.2.1")});
    EXPECT_TRUE(plan_host(config, kernel.state()).is_right());
    EXPECT_EQ(remarks_of(plan_host(config, kernel.state()).remarks), "");
    // One that somebody gives to the port later goes to the bridge, too.
    kernel.add_route("eth0", {.is = route_to("10.79.0.0/16", "10.0.0.250")});
    settle_host(kernel, config);
    EXPECT_EQ(kernel.state().link_routes().size(), 3U);
}

TEST(port_moves, a_move_that_fails_is_undone_wherever_it_fails) {
    const auto config = config_of(one_device("None"));
    auto fresh = host_with({{"eth0", {"10.0.2.2/24", "10.0.2.3/24", "192.168.5.7/24", "fd55::7/64"}}});
    fresh.add_route("eth0", {.is = route_to("198.51.100.1/32")});
    fresh.add_route("198.51.100.1", "eth0");
    fresh.add_route("eth0", {.is = route_to("10.77.0.0/16", "10.0.2.1", 9)});
    fresh.add_route("eth0", {.is = route_to("10.78.0.0/16", "192.168.5.250")});
    fresh.add_route("eth0", {.is = route_to("::/0", "fd55::250", 1024)});
    const auto before = fresh.state();
    std::vector<model::network_change> steps;
    for (const auto& unit : plan_host(config, before).units) {
        steps.insert(steps.end(), unit.steps.begin(), unit.steps.end());
    }
    for (std::size_t done = 0; done <= steps.size(); ++done) {
        auto kernel = fresh;
        for (std::size_t at = 0; at < done; ++at) {
            ASSERT_EQ(kernel.apply(steps[at]), "") << to_text(steps[at]);
        }
        for (std::size_t at = done; at > 0; --at) {
            if (const auto back = undo_of(steps[at - 1], before)) {
                ASSERT_EQ(kernel.apply(*back), "") << to_text(*back);
            }
        }
        EXPECT_EQ(routes_of(kernel), routes_of(fresh)) << done;
        auto there = kernel.addresses_of("eth0");
        std::ranges::sort(there);
        EXPECT_EQ(there, (texts{"10.0.2.2/24", "10.0.2.3/24", "192.168.5.7/24", "fd55::7/64"})) << done;
    }
}

// ---- addresses with a far end, and in the wrong place
// ----------------------------------------------------------------

TEST(port_moves, an_address_with_a_far_end_is_removed_as_what_it_is) {
    auto kernel = host_with({{"eth0", {}}});
    kernel.add_address_with_peer("eth0", "10.0.0.2/32", "10.0.0.250");
    kernel.add_address_with_peer("eth0", "10.0.0.115/32", "10.0.0.250");
    const auto plan = settle_host(kernel, config_of(one_device("None")));
    EXPECT_NE(steps_of(plan).find("remove 10.0.0.2/32 peer 10.0.0.250 from eth0\n"), std::string::npos);
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
    EXPECT_EQ(kernel.addresses_of("brcluster"), (texts{"10.0.0.2/24", "10.0.1.2/24", "10.0.2.2/24", "10.0.0.115/32"}));
}

TEST(port_moves, devices_that_were_taken_for_each_other_stay_as_they_are) {
    network_words words;
    words.storage_device = "eth0";
    auto kernel = host_with({{"eth0", {"10.0.2.2/24"}}, {"eth2", {"10.0.0.2/24"}}});
    kernel.add_route("10.0.2.1", "eth0");
    const auto plan = settle_host(kernel, config_of(words));
    const std::string said =
        "warning network-route: the default route is by 10.0.2.1 on eth0 and not by 10.0.2.1 on brupstream: it stays\n"
        "error network-device-configured: device eth0 has 10.0.2.2/24 of the network of brupstream, which nobody would "
        "reach on a port of brcluster: it is not made one\n"
        "error network-device-configured: device eth2 has 10.0.0.2/24 of the network of brcluster, which nobody would "
        "reach on a port of brupstream: it is not made one\n";
    EXPECT_EQ(remarks_of(plan.remarks), said);
    EXPECT_EQ(kernel.link("eth0").master, 0);
    EXPECT_EQ(kernel.link("eth2").master, 0);
    EXPECT_EQ(kernel.addresses_of("brcluster"), texts{"10.0.1.2/24"});
    EXPECT_EQ(kernel.addresses_of("brupstream"), texts{});
    EXPECT_EQ(routes_of(kernel), texts{"default route via 10.0.2.1 on eth0"});
    // Once somebody has put them right, all is done.
    kernel.apply(model::remove_address{"eth0", *parse_host_address("10.0.2.2/24")});
    kernel.apply(model::remove_address{"eth2", *parse_host_address("10.0.0.2/24")});
    EXPECT_EQ(remarks_of(settle_host(kernel, config_of(words)).remarks), "");
    EXPECT_EQ(kernel.master_of("eth0"), "brcluster");
    EXPECT_EQ(kernel.addresses_of("brupstream"), texts{"10.0.2.2/24"});
}

// Nobody prolongs it there, and it goes when its time is over, as it would have.
TEST(port_moves, what_has_a_lifetime_in_the_bridges_own_network_keeps_it) {
    const auto config = config_of({});
    toy_kernel kernel;
    for (const auto* name : {"eth0", "eth1", "eth2"}) {
        kernel.add(link_named(name));
    }
    kernel.add_address("eth0", "10.0.0.77/24", false);
    const auto before = kernel.state();
    const auto plan = plan_host(config, before);
    EXPECT_NE(remarks_of(plan.remarks)
                  .find("device eth0 has 10.0.0.77/24 (for a limited time) of the network of brcluster: that is moved "
                        "to the bridge"),
              std::string::npos)
        << remarks_of(plan.remarks);
    carry_out(kernel, plan);
    const auto seen = kernel.state();
    EXPECT_TRUE(kernel.addresses_of("eth0").empty());
    const auto there = seen.addresses_of(kernel.link("brcluster").index);
    const auto found = std::ranges::find(there, *parse_host_address("10.0.0.77/24"), &model::link_address::address);
    ASSERT_NE(found, there.end());
    EXPECT_FALSE(found->is_permanent);
    const auto own = std::ranges::find(there, *parse_host_address("10.0.0.2/24"), &model::link_address::address);
    ASSERT_NE(own, there.end());
    EXPECT_TRUE(own->is_permanent);
    // Undone, it is what it was.
    const auto back = undo_of(model::remove_address{"eth0", *parse_host_address("10.0.0.77/24")}, before);
    ASSERT_TRUE(back);
    EXPECT_TRUE(std::get<model::add_address>(*back).lifetime);
}

}  // namespace
}  // namespace pvc::policy
