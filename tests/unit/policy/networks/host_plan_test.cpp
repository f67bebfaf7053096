// networking.md 3.1: what a host needs (cases 1 to 8, 10 to 12, 90, 97, 98). Each plan is carried out on a toy kernel
// and made again: then nothing is to be done.
#include "host_plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;

TEST(host_plan, case_1_three_devices) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto config = config_of({});
    const auto plan = settle(kernel, config);
    EXPECT_EQ(remarks_of(plan.remarks), "");
    EXPECT_TRUE(plan.missing.empty() && !plan.is_cluster_device_missing);
    for (const auto& [device, bridge, mtu] :
         {std::tuple{"eth0", "brcluster", 9000}, {"eth1", "brstorage", 9000}, {"eth2", "brupstream", 1500}}) {
        EXPECT_EQ(kernel.master_of(device), bridge);
        EXPECT_TRUE(kernel.link(device).is_up && kernel.link(bridge).is_up);
        EXPECT_EQ(kernel.link(device).mtu, mtu);
        EXPECT_EQ(kernel.link(bridge).mtu, mtu);
        EXPECT_EQ(kernel.state().ports_of(kernel.link(bridge).index).size(), 1U);
        EXPECT_TRUE(kernel.addresses_of(device).empty());
    }
    EXPECT_EQ(kernel.addresses_of("brcluster"), texts{"10.0.0.2/24"});
    EXPECT_EQ(kernel.addresses_of("brstorage"), texts{"10.0.1.2/24"});
    EXPECT_EQ(kernel.addresses_of("brupstream"), texts{"10.0.2.2/24"});
    ASSERT_EQ(kernel.state().routes().size(), 1U);
    EXPECT_EQ(kernel.state().name_of(kernel.state().routes()[0].link), "brupstream");
    EXPECT_EQ(kernel.state().routes()[0].gateway.to_string(), "10.0.2.1");
}

TEST(host_plan, case_2_a_second_run_changes_nothing) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto config = config_of({});
    settle(kernel, config);
    const auto before = kernel.state();
    const auto again = plan_host(config, before);
    EXPECT_TRUE(again.is_right());
    EXPECT_EQ(remarks_of(again.remarks), "");
    carry_out(kernel, again);
    EXPECT_EQ(kernel.state(), before);
}

TEST(host_plan, case_3_ac17_all_roles_on_one_device) {
    auto kernel = bare_host({"eth0"});
    settle(kernel, config_of(network_words::all_on("eth0")));
    EXPECT_EQ(kernel.addresses_of("brcluster"), (texts{"10.0.0.2/24", "10.0.1.2/24", "10.0.2.2/24"}));
    EXPECT_FALSE(kernel.has("brstorage") || kernel.has("brupstream"));
    EXPECT_EQ(kernel.state().name_of(kernel.state().routes()[0].link), "brcluster");
}

TEST(host_plan, case_4_an_address_that_two_roles_have_is_there_once) {
    auto words = network_words::all_on("eth0");
    words.storage_network = "10.0.0";
    auto kernel = bare_host({"eth0"});
    const auto plan = settle(kernel, config_of(words));
    EXPECT_EQ(kernel.addresses_of("brcluster"), (texts{"10.0.0.2/24", "10.0.2.2/24"}));
    const auto said = steps_of(plan);
    EXPECT_EQ(said.find("add 10.0.0.2/24"), said.rfind("add 10.0.0.2/24"));
}

TEST(host_plan, case_5_upstream_on_the_storage_device) {
    network_words words;
    words.upstream_device = "eth1";
    auto kernel = bare_host({"eth0", "eth1"});
    settle(kernel, config_of(words));
    EXPECT_EQ(kernel.addresses_of("brstorage"), (texts{"10.0.1.2/24", "10.0.2.2/24"}));
    EXPECT_FALSE(kernel.has("brupstream"));
}

