// What all files of a host together name (README ruling 79).
#include "pvcnoded/policy/networks/named_links.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

TEST(named_ranges, have_their_numbers_in_brackets) {
    const struct {
        const char* range;
        const char* name;
        bool is_in = true;
    } rows[] = {
        {"vlan[100-110]", "vlan100"},
        {"vlan[100-110]", "vlan110"},
        {"vlan[100-110]", "vlan99", false},
        {"vlan[100-110]", "vlan111", false},
        {"vlan[100-110]", "vlan", false},
        {"vlan[100-110]", "vlan105x", false},
        {"swp[1-4].[20-29]", "swp4.25"},
        {"swp[1-4].[20-29]", "swp5.25", false},
        {"swp[1-4].[20-29]", "swp4", false},
        {"[1-2]", "2"},
        {"v[2-1]", "v1", false},
        {"v[1-99999999999999999999]", "v1", false},
        {"v[1-2-3]", "v1", false},
        {"v[a-b]", "v[a-b]"},
        {"v[", "v["},
        {"v", "v"},
        {"", ""},
        {"vlan[1-9]", "vlan99999999999999999999", false},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(is_in_range(row.range, row.name), row.is_in) << row.range << " " << row.name;
    }
    EXPECT_TRUE(is_range("a[b][1-2]"));
    for (const auto* text : {"", "v", "v[1]", "v[-1]", "v[1-]", "[", "]", "/vlan[1-2]"}) {
        EXPECT_FALSE(is_range(text)) << text;
    }
}

// A port of a VLAN-aware bridge that has one VLAN of it.
TEST(all_named_links, a_port_with_one_vlan_takes_that_of_its_bridge) {
    const names_in_file port{.names = {"swp1"}, .ports = {}, .access = {{"swp1", 100}}};
    const names_in_file bridge{.names = {"br0"}, .ports = {{"swp1", "br0"}}};
    for (const auto& files : {std::vector{port, bridge}, std::vector{bridge, port}}) {
        named_links all;
        for (const auto& one : files) {
            all.add(one);
        }
        EXPECT_EQ(all.names, (std::set<std::string, std::less<>>{"br0", "br0.100", "swp1"}));
    }
}

// What was known before still counts.
TEST(all_named_links, are_kept_as_text_as_far_as_networks_may_want_to_know) {
    named_links all;
    all.add({.names = {"eth0", "vmbr5", "/vxlan*", "bond0.20", "*.30", "vlan[1-9]", "overlay"},
             .ports = {{"eth0", "br0"}}});
    const auto text = names_text(all);
    EXPECT_EQ(text, "*.30\n/vxlan*\nbond0.20\nvlan[1-9]\nvmbr5\nport eth0 br0\n");
    auto read = parse_names(text);
    EXPECT_EQ(names_text(read), text);
    read.add(named_links{{"vmbr6"}, {{"eth0", {"br1"}}}});
    EXPECT_EQ(read.names.size(), 6U);
    EXPECT_EQ(read.masters, (named_masters{{"eth0", {"br0", "br1"}}}));
    EXPECT_EQ(parse_names("port\nport a b c\n\n x \n").names, (std::set<std::string, std::less<>>{"port", "x"}));
}

}  // namespace
}  // namespace pvc::policy
