// networking.md 5.2 to 5.4: links that are the host's own or somebody else's, and no client network's (case 27).
#include "client_plan_fixture.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;

TEST(client_strangers, case_27_a_vlan_that_is_the_hosts) {
    auto words = client_words();
    words.upstream_device = "vlan1000";
    const auto config = config_of(words);
    toy_kernel kernel;
    kernel.add(link_named("eth0"));
    auto vlan = link_named("vlan1000", "vlan");
    vlan.vlan_id = 1000;
    vlan.lower = kernel.link("eth0").index;
    kernel.add(vlan);
    carry_out(kernel, plan_host(config, kernel.state()));
    const auto before = kernel.state();

    const auto plan = plan_network(bridged(1000), config, before, {});
    EXPECT_TRUE(plan.is_refused && plan.steps.empty());
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-refused: network 1000: vlan1000 is a link of this host's own network\n");
    EXPECT_EQ(steps_of(plan_removal(1000, config, before)), "");
    EXPECT_EQ(steps_of(plan_sweep({}, config, before)), "");
    // Also before the device has come, and where the host calls it otherwise.
    EXPECT_TRUE(plan_network(bridged(1000), config, {}, {}).is_refused);
    words.upstream_device = "eth0.1000";
    kernel.remove("vlan1000");
    vlan.name = "eth0.1000";
    kernel.add(vlan);
    const auto otherwise = plan_network(bridged(1000), config_of(words), kernel.state(), {});
    EXPECT_EQ(remarks_of(otherwise.remarks),
              "error network-refused: network 1000: VLAN 1000 is there already as eth0.1000\n");
    EXPECT_TRUE(otherwise.steps.empty());
    // A managed network of that number minds nothing, and leaves it alone.
    words.upstream_device = "vlan1000";
    kernel.remove("eth0.1000");
    vlan.name = "vlan1000";
    kernel.add(vlan);
    const auto after = kernel.link("vlan1000");
    settle(kernel, managed(1000), config);
    EXPECT_EQ(kernel.link("vlan1000"), after);
}

// README ruling 79. A VLAN of the operator's, named as a bridged network's would be.
toy_kernel host_with_vlan(const config::node_config& config, const std::string& address) {
    auto kernel = host_of(config);
    EXPECT_EQ(kernel.apply(model::make_vlan{"vlan400", "eth0", 400}), "");
    if (!address.empty()) {
        kernel.add_address("vlan400", address);
    }
    return kernel;
}

TEST(whose_links, a_vlan_of_the_host_with_an_address_is_neither_swept_nor_used_nor_removed) {
    const auto config = config_of(client_words());
    for (const std::string address : {"192.0.2.10/24", "2001:db8::7/64"}) {
        const auto kernel = host_with_vlan(config, address);
        EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state())), "");
        EXPECT_EQ(steps_of(plan_removal(400, config, kernel.state())), "");
        const auto plan = plan_network(bridged(400), config, kernel.state(), {});
        EXPECT_TRUE(plan.is_refused && plan.steps.empty());
        EXPECT_EQ(remarks_of(plan.remarks),
                  "error network-refused: network 400: vlan400 is a link of this host's own: it has " + address + "\n");
        EXPECT_EQ(foreign_links(config, kernel.state(), {}, {}), texts{"vlan400 (it has " + address + ")"});
    }
}

TEST(whose_links, each_sign_that_a_base_is_somebody_elses) {
    const auto config = config_of(client_words());
    const auto why = [&](const toy_kernel& kernel, const whose_links& whose = {}) {
        const auto plan = plan_network(bridged(400), config, kernel.state(), {}, whose);
        EXPECT_EQ(plan.is_refused, plan.steps.empty());
        EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state(), {}, whose)), "");
        const auto text = remarks_of(plan.remarks);
        return text.substr(std::min(text.rfind(": ") + 2, text.size()));
    };
    EXPECT_EQ(why(host_with_vlan(config, "")), "") << "a bare one is used";
    auto routed = host_with_vlan(config, "");
    routed.apply(model::set_up{"vlan400"});
    routed.add_route("vlan400", model::link_route{{*parse_host_address("198.51.100.0/24")}});
    EXPECT_EQ(why(routed), "routes lead over it\n");
    auto port = host_with_vlan(config, "");
    port.add(link_named("br0", "bridge"));
    port.apply(model::set_master{"vlan400", "br0"});
    EXPECT_EQ(why(port), "it is a port of br0\n");
    EXPECT_EQ(why(host_with_vlan(config, ""), {{}, {"vlan400"}}), "the network configuration of this host names it\n");
    auto local = host_with_vlan(config, "fe80::7/64");
    EXPECT_EQ(why(local), "") << "the kernel makes those";
}