TEST(host_plan, case_6_another_default_route_stays) {
    auto kernel = bare_host({"eth0", "eth1", "eth2", "eth9"});
    kernel.apply(model::set_up{"eth9"});
    kernel.add_address("eth9", "192.0.2.7/24");
    kernel.add_route("192.0.2.1", "eth9");
    const auto config = config_of({});
    const auto plan = settle(kernel, config);
    const std::string warning =
        "warning network-route: the default route is by 192.0.2.1 on eth9 and not by 10.0.2.1 on brupstream: it "
        "stays\n";
    EXPECT_EQ(remarks_of(plan.remarks), warning);
    EXPECT_EQ(remarks_of(plan_host(config, kernel.state()).remarks), warning);
    ASSERT_EQ(kernel.state().routes().size(), 1U);
    EXPECT_EQ(kernel.state().name_of(kernel.state().routes()[0].link), "eth9");
}

// README ruling 81: of a DHCP client on a card of the management network, say.
TEST(host_plan, case_6_a_default_route_with_a_metric_hinders_nobody) {
    for (const auto& [gateway, device] : {std::pair("192.0.2.1", "eth9"), {"10.0.2.1", "eth9"}}) {
        auto kernel = bare_host({"eth0", "eth1", "eth2", "eth9"});
        kernel.apply(model::set_up{"eth9"});
        kernel.add_address("eth9", gateway == std::string("192.0.2.1") ? "192.0.2.7/24" : "10.0.2.77/24");
        kernel.add_route(gateway, device, 100);
        const auto plan = settle(kernel, config_of({}));
        EXPECT_EQ(remarks_of(plan.remarks), "");
        const auto seen = kernel.state();
        ASSERT_EQ(seen.routes().size(), 2U);
        EXPECT_TRUE(std::ranges::any_of(seen.routes(), [&](const model::default_route& one) {
            return one.metric == 0 && seen.name_of(one.link) == "brupstream";
        }));
    }
}

// It would be preferred to the one that works, and lead nowhere.
TEST(host_plan, a_default_route_waits_for_the_port) {
    const auto config = config_of({});
    const std::string wanted = "add default route via 10.0.2.1 on brupstream";
    auto kernel = bare_host({"eth0", "eth1"});
    auto plan = plan_host(config, kernel.state());
    EXPECT_EQ(steps_of(plan).find(wanted), std::string::npos) << "eth2 is missing";
    carry_out(kernel, plan);
    kernel.add(link_named("eth2"));
    plan = plan_host(config, kernel.state());
    EXPECT_NE(steps_of(plan).find(wanted), std::string::npos);
    ASSERT_EQ(plan.units.back().what, "default route");
    EXPECT_EQ(plan.units.back().needs, "port eth2 of brupstream") << "also where the kernel refuses that";
    carry_out(kernel, plan);
    EXPECT_TRUE(plan_host(config, kernel.state()).is_right());
}

TEST(host_plan, what_takes_the_frames_of_a_device_is_named_and_keeps_them) {
    for (const auto* kind : {"macvlan", "ipvlan", "macvtap"}) {
        auto kernel = bare_host({"eth0", "eth1", "eth2"});
        auto user = link_named("docker_mv", kind);
        user.lower = kernel.link("eth2").index;
        kernel.add(user);
        const auto plan = settle(kernel, config_of({}));
        EXPECT_EQ(remarks_of(plan.remarks),
                  "error network-device-elsewhere: device eth2 carries docker_mv of kind " + std::string(kind) +
                      ": the kernel makes it no port of brupstream as long as that is there\n");
        EXPECT_EQ(steps_of(plan).find("make eth2 a port"), std::string::npos);
        EXPECT_TRUE(kernel.state().routes().empty());
    }
}

TEST(host_plan, case_7_a_device_that_comes_later) {
    auto kernel = bare_host({"eth1", "eth2"});
    const auto config = config_of({});
    const auto plan = settle(kernel, config);
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-device-missing: device eth0 is missing: what needs it is set up when it comes\n");
    EXPECT_EQ(plan.missing, texts{"eth0"});
    EXPECT_TRUE(plan.is_cluster_device_missing && !plan.is_right());
    EXPECT_EQ(kernel.addresses_of("brcluster"), texts{"10.0.0.2/24"});
    EXPECT_TRUE(kernel.link("brcluster").is_up);
    EXPECT_FALSE(plan_host(config, kernel.state()).is_right());

    kernel.add(link_named("eth0"));
    const auto late = settle(kernel, config);
    EXPECT_TRUE(late.missing.empty() && late.remarks.empty());
    EXPECT_EQ(kernel.master_of("eth0"), "brcluster");
    EXPECT_TRUE(kernel.link("eth0").is_up);
    EXPECT_EQ(kernel.link("eth0").mtu, 9000);
    EXPECT_EQ(kernel.link("brcluster").mtu, 9000);
    EXPECT_TRUE(plan_host(config, kernel.state()).is_right());
}

