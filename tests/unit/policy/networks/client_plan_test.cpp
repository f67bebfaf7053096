// networking.md 5.2 to 5.4: the links of a client network (cases 22 to 26, 29 to 31, 33, 91). Each plan is carried out
// on a toy kernel and made again: then nothing is to be done.
#include "client_plan_fixture.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;

TEST(client_plan, case_22_a_managed_network) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    const auto plan = settle(kernel, managed(1001), config, memory);
    EXPECT_EQ(steps_of(plan),
              "create bridge vmbr1001\nset net/ipv6/conf/vmbr1001/accept_dad to 0\n"
              "set net/ipv6/conf/vmbr1001/accept_ra to 0\nset net/ipv6/conf/vmbr1001/autoconf to 0\n"
              "create VXLAN vxlan1001 (VNI 1001, port 4789) on eth0\nmake vxlan1001 a port of vmbr1001\n"
              "set MTU 1450 on vxlan1001\nset vxlan1001 up\nset MTU 1450 on vmbr1001\nset vmbr1001 up\n"
              "switch checksums of sent packets off on vmbr1001\n");
    EXPECT_EQ(remarks_of(plan.remarks), "");
    EXPECT_EQ(plan.mtu, 1450);
    EXPECT_EQ(plan.mtu_to_write, 1450);
    EXPECT_TRUE(plan.damage.empty());
    EXPECT_EQ(memory.bridge, kernel.link("vmbr1001").index);
    EXPECT_TRUE(memory.was_right && kernel.is_checksum_off("vmbr1001"));
    EXPECT_EQ(kernel.link("vxlan1001").vxlan, (model::vxlan_settings{.vni = 1001}));
}

// Whatever a program that configures single links switches off (README ruling 81).
TEST(client_plan, forwarding_of_its_bridge_that_somebody_switches_off_is_switched_on_again) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, managed(1001), config, memory);
    memory.is_forwarding_off = true;
    const auto repair = plan_network(managed(1001), config, kernel.state(), memory);
    EXPECT_EQ(steps_of(repair), "set net/ipv4/conf/vmbr1001/forwarding to 1\n");
    EXPECT_EQ(repair.damage, texts{"IPv4 forwarding was off on vmbr1001"});
    EXPECT_FALSE(repair.next.is_forwarding_off);
    network_memory of_vlan;
    settle(kernel, bridged(200), config, of_vlan);
    of_vlan.is_forwarding_off = true;
    EXPECT_EQ(steps_of(plan_network(bridged(200), config, kernel.state(), of_vlan)), "") << "nobody routes there";
}

// A host that is made safe has IPv6 off for all new links: the bridge of a network that has it is none of those.
TEST(client_plan, a_network_with_ipv6_has_it_on_its_bridge_whatever_new_links_have) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    auto network = managed(1001);
    network.ip6.network = *parse_host_address("fd00:1::/64");
    network_memory memory;
    const auto plan = settle(kernel, network, config, memory);
    EXPECT_TRUE(steps_of(plan).starts_with("create bridge vmbr1001\nset net/ipv6/conf/vmbr1001/disable_ipv6 to 0\n"))
        << steps_of(plan);
    EXPECT_TRUE(memory.had_ipv6);
    // Somebody switches it off.
    memory.is_ipv6_off = true;
    auto repair = plan_network(network, config, kernel.state(), memory);
    EXPECT_EQ(steps_of(repair), "set net/ipv6/conf/vmbr1001/disable_ipv6 to 0\n");
    EXPECT_EQ(repair.damage, texts{"IPv6 was off on vmbr1001"});
    EXPECT_FALSE(repair.next.is_ipv6_off);
    // A network that gets it later: no damage.
    memory.had_ipv6 = false;
    repair = plan_network(network, config, kernel.state(), memory);
    EXPECT_EQ(steps_of(repair), "set net/ipv6/conf/vmbr1001/disable_ipv6 to 0\n");
    EXPECT_EQ(repair.damage, texts());
    // One that has none leaves it as it is, and a bridged one is without.
    memory.had_ipv6 = true;
    EXPECT_EQ(steps_of(plan_network(managed(1001), config, kernel.state(), memory)), "");
    EXPECT_EQ(steps_of(settle(kernel, managed(1002), config)).find("disable_ipv6"), std::string::npos);
    auto other = bridged(200);
    other.ip6 = network.ip6;
    EXPECT_EQ(steps_of(settle(kernel, other, config)).find("vmbr200/disable_ipv6 to 0"), std::string::npos);
}

