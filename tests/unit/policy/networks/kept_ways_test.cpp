// networking.md 3.1: a host that removed or replaced the kernel's route to its own network, gave it settings, or put
// another one before it, has its ways on the bridge as it had them, in their order. Each plan is carried out on a toy
// kernel and made again.
#include "network_fixture.hpp"

#include "pvcnoded/policy/networks/connected_routes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace pvc::policy {
namespace {

using words = std::vector<std::string>;

constexpr std::uint8_t kernels_own = 2;  // RTPROT_KERNEL

model::network_route hosts_way(const std::string& to, const std::string& gateway = "", const std::string& source = "") {
    model::network_route route;
    route.to = *parse_host_address(to);
    route.gateway = gateway.empty() ? std::nullopt : std::optional(*parse_address(gateway));
    route.source = source.empty() ? std::nullopt : std::optional(*parse_address(source));
    route.scope = gateway.empty() && route.to.address.is_v4() ? model::link_scope : model::universe_scope;
    return route;
}

model::network_route as_of_kernel(const std::string& to, const std::string& source, std::string settings = {}) {
    auto route = hosts_way(to, "", source);
    route.protocol = kernels_own;
    route.metric = source.empty() ? 256 : 0;
    route.settings = std::move(settings);
    return route;
}

model::network_route with_settings(model::network_route route) {
    route.settings = "mtu";
    return route;
}

// To one network over a link, in the order of the kernel: "own 10.44.0.18", "own 10.44.0.18, set", "via 10.44.0.1".
words ways_to(const toy_kernel& kernel, const std::string& device, const std::string& network) {
    const auto seen = kernel.state();
    const auto to = *parse_host_address(network);
    const int link = kernel.link(device).index;
    words all;
    for (const auto& one : seen.link_routes()) {
        if (one.link == link && one.is.to == to) {
            all.push_back((one.is.gateway ? "via " + one.is.gateway->to_string() : std::string("on the link")) +
                          (one.is.source ? " from " + one.is.source->to_string() : "") +
                          (one.is.settings.empty() ? "" : ", set"));
        }
    }
    std::size_t inserted = 0;
    for (const auto& one : seen.connected_routes()) {
        if (one.link == link && one.network == to) {
            const auto place = std::min(one.behind + inserted++, all.size());
            all.insert(
                all.begin() + static_cast<std::ptrdiff_t>(place),
                "own" + (one.source ? " " + one.source->to_string() : "") + (one.settings.empty() ? "" : ", set"));
        }
    }
    return all;
}

struct way_of_host {
    std::string what;
    std::string network;
    std::function<void(toy_kernel&)> make;
    words before;
    std::optional<words> after{};  // empty: the same
};

void lose(toy_kernel& kernel, const std::string& network, const std::string& source = "") {
    kernel.apply(model::remove_route{as_of_kernel(network, source), "eth0"});
}

// 10.0.0.2/24 is the daemon's own in the cluster network.
const std::vector<way_of_host>& ways_of_hosts() {
    const std::string net = "10.44.0.0/24";
    const std::string six = "fd55::/64";
    static const std::vector<way_of_host> all{
        {"removed, with a default route by a gateway that it reached",
         net,
         [](toy_kernel& kernel) {
             lose(kernel, "10.44.0.0/24", "10.44.0.18");
             kernel.add_route("eth0", {.is = hosts_way("0.0.0.0/0", "10.44.0.1")});
         },
         {}},
        {"replaced by a gateway",
         net,
         [](toy_kernel& kernel) {
             lose(kernel, "10.44.0.0/24", "10.44.0.18");
             kernel.add_route("eth0", {.is = hosts_way("10.44.0.1/32", "", "10.44.0.18")});
             kernel.add_route("eth0", {.is = hosts_way("10.44.0.0/24", "10.44.0.1", "10.44.0.18")});
         },
         {"via 10.44.0.1 from 10.44.0.18"}},
        {"a gateway before it, as hosting companies want it",
         net,
         [](toy_kernel& kernel) {
             kernel.prepend_route("eth0", {.is = hosts_way("10.44.0.0/24", "10.44.0.1")});
             kernel.add_route("eth0", {.is = hosts_way("0.0.0.0/0", "10.44.0.1")});
         },
         {"via 10.44.0.1", "own 10.44.0.18"}},
        {"gateways before and behind it, and one on the link",
         net,
         [](toy_kernel& kernel) {
             kernel.prepend_route("eth0", {.is = hosts_way("10.44.0.0/24", "10.44.0.2")});
             kernel.prepend_route("eth0", {.is = hosts_way("10.44.0.0/24", "10.44.0.1")});
             kernel.add_route("eth0", {.is = hosts_way("10.44.0.0/24", "10.44.0.3")});
             kernel.add_route("eth0", {.is = hosts_way("10.44.0.0/24", "", "10.44.0.19")});
         },
         {"via 10.44.0.1", "via 10.44.0.2", "own 10.44.0.18", "via 10.44.0.3", "on the link from 10.44.0.19"}},
        {"another source",
         net,
         [](toy_kernel& kernel) {
             kernel.replace_connected("eth0", "10.44.0.0/24", as_of_kernel("10.44.0.0/24", "10.44.0.19"));
         },
         {"own 10.44.0.19"}},
        {"settings of the kernel's own",
         net,
         [](toy_kernel& kernel) {
             kernel.replace_connected("eth0", "10.44.0.0/24", as_of_kernel("10.44.0.0/24", "10.44.0.18", "mtu"));
         },
         {"own 10.44.0.18, set"}},
        {"settings, and a gateway before it and one behind it",
         net,
         [](toy_kernel& kernel) {
             kernel.prepend_route("eth0", {.is = hosts_way("10.44.0.0/24", "10.44.0.1")});
             kernel.replace_connected("eth0", "10.44.0.0/24", as_of_kernel("10.44.0.0/24", "10.44.0.18", "mtu"));
             kernel.add_route("eth0", {.is = hosts_way("10.44.0.0/24", "10.44.0.3")});
         },
         {"via 10.44.0.1", "own 10.44.0.18, set", "via 10.44.0.3"}},
        {"somebody's with settings in its place",
         net,
         [](toy_kernel& kernel) {
             lose(kernel, "10.44.0.0/24", "10.44.0.18");
             kernel.add_route("eth0", {.is = with_settings(hosts_way("10.44.0.0/24", "", "10.44.0.18"))});
         },
         {"on the link from 10.44.0.18, set"}},
        {"somebody's with settings before it",
         net,
         [](toy_kernel& kernel) {
             kernel.prepend_route("eth0", {.is = with_settings(hosts_way("10.44.0.0/24", "", "10.44.0.18"))});
         },
         {"on the link from 10.44.0.18, set", "own 10.44.0.18"}},
        {"somebody's without settings in its place",
         net,
         [](toy_kernel& kernel) {
             lose(kernel, "10.44.0.0/24", "10.44.0.18");
             kernel.add_route("eth0", {.is = hosts_way("10.44.0.0/24", "", "10.44.0.18")});
         },
         {"on the link from 10.44.0.18"}},
        {"a gateway before one on the link, of another network",
         "10.47.0.0/24",
         [](toy_kernel& kernel) {
             kernel.add_route("eth0", {.is = hosts_way("10.47.0.0/24", "10.44.0.1")});
             kernel.add_route("eth0", {.is = hosts_way("10.47.0.0/24", "10.44.0.9")});
             kernel.add_route("eth0", {.is = hosts_way("10.47.0.0/24", "10.44.0.5")});
             kernel.add_route("eth0", {.is = hosts_way("10.47.0.0/24", "", "10.44.0.19")});
         },
         {"via 10.44.0.1", "via 10.44.0.9", "via 10.44.0.5", "on the link from 10.44.0.19"}},
        {"removed, of IPv6",
         six,
         [](toy_kernel& kernel) {
             lose(kernel, "fd55::/64");
             kernel.add_route("eth0", {.is = hosts_way("::/0", "fd55::9")});
         },
         {}},
        {"replaced by a gateway, of IPv6",
         six,
         [](toy_kernel& kernel) {
             lose(kernel, "fd55::/64");
             kernel.add_route("eth0", {.is = hosts_way("fd55::1/128")});
             kernel.add_route("eth0", {.is = hosts_way("fd55::/64", "fd55::1")});
         },
         {"via fd55::1"}},
        {"somebody's in its place, with settings, of IPv6",
         six,
         [](toy_kernel& kernel) {
             lose(kernel, "fd55::/64");
             auto route = with_settings(hosts_way("fd55::/64"));
             route.metric = 256;
             kernel.add_route("eth0", {.is = route});
         },
         {"on the link, set"},
         words{"own, set"}},
        {"settings, of IPv6",
         six,
         [](toy_kernel& kernel) {
             kernel.replace_connected("eth0", "fd55::/64", as_of_kernel("fd55::/64", "", "mtu"));
         },
         {"own, set"}},
        {"the daemon's own network, removed",
         "10.0.0.0/24",
         [](toy_kernel& kernel) { lose(kernel, "10.0.0.0/24", "10.0.0.2"); },
         {},
         words{"own 10.0.0.2"}},
        {"a gateway before that",
         "10.0.0.0/24",
         [](toy_kernel& kernel) { kernel.prepend_route("eth0", {.is = hosts_way("10.0.0.0/24", "10.0.0.1")}); },
         {"via 10.0.0.1", "own 10.0.0.2"}},
        {"a gateway in its place",
         "10.0.0.0/24",
         [](toy_kernel& kernel) {
             lose(kernel, "10.0.0.0/24", "10.0.0.2");
             kernel.add_route("eth0", {.is = hosts_way("10.0.0.1/32")});
             kernel.add_route("eth0", {.is = hosts_way("10.0.0.0/24", "10.0.0.1")});
         },
         {"via 10.0.0.1"},
         words{"via 10.0.0.1", "own 10.0.0.2"}},
        {"another source of that",
         "10.0.0.0/24",
         [](toy_kernel& kernel) {
             kernel.replace_connected("eth0", "10.0.0.0/24", as_of_kernel("10.0.0.0/24", "10.0.0.9"));
         },
         {"own 10.0.0.9"}},
    };
    return all;
}

toy_kernel host_of_ways(const way_of_host& one) {
    toy_kernel kernel;
    for (const auto* name : {"eth0", "eth1"}) {
        kernel.add(link_named(name));
        kernel.apply(model::set_up{name});
    }
    for (const auto* address : {"10.0.0.2/24", "10.0.0.9/24", "10.44.0.18/24", "10.44.0.19/24", "fd55::7/64"}) {
        kernel.apply(model::add_address{"eth0", *parse_host_address(address)});
    }
    one.make(kernel);
    return kernel;
}

network_words words_of(const std::string& cluster, const std::string& others) {
    auto all = network_words::all_on(cluster);
    all.storage_device = all.upstream_device = others;
    all.cluster_mtu = all.storage_mtu = 1500;
    all.gateway = "None";
    return all;
}

const std::string& first_bridge() {
    static const std::string name = "brcluster";
    return name;
}

TEST(kept_ways, a_host_has_its_ways_on_the_bridge_as_it_had_them) {
    for (const auto& one : ways_of_hosts()) {
        SCOPED_TRACE(one.what);
        auto kernel = host_of_ways(one);
        EXPECT_EQ(ways_to(kernel, "eth0", one.network), one.before);
        const auto defaults = ways_to(kernel, "eth0", "0.0.0.0/0");
        const auto config = config_of(words_of("eth0", "eth0"));
        const auto plan = plan_host(config, kernel.state());
        carry_out(kernel, plan);
        EXPECT_EQ(ways_to(kernel, first_bridge(), one.network), one.after.value_or(one.before)) << steps_of(plan);
        EXPECT_EQ(ways_to(kernel, first_bridge(), "0.0.0.0/0"), defaults);
        EXPECT_EQ(ways_to(kernel, "eth0", one.network), words{});
        EXPECT_EQ(steps_of(plan_host(config, kernel.state())), "");
    }
}

// A daemon that is killed after any step, and one after it after any of its own.
TEST(kept_ways, wherever_a_daemon_is_killed_the_ways_end_the_same) {
    for (const auto& one : ways_of_hosts()) {
        SCOPED_TRACE(one.what);
        const auto config = config_of(words_of("eth0", "eth0"));
        const auto look = [&](toy_kernel& kernel, std::size_t most) {
            std::size_t count = 0;
            for (const auto& unit : plan_host(config, kernel.state()).units) {
                for (const auto& step : unit.steps) {
                    if (count++ < most) {
                        EXPECT_EQ(kernel.apply(step), "") << to_text(step);
                    }
                }
            }
            return count;
        };
        auto unhurt = host_of_ways(one);
        const auto steps = look(unhurt, 1000);
        for (std::size_t first = 0; first < steps; ++first) {
            auto killed = host_of_ways(one);
            look(killed, first);
            auto counted = killed;
            const auto more = look(counted, 1000);
            for (std::size_t second = 0; second <= more; ++second) {
                auto twice = killed;
                look(twice, second);
                look(twice, 1000);
                ASSERT_EQ(ways_to(twice, first_bridge(), one.network), one.after.value_or(one.before))
                    << "killed after steps " << first << " and " << second;
                ASSERT_EQ(look(twice, 0), 0U);
            }
        }
    }
}

// The device gets another bridge in the file: it has there what it had on the first one.
TEST(kept_ways, another_bridge_has_them_as_the_first_one) {
    for (const auto& one : ways_of_hosts()) {
        SCOPED_TRACE(one.what);
        if (one.network.starts_with("10.0.0.")) {
            continue;  // the daemon's own is not of that bridge
        }
        auto kernel = host_of_ways(one);
        for (const auto* address : {"10.0.0.9/24", "10.0.0.2/24"}) {
            kernel.apply(model::remove_address{"eth0", *parse_host_address(address)});
        }
        const auto before = config_of(words_of("eth1", "eth0"));
        auto ports = ports_after_look({}, before, kernel.state());
        carry_out(kernel, plan_host(before, kernel.state(), ports));
        const auto first = kernel.master_of("eth0");
        const auto expected = ways_to(kernel, first, one.network);
        EXPECT_EQ(expected, one.after.value_or(one.before));
        const auto now = config_of(words_of("eth0", "eth0"));
        ports = ports_after_look(ports, before, kernel.state());
        for (int look = 0; look < 3; ++look) {
            ports = ports_after_look(ports, now, kernel.state());
            carry_out(kernel, plan_host(now, kernel.state(), ports));
        }
        EXPECT_EQ(steps_of(plan_host(now, kernel.state(), ports)), "");
        ASSERT_NE(kernel.master_of("eth0"), first);
        EXPECT_EQ(ways_to(kernel, kernel.master_of("eth0"), one.network), expected);
    }
}

// What goes is undone by what does not bring back more than there was.
TEST(kept_ways, what_is_undone_has_no_route_that_the_host_had_not) {
    auto kernel = host_of_ways(ways_of_hosts().front());
    const auto before = kernel.state();
    const model::network_change step = model::remove_address{"eth0", *parse_host_address("10.44.0.18/24")};
    kernel.apply(step);
    const auto back = undo_of(step, before);
    ASSERT_TRUE(back);
    kernel.apply(*back);
    EXPECT_EQ(ways_to(kernel, "eth0", "10.44.0.0/24"), words{});
    const model::network_change other = model::remove_address{"eth0", *parse_host_address("10.0.0.2/24")};
    EXPECT_EQ(*undo_of(other, before),
              model::network_change(model::add_address{"eth0", *parse_host_address("10.0.0.2/24")}));
}

TEST(kept_ways, an_operator_is_told_before) {
    const auto kernel = host_of_ways(ways_of_hosts().front());
    const auto plan = plan_host(config_of(words_of("eth0", "eth0")), kernel.state());
    EXPECT_NE(
        remarks_of(plan.remarks)
            .find("device eth0 has no route of the kernel's own to 10.44.0.0/24, though an address of it: nor has "
                  "brcluster\n"),
        std::string::npos)
        << remarks_of(plan.remarks);
    EXPECT_NE(steps_of(plan).find("remove route 10.44.0.0/24 (source 10.44.0.18) on brcluster\n"), std::string::npos)
        << steps_of(plan);
}

// Behind those over the other card too, none of them may be put again: the kernel would take the other card first.
TEST(kept_ways, ways_beside_those_of_another_card_are_told_of) {
    auto kernel = host_of_ways({"",
                                "",
                                [](toy_kernel& kernel) {
                                    kernel.apply(model::add_address{"eth1", *parse_host_address("10.45.0.1/24")});
                                    kernel.add_route("eth0", {.is = hosts_way("10.47.0.0/24", "10.44.0.1")});
                                    kernel.add_route("eth0", {.is = hosts_way("10.47.0.0/24", "", "10.44.0.19")});
                                    kernel.add_route("eth1", {.is = hosts_way("10.47.0.0/24", "10.45.0.9")});
                                },
                                {}});
    auto all = words_of("eth0", "eth0");
    const auto plan = plan_host(config_of(all), kernel.state());
    EXPECT_NE(
        remarks_of(plan.remarks).find("the order of the routes to 10.47.0.0/24 over eth0 cannot be kept on brcluster"),
        std::string::npos)
        << remarks_of(plan.remarks);
}

}  // namespace
}  // namespace pvc::policy