TEST(host_plan, case_8_the_upstream_device_is_not_made_smaller) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"}, 9000);
    settle(kernel, config_of({}));
    EXPECT_EQ(kernel.link("eth2").mtu, 9000);
    EXPECT_EQ(kernel.link("brupstream").mtu, 1500);
    network_words words;
    words.cluster_mtu = 1400;
    settle(kernel, config_of(words));  // other devices are
    EXPECT_EQ(kernel.link("eth0").mtu, 1400);
}

TEST(host_plan, case_10_a_vlan_as_cluster_device_and_its_parent_as_upstream) {
    network_words words;
    words.cluster_device = "eth0.100";
    words.upstream_device = "eth0";
    words.storage_device = "eth0.200";
    toy_kernel kernel = bare_host({"eth0"});
    for (const auto id : {100, 200}) {
        auto vlan = link_named("eth0." + std::to_string(id), "vlan");
        vlan.vlan_id = static_cast<std::uint16_t>(id);
        vlan.lower = kernel.link("eth0").index;
        kernel.add(vlan);
    }
    words.upstream_mtu = 9000;
    const auto plan = settle(kernel, config_of(words));  // parents first: else a VLAN is not up, and not large enough
    EXPECT_EQ(remarks_of(plan.remarks), "");
    EXPECT_EQ(kernel.master_of("eth0.100"), "brcluster");
    EXPECT_EQ(kernel.link("eth0.100").mtu, 9000);

    // What VLANs stand on is not made smaller, whoever uses it; one that is too small limits them.
    words.upstream_device = "eth9";
    words.bridge_device = "eth0";
    words.bridge_mtu = "1500";
    kernel.add(link_named("eth9"));
    settle(kernel, config_of(words));
    EXPECT_EQ(kernel.link("eth0").mtu, 9000);
}

TEST(host_plan, a_vlan_gets_as_much_as_its_parent_carries) {
    network_words words;
    words.cluster_device = "vlan100";
    toy_kernel kernel = bare_host({"bond0", "eth1", "eth2"});
    kernel.apply(model::set_up{"bond0"});
    auto vlan = link_named("vlan100", "vlan", 1400);
    vlan.vlan_id = 100;
    vlan.lower = kernel.link("bond0").index;
    kernel.add(vlan);
    const auto plan = settle(kernel, config_of(words));
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-mtu: MTU 9000 is not possible on vlan100: bond0, which it stands on, has 1500\n"
              "warning network-mtu: MTU 9000 is not possible on brcluster: its device vlan100 has 1500\n");
    EXPECT_EQ(kernel.link("brcluster").mtu, 1500);
    EXPECT_EQ(kernel.link("vlan100").mtu, 1500);
    EXPECT_EQ(kernel.link("bond0").mtu, 1500);  // no device of ours
}

TEST(host_plan, a_vlan_on_a_device_that_is_down_and_nobodys_is_a_remark) {
    network_words words;
    words.cluster_device = "vlan100";
    words.cluster_mtu = 1500;
    toy_kernel kernel = bare_host({"bond0", "eth1", "eth2"});
    kernel.apply(model::make_vlan{"vlan100", "bond0", 100});
    const auto plan = settle(kernel, config_of(words));
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-device-down: device vlan100 cannot be up: bond0, which it stands on, is down\n");
    EXPECT_EQ(kernel.master_of("vlan100"), "brcluster");
    EXPECT_FALSE(kernel.link("bond0").is_up);
    kernel.apply(model::set_up{"bond0"});
    EXPECT_TRUE(settle(kernel, config_of(words)).remarks.empty());
    EXPECT_TRUE(kernel.link("vlan100").is_up);
}