TEST(whose_links, a_bare_vlan_is_used_by_its_network_and_stays_behind) {
    const auto config = config_of(client_words());
    auto kernel = host_with_vlan(config, "");
    const int index = kernel.link("vlan400").index;
    whose_links whose;
    network_memory memory;
    for (int look = 0; look < 3; ++look) {
        const auto plan = plan_network(bridged(400), config, kernel.state(), memory, whose);
        EXPECT_EQ(plan.bases, (own_bases{{"vlan400", {index, false}}}));
        carry_out(kernel, plan);
        memory = plan.next;
        whose.bases = bases_after_look(whose.bases, plan.bases, kernel.state());
    }
    EXPECT_EQ(kernel.master_of("vlan400"), "vmbr400");
    // Also by a daemon that begins then, and after the network was removed while none ran.
    const int bridge = kernel.link("vmbr400").index;
    carry_out(kernel, plan_sweep({}, config, kernel.state(), {{400, {bridge, false}}}, whose));
    EXPECT_FALSE(kernel.has("vmbr400"));
    EXPECT_EQ(kernel.link("vlan400").index, index);
    EXPECT_EQ(kernel.master_of("vlan400"), "");
}

TEST(whose_links, what_it_made_goes_whatever_somebody_gave_it_meanwhile) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    const auto before = kernel.state();
    whose_links whose;
    network_memory memory;
    auto plan = plan_network(bridged(400), config, kernel.state(), memory, whose);
    EXPECT_EQ(plan.bases, (own_bases{{"vlan400", {recorded_base::coming, true}}}));
    whose.bases = bases_after_look({}, plan.bases, kernel.state());
    carry_out(kernel, plan);
    plan = plan_network(bridged(400), config, kernel.state(), plan.next, whose);
    whose.bases = bases_after_look(whose.bases, plan.bases, kernel.state());
    EXPECT_EQ(whose.bases, (own_bases{{"vlan400", {kernel.link("vlan400").index, true}}}));
    kernel.add_address("vlan400", "192.0.2.10/24");
    EXPECT_FALSE(plan_network(bridged(400), config, kernel.state(), plan.next, whose).is_refused);
    EXPECT_TRUE(foreign_links(config, kernel.state(), {}, whose).empty());
    carry_out(kernel, plan_removal(400, config, kernel.state(), kernel.link("vmbr400").index, whose));
    EXPECT_EQ(kernel.state(), before);
    // One that somebody made in its place is another.
    auto anothers = host_with_vlan(config, "192.0.2.10/24");
    const whose_links old{{{"vlan400", {anothers.link("vlan400").index + 1, true}}}};
    EXPECT_EQ(steps_of(plan_sweep({}, config, anothers.state(), {}, old)), "");
    EXPECT_TRUE(bases_after_look(old.bases, {}, anothers.state()).empty());
}

TEST(whose_links, one_that_was_about_to_be_made_and_was_not_is_forgotten) {
    const auto config = config_of(client_words());
    const auto kernel = host_of(config);
    const own_bases coming{{"vlan400", {}}};
    EXPECT_EQ(bases_after_look({}, coming, kernel.state()), coming);
    EXPECT_TRUE(bases_after_look(coming, {}, kernel.state()).empty());
}

TEST(whose_links, a_vxlan_of_the_operators) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    kernel.apply(model::make_vxlan{"vxlan7", "eth0", 7});
    kernel.add_address("vxlan7", "192.0.2.10/24");
    EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state())), "");
    EXPECT_TRUE(plan_network(managed(7), config, kernel.state(), {}).is_refused);
    EXPECT_EQ(foreign_links(config, kernel.state(), {}, {}), texts{"vxlan7 (it has 192.0.2.10/24)"});
}

