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
    EXPECT_EQ(found.names, (texts{"lo", "bond0", "lo", "eth0", "bond0", "vlan400", "vlan400", "bond0.400"}));
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