TEST(host_plan, case_11_configurations_that_are_refused) {
    network_words words;
    words.host = "alpha";
    EXPECT_NE(refusal_of(words).find("cluster.address"), std::string::npos);
    words.host = "pvchv254";
    EXPECT_NE(refusal_of(words).find("cluster.address"), std::string::npos);  // the floating address
    words.host = "pvchv2";
    words.upstream_address = "10.9.9.9/24";
    EXPECT_NE(refusal_of(words).find("upstream.address"), std::string::npos);
}

TEST(host_plan, case_12_host_numbers) {
    network_words words;
    words.host = "pvchv1";
    EXPECT_EQ(config_of(words).networks.cluster.address->text(), "10.0.0.1/24");
    words.host = "pvchv253";
    EXPECT_EQ(config_of(words).networks.cluster.address->text(), "10.0.0.253/24");
    words.host = "pvchv255";
    EXPECT_NE(refusal_of(words), "");
}

TEST(host_plan, case_90_without_networking_nothing) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    network_words words;
    words.is_networking = false;
    const auto config = config_of(words);
    EXPECT_TRUE(plan_host(config, kernel.state()).is_right());
    EXPECT_TRUE(bridges_not_running(config, kernel.state()).empty());
}

TEST(host_plan, case_97_a_device_of_bridged_networks_alone) {
    network_words words;
    words.bridge_device = "eth3";
    words.bridge_mtu = "9000";
    auto kernel = bare_host({"eth0", "eth1", "eth2", "eth3"});
    const auto config = config_of(words);
    settle(kernel, config);
    EXPECT_TRUE(kernel.link("eth3").is_up);
    EXPECT_EQ(kernel.link("eth3").mtu, 9000);
    EXPECT_EQ(kernel.link("eth3").master, 0);
    EXPECT_TRUE(kernel.addresses_of("eth3").empty());
    // Raised only; and without bridge_mtu left as it is.
    words.bridge_mtu = "1400";
    settle(kernel, config_of(words));
    EXPECT_EQ(kernel.link("eth3").mtu, 9000);
    words.bridge_mtu = "None";
    EXPECT_TRUE(plan_host(config_of(words), kernel.state()).is_right());
    kernel.remove("eth3");
    EXPECT_EQ(plan_host(config_of(words), kernel.state()).missing, texts{"eth3"});
}

TEST(host_plan, case_98_the_trunk_is_larger_than_the_bridge) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    words.bridge_device = "eth0";
    words.bridge_mtu = "9000";
    auto kernel = bare_host({"eth0"});
    settle(kernel, config_of(words));
    EXPECT_EQ(kernel.link("eth0").mtu, 9000);
    EXPECT_EQ(kernel.link("brcluster").mtu, 1500);  // said after the port is one: a bridge follows its ports till then
}

TEST(host_plan, a_bridge_that_follows_its_ports_is_told_its_mtu_after_they_are_ports) {
    auto kernel = bare_host({"eth0", "eth1"});
    kernel.add(link_named("eth2", "", 9000));
    kernel.apply(model::make_bridge{"brupstream"});  // 1500 for as long as it has no port
    settle(kernel, config_of({}));
    EXPECT_EQ(kernel.link("brupstream").mtu, 1500);
    EXPECT_EQ(kernel.link("eth2").mtu, 9000);
}

// The storage network is a VLAN on the device of the cluster network, and needs more than that.
TEST(host_plan, a_device_is_not_made_smaller_under_the_vlan_of_another_network) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = 1500;
    words.storage_device = "eth0.7";
    words.storage_mtu = 9000;
    auto kernel = bare_host({"eth0"});
    kernel.apply(model::set_mtu{"eth0", 9000});
    auto vlan = link_named("eth0.7", "vlan", 9000);
    vlan.lower = kernel.link("eth0").index;
    kernel.add(vlan);
    settle(kernel, config_of(words));
    EXPECT_EQ(kernel.link("eth0").mtu, 9000);
    EXPECT_EQ(kernel.link("eth0.7").mtu, 9000);
    EXPECT_EQ(kernel.link("brstorage").mtu, 9000);
    EXPECT_EQ(kernel.link("brcluster").mtu, 1500);
}

