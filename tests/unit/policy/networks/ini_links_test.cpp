// What files of systemd-networkd and NetworkManager name (README ruling 79).
#include "pvcnoded/policy/networks/ini_links.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

std::set<std::string, std::less<>> names_of_all(const std::vector<names_in_file>& files) {
    named_links all;
    for (const auto& one : files) {
        all.add(one);
    }
    return all.names;
}
using names_of_links = std::set<std::string, std::less<>>;

TEST(networkd_files, links_are_named_and_vlans_by_the_device_that_asks_for_them) {
    const auto lan =
        parse_netdev("# ours\n[NetDev]\nName = lan\r\nKind=vlan\n\n[VLAN]\n; no\nId=20\n[NetDev]\nMTUBytes=1400\n");
    const auto bond =
        parse_network_file("[Match]\nName=bond0 bond1\n[Network]\nVLAN=lan\nVLAN=wan other\nBridge=br0\n");
    EXPECT_EQ(names_of_all({lan}), (names_of_links{"lan"})) << "nobody asks for it";
    EXPECT_EQ(names_of_all({lan, bond}), (names_of_links{"lan", "bond0.20", "bond1.20"}));
    EXPECT_EQ(names_of_all({bond, lan}), (names_of_links{"lan", "bond0.20", "bond1.20"})) << "in whatever order";
    EXPECT_EQ(bond.ports, (std::vector<named_port>{{"bond0", "br0"}, {"bond1", "br0"}}));
    // By other means than names it may be any device.
    for (const auto* match : {"Name=en*", "Name=!eth1", "MACAddress=02:00:00:00:00:01", "Name=", ""}) {
        const auto any = parse_network_file(std::string("[Match]\n") + match + "\n[Network]\nVLAN=lan\nBond=bond0\n");
        EXPECT_EQ(names_of_all({lan, any}), (names_of_links{"lan", "*.20"})) << match;
        EXPECT_TRUE(any.ports.empty()) << match;
    }
}

TEST(networkd_files, a_vxlan_counts_by_its_number_where_it_has_the_port_of_networks) {
    const auto with = [](const std::string& more) {
        return parse_netdev("[NetDev]\nName=o\nKind=vxlan\n[VXLAN]\n" + more).names;
    };
    using texts = std::vector<std::string>;
    EXPECT_EQ(with("VNI=1111\nDestinationPort=4789\n"), (texts{"o", "vxlan1111"}));
    EXPECT_EQ(with("Id=1111\nDestinationPort=4789\n"), (texts{"o", "vxlan1111"}));
    EXPECT_EQ(with("VNI=1111\n"), (texts{"o"})) << "port 8472";
    EXPECT_EQ(with("VNI=16777216\nDestinationPort=4789\n"), (texts{"o"}));
    for (const auto* text :
         {"", "[NetDev]\nKind=vlan\n[VLAN]\nId=1\n", "Name=x\n", "[NetDev]\nName=a b\n", "[", "=", "[]\n="}) {
        EXPECT_EQ(parse_netdev(text), names_in_file()) << text;
        EXPECT_EQ(parse_network_file(text), names_in_file()) << text;
        EXPECT_EQ(parse_keyfile(text), names_in_file()) << text;
    }
    EXPECT_EQ(parse_netdev("[NetDev]\nName=lan\nKind=vlan\n[VLAN]\nId=4095\n").vlans, std::vector<named_number>());
}

TEST(keyfiles, connections_name_their_links) {
    const struct {
        const char* text;
        std::vector<std::string> names;
        std::vector<named_port> ports{};
    } rows[] = {
        {"[connection]\nid=lan\ntype=vlan\ninterface-name=lan\n[vlan]\nid=20\nparent=bond0\n", {"lan", "bond0.20"}},
        {"[connection]\ntype=vlan\n[vlan]\ninterface-name=lan\nid=20\nparent=bond0\n", {"lan", "bond0.20"}},
        {"[connection]\ntype=vlan\n[vlan]\nid=20\nparent=7c9a4f04-5f3a-4a53-9f0e-3f6b0c1d2e3f\n", {"*.20"}},
        {"[connection]\ntype=vlan\n[vlan]\nid=20\n", {"*.20"}},
        {"[connection]\ntype=vlan\n[vlan]\nid=5000\n", {}},
        {"[connection]\ntype=vxlan\ninterface-name=o\n[vxlan]\nid=1111\ndestination-port=4789\n", {"o", "vxlan1111"}},
        {"[connection]\ntype=vxlan\ninterface-name=o\n[vxlan]\nid=1111\n", {"o"}},
        {"[connection]\ntype=bridge\ninterface-name=vmbr5\n", {"vmbr5"}},
        {"[connection]\ntype=ethernet\ninterface-name=eth0\nmaster=br0\n", {}, {{"eth0", "br0"}}},
        {"[connection]\ntype=ethernet\ninterface-name=eth0\ncontroller=7c9a4f04-5f3a-4a53-9f0e-3f6b0c1d2e3f\n", {}},
    };
    for (const auto& row : rows) {
        const auto found = parse_keyfile(row.text);
        EXPECT_EQ(found.names, row.names) << row.text;
        EXPECT_EQ(found.ports, row.ports) << row.text;
    }
    // Its master by the UUID of that one's own file, in whatever order they are read.
    const auto bridge =
        parse_keyfile("[connection]\nuuid=11111111-2222-3333-4444-55555555555A\ntype=bridge\ninterface-name=brz\n");
    for (const auto* key : {"controller", "master"}) {
        const auto port = parse_keyfile(fmt::format(
            "[connection]\ntype=ethernet\ninterface-name=ens7\n{}=11111111-2222-3333-4444-55555555555a\n", key));
        for (const bool is_bridge_first : {true, false}) {
            named_links all;
            all.add(is_bridge_first ? bridge : port);
            all.add(is_bridge_first ? port : bridge);
            EXPECT_EQ(all.masters, (named_masters{{"ens7", {"brz"}}}));
        }
    }
    EXPECT_TRUE(is_keyfile("lan.nmconnection"));
    EXPECT_FALSE(is_keyfile(".lan.swp") || is_keyfile("lan~") || is_netdev_file("a.network") ||
                 is_network_file("a.link"));
}

}  // namespace
}  // namespace pvc::policy
