// What files of ifupdown name (README ruling 79).
#include "pvcnoded/policy/networks/ifupdown.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;

TEST(ifupdown, a_file_as_people_have_it) {
    const auto found = parse_ifupdown(
        "# This file describes the network interfaces\n"
        "source /etc/network/interfaces.d/*\n"
        "source-directory interfaces.more\n"
        "auto lo bond0\niface lo inet loopback\n\n"
        "allow-hotplug \\\n    eth0\n"
        "iface bond0 inet manual\n    bond-slaves eth0 eth1\n"
        "\tauto vlan400:1\r\n"
        "iface vlan400 inet static\n  address 192.0.2.10/24\n  vlan-raw-device bond0\n"
        "no-auto-down x\nauto\niface\n");
    EXPECT_EQ(found.names,
              (texts{"lo", "bond0", "lo", "eth0", "bond0", "eth0", "eth1", "vlan400", "vlan400", "bond0.400"}));
    EXPECT_EQ(found.ports, (std::vector<named_port>{{"eth0", "bond0"}, {"eth1", "bond0"}}));
    EXPECT_EQ(found.sources, (std::vector<ifupdown_source>{{"/etc/network/interfaces.d/*", 2}}));
    EXPECT_EQ(found.folders, (std::vector<ifupdown_source>{{"interfaces.more", 3}}));
    EXPECT_EQ(parse_ifupdown(""), ifupdown_file());
}

// The kernel has each VLAN of a device once.
TEST(ifupdown, a_vlan_is_known_by_its_device_and_number_too) {
    const auto names = [](const std::string& text) { return parse_ifupdown(text).names; };
    EXPECT_EQ(names("iface bond0.20 inet manual\n"), texts{"bond0.20"});
    EXPECT_EQ(names("iface bond0.0020 inet manual\n"), (texts{"bond0.0020", "bond0.20"}));
    EXPECT_EQ(names("iface vlan0020 inet manual\n  vlan-raw-device bond0\n"), (texts{"vlan0020", "bond0.20"}));
    EXPECT_EQ(names("iface lan inet manual\n  vlan-id 20\n  vlan-raw-device bond0\niface x inet manual\n"),
              (texts{"lan", "x", "bond0.20"}));
    EXPECT_EQ(names("iface lan inet manual\n  vlan_raw_device bond0\n  vlan_id 20\n"), (texts{"lan", "bond0.20"}));
    EXPECT_EQ(names("iface bond0.20 inet manual\n  vlan-raw-device bond1\n"), (texts{"bond0.20", "bond1.20"}));
    for (const std::string of_none :
         {"lan inet manual\n  vlan-id 20\n", "vlan20 inet manual\n", "eth0.x inet manual\n",
          "lan inet manual\n  vlan-raw-device bond0\n", "vlan4095 inet manual\n  vlan-raw-device bond0\n"}) {
        EXPECT_EQ(names("iface " + of_none).size(), 1U) << of_none;
    }
}

