// Another device in the configuration takes the place of the one before, by the record of ports (README ruling 79).
#include "host_plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;

// As the daemon before this one left the record.
host_ports recorded(const toy_kernel& kernel, const config::node_config& before) {
    return ports_after_look({}, before, kernel.state());
}

std::vector<std::string> ports_of(const toy_kernel& kernel, const std::string& bridge) {
    std::vector<std::string> all;
    const auto seen = kernel.state();
    for (const auto* port : seen.ports_of(kernel.link(bridge).index)) {
        all.push_back(port->name);
    }
    return all;
}

// Both: which of them is a port after a death in between, nobody knows.
TEST(host_ports_test, a_port_that_is_to_be_made_is_noted_beside_the_one_before) {
    auto kernel = bare_host({"eth0", "eth1", "eth2", "eth5"});
    const auto before = config_of({});
    settle(kernel, before);
    const auto ports = recorded(kernel, before);
    const std::vector<model::network_change> steps{
        model::set_master{"eth0", ""}, model::set_master{"eth5", "brcluster"}, model::set_master{"nono", "brcluster"}};
    auto wanted = ports;
    wanted["eth5"] = {kernel.link("eth5").index, "brcluster"};
    EXPECT_EQ(with_ports_of(ports, steps, kernel.state()), wanted);
    EXPECT_EQ(ports_after_look(wanted, before, kernel.state()), ports) << "it came to nothing";
}

TEST(host_ports_test, another_device_takes_the_place_of_the_one_before) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto before = config_of({});
    settle(kernel, before);
    const auto ports = recorded(kernel, before);
    network_words words;
    words.cluster_device = "eth5";
    const auto now = config_of(words);
    // Until it is there, the bridge works as it did.
    auto plan = plan_host(now, kernel.state(), ports);
    EXPECT_EQ(steps_of(plan), "");
    EXPECT_EQ(plan.missing, texts{"eth5"});
    kernel.add(link_named("eth5"));
    carry_out(kernel, plan_host(now, kernel.state(), ports));  // it is brought up first: does it have a carrier?
    EXPECT_EQ(ports_of(kernel, "brcluster"), texts{"eth0"});
    const auto seen = kernel.state();
    plan = plan_host(now, seen, ports);
    const auto unit = std::ranges::find(plan.units, "port eth5 of brcluster", &host_unit::what);
    ASSERT_NE(unit, plan.units.end());
    EXPECT_EQ(unit->steps, (std::vector<model::network_change>{model::set_master{"eth0", ""},
                                                               model::set_master{"eth5", "brcluster"}}));
    EXPECT_EQ(remarks_of(plan.remarks),
              "warning network-device-configured: eth0 was the device of brcluster, which is eth5 now: it is taken "
              "out\n");
    carry_out(kernel, plan);
    EXPECT_EQ(ports_of(kernel, "brcluster"), texts{"eth5"});
    EXPECT_EQ(kernel.addresses_of("brcluster"), texts{"10.0.0.2/24"});
    const auto after = ports_after_look(ports, now, kernel.state());
    EXPECT_EQ(after.count("eth0"), 0U);
    EXPECT_EQ(after.at("eth5").bridge, "brcluster");
    EXPECT_EQ(steps_of(plan_host(now, kernel.state(), after)), "");
    // What fails is undone: the old one is back.
    EXPECT_EQ(undo_of(model::set_master{"eth0", ""}, seen),
              model::network_change(model::set_master{"eth0", "brcluster"}));
}