// As far as they show it without the keys of a network.
TEST(whose_links, bridges_of_the_operators_are_listed) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    for (const auto* name : {"vmbr400", "vmbr401", "vmbr402"}) {
        kernel.add(link_named(name, "bridge"));
    }
    kernel.add(link_named("vnet0", "tun"));
    kernel.apply(model::set_master{"vnet0", "vmbr400"});
    kernel.add_address("vmbr401", "192.0.2.10/24");
    EXPECT_TRUE(foreign_links(config, kernel.state(), {}, {}).empty()) << "it may be a gateway";
    kernel.add(link_named("bond7", "bond"));
    kernel.apply(model::set_master{"bond7", "vmbr402"});
    EXPECT_EQ(foreign_links(config, kernel.state(), {}, {}), texts{"vmbr402 (it has the port bond7)"});
    auto with_stp = host_of(config);
    auto bridge = link_named("vmbr403", "bridge");
    bridge.has_stp = true;
    with_stp.add(bridge);
    EXPECT_EQ(foreign_links(config, with_stp.state(), {}, {}), texts{"vmbr403 (it has STP switched on)"});
    EXPECT_TRUE(plan_network(managed(403), config, with_stp.state(), {}).is_refused);
    // With its base in it a node daemon made it, and an operator changed it.
    with_stp.apply(model::make_vxlan{"vxlan403", "eth0", 403});
    with_stp.apply(model::set_master{"vxlan403", "vmbr403"});
    EXPECT_TRUE(foreign_links(config, with_stp.state(), {}, {}).empty());
}

TEST(whose_links, a_bridge_that_the_hosts_configuration_names_stays) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    kernel.add(link_named("vmbr400", "bridge"));
    kernel.apply(model::make_vlan{"vlan400", "eth0", 400});
    const whose_links whose{{}, {"vmbr400"}};
    EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state(), {}, whose)), "");
    EXPECT_EQ(remarks_of(plan_network(bridged(400), config, kernel.state(), {}, whose).remarks),
              "error network-refused: network 400: vmbr400 is somebody else's: it has an entry in the network "
              "configuration of "
              "this host\n");
}

TEST(whose_links, a_named_bridge_stays_with_its_port) {
    const auto config = config_of(client_words());
    auto kernel = host_with_vlan(config, "");
    kernel.add(link_named("vmbr400", "bridge"));
    kernel.apply(model::set_master{"vlan400", "vmbr400"});
    const whose_links whose{{}, {"vmbr400"}};
    EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state(), {}, whose)), "");
    EXPECT_EQ(steps_of(plan_removal(400, config, kernel.state(), 0, whose)), "");
    EXPECT_TRUE(plan_network(bridged(400), config, kernel.state(), {}, whose).is_refused);
    EXPECT_TRUE(plan_network(managed(400), config, kernel.state(), {}, whose).is_refused);
    EXPECT_NE(steps_of(plan_sweep({}, config, kernel.state())), "") << "without a name it is one of a node daemon's";
}

// An operator who lets ifupdown make the VLAN of a network, as the daemon before this one did not mind.
TEST(whose_links, a_named_vlan_in_the_bridge_of_its_network_is_used_and_stays) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    network_memory memory;
    settle(kernel, bridged(400), config, memory);
    const int index = kernel.link("vlan400").index;
    const int bridge = kernel.link("vmbr400").index;
    whose_links whose{{}, {"vlan400"}};
    network_memory known;
    known.own_bridge = bridge;
    const auto plan = plan_network(bridged(400), config, kernel.state(), known, whose);
    EXPECT_FALSE(plan.is_refused) << remarks_of(plan.remarks);
    EXPECT_EQ(plan.bases, (own_bases{{"vlan400", {index, false}}}));
    whose.bases = plan.bases;
    carry_out(kernel, plan_removal(400, config, kernel.state(), bridge, whose));
    EXPECT_FALSE(kernel.has("vmbr400"));
    EXPECT_TRUE(kernel.has("vlan400"));
}

