// networking.md 3.1, on hosts with another card beside the device that becomes a port: what goes to the bridge works
// there as it did beside what the other card has.
#include "host_plan_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using words_of = std::vector<std::string>;

network_words words_on_eth0() {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.gateway = "None";
    return words;
}

// eth0 is the file's.
toy_kernel two_cards() {
    auto kernel = bare_host({"eth0", "eth9"});
    for (const auto* one : {"eth0", "eth9"}) {
        kernel.apply(model::set_up{one});
    }
    kernel.add_address("eth0", "10.0.0.2/24");
    kernel.add_address("eth0", "fd00::2/64");
    kernel.add_address("eth9", "203.0.113.2/24");
    kernel.add_address("eth9", "fd02::2/64");
    return kernel;
}

// "default route via 10.0.0.254 on brcluster"
words_of routes_over(const toy_kernel& kernel) {
    words_of all;
    const auto state = kernel.state();
    for (const auto& one : state.link_routes()) {
        all.push_back(fmt::format("{} on {}", to_text(one.is), state.name_of(one.link)));
    }
    return all;
}

// Two cards with a way out each, of one metric: the one over the device goes to its bridge beside the other, and the
// first stays the first.
TEST(moves_beside_cards, a_route_beside_one_of_its_metric_over_another_card) {
    for (const bool is_first : {true, false}) {
        for (const auto& [own, other] : {std::pair("10.0.0.250", "203.0.113.1"), std::pair("fd00::250", "fd02::250")}) {
            auto kernel = two_cards();
            kernel.add_route(is_first ? own : other, is_first ? "eth0" : "eth9", 7);
            kernel.add_route(is_first ? other : own, is_first ? "eth9" : "eth0", 7);
            const auto config = config_of(words_on_eth0());
            const auto before = kernel.state();
            const auto plan = settle(kernel, config);
            EXPECT_TRUE(plan.unmoved.empty());
            words_of order;
            const auto after = kernel.state();
            for (const auto& one : after.routes()) {
                order.push_back(std::string(after.name_of(one.link)));
            }
            if (before.link_routes().front().is.to.address.is_v4()) {
                EXPECT_EQ(order, is_first ? (words_of{"brcluster", "eth9"}) : (words_of{"eth9", "brcluster"}));
            }
            auto there = routes_over(kernel);
            std::ranges::sort(there);
            EXPECT_EQ(there, (words_of{fmt::format("default route via {} (metric 7) on {}", own, "brcluster"),
                                       fmt::format("default route via {} (metric 7) on {}", other, "eth9")}));
        }
    }
}

// ip route add local 192.0.2.0/24 dev eth0
TEST(moves_beside_cards, a_network_that_somebody_had_taken_here) {
    auto kernel = two_cards();
    const model::network_route taken{
        .to = *parse_host_address("192.0.2.0/24"), .scope = model::host_scope, .is_local = true};
    kernel.add_route("eth0", {.is = taken, .table = model::local_table});
    kernel.add_route("eth0", {.is = taken});
    const auto plan = settle(kernel, config_of(words_on_eth0()));
    EXPECT_EQ(remarks_of(plan.remarks).find("cannot be moved"), std::string::npos);
    EXPECT_NE(remarks_of(plan.remarks).find("local route 192.0.2.0/24 of table 254, local route 192.0.2.0/24"),
              std::string::npos)
        << remarks_of(plan.remarks);
    EXPECT_EQ(routes_over(kernel), words_of(2, "local route 192.0.2.0/24 on brcluster"));
}

// ip rule add iif eth0 …
TEST(moves_beside_cards, rules_that_name_a_device_are_said) {
    auto kernel = two_cards();
    const auto config = config_of(words_on_eth0());
    const std::vector<rule_of_host> rules{{"eth9", "76 (iif eth9, table 100)"},
                                          {"eth0", "77 (oif eth0, table 100)"},
                                          {"eth0", "-6 78 (iif eth0, table 7)"}};
    const std::string said =
        "warning network-device-configured: rules of this host name eth0, which is a port of brcluster: no packet "
        "comes or goes by it any more, so they match none (one with != or not matches all): 77 (oif eth0, table 100), "
        "-6 78 (iif eth0, table 7): name "
        "brcluster in them\n";
    const auto plan = plan_host(config, kernel.state());
    EXPECT_EQ(remarks_of(remarks_of_rules(config, plan, kernel.state(), rules)), said) << "before";
    EXPECT_EQ(remarks_of(remarks_of_rules(config, {}, kernel.state(), rules)), "") << "it is no port";
    carry_out(kernel, plan);
    EXPECT_EQ(remarks_of(remarks_of_rules(config, {}, kernel.state(), rules)), said) << "afterwards";
}

// By the record of its port: a second bridge beside it would have the same addresses.
TEST(moves_beside_cards, a_bridge_of_the_host_that_somebody_called_otherwise_is_said_once) {
    auto kernel = two_cards();
    const auto config = config_of(words_on_eth0());
    settle(kernel, config);
    auto ports = ports_after_look({}, config, kernel.state());
    const int index = kernel.link("brcluster").index;
    kernel.apply(model::rename_link{"mine", index});
    ports = ports_after_look(ports, config, kernel.state());
    const auto plan = plan_host(config, kernel.state(), ports);
    EXPECT_EQ(steps_of(plan), "");
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-bridge-foreign: brcluster is not there, and eth0, which was its port, is one of mine: "
              "somebody called it so, or made that in its place: call it brcluster again (`ip link set mine name "
              "brcluster`), or take eth0 out: until then nothing is done for it\n");
    kernel.apply(model::rename_link{"brcluster", index});
    const auto again = plan_host(config, kernel.state(), ports_after_look(ports, config, kernel.state()));
    EXPECT_EQ(steps_of(again) + remarks_of(again.remarks), "");
}

}  // namespace
}  // namespace pvc::policy