// ifup makes a VLAN for such a list that has no stanza.
TEST(ifupdown, lists_of_ports_name_them_and_say_what_they_are_a_port_of) {
    const std::string long_name(200, 'x');
    const struct {
        std::string text;
        texts names;
        std::vector<named_port> ports;
    } rows[] = {
        {"iface br0 inet manual\n bridge_ports bond0.20 eth9\n",
         {"br0", "bond0.20", "eth9"},
         {{"bond0.20", "br0"}, {"eth9", "br0"}}},
        {"iface br0:1 inet manual\n bridge-ports bond0.0020\n",
         {"br0", "bond0.0020", "bond0.20"},
         {{"bond0.0020", "br0"}}},
        {"iface bond1 inet manual\n slaves eth0 \\\n eth1\n",
         {"bond1", "eth0", "eth1"},
         {{"eth0", "bond1"}, {"eth1", "bond1"}}},
        {"iface b inet manual\n bond-slaves eth0\n", {"b", "eth0"}, {{"eth0", "b"}}},
        {"iface b inet manual\n bond_slaves eth0\n", {"b", "eth0"}, {{"eth0", "b"}}},
        {"iface b inet manual\n ovs_ports vlan20\n", {"b", "vlan20"}, {{"vlan20", "b"}}},
        {"iface b inet manual\n ovs_bonds eth0\n", {"b", "eth0"}, {{"eth0", "b"}}},
        {"iface eth0 inet manual\n bond-master bond0\niface x inet manual\n", {"eth0", "x"}, {{"eth0", "bond0"}}},
        {"iface eth0 inet manual\n ovs_bridge br0\n", {"eth0"}, {{"eth0", "br0"}}},
        {"iface b inet manual\n bridge_ports none\n", {"b"}, {}},
        {"iface b inet manual\n bridge_ports all regex vlan.* noregex eth1 regex x\n", {"b", "eth1"}, {{"eth1", "b"}}},
        {"iface b inet manual\n bridge_ports glob swp1-4.20 eth1\n",
         {"b", "swp[1-4].20", "eth1"},
         {{"swp[1-4].20", "b"}, {"eth1", "b"}}},
        {"iface b inet manual\n bridge-ports glob eth0.[1-20] glob bond0.20-29 noglob br-1-2\n",
         {"b", "eth0.[1-20]", "bond0.[20-29]", "br-1-2"},
         {{"eth0.[1-20]", "b"}, {"bond0.[20-29]", "b"}, {"br-1-2", "b"}}},
        {"iface b inet manual\n bridge-ports regex glob x-y 1-\n", {"b", "x-y", "1-"}, {{"x-y", "b"}, {"1-", "b"}}},
        {"iface b inet manual\n bridge_ports /vxlan* " + long_name + "\n", {"b"}, {}},
        {"iface eth0 inet manual\n bond-master none\n", {"eth0"}, {}},
        {"bridge_ports vxlan1111\nbond-master x\n", {"vxlan1111"}, {}},
    };
    for (const auto& row : rows) {
        const auto found = parse_ifupdown(row.text);
        EXPECT_EQ(found.names, row.names) << row.text;
        EXPECT_EQ(found.ports, row.ports) << row.text;
    }
    named_links all;
    all.add(parse_ifupdown(rows[0].text));
    all.add(parse_ifupdown("iface br1 inet manual\n bridge_ports eth9\n"));
    EXPECT_EQ(all.names, (std::set<std::string, std::less<>>{"bond0.20", "br0", "br1", "eth9"}));
    EXPECT_EQ(all.masters, (named_masters{{"bond0.20", {"br0"}}, {"eth9", {"br0", "br1"}}}));
}

// Of ifupdown2.
TEST(ifupdown, numbers_of_links_that_are_called_otherwise_are_known) {
    const struct {
        std::string text;
        texts names;
        std::vector<named_number> access{};
    } rows[] = {
        {"iface overlay inet manual\n vxlan-id 1111\n", {"overlay", "vxlan1111"}},
        {"iface overlay inet manual\n vxlan-id 1111\n vxlan-port 4789\n", {"overlay", "vxlan1111"}},
        {"iface overlay inet manual\n vxlan-port 8472\n vxlan-id 1111\n", {"overlay"}},
        {"iface vxlan1111 inet manual\n vxlan-id 1111\n", {"vxlan1111"}},
        {"iface x inet manual\n vxlan-id 16777216\niface y inet manual\n vxlan-id 0\n", {"x", "y"}},
        {"auto vlan[100-110]\niface vlan[100-110] inet manual\n vlan-raw-device bond0\n",
         {"vlan[100-110]", "vlan[100-110]", "bond0.[100-110]"}},
        {"iface swp1 inet manual\n bridge-access 100\n", {"swp1"}, {{"swp1", 100}}},
        {"iface swp1 inet manual\n bridge-access 4095\n bridge-vids 2-4094\n", {"swp1"}},
        {"bridge-access 100\nvxlan-id 1\n", {"vxlan1"}},
    };
    for (const auto& row : rows) {
        const auto found = parse_ifupdown(row.text);
        EXPECT_EQ(found.names, row.names) << row.text;
        EXPECT_EQ(found.access, row.access) << row.text;
    }
}

TEST(ifupdown, a_line_that_goes_on_has_the_number_of_its_first_part) {
    EXPECT_EQ(parse_ifupdown("auto a \\\n  b\nsource \\\n x y\n").sources,
              (std::vector<ifupdown_source>{{"x", 3}, {"y", 3}}));
}

TEST(ifupdown, paths_for_a_shell) {
    for (const auto* path : {"$HOME/x", "~/x", "`x`", "\"x\"", "'x'", "a\\*"}) {
        EXPECT_TRUE(is_for_shell(path)) << path;
    }
    for (const auto* path : {"/etc/network/*/[a-c]?.conf", "interfaces.d/50-a_b"}) {
        EXPECT_FALSE(is_for_shell(path)) << path;
    }
}

TEST(ifupdown, names_of_files_in_a_folder) {
    for (const auto* name : {"vlans", "50-bond_0"}) {
        EXPECT_TRUE(is_ifupdown_name(name)) << name;
    }
    for (const auto* name : {"", "vlans.bak", "vlans~", ".hidden", "a b"}) {
        EXPECT_FALSE(is_ifupdown_name(name)) << name;
    }
}

}  // namespace
}  // namespace pvc::policy