TEST(whose_links, that_one_was_about_to_be_made_does_not_make_another_it) {
    const auto config = config_of(client_words());
    const auto kernel = host_with_vlan(config, "192.0.2.10/24");
    const whose_links whose{{{"vlan400", {}}}};
    EXPECT_TRUE(plan_network(bridged(400), config, kernel.state(), {}, whose).is_refused);
    EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state(), {}, whose)), "");
    EXPECT_EQ(foreign_links(config, kernel.state(), {}, whose), texts{"vlan400 (it has 192.0.2.10/24)"});
}

TEST(whose_links, one_that_was_used_once_is_nobodys_afterwards) {
    const auto config = config_of(client_words());
    auto kernel = host_with_vlan(config, "");
    own_bases bases{{"vlan400", {kernel.link("vlan400").index, false}}};
    EXPECT_TRUE(bases_after_look(bases, {}, kernel.state()).empty());
    kernel.add_address("vlan400", "192.0.2.10/24");
    EXPECT_TRUE(plan_network(bridged(400), config, kernel.state(), {}, {bases}).is_refused);
}

TEST(whose_links, what_others_stand_on_is_theirs) {
    const auto config = config_of(client_words());
    auto kernel = host_with_vlan(config, "");
    auto upper = link_named("vlan400.10", "vlan");
    upper.vlan_id = 10;
    upper.lower = kernel.link("vlan400").index;
    kernel.add(upper);
    EXPECT_EQ(remarks_of(plan_network(bridged(400), config, kernel.state(), {}).remarks),
              "error network-refused: network 400: vlan400 is a link of this host's own: vlan400.10 stands on it\n");
}

TEST(whose_links, a_managed_network_takes_no_vlan_out_of_a_strangers_bridge) {
    const auto config = config_of(client_words());
    auto kernel = host_with_vlan(config, "");
    kernel.add(link_named("vmbr400", "bridge"));
    kernel.apply(model::set_master{"vlan400", "vmbr400"});
    const whose_links whose{{}, {"vlan400"}};
    EXPECT_EQ(steps_of(plan_network(managed(400), config, kernel.state(), {}, whose)), "");
}