TEST(host_ports_test, a_device_without_a_carrier_waits_for_it_while_the_one_before_works) {
    for (const bool had_carrier : {false, true}) {
        for (const bool has_carrier : {false, true}) {
            auto kernel = bare_host({"eth0", "eth1", "eth2", "eth5"});
            const auto before = config_of({});
            settle(kernel, before);
            const auto ports = recorded(kernel, before);
            kernel.apply(model::set_up{"eth5"});
            const auto up = kernel.state();
            std::vector<model::network_link> links(up.links().begin(), up.links().end());
            for (auto& one : links) {
                one.is_running = one.name == "eth0" ? had_carrier : one.name == "eth5" ? has_carrier : one.is_running;
            }
            const model::network_state seen(std::move(links), {up.addresses().begin(), up.addresses().end()}, {});
            network_words words;
            words.cluster_device = "eth5";
            const auto plan = plan_host(config_of(words), seen, ports);
            const bool waits = had_carrier && !has_carrier;
            EXPECT_EQ(steps_of(plan).find("make eth5 a port of brcluster") == std::string::npos, waits);
            EXPECT_EQ(steps_of(plan).find("take eth0") == std::string::npos, waits) << steps_of(plan);
            EXPECT_EQ(remarks_of(plan.remarks).find("eth5 has no carrier") != std::string::npos, waits);
            EXPECT_EQ(plan.waits_for_carrier, waits);
        }
    }
}

TEST(host_ports_test, devices_that_change_places_never_meet_in_one_bridge) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    const auto before = config_of({});
    settle(kernel, before);
    const auto ports = recorded(kernel, before);
    network_words words;
    words.cluster_device = "eth2";
    words.upstream_device = "eth0";
    const auto now = config_of(words);
    const auto plan = plan_host(now, kernel.state(), ports);
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            EXPECT_EQ(kernel.apply(step), "") << to_text(step);
            for (const auto* bridge : {"brcluster", "brstorage", "brupstream"}) {
                EXPECT_LE(ports_of(kernel, bridge).size(), 1U) << to_text(step);
            }
        }
    }
    EXPECT_EQ(kernel.master_of("eth2"), "brcluster");
    EXPECT_EQ(kernel.master_of("eth0"), "brupstream");
    const auto second = std::ranges::find(plan.units, "port eth0 of brupstream", &host_unit::what);
    ASSERT_NE(second, plan.units.end());
    EXPECT_EQ(second->needs, "port eth2 of brcluster");
    EXPECT_EQ(steps_of(plan_host(now, kernel.state(), ports_after_look(ports, now, kernel.state()))), "");
}

// Of whom nothing says that it is ours: it stays, and nothing comes beside it but where STP looks after that.
TEST(host_ports_test, no_device_comes_beside_a_port_that_nobody_recorded) {
    for (const bool has_stp : {false, true}) {
        auto kernel = bare_host({"eth0", "eth1", "eth2"});
        settle(kernel, config_of({}));
        if (has_stp) {
            auto bridge = kernel.link("brcluster");
            kernel.remove("brcluster");
            bridge.has_stp = true;
            kernel.add(bridge);
            kernel.apply(model::set_master{"eth0", "brcluster"});
        }
        kernel.add(link_named("eth5"));
        network_words words;
        words.cluster_device = "eth5";
        const auto plan = settle(kernel, config_of(words));
        EXPECT_EQ(ports_of(kernel, "brcluster"), has_stp ? (texts{"eth0", "eth5"}) : texts{"eth0"});
        const std::string error =
            "error network-device-configured: eth0 is a port of brcluster, whose device is eth5 by the configuration: "
            "that is not made a port beside it, as two of them may be a loop: take eth0 out\n";
        EXPECT_EQ(remarks_of(plan.remarks), has_stp ? "" : error);
    }
}

// Another link of that name, or one that somebody moved, is not the one that was recorded.
TEST(host_ports_test, what_is_recorded_is_that_very_port) {
    auto kernel = bare_host({"eth0", "eth1", "eth2", "eth5"});
    const auto before = config_of({});
    settle(kernel, before);
    auto ports = recorded(kernel, before);
    network_words words;
    words.cluster_device = "eth5";
    const auto now = config_of(words);
    ++ports["eth0"].index;
    EXPECT_EQ(steps_of(plan_host(now, kernel.state(), ports)).find("eth0"), std::string::npos);
    ports = recorded(kernel, before);
    kernel.add(link_named("br0", "bridge"));
    kernel.apply(model::set_master{"eth0", "br0"});
    EXPECT_EQ(steps_of(plan_host(now, kernel.state(), ports)).find("eth0"), std::string::npos);
    EXPECT_FALSE(ports_after_look(ports, now, kernel.state()).contains("eth0"));
}