// Nor under what is the host's own, and would shrink with it.
TEST(host_plan, a_device_is_not_made_smaller_under_links_of_somebody) {
    for (const auto* kind : {"vlan", "macvlan", "vxlan"}) {
        auto kernel = bare_host({"eth1", "eth2"});
        kernel.add(link_named("eth0", "", 9000));
        auto user = link_named("backup", kind, 9000);
        user.lower = kernel.link("eth0").index;
        kernel.add(user);
        network_words words;
        words.cluster_mtu = 1500;
        carry_out(kernel, plan_host(config_of(words), kernel.state()));
        EXPECT_EQ(kernel.link("eth0").mtu, kind == std::string("vxlan") ? 1500 : 9000) << kind;
        EXPECT_EQ(kernel.link("brcluster").mtu, 1500);
    }
}

TEST(host_plan, a_bridge_gets_no_more_than_its_device_can_have) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto plan = plan_host(config_of({}), kernel.state());
    const auto unit = [&](const std::string& what) { return std::ranges::find(plan.units, what, &host_unit::what); };
    ASSERT_NE(unit("MTU of brcluster"), plan.units.end());
    EXPECT_EQ(unit("MTU of brcluster")->needs, "MTU of eth0");
    EXPECT_LT(unit("MTU of eth0"), unit("MTU of brcluster"));
    EXPECT_EQ(unit("MTU of brupstream")->needs, "");  // its device has it
}

TEST(host_plan, a_device_of_another_bridge_is_never_moved) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    kernel.add(link_named("br0", "bridge"));
    kernel.apply(model::set_master{"eth0", "br0"});
    const auto config = config_of({});
    const auto plan = settle(kernel, config);
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-device-elsewhere: device eth0 is a port of br0 and not of "
              "brcluster: it is not moved\n");
    EXPECT_EQ(kernel.master_of("eth0"), "br0");
    EXPECT_EQ(kernel.addresses_of("brcluster"), texts{"10.0.0.2/24"});
    // Nobody waits for a bridge that cannot run.
    EXPECT_TRUE(bridges_not_running(config, kernel.state()).empty());
}

TEST(host_plan, a_link_of_the_name_of_a_bridge_is_not_touched) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    kernel.add(link_named("brupstream", "veth"));
    const auto config = config_of({});
    const auto before = kernel.link("brupstream");
    const auto plan = settle(kernel, config);
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-bridge-foreign: brupstream is no bridge but a link of kind veth: "
              "nothing is done to it, and no address is added\n");
    EXPECT_EQ(kernel.link("brupstream"), before);
    EXPECT_EQ(kernel.link("eth2").master, 0);
    EXPECT_TRUE(kernel.addresses_of("brupstream").empty());
    EXPECT_TRUE(kernel.state().routes().empty());
}

TEST(host_plan, a_bridge_as_device_is_a_remark) {
    auto kernel = bare_host({"eth1", "eth2"});
    kernel.add(link_named("eth0", "bridge"));
    const auto plan = settle(kernel, config_of({}));
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-bridge-foreign: device eth0 is a bridge itself: it cannot be a port of brcluster\n");
}

TEST(host_plan, an_address_that_another_bridge_has_too_is_a_remark) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto config = config_of({});
    settle(kernel, config);
    kernel.add_address("brstorage", "10.0.0.2/24");
    kernel.add_address("brcluster", "10.0.1.2/16");
    kernel.add_address("brupstream", "10.0.0.77/24");
    const auto before = kernel.state();
    const auto plan = settle(kernel, config);
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-device-configured: 10.0.0.2/24 of brcluster is also on brstorage: remove it there\n"
              "warning network-device-configured: 10.0.1.2/16 of brstorage is also on brcluster: remove it there\n");
    EXPECT_EQ(kernel.state(), before);
    // Also before there is a bridge that it is of.
    auto bare = bare_host({"eth0", "eth1", "eth2"});
    bare.apply(model::make_bridge{"brstorage"});
    bare.add_address("brstorage", "10.0.0.2/24");
    EXPECT_EQ(remarks_of(settle(bare, config).remarks),
              "warning network-device-configured: 10.0.0.2/24 of brcluster is also on brstorage: remove it there\n");
}