TEST(client_strangers, links_that_are_not_what_would_be_made_are_refused) {
    const auto config = config_of(client_words());
    const auto refusal = [&](const model::network_link& link, const model::client_network& network) {
        auto kernel = host_of(config);
        auto there = link;
        there.lower = link.lower == 0 ? 0 : kernel.link("eth1").index;
        kernel.add(there);
        const auto plan = plan_network(network, config, kernel.state(), {});
        EXPECT_TRUE(plan.is_refused && plan.steps.empty());
        return remarks_of(plan.remarks);
    };
    auto vxlan = link_named("vxlan7", "vxlan");
    vxlan.vxlan = model::vxlan_settings{.vni = 7};
    vxlan.lower = 1;  // on eth1
    const std::string not_ours = "error network-refused: network 7: vxlan7 is there and is not VXLAN 7 on eth0\n";
    EXPECT_EQ(refusal(vxlan, managed(7)), not_ours);
    vxlan.name = "overlay";
    EXPECT_EQ(refusal(vxlan, managed(7)), "error network-refused: network 7: VXLAN 7 is there already as overlay\n");
    EXPECT_EQ(refusal(link_named("vxlan7", "veth"), managed(7)), not_ours);
    EXPECT_EQ(refusal(link_named("vmbr7", "veth"), managed(7)),
              "error network-refused: network 7: vmbr7 is there and is no bridge\n");
    EXPECT_EQ(refusal(link_named("vlan7", "veth"), bridged(7)),
              "error network-refused: network 7: vlan7 is there and is not VLAN 7 on eth0\n");

    auto kernel = host_of(config);
    settle(kernel, managed(7), config);
    for (const auto& change :
         {+[](model::vxlan_settings& s) { s.port = 8472; }, +[](model::vxlan_settings& s) { s.is_learning = false; },
          +[](model::vxlan_settings& s) { s.has_local = true; }, +[](model::vxlan_settings& s) { s.has_remote = true; },
          +[](model::vxlan_settings& s) { s.vni = 8; }}) {
        auto other = kernel;
        auto link = other.link("vxlan7");
        other.remove("vxlan7");
        change(*link.vxlan);
        link.master = 0;
        other.add(link);
        const auto plan = plan_network(managed(7), config, other.state(), {});
        EXPECT_TRUE(plan.is_refused);
        EXPECT_EQ(remarks_of(plan.remarks).find("not as FRR needs it for EVPN: it has ") != std::string::npos,
                  link.vxlan->vni == 7);
        EXPECT_EQ(steps_of(plan_removal(7, config, other.state())).find("vxlan7"), std::string::npos);
        // In its bridge it is a network's, made by a node daemon: what can be set on a live link is put right.
        other.apply(model::set_master{"vxlan7", "vmbr7"});
        const bool is_changeable = link.vxlan->vni == 7 && link.vxlan->port == 4789;
        const auto repaired = plan_network(managed(7), config, other.state(), {});
        EXPECT_EQ(repaired.is_refused, !is_changeable);
        EXPECT_EQ(steps_of(repaired).find("switch learning on and take local and remote address away on vxlan7") !=
                      std::string::npos,
                  is_changeable);
        EXPECT_EQ(steps_of(plan_removal(7, config, other.state())).find("delete link vxlan7") != std::string::npos,
                  is_changeable);
        if (is_changeable) {
            network_memory memory;
            settle(other, managed(7), config, memory);
            EXPECT_EQ(other.link("vxlan7").vxlan, model::vxlan_settings{.vni = 7});
        }
    }
    EXPECT_TRUE(plan_network(bridged(5000), config, kernel.state(), {}).is_refused);
    auto words = client_words();
    words.bridge_device = "None";
    words.bridge_mtu = "None";
    EXPECT_EQ(remarks_of(plan_network(bridged(7), config_of(words), kernel.state(), {}).remarks),
              "error network-refused: network 7: bridge_device is not configured\n");
}

TEST(client_strangers, bridges_in_which_machines_have_ports) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    const auto seen = [&] { return bridges_of_machines(config, kernel.state()); };
    kernel.add(link_named("vmbr7", "bridge"));
    kernel.add(link_named("br7", "bridge"));
    kernel.add_address("vmbr7", "192.0.2.5/24");
    for (const auto* name : {"vnet0", "vnet1"}) {
        kernel.add(link_named(name, "tun"));
    }
    kernel.apply(model::set_master{"vnet1", "br7"});
    EXPECT_TRUE(seen().empty());
    kernel.apply(model::set_master{"vnet0", "vmbr7"});
    EXPECT_EQ(seen(), (std::map<std::uint32_t, machine_bridge>{{7, {}}}));
    kernel.apply(model::make_vxlan{"vxlan7", "eth0", 7});
    kernel.apply(model::set_master{"vxlan7", "vmbr7"});
    EXPECT_EQ(seen(), (std::map<std::uint32_t, machine_bridge>{{7, {true, false}}}));
    // The host is reached over it.
    kernel.add(link_named("ens9"));
    kernel.apply(model::set_master{"ens9", "vmbr7"});
    EXPECT_TRUE(seen().empty());
    kernel.apply(model::remove_address{"vmbr7", *parse_host_address("192.0.2.5/24")});
    EXPECT_EQ(seen().size(), 1U);
}

// What a container of the host asks of it is nobody's business here.
TEST(client_strangers, a_bridge_in_which_containers_alone_have_ports) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    const auto seen = [&] { return bridges_of_machines(config, kernel.state()); };
    kernel.add(link_named("vmbr7", "bridge"));
    kernel.apply(model::make_vxlan{"vxlan7", "eth0", 7});
    kernel.apply(model::set_master{"vxlan7", "vmbr7"});
    kernel.add(link_named("veth12ab", "veth"));
    kernel.apply(model::set_master{"veth12ab", "vmbr7"});
    EXPECT_TRUE(seen().empty());
    for (const auto& [name, kind] : {std::pair{"vnet3", "veth"}, {"vnet3", "tun"}, {"macvtap0", "macvtap"}}) {
        kernel.add(link_named(name, kind));
        kernel.apply(model::set_master{name, "vmbr7"});
        EXPECT_EQ(seen(), (std::map<std::uint32_t, machine_bridge>{{7, {true, false}}})) << name << " " << kind;
        kernel.remove(name);
    }
    EXPECT_TRUE(seen().empty());
}