TEST(client_plan, cases_23_and_24_an_mtu_that_somebody_wrote_is_not_overwritten) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    auto network = managed(1001);
    network.has_mtu_text = true;
    network.mtu = 9000;
    const auto large = settle(kernel, network, config);
    EXPECT_EQ(large.mtu, 1450);
    EXPECT_FALSE(large.mtu_to_write);
    EXPECT_EQ(kernel.link("vmbr1001").mtu, 1450);
    network.mtu.reset();  // "abc"
    const auto odd = settle(kernel, network, config);
    EXPECT_EQ(odd.mtu, 1450);
    EXPECT_FALSE(odd.mtu_to_write);
    EXPECT_TRUE(kernel.link("vmbr1001").is_up);
}

TEST(client_plan, case_25_another_mtu_is_set_live) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, managed(1001), config, memory);
    auto network = managed(1001);
    network.mtu = 1400;
    const auto plan = settle(kernel, network, config, memory);
    EXPECT_EQ(steps_of(plan), "set MTU 1400 on vxlan1001\nset MTU 1400 on vmbr1001\n");
    EXPECT_TRUE(plan.damage.empty());  // a client wanted it
}

// Below 1280 a link has no IPv6; what it has again with more is as of any new link.
TEST(client_plan, settings_are_made_again_when_ipv6_comes_back) {
    const auto config = config_of(client_words());
    for (const bool is_managed : {true, false}) {
        auto kernel = host_of(config);
        network_memory memory;
        auto wanted = is_managed ? managed(1001) : bridged(200);
        wanted.mtu = 1000;
        settle(kernel, wanted, config, memory);
        wanted.mtu = 1300;
        const auto steps = steps_of(settle(kernel, wanted, config, memory));
        const std::string setting =
            is_managed ? "set net/ipv6/conf/vmbr1001/accept_ra to 0" : "set net/ipv6/conf/vlan200/disable_ipv6 to 1";
        EXPECT_NE(steps.find(setting), std::string::npos) << steps;
        EXPECT_GT(steps.find(setting), steps.find("set MTU 1300 on vmbr")) << steps;
        wanted.mtu = 1400;
        EXPECT_EQ(steps_of(settle(kernel, wanted, config, memory)).find("ipv6"), std::string::npos);
    }
}

// A new bridge is as small as what it gets as a port, and loses what was set before.
TEST(client_plan, settings_are_made_again_when_the_port_was_too_small) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, bridged(200), config, memory);
    kernel.apply(model::set_mtu{"vlan200", 1000});
    kernel.apply(model::delete_link{"vmbr200"});
    const auto steps = steps_of(plan_network(bridged(200), config, kernel.state(), memory));
    EXPECT_GT(steps.rfind("set net/ipv6/conf/vmbr200/disable_ipv6 to 1"), steps.find("set MTU 1500 on vmbr200"))
        << steps;
}

TEST(client_plan, case_26_a_bridged_network) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    const auto plan = settle(kernel, bridged(200), config);
    EXPECT_EQ(steps_of(plan),
              "create bridge vmbr200\nset net/ipv6/conf/vmbr200/disable_ipv6 to 1\n"
              "create VLAN vlan200 (id 200) on eth0\nset net/ipv6/conf/vlan200/disable_ipv6 to 1\n"
              "make vlan200 a port of vmbr200\nset MTU 1500 on vlan200\nset vlan200 up\nset MTU 1500 on vmbr200\n"
              "set vmbr200 up\nswitch checksums of sent packets off on vmbr200\n");
    EXPECT_EQ(plan.mtu, 1500);
}

TEST(client_plan, case_29_removal_takes_down_releases_and_deletes) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    const auto before = kernel.state();
    settle(kernel, managed(1001), config);
    const auto plan = plan_removal(1001, config, kernel.state());
    EXPECT_EQ(steps_of(plan),
              "set vmbr1001 down\nset vxlan1001 down\ntake vxlan1001 out of its bridge\n"
              "delete link vmbr1001\ndelete link vxlan1001\n");
    carry_out(kernel, plan);
    EXPECT_EQ(kernel.state(), before);
    EXPECT_TRUE(plan_removal(1001, config, kernel.state()).is_right());
}