TEST(host_plan, a_port_that_leads_out_and_is_not_the_configured_one_is_a_remark) {
    auto kernel = bare_host({"eth0", "eth1", "eth2", "eth3"});
    const auto config = config_of({});
    settle(kernel, config);
    kernel.apply(model::set_master{"eth3", "brupstream"});
    kernel.add(link_named("vnet0", "tun"));
    kernel.apply(model::set_master{"vnet0", "brupstream"});
    const auto before = kernel.state();
    const auto upstream = config.networks.upstream.device;
    EXPECT_EQ(remarks_of(settle(kernel, config).remarks),
              "warning network-device-configured: eth3 is a port of brupstream, whose device is " + upstream +
                  " by the configuration: take it out unless it is meant to be there\n");
    EXPECT_EQ(kernel.state(), before);
}

// ---- routes that come with addresses
// -------------------------------------------------------------------------------------

TEST(host_plan, what_somebody_flushed_comes_back_before_the_default_route) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto config = config_of({});
    settle(kernel, config);
    const auto before = kernel.state();
    kernel.flush_routes();
    const auto plan = settle(kernel, config);
    std::string units;
    for (const auto& unit : plan.units) {
        units += unit.what + "\n";
    }
    EXPECT_EQ(units,
              "route to 10.0.0.0/24 on brcluster\nroute to 10.0.1.0/24 on brstorage\nroute to 10.0.2.0/24 on "
              "brupstream\ndefault route\n");
    const auto& step = std::get<model::add_route>(plan.units[0].steps[0]);
    EXPECT_EQ(step.route.source, parse_address("10.0.0.2").value());
    EXPECT_EQ(kernel.state().connected_routes().size(), 3U);
    EXPECT_EQ(kernel.state().routes().size(), before.routes().size());
}

TEST(host_plan, routes_that_the_kernel_makes) {
    const auto text = [](const std::string& address) {
        const auto network = model::connected_network(*parse_host_address(address));
        return network ? network->text() : "none";
    };
    EXPECT_EQ(text("10.0.0.2/24"), "10.0.0.0/24");
    EXPECT_EQ(text("10.0.0.2/31"), "10.0.0.2/31");
    EXPECT_EQ(text("10.0.0.2/32"), "none");
    EXPECT_EQ(text("fd00::2/64"), "fd00::/64");
    EXPECT_EQ(text("fd00::2/128"), "none");
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    settle(kernel, config_of({}));
    kernel.add_address("brcluster", "fd00:1::2/64");
    kernel.flush_routes();
    const auto lost = [&](const std::string& address) {
        return lost_connected_route(kernel.state(), kernel.link("brcluster"), *parse_host_address(address));
    };
    const auto v4 = lost("10.0.0.2/24");
    ASSERT_TRUE(v4);
    EXPECT_EQ(std::pair(v4->scope, v4->protocol), std::pair(std::uint8_t{253}, std::uint8_t{2}));
    const auto v6 = lost("fd00:1::2/64");
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->metric, 256U);
    EXPECT_FALSE(v6->source);
    EXPECT_FALSE(lost("10.0.0.2/32"));
    kernel.add_route("brcluster", {.is = {.to = *parse_host_address("10.0.0.0/24"), .metric = 5}});
    EXPECT_FALSE(lost("10.0.0.2/24")) << "somebody leads there over the same link";
    kernel.apply(model::set_down{"brcluster"});
    EXPECT_FALSE(lost("fd00:1::2/64"));
}

// ---------------------------------------------------------------

TEST(host_plan, an_address_goes_from_the_device_to_its_bridge_and_the_route_with_it) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    auto kernel = bare_host({"eth0"});
    kernel.apply(model::set_up{"eth0"});
    kernel.add_address("eth0", "10.0.2.2/24");
    kernel.add_address("eth0", "192.0.2.7/24");
    kernel.add_route("10.0.2.1", "eth0");
    const auto plan = settle(kernel, config_of(words));
    EXPECT_EQ(steps_of(plan),
              "create bridge brcluster\nset brcluster up\nadd 10.0.0.2/24 to brcluster\nadd 10.0.1.2/24 to brcluster\n"
              "add 10.0.2.2/24 to brcluster\nmake eth0 a port of brcluster\n"
              "add 192.0.2.7/24 to brcluster\n"
              "add default route via 10.0.2.1 on brcluster\nremove default route via 10.0.2.1 on eth0\n"
              "remove 192.0.2.7/24 from eth0\nremove 10.0.2.2/24 from eth0\nset MTU 1500 on brcluster\n");
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-device-configured: device eth0 has 192.0.2.7/24, which nobody would reach on a port: "
              "that is moved to brcluster\n"
              "warning network-device-configured: device eth0 has routes, which are moved to brcluster: default route "
              "via 10.0.2.1\n");
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
    EXPECT_EQ(kernel.state().name_of(kernel.state().routes()[0].link), "brcluster");
}