TEST(client_strangers, a_bridge_that_carries_the_host_is_the_hosts) {
    auto words = client_words();
    auto config = config_of(words);
    config.host_bridges.front().device = config.device_mtus.front().device = "vmbr7";  // which no file can say
    toy_kernel kernel;
    for (const auto* name : {"eth0", "eth1"}) {
        kernel.add(link_named(name));
    }
    kernel.add(link_named("vmbr8", "bridge"));
    kernel.apply(model::set_master{"eth0", "vmbr8"});
    EXPECT_TRUE(plan_network(bridged(7), config, kernel.state(), {}).is_refused);  // by its name
    EXPECT_TRUE(plan_network(bridged(8), config, kernel.state(), {}).is_refused);  // the trunk is its port
    EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state())), "");
}

TEST(client_strangers, what_the_hosts_devices_stand_on_is_the_hosts) {
    auto words = client_words();
    words.upstream_device = "up0";
    const auto config = config_of(words);
    toy_kernel kernel;
    kernel.add(link_named("eth0"));
    kernel.apply(model::make_vlan{"vlan7", "eth0", 7});
    auto above = link_named("up0", "macvlan");
    above.lower = kernel.link("vlan7").index;
    kernel.add(above);
    const auto plan = plan_network(bridged(7), config, kernel.state(), {});
    EXPECT_EQ(remarks_of(plan.remarks),
              "error network-refused: network 7: vlan7 is a link of this host's own network\n");
    EXPECT_TRUE(plan.is_refused && plan.steps.empty());
    const auto sweep = plan_sweep({}, config, kernel.state());
    EXPECT_EQ(steps_of(sweep) + remarks_of(sweep.remarks), "");  // not even a word: it is none of a client network
}

// Its base went with the device below it, and the network changed, while no daemon ran.
TEST(client_strangers, a_bridge_that_is_recorded_is_the_networks_own_whatever_it_has) {
    const auto config = config_of(client_words());
    auto kernel = host_of(config);
    const auto before = kernel.state();
    auto network = managed(7);
    network_memory memory;
    settle(kernel, network, config, memory);
    const int index = kernel.link("vmbr7").index;
    EXPECT_EQ(memory.own_bridge, index);
    kernel.apply(model::delete_link{"vxlan7"});
    kernel.add_address("vmbr7", "192.0.2.1/24");
    const auto recorded = [](int bridge) {
        network_memory known;
        known.own_bridge = bridge;
        return known;
    };
    for (const int other : {0, index + 1}) {
        const auto plan = plan_network(network, config, kernel.state(), recorded(other));
        EXPECT_EQ(remarks_of(plan.remarks),
                  "error network-refused: network 7: vmbr7 is somebody else's: it has the address 192.0.2.1/24\n");
        EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state(), {{7, {other, true}}})), "");
        EXPECT_EQ(steps_of(plan_removal(7, config, kernel.state(), other)), "");
    }
    const auto plan = plan_network(network, config, kernel.state(), recorded(index));
    EXPECT_FALSE(plan.is_refused);
    EXPECT_NE(steps_of(plan).find("make vxlan7 a port of vmbr7"), std::string::npos) << steps_of(plan);
    EXPECT_EQ(steps_of(plan_removal(7, config, kernel.state(), index)), "set vmbr7 down\ndelete link vmbr7\n");
    // It has a machine: then it stays all the same.
    auto used = kernel;
    used.add(link_named("vnet0", "tun"));
    used.apply(model::set_master{"vnet0", "vmbr7"});
    EXPECT_EQ(steps_of(plan_sweep({}, config, used.state(), {{7, {index, true}}})), "");
    carry_out(kernel, plan_sweep({}, config, kernel.state(), {{7, {index, true}}}));
    EXPECT_EQ(kernel.state(), before);
}