// Another configuration: what was on the bridge that its port leaves goes along, its addresses and the way out.
TEST(host_ports_test, three_devices_become_one) {
    for (const auto* one : {"eth0", "eth2"}) {
        auto kernel = bare_host({"eth0", "eth1", "eth2"});
        const auto before = config_of({});
        settle(kernel, before);
        kernel.add_address("brupstream", "192.168.5.7/24");
        const auto ports = recorded(kernel, before);
        auto words = network_words::all_on(one);
        words.cluster_mtu = words.storage_mtu = 1500;
        const auto now = config_of(words);
        const auto plan = plan_host(now, kernel.state(), ports);
        carry_out(kernel, plan);
        const bool is_taken = one == std::string("eth2");
        EXPECT_EQ(ports_of(kernel, "brcluster"), texts{one});
        EXPECT_EQ(kernel.addresses_of("brstorage"), texts{});
        EXPECT_EQ(kernel.addresses_of("brupstream"), is_taken ? texts{} : texts{"192.168.5.7/24"});
        auto there = kernel.addresses_of("brcluster");
        EXPECT_EQ(std::ranges::count(there, "192.168.5.7/24"), is_taken ? 1 : 0);
        const auto seen = kernel.state();
        ASSERT_EQ(seen.routes().size(), 1U) << one;
        EXPECT_EQ(seen.name_of(seen.routes()[0].link), "brcluster");
        EXPECT_EQ(remarks_of(plan.remarks).find("it stays"), std::string::npos) << remarks_of(plan.remarks);
        EXPECT_NE(remarks_of(plan.remarks)
                      .find("10.0.1.2/24 was on brstorage by the configuration, and is on "
                            "brcluster now: it is removed there"),
                  std::string::npos);
        EXPECT_EQ(steps_of(plan_host(now, seen, ports_after_look(ports, now, seen))), "");
    }
}

// Once somebody has removed the address as he was told, the route by it leads nowhere.
TEST(host_ports_test, one_device_becomes_three) {
    auto kernel = bare_host({});
    for (std::uint8_t number = 0; number < 3; ++number) {
        auto device = link_named("eth" + std::to_string(number));
        device.hardware = {0x52, 0x54, 0, 0, 0, number};
        kernel.add(device);
    }
    auto words = network_words::all_on("eth2");
    words.cluster_mtu = words.storage_mtu = 1500;
    const auto before = config_of(words);
    settle(kernel, before);
    auto ports = recorded(kernel, before);
    const auto now = config_of({});
    for (int round = 0; round < 2; ++round) {  // eth0 is brought up first: does it have a carrier?
        carry_out(kernel, plan_host(now, kernel.state(), ports));
        ports = ports_after_look(ports, now, kernel.state());
    }
    EXPECT_EQ(kernel.link("brcluster").hardware, kernel.link("eth0").hardware) << "what it had is brupstream's";
    EXPECT_EQ(kernel.link("brupstream").hardware, kernel.link("eth2").hardware);
    auto plan = plan_host(now, kernel.state(), ports);
    EXPECT_NE(remarks_of(plan.remarks).find("10.0.2.2/24 of brupstream is also on brcluster: remove it there"),
              std::string::npos);
    EXPECT_EQ(steps_of(plan), "") << "until then it works there";
    kernel.apply(model::remove_address{"brcluster", *parse_host_address("10.0.2.2/24")});
    plan = plan_host(now, kernel.state(), ports);
    EXPECT_EQ(steps_of(plan),
              "remove default route via 10.0.2.1 on brcluster\nadd default route via 10.0.2.1 on brupstream\n");
    carry_out(kernel, plan);
    EXPECT_EQ(steps_of(plan_host(now, kernel.state(), ports)), "");
}

// ---- a host that the system's own configuration set up

// Its index tells whose it is: beside it the device that is called so now would make a loop.
TEST(host_ports_test, a_port_that_somebody_called_otherwise_goes_before_the_new_one_of_its_name) {
    auto kernel = bare_host({"eth0", "eth1", "eth2"});
    auto renamed = link_named("old4", "veth");
    renamed.is_up = true;
    kernel.add(renamed);
    const auto config = config_of({});
    network_words words;
    words.cluster_device = "old4";
    settle(kernel, config_of(words));
    const host_ports ports{{"eth0", {kernel.link("old4").index, "brcluster"}}};  // as it was called then
    EXPECT_TRUE(ports_after_look(ports, config, kernel.state()).contains("old4"));
    for (int look = 0; look < 3; ++look) {
        carry_out(kernel, plan_host(config, kernel.state(), ports));
    }
    EXPECT_EQ(ports_of(kernel, "brcluster"), texts{"eth0"});
}