// Where it stays on the port, the way to the whole network leads there and not to the bridge.
TEST(host_plan, another_address_of_the_network_goes_to_the_bridge_as_well) {
    auto words = network_words::all_on("eth0");
    words.cluster_mtu = words.storage_mtu = 1500;
    auto kernel = bare_host({"eth0"});
    kernel.apply(model::set_up{"eth0"});
    kernel.add_address("eth0", "10.0.0.77/24");
    const auto plan = settle(kernel, config_of(words));
    EXPECT_NE(steps_of(plan).find("make eth0 a port of brcluster\nadd 10.0.0.77/24 to brcluster\n"
                                  "add 10.0.0.2/24 to brcluster\nremove 10.0.0.77/24 from eth0\n"),
              std::string::npos)
        << steps_of(plan);
    EXPECT_EQ(
        remarks_of(plan.remarks),
        "warning network-device-configured: device eth0 has 10.0.0.77/24 of the network of brcluster: that is moved "
        "to the bridge\n");
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
    EXPECT_TRUE(plan_host(config_of(words), kernel.state()).is_right());
    // Also where the device is a port already.
    kernel.add_address("eth0", "10.0.0.78/24");
    settle(kernel, config_of(words));
    EXPECT_EQ(kernel.addresses_of("eth0"), texts{});
}

TEST(host_plan, a_device_that_is_elsewhere_keeps_address_and_route) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    kernel.add(link_named("br0", "bridge"));
    kernel.apply(model::set_master{"eth2", "br0"});
    kernel.add_address("eth2", "10.0.2.2/24");
    kernel.add_route("10.0.2.1", "eth2");
    const auto plan = settle(kernel, config_of({}));
    EXPECT_EQ(kernel.addresses_of("eth2"), texts{"10.0.2.2/24"});
    ASSERT_EQ(kernel.state().routes().size(), 1U);
    EXPECT_EQ(kernel.state().name_of(kernel.state().routes()[0].link), "eth2");
    EXPECT_EQ(plan.remarks.front().which, message::network_route);
    EXPECT_EQ(plan.remarks.back().which, message::network_device_elsewhere);
}

TEST(host_plan, without_an_address_that_reaches_the_gateway_there_is_no_route) {
    network_words words;
    words.upstream_address = "None";
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto config = config_of(words);
    const auto plan = settle(kernel, config);
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-route: no address of brupstream reaches the gateway 10.0.2.1: "
              "there is no default route by it\n");
    // The primary has one.
    kernel.add_address("brupstream", "10.0.2.254/24");
    settle(kernel, config);
    EXPECT_EQ(kernel.state().routes().size(), 1U);
}

TEST(host_plan, without_a_gateway_no_route_is_anybodys_business) {
    network_words words;
    words.gateway = "None";
    auto kernel = bare_host({"eth0", "eth1", "eth2", "eth9"});
    kernel.add_route("192.0.2.1", "eth9");
    EXPECT_EQ(remarks_of(settle(kernel, config_of(words)).remarks), "");
    EXPECT_EQ(kernel.state().routes().size(), 1U);
}

TEST(host_plan, bridges_that_do_not_run_yet) {
    auto kernel = bare_host({"eth0", "eth2"});
    const auto config = config_of({});
    EXPECT_EQ(bridges_not_running(config, kernel.state()), (texts{"brcluster", "brupstream"}));  // eth1 is not there
    settle(kernel, config);
    EXPECT_TRUE(bridges_not_running(config, kernel.state()).empty());
    kernel.apply(model::set_down{"brupstream"});
    EXPECT_EQ(bridges_not_running(config, kernel.state()), texts{"brupstream"});
}

}  // namespace
}  // namespace pvc::policy