TEST(client_strangers, links_that_others_stand_on_stay) {
    const auto config = config_of(client_words());
    for (const auto* below : {"vmbr7", "vxlan7"}) {
        auto kernel = host_of(config);
        settle(kernel, managed(7), config);
        auto upper = link_named("mac0", "macvlan");
        upper.lower = kernel.link(below).index;
        kernel.add(upper);
        const auto plan = plan_removal(7, config, kernel.state());
        EXPECT_EQ(steps_of(plan), "");
        EXPECT_EQ(plan.remarks.size(), 1U);
    }
    auto kernel = host_of(config);
    settle(kernel, managed(7), config);
    kernel.add(link_named("br9", "bridge"));
    kernel.apply(model::set_master{"vxlan7", "br9"});
    EXPECT_EQ(steps_of(plan_removal(7, config, kernel.state())), "set vmbr7 down\ndelete link vmbr7\n");
    const whose_links recorded{{{"vxlan7", {kernel.link("vxlan7").index, true}}}};
    EXPECT_EQ(steps_of(plan_removal(7, config, kernel.state(), 0, recorded)), "") << "br9 uses what this daemon made";
}

// Somebody named a bridge of the host so; one of ours has its base in it, or nothing but guests and gateways.
TEST(client_strangers, a_bridge_of_somebody_else_is_refused) {
    const auto config = config_of(client_words());
    const auto plan_with = [&](const std::string& port, const std::string& address, const network_memory& known = {}) {
        auto kernel = host_of(config);
        kernel.add(link_named("vmbr7", "bridge"));
        if (!port.empty()) {
            kernel.add(link_named(port, port == "vnet0" ? "tun" : ""));
            kernel.apply(model::set_master{port, "vmbr7"});
        }
        if (!address.empty()) {
            kernel.add_address("vmbr7", address);
        }
        auto network = managed(7);
        network.ip4.network = parse_host_address("10.7.0.0/24").value();
        network.ip4.gateway = parse_host_address("10.7.0.9/24").value().address;
        auto memory = known;
        if (memory.bridge != 0) {
            memory.bridge = kernel.link("vmbr7").index;
        }
        return plan_network(network, config, kernel.state(), memory);
    };
    EXPECT_EQ(remarks_of(plan_with("ens9", "").remarks),
              "error network-refused: network 7: vmbr7 is somebody else's: it has the port ens9\n");
    EXPECT_EQ(remarks_of(plan_with("", "192.0.2.5/24").remarks),
              "error network-refused: network 7: vmbr7 is somebody else's: it has the address 192.0.2.5/24\n");
    EXPECT_EQ(remarks_of(plan_with("", "fd00:77::5/64").remarks),
              "error network-refused: network 7: vmbr7 is somebody else's: it has the address fd00:77::5/64\n");
    EXPECT_EQ(remarks_of(plan_with("vnet0", "10.7.0.8/24").remarks),
              "error network-refused: network 7: vmbr7 is somebody else's: it has the address 10.7.0.8/24\n");
    EXPECT_TRUE(plan_with("ens9", "192.0.2.5/24").steps.empty());
    for (const auto& [port, address] : std::vector<std::pair<std::string, std::string>>{
             {"", ""}, {"vnet0", ""}, {"vnet0", "10.7.0.9/24"}, {"", "fe80::1/64"}}) {
        EXPECT_FALSE(plan_with(port, address).is_refused) << port << " " << address;
    }
    // It was ours before somebody put that in.
    network_memory known;
    known.bridge = 1;
    EXPECT_FALSE(plan_with("ens9", "192.0.2.5/24", known).is_refused);
}