// One that became a network of the other type and was refused as that.
TEST(client_plan, case_29_removal_takes_the_base_of_either_type) {
    const auto config = config_of(client_words());
    for (const auto& network : {managed(200), bridged(200)}) {
        auto kernel = host_of(config);
        const auto before = kernel.state();
        settle(kernel, network, config);
        const auto plan = plan_removal(200, config, kernel.state());
        EXPECT_EQ(remarks_of(plan.remarks), "");
        carry_out(kernel, plan);
        EXPECT_EQ(kernel.state(), before) << steps_of(plan);
    }
    // Somebody made both.
    auto kernel = host_of(config);
    const auto before = kernel.state();
    settle(kernel, managed(200), config);
    kernel.apply(model::make_vlan{"vlan200", "eth0", 200});
    for (const std::string master : {"", "vmbr200"}) {
        auto with_both = kernel;
        with_both.apply(model::set_master{"vlan200", master});
        const auto plan = plan_removal(200, config, with_both.state());
        EXPECT_EQ(remarks_of(plan.remarks), "");
        carry_out(with_both, plan);
        EXPECT_EQ(with_both.has("vlan200"), master.empty()) << "nothing shows that it was the network's";
        with_both.remove("vlan200");
        EXPECT_EQ(with_both.state(), before) << steps_of(plan);
    }
    // Neither goes while somebody stands on the other.
    kernel.apply(model::set_master{"vlan200", "vmbr200"});
    auto upper = link_named("mac0", "macvlan");
    upper.lower = kernel.link("vlan200").index;
    kernel.add(upper);
    const auto plan = plan_removal(200, config, kernel.state());
    EXPECT_EQ(steps_of(plan), "");
    EXPECT_EQ(plan.remarks.size(), 1U);
}

TEST(client_plan, case_30_leftovers_go_unless_a_machine_uses_them) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    const auto before = kernel.state();
    settle(kernel, managed(7), config);
    settle(kernel, bridged(8), config);
    EXPECT_EQ(steps_of(plan_sweep({7, 8}, config, kernel.state())), "");

    auto used = kernel;
    used.add(link_named("vnet0", "tun"));
    used.apply(model::set_master{"vnet0", "vmbr7"});
    const auto left = plan_sweep({8}, config, used.state());
    EXPECT_EQ(steps_of(left), "");
    EXPECT_EQ(remarks_of(left.remarks),
              "warning network-left-alone: network 7 is gone, but vnet0 uses its links: they stay\n");

    carry_out(kernel, plan_sweep({}, config, kernel.state()));
    EXPECT_EQ(kernel.state(), before);
    // What a crash between two steps leaves is found too: it was recorded that it would be made.
    kernel.add(link_named("vmbr9", "bridge"));
    kernel.apply(model::make_vxlan{"vxlan10", "eth0", 10});
    carry_out(kernel, plan_sweep({}, config, kernel.state(), {}, {.bases = {{"vxlan10", {}}}}));
    EXPECT_EQ(kernel.state(), before);
    // A bridge of such a name with an address, and nothing of ours in it, is somebody's.
    kernel.add(link_named("vmbr9", "bridge"));
    kernel.add_address("vmbr9", "192.0.2.1/24");
    EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state())), "");
    kernel.add(link_named("ens9"));
    kernel.apply(model::set_master{"ens9", "vmbr9"});
    const auto others = plan_sweep({}, config, kernel.state());
    EXPECT_EQ(steps_of(others) + remarks_of(others.remarks), "");  // it was no network: none is said to be gone
}