// As bridges of libvirt, Proxmox and NetworkManager are: the daemon's own gets no port, and its address there would
// lead nowhere, while the kernel prefers it.
TEST(host_ports_test, a_bridge_without_a_port_takes_no_network_from_where_the_host_reaches_it) {
    for (const auto* theirs : {"10.0.0.2/24", "10.0.0.9/24", "10.0.0.2/16"}) {
        auto kernel = bare_host({"eth0", "eth1", "eth2"});
        const auto config = config_of({});
        kernel.add(link_named("br0", "bridge"));
        kernel.apply(model::set_up{"br0"});
        kernel.apply(model::set_master{"eth0", "br0"});
        kernel.add_address("br0", theirs);
        const auto plan = settle(kernel, config);
        EXPECT_EQ(kernel.addresses_of("brcluster"), texts{}) << theirs;
        EXPECT_EQ(remarks_of(plan.remarks),
                  "error network-device-configured: 10.0.0.2/24 is not added on brcluster, which has no port: this "
                  "host reaches its network over br0, and would lose it; nor are addresses of the primary in that "
                  "network\n"
                  "error network-device-elsewhere: device eth0 is a port of br0 and not of brcluster: it is not "
                  "moved\n")
            << theirs;
        // Once the device is free, it is as it shall be.
        kernel.apply(model::set_master{"eth0", ""});
        kernel.apply(model::remove_address{"br0", *parse_host_address(theirs)});
        settle(kernel, config);
        EXPECT_EQ(kernel.addresses_of("brcluster"), texts{"10.0.0.2/24"}) << theirs;
    }
}

TEST(host_ports_test, what_takes_the_frames_of_a_device_leaves_its_network_where_it_is) {
    for (const auto* place : {"eth0", "mv0"}) {
        auto kernel = bare_host({"eth0", "eth1", "eth2"});
        auto user = link_named("mv0", "macvlan");
        user.lower = kernel.link("eth0").index;
        kernel.add(user);
        kernel.apply(model::set_up{"eth0"});
        kernel.apply(model::set_up{"mv0"});
        kernel.add_address(place, "10.0.0.2/24");
        settle(kernel, config_of({}));
        EXPECT_EQ(kernel.addresses_of("brcluster"), texts{}) << place;
        EXPECT_EQ(kernel.addresses_of(place), texts{"10.0.0.2/24"});
    }
}

// The kernel would refuse it with each try, and the bridge had its address by then.
TEST(host_ports_test, a_tunnel_of_packets_is_made_no_port_and_keeps_its_network) {
    for (const std::string kind : {"wireguard", "tun", "gre"}) {
        auto kernel = bare_host({"eth1", "eth2"});
        kernel.add(link_named("eth0", kind));
        kernel.apply(model::set_up{"eth0"});
        kernel.add_address("eth0", "10.0.0.2/24");
        const auto plan = settle(kernel, config_of({}));
        EXPECT_EQ(kernel.addresses_of("brcluster"), texts{}) << kind;
        EXPECT_EQ(kernel.addresses_of("eth0"), texts{"10.0.0.2/24"}) << kind;
        EXPECT_NE(remarks_of(plan.remarks)
                      .find("error network-device-elsewhere: device eth0 (" + kind +
                            ") has no Ethernet frames: the kernel makes it no port of brcluster\n"),
                  std::string::npos)
            << remarks_of(plan.remarks);
    }
    auto kernel = bare_host({"eth1", "eth2"});
    auto tap = link_named("eth0", "tun");
    tap.hardware = {0x52, 0x54, 0, 0, 0, 1};
    kernel.add(tap);
    settle(kernel, config_of({}));
    EXPECT_EQ(ports_of(kernel, "brcluster"), texts{"eth0"});
}

}  // namespace
}  // namespace pvc::policy