// A lifetime says of an IPv4 address that a DHCP client gave it, which is as good as a hand; of an IPv6 one it may come
// from a router among the guests.
TEST(client_strangers, an_address_of_a_dhcp_client_is_somebodys) {
    const auto config = config_of(client_words());
    auto network = managed(7);
    network.ip4.network = parse_host_address("10.7.0.0/24").value();
    network.ip4.gateway = parse_host_address("10.7.0.1/24").value().address;
    struct row {
        std::string address;
        bool is_permanent;
        bool is_foreign;
    };
    for (const auto& one : std::vector<row>{{"192.0.2.5/24", false, true},
                                            {"192.0.2.5/24", true, true},
                                            {"10.7.0.1/24", true, false},
                                            {"fd00:77::5/64", true, true},
                                            {"fd00:77::5/64", false, false}}) {
        auto kernel = host_of(config);
        kernel.add(link_named("vmbr7", "bridge"));
        kernel.add_address("vmbr7", one.address, one.is_permanent);
        const auto plan = plan_network(network, config, kernel.state(), {});
        EXPECT_EQ(plan.is_refused, one.is_foreign) << one.address;
        EXPECT_EQ(remarks_of(plan.remarks),
                  one.is_foreign ? "error network-refused: network 7: vmbr7 is somebody else's: it has the address " +
                                       one.address + "\n"
                                 : "");
        EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state())), "") << one.address;
        // With its base in it, it is ours whatever else it has.
        kernel.apply(model::make_vxlan{"vxlan7", "eth0", 7});
        kernel.apply(model::set_master{"vxlan7", "vmbr7"});
        EXPECT_FALSE(plan_network(network, config, kernel.state(), {}).is_refused) << one.address;
    }
}

// Neither this daemon nor the reference makes a bridge with STP, or gives it an address of another scope.
TEST(client_strangers, a_bridge_with_stp_or_an_address_of_scope_link_is_somebodys) {
    const auto config = config_of(client_words());
    auto clean = host_of(config);
    const auto plain = [&] {
        auto kernel = clean;
        kernel.add(link_named("vmbr7", "bridge"));
        return kernel;
    };
    const auto with_stp = [&] {
        auto kernel = clean;
        auto link = link_named("vmbr7", "bridge");
        link.has_stp = link.is_up = true;
        kernel.add(link);
        return kernel;
    };
    const auto with_address = [&] {
        auto kernel = plain();
        kernel.add_address_of_scope_link("vmbr7", "169.254.5.5/16");
        return kernel;
    };
    EXPECT_EQ(steps_of(plan_sweep({}, config, plain().state())), "delete link vmbr7\n");
    EXPECT_FALSE(plan_network(managed(7), config, plain().state(), {}).is_refused);
    for (const auto& [make, why] : {std::pair<std::function<toy_kernel()>, std::string>{with_stp, "STP switched on"},
                                    {with_address, "the address 169.254.5.5/16"}}) {
        auto kernel = make();
        const int index = kernel.link("vmbr7").index;
        const auto sweep = plan_sweep({}, config, kernel.state());
        EXPECT_EQ(steps_of(sweep) + remarks_of(sweep.remarks), "");
        const auto plan = plan_network(managed(7), config, kernel.state(), {});
        EXPECT_EQ(remarks_of(plan.remarks),
                  "error network-refused: network 7: vmbr7 is somebody else's: it has " + why + "\n");
        EXPECT_EQ(steps_of(plan) + steps_of(plan_removal(7, config, kernel.state())), "");
        // One that was ours before somebody did that stays so.
        network_memory known;
        known.own_bridge = index;
        EXPECT_FALSE(plan_network(managed(7), config, kernel.state(), known).is_refused);
        EXPECT_NE(steps_of(plan_sweep({}, config, kernel.state(), {{7, {index, true}}})), "");
        // A base beside it proves nothing; one in it does.
        kernel.apply(model::make_vxlan{"vxlan7", "eth0", 7});
        EXPECT_EQ(steps_of(plan_sweep({}, config, kernel.state())), "");
        EXPECT_TRUE(plan_network(managed(7), config, kernel.state(), {}).is_refused);
        kernel.apply(model::set_master{"vxlan7", "vmbr7"});
        EXPECT_FALSE(plan_network(managed(7), config, kernel.state(), {}).is_refused);
        EXPECT_NE(steps_of(plan_sweep({}, config, kernel.state())).find("delete link vmbr7"), std::string::npos);
    }
}

}  // namespace
}  // namespace pvc::policy