TEST(client_plan, case_31_what_is_right_is_adopted_as_it_is) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    settle(kernel, managed(1001), config);
    kernel.add(link_named("vnet0", "tun", 1450));
    kernel.apply(model::set_master{"vnet0", "vmbr1001"});
    kernel.add_address("vmbr1001", "2001:db8::5/64", false);
    kernel.add_address("vmbr1001", "fe80::1/64", false);
    kernel.add_address("vmbr1001", "10.1.1.1/24");
    const auto before = kernel.state();
    network_memory memory;
    const auto plan = settle(kernel, managed(1001), config, memory);  // another daemon's, as far as is known
    EXPECT_EQ(steps_of(plan),
              "set hardware address " + model::to_text(before.find("vmbr1001")->hardware) +
                  " on vmbr1001\n"
                  "set net/ipv6/conf/vmbr1001/disable_ipv6 to 0\nset net/ipv6/conf/vmbr1001/accept_dad to 0\n"
                  "set net/ipv6/conf/vmbr1001/accept_ra to 0\nset net/ipv6/conf/vmbr1001/autoconf to 0\n"
                  "switch checksums of sent packets off on vmbr1001\nremove 2001:db8::5/64 from vmbr1001\n");
    EXPECT_TRUE(plan.damage.empty());
    const auto after = kernel.state();
    EXPECT_TRUE(std::ranges::equal(after.links(), before.links()));  // indexes too
    EXPECT_EQ(kernel.addresses_of("vmbr1001"), (texts{"fe80::1/64", "10.1.1.1/24"}));
    EXPECT_EQ(memory.ports, (std::map<int, std::string>{{kernel.link("vnet0").index, "vnet0"}}));
}

TEST(client_plan, case_33_gateways_are_no_matter_of_links) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    auto network = managed(1001);
    network.ip4.network = *parse_host_address("10.1.1.0/24");
    network.ip4.gateway = *parse_address("10.1.1.1");
    settle(kernel, network, config);
    EXPECT_TRUE(kernel.addresses_of("vmbr1001").empty());
}

TEST(client_plan, case_91_the_trunk_says_what_it_carries) {
    auto words = network_words::all_on("eth0");
    words.bridge_device = "eth3";
    const auto config = config_of(words);
    auto kernel = host_of(config, 9000);
    auto network = bridged(200);
    EXPECT_EQ(settle(kernel, network, config).mtu, 9000);
    network.mtu = 9001;
    EXPECT_EQ(settle(kernel, network, config).mtu, 9000);
    network.mtu = 1500;
    EXPECT_EQ(settle(kernel, network, config).mtu, 1500);
    kernel.remove("eth3");
    network.mtu.reset();
    const auto without = plan_network(network, config, kernel.state(), {});
    EXPECT_EQ(without.mtu, 1500);
    EXPECT_EQ(remarks_of(without.remarks),
              "error network-device-missing: network 200: device eth3 is missing: vlan200 "
              "is made when it comes\n");
}

TEST(client_plan, without_its_device_there_is_the_bridge) {
    const auto config = config_of(client_words());
    toy_kernel kernel;
    network_memory memory;
    const auto plan = settle(kernel, managed(7), config, memory);
    EXPECT_TRUE(kernel.link("vmbr7").is_up && !kernel.has("vxlan7"));
    EXPECT_FALSE(memory.was_right);
    EXPECT_EQ(plan.remarks.at(0).which, message::network_device_missing);
    kernel.add(link_named("eth0"));
    const auto late = settle(kernel, managed(7), config, memory);
    EXPECT_EQ(kernel.master_of("vxlan7"), "vmbr7");
    EXPECT_TRUE(late.damage.empty() && memory.was_right);
}

TEST(client_plan, more_than_the_device_carries_is_not_asked_for) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    kernel.apply(model::set_mtu{"eth0", 1400});
    const auto plan = settle(kernel, managed(7), config);
    EXPECT_EQ(kernel.link("vxlan7").mtu, 1350);
    EXPECT_EQ(plan.mtu, 1450);
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-mtu: network 7: MTU 1450 is not possible: eth0 has 1400, so 1350 is set\n");
    kernel.apply(model::set_mtu{"eth0", 1500});
    EXPECT_TRUE(settle(kernel, managed(7), config).remarks.empty());
    EXPECT_EQ(kernel.link("vmbr7").mtu, 1450);
}

// One line of each network: what is wanted, what is used, and why.
TEST(client_plan, more_than_the_networks_carry_is_told) {
    const auto config = config_of(client_words());
    const auto remarks_with = [](const toy_kernel& kernel, const config::node_config& of, model::client_network network,
                                 std::optional<std::int64_t> mtu) {
        network.mtu = mtu;
        return remarks_of(plan_network(network, of, kernel.state(), {}).remarks);
    };
    const auto warning = [](const std::string& text) { return "warning network-mtu: network 7: MTU " + text + "\n"; };
    auto kernel = host_of(config);
    for (const std::int64_t mtu : {1451LL, 9000LL, 65536LL, 2147483648LL, 4294967296LL}) {
        EXPECT_EQ(remarks_with(kernel, config, managed(7), mtu),
                  warning(std::to_string(mtu) +
                          " is not possible: the cluster network has 1500, of which VXLAN takes 50, so 1450 is set"));
    }
    for (const std::optional<std::int64_t> mtu : {std::optional<std::int64_t>(), {68}, {1450}}) {
        EXPECT_EQ(remarks_with(kernel, config, managed(7), mtu), "");
    }
    EXPECT_EQ(remarks_with(kernel, config, bridged(7), 9000),
              warning("9000 is not possible: bridge_mtu is 1500, so 1500 is set"));
    EXPECT_EQ(remarks_with(kernel, config, bridged(7), 1500), "");
    auto words = client_words();
    words.bridge_mtu = "None";
    EXPECT_EQ(remarks_with(kernel, config_of(words), bridged(7), 9000),
              warning("9000 is not possible: eth0 is to have 1500, so 1500 is set"));
    words.bridge_device = "eth3";
    EXPECT_EQ(remarks_with(kernel, config_of(words), bridged(7), 9000),
              warning("9000 is not possible: eth3 has 1500, so 1500 is set"));
    // The device carries less than the networks: that is the reason then.
    kernel.apply(model::set_mtu{"eth0", 1400});
    EXPECT_EQ(remarks_with(kernel, config, managed(7), 9000),
              warning("9000 is not possible: eth0 has 1400, so 1350 is set"));
    EXPECT_EQ(remarks_with(kernel, config, managed(7), 1350), "");
}

TEST(client_plan, a_network_that_becomes_bridged_keeps_its_bridge_and_its_machines) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, managed(7), config, memory);
    kernel.add(link_named("vnet0", "tun"));
    kernel.apply(model::set_master{"vnet0", "vmbr7"});
    const auto bridge = kernel.link("vmbr7").index;
    const auto plan = settle(kernel, bridged(7), config, memory);
    EXPECT_EQ(steps_of(plan),
              "create VLAN vlan7 (id 7) on eth0\nset MTU 1500 on vlan7\n"
              "set net/ipv6/conf/vmbr7/disable_ipv6 to 1\nset vxlan7 down\ntake vxlan7 out of its bridge\n"
              "delete link vxlan7\nset net/ipv6/conf/vlan7/disable_ipv6 to 1\n"
              "make vlan7 a port of vmbr7\nset vlan7 up\nset MTU 1500 on vmbr7\n"
              "switch checksums of sent packets off on vmbr7\n");
    EXPECT_TRUE(plan.damage.empty());
    EXPECT_FALSE(kernel.has("vxlan7"));
    settle(kernel, managed(7), config, memory);
    EXPECT_FALSE(kernel.has("vlan7"));
    EXPECT_EQ(kernel.sysctl("net/ipv6/conf/vmbr7/disable_ipv6"), "0");
    EXPECT_EQ(kernel.link("vmbr7").index, bridge);
    EXPECT_EQ(kernel.master_of("vnet0"), "vmbr7");
}

// The machines of one node reach each other also where the way to others cannot be made.
TEST(client_plan, what_is_left_where_the_base_is_refused) {
    const auto network = bridged(200);
    const std::vector<model::network_change> left{
        model::make_vlan{"vlan200", "eth0", 200},
        model::set_sysctl{"net/ipv6/conf/vlan200/disable_ipv6", "1"},
        model::set_master{"vlan200", "vmbr200"},
        model::set_mtu{"vlan200", 1500},
        model::set_up{"vlan200"},
        model::set_master{"vnet0", "vmbr200", 7},
        model::set_mtu{"vmbr200", 1500},
        model::set_up{"vmbr200"},
        model::tx_checksum_off{"vmbr200"},
    };
    const std::vector<model::network_change> of_bridge(left.begin() + 6, left.end());
    EXPECT_EQ(steps_without_base(network, left), of_bridge);
    EXPECT_EQ(steps_without_base(network, std::span(left).subspan(4)), of_bridge);
    // What concerns the bridge itself failed.
    EXPECT_TRUE(steps_without_base(network, std::span(left).subspan(6)).empty());
    EXPECT_TRUE(steps_without_base(network, {}).empty());
}

// Nothing is taken apart for what cannot be made; the reason is told.
TEST(client_plan, a_network_that_cannot_become_the_other_type_stays_as_it_was) {
    struct row {
        bool to_managed;
        std::function<void(network_words&, toy_kernel&)> hindrance;
        std::string why;
    };
    const auto add_vlan = [](network_words& /*words*/, toy_kernel& kernel) {
        kernel.apply(model::make_vlan{"eth3.7", "eth3", 7});
    };
    const std::vector<row> rows{
        {false, [](auto& words, auto&) { words.bridge_device = words.bridge_mtu = "None"; },
         "bridge_device is not configured"},
        {false, [](auto&, auto& kernel) { kernel.remove("eth3"); },
         "it cannot become a bridged one: device eth3 is missing: it stays as it was, with vxlan7"},
        {false, [](auto&, auto& kernel) { kernel.apply(model::set_down{"eth3"}); },
         "it cannot become a bridged one: device eth3 is down: it stays as it was, with vxlan7"},
        {false, add_vlan, "VLAN 7 is there already as eth3.7"},
        {true, [](auto&, auto& kernel) { kernel.remove("eth0"); },
         "it cannot become a managed one: device eth0 is missing: it stays as it was, with vlan7"},
        {true, [](auto&, auto& kernel) { kernel.apply(model::set_down{"eth0"}); },
         "it cannot become a managed one: device eth0 is down: it stays as it was, with vlan7"},
        {true,
         [](auto&, auto& kernel) {
             kernel.apply(model::remove_address{"brcluster", *parse_host_address("10.0.0.2/24")});
         },
         "it cannot become a managed one: 10.0.0.2/24 is not on brcluster yet: it stays as it was, with vlan7"},
        {true, [](auto&, auto& kernel) { kernel.apply(model::make_vxlan{"other", "eth0", 7}); },
         "VXLAN 7 is there already as other"},
    };
    for (const auto& one : rows) {
        auto words = client_words();
        words.bridge_device = "eth3";
        auto kernel = host_of(config_of(words));
        network_memory memory;
        settle(kernel, one.to_managed ? bridged(7) : managed(7), config_of(words), memory);
        kernel.add(link_named("vnet0", "tun"));
        kernel.apply(model::set_master{"vnet0", "vmbr7"});
        one.hindrance(words, kernel);
        const auto plan =
            plan_network(one.to_managed ? managed(7) : bridged(7), config_of(words), kernel.state(), memory);
        EXPECT_EQ(steps_of(plan), "") << one.why;
        EXPECT_TRUE(plan.is_refused);
        EXPECT_EQ(remarks_of(plan.remarks), "error network-refused: network 7: " + one.why + "\n");
    }
}

// What the kernel refuses, it refuses before anything is taken apart.
TEST(client_plan, of_a_network_that_becomes_the_other_type_the_old_base_goes_last) {
    const auto config = config_of(client_words());
    for (const bool to_managed : {false, true}) {
        auto kernel = host_of(config);
        network_memory memory;
        settle(kernel, to_managed ? bridged(7) : managed(7), config, memory);
        const auto plan = plan_network(to_managed ? managed(7) : bridged(7), config, kernel.state(), memory);
        const std::string old = to_managed ? "vlan7" : "vxlan7";
        const std::string steps = steps_of(plan);
        const auto begin = steps.find("set " + old + " down");
        for (const auto* what : {"create V", "set MTU"}) {
            EXPECT_LT(steps.find(what), begin) << steps;
        }
    }
}

TEST(client_plan, a_bridge_has_an_address_of_its_own_on_each_node_and_keeps_the_one_that_it_has) {
    auto words = client_words();
    std::set<model::hardware_address> all;
    for (const auto* host : {"pvchv1", "pvchv2", "pvchv3"}) {
        words.host = host;
        for (const std::uint32_t vni : {7U, 8U, 1001U}) {
            auto kernel = host_of(config_of(words));
            settle(kernel, managed(vni), config_of(words));
            const auto made = kernel.link(managed(vni).bridge()).hardware;
            EXPECT_EQ(made[0] & 3U, 2U) << "locally administered, of one station";
            EXPECT_EQ(made, model::own_bridge_address(host, vni));
            all.insert(made);
        }
    }
    EXPECT_EQ(all.size(), 9U);
    const auto config = config_of(words);
    auto kernel = host_of(config);
    auto live = link_named("vmbr7", "bridge");
    live.hardware = {0x52, 0x54, 0, 1, 2, 3};
    kernel.add(live);
    network_memory memory;
    const auto plan = settle(kernel, managed(7), config, memory);
    EXPECT_EQ(kernel.link("vmbr7").hardware, live.hardware);
    EXPECT_TRUE(steps_of(plan).starts_with("set hardware address 52:54:00:01:02:03 on vmbr7\n")) << steps_of(plan);
}

TEST(client_plan, what_somebody_took_away_is_made_again_and_said) {
    const auto config = config_of(client_words());
    struct row {
        std::string what;
        model::network_change done;
        texts damage;
    };
    const std::vector<row> rows{
        {"base", model::delete_link{"vxlan7"}, {"vxlan7 was gone"}},
        {"bridge", model::delete_link{"vmbr7"}, {"bridge vmbr7 was gone", "vnet0 was no port of vmbr7"}},
        {"port", model::set_master{"vxlan7", ""}, {"vxlan7 was no port of vmbr7"}},
        {"base down", model::set_down{"vxlan7"}, {"vxlan7 was down"}},
        {"bridge down", model::set_down{"vmbr7"}, {"bridge vmbr7 was down"}},
        {"tap", model::set_master{"vnet0", ""}, {"vnet0 was no port of vmbr7"}},
    };
    for (const auto& one : rows) {
        auto kernel = host_of(config);
        kernel.add(link_named("vnet0", "tun"));
        kernel.add(link_named("eth9"));
        network_memory memory;
        settle(kernel, managed(7), config, memory);
        kernel.apply(model::set_master{"vnet0", "vmbr7"});
        kernel.apply(model::set_master{"eth9", "vmbr7"});  // somebody's: no business of ours
        settle(kernel, managed(7), config, memory);
        kernel.apply(model::set_master{"eth9", ""});
        kernel.apply(one.done);
        const auto plan = settle(kernel, managed(7), config, memory);
        EXPECT_EQ(plan.damage, one.damage) << one.what;
        EXPECT_EQ(kernel.master_of("vnet0"), "vmbr7") << one.what;
        EXPECT_EQ(kernel.master_of("eth9"), "") << one.what;
        EXPECT_TRUE(memory.was_right && kernel.is_checksum_off("vmbr7")) << one.what;
        EXPECT_EQ(kernel.sysctl("net/ipv6/conf/vmbr7/accept_ra"), "0") << one.what;
    }
}

TEST(client_plan, a_port_that_was_moved_or_went_is_forgotten) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, managed(7), config, memory);
    settle(kernel, managed(8), config);
    for (const auto* name : {"vnet0", "vnet1"}) {
        kernel.add(link_named(name, "tun"));
        kernel.apply(model::set_master{name, "vmbr7"});
    }
    settle(kernel, managed(7), config, memory);
    EXPECT_EQ(memory.ports.size(), 2U);
    kernel.apply(model::set_master{"vnet0", "vmbr8"});
    kernel.remove("vnet1");
    settle(kernel, managed(7), config, memory);
    EXPECT_TRUE(memory.ports.empty());
    kernel.apply(model::set_master{"vnet0", ""});
    EXPECT_TRUE(plan_network(managed(7), config, kernel.state(), memory).is_right());
}

TEST(client_plan, a_bridge_that_somebody_made_anew_gets_its_settings) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, managed(7), config, memory);
    kernel.remove("vmbr7");
    kernel.apply(model::make_bridge{"vmbr7"});
    const auto plan = settle(kernel, managed(7), config, memory);
    EXPECT_EQ(plan.damage.at(0), "bridge vmbr7 was another one");
    EXPECT_EQ(kernel.sysctl("net/ipv6/conf/vmbr7/accept_ra"), "0");
    EXPECT_TRUE(kernel.is_checksum_off("vmbr7"));
}

}  // namespace
}  // namespace pvc::policy
