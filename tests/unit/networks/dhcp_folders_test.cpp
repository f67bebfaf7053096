// The directories for DHCP of managed client networks on a simulated daemon's machine (networking.md 5.3, cases 22, 26,
// 29).
#include "unit/networks/network_fixture.hpp"

#include <set>

namespace pvc::node {
namespace {

class dhcp_folders_test : public network_fixture {
protected:
    static constexpr const char* all_folders = "/run/pvc/dnsmasq";

    static std::string folder(int vni) { return fmt::format("{}/{}", all_folders, vni); }
    static bool has(const sim_node& node, int vni) { return node.host.directories.contains(folder(vni)); }
    // With a file, as DHCP will have them.
    static void put_folder(sim_node& node, const std::string& name) {
        const auto path = fmt::format("{}/{}", all_folders, name);
        node.host.directories[all_folders] = {};
        node.host.directories[path] = {};
        node.host.files[path + "/52:54:00:00:00:01"] = "52:54:00:00:00:01,10.1.1.5";
    }
    static std::set<std::string> names(sim_node& node) {
        const auto all = node.host.list_folders(all_folders).value();
        return {all.begin(), all.end()};
    }
    static std::size_t files(sim_node& node, int vni) { return node.host.list_files(folder(vni)).value().size(); }
    static void break_folder(sim_node& node, int vni) {
        node.host.broken.insert_or_assign(folder(vni), failure(errc::io, folder(vni), "Input/output error"));
    }
};

TEST_F(dhcp_folders_test, case_22_a_managed_network_has_one_on_each_node_and_a_bridged_one_none) {
    auto& hv1 = stage();
    put_network(1001);
    put_network(200, {{"/nettype", "bridged"}});
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001) && link(hv1, "vmbr200") != "gone"; }));
    beat(1s);
    EXPECT_EQ(hv1.host.directories.at(folder(1001)).mode, 0755U);
    EXPECT_EQ(names(hv1), std::set<std::string>{"1001"});
    // Keys that it does not hang on, and another start.
    put_folder(hv1, "1001");
    change(1001, {{"/ip4_network", "10.1.1.0/24"}, {"/ip4_gateway", "10.1.1.1"}});
    beat(1s);
    hv1.kill();
    start(hv1);
    beat(31s);
    EXPECT_EQ(files(hv1, 1001), 1U);
}

TEST_F(dhcp_folders_test, case_29_it_goes_with_its_files_when_the_network_goes_also_while_a_guest_is_there) {
    auto& hv1 = stage();
    put_network(1001);
    put_network(1002);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001) && has(hv1, 1002); }));
    put_folder(hv1, "1001");
    hv1.kernel.add_tap("vnet0", "vmbr1002");
    remove_network(1001);
    remove_network(1002);
    EXPECT_TRUE(within(1s, [&] { return !has(hv1, 1001) && !has(hv1, 1002); }));
    EXPECT_EQ(files(hv1, 1001), 0U);
    EXPECT_NE(link(hv1, "vmbr1002"), "gone");
    put_network(1001);
    EXPECT_TRUE(within(2s, [&] { return has(hv1, 1001); }));
    EXPECT_EQ(files(hv1, 1001), 0U);
}

TEST_F(dhcp_folders_test, one_that_becomes_bridged_loses_it_and_has_it_again_as_managed) {
    auto& hv1 = stage();
    put_network(200);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 200); }));
    put_folder(hv1, "200");
    change(200, {{"/nettype", "bridged"}});
    EXPECT_TRUE(within(2s, [&] { return !has(hv1, 200); }));
    EXPECT_EQ(files(hv1, 200), 0U);
    change(200, {{"/nettype", "managed"}});
    EXPECT_TRUE(within(2s, [&] { return has(hv1, 200); }));
}

TEST_F(dhcp_folders_test, what_is_left_at_a_start_goes_when_the_networks_are_known_and_hand_made_things_stay) {
    auto& hv1 = add_networked();
    put_network(1001);
    put_network(200, {{"/nettype", "bridged"}});
    const std::set<std::string> theirs{"0", "01003", "1003.old", "16777216", "mine", "1003 "};
    for (const auto& name : theirs) {
        put_folder(hv1, name);
    }
    for (const auto* name : {"1001", "1002", "200", "16777215"}) {
        put_folder(hv1, name);
    }
    const std::set<std::string> paths{"/run/pvc/dnsmasq/1001.pid", "/run/pvc/dnsmasq/1004"};
    for (const auto& path : paths) {
        hv1.host.files[path] = "4711 1\n";
    }
    const auto before = names(hv1);
    ensemble.freeze();
    hv1.start();
    loop.run_for(60s);
    EXPECT_EQ(names(hv1), before);
    ensemble.thaw();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    auto after = theirs;
    after.insert("1001");
    EXPECT_TRUE(within(2s, [&] { return names(hv1) == after; }));
    beat(31s);
    EXPECT_EQ(names(hv1), after);
    EXPECT_EQ(files(hv1, 1001), 1U);
    EXPECT_EQ(files(hv1, 1002) + files(hv1, 200) + files(hv1, 16777215), 0U);
    for (const auto& path : paths) {
        EXPECT_TRUE(hv1.host.files.contains(path)) << path;
    }
    EXPECT_FALSE(hv1.logged("directories of client networks")) << hv1.log();
}

TEST_F(dhcp_folders_test, one_whose_keys_cannot_be_used_keeps_it_also_over_a_start) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001); }));
    put_folder(hv1, "1001");
    change(1001, {{"/nettype", "routed"}});
    put_network(1002);  // something else to do
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1002); }));
    beat(31s);
    EXPECT_EQ(files(hv1, 1001), 1U);
    hv1.kill();
    // Also where nobody knows any more that it has a bridge.
    std::erase_if(hv1.host.files,
                  [](const auto& one) { return one.first.find("client-bridges") != std::string::npos; });
    start(hv1);
    beat(31s);
    EXPECT_TRUE(has(hv1, 1001));
    EXPECT_EQ(files(hv1, 1001), 1U);
    remove_network(1001);
    EXPECT_TRUE(within(1s, [&] { return !has(hv1, 1001); }));
}

// Their links are somebody else's, and they are networks all the same.
TEST_F(dhcp_folders_test, one_that_is_refused_has_it) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001); }));
    hv1.kill();
    hv1.kernel.remove_device("vxlan1001");
    hv1.kernel.remove_device("vmbr1001");
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"vmbr1001"}));
    ASSERT_TRUE(hv1.kernel.apply(model::add_address{"vmbr1001", parse_host_address("192.0.2.5/24").value()}));
    start(hv1);
    beat(31s);
    EXPECT_EQ(link(hv1, "vxlan1001"), "gone");
    EXPECT_TRUE(hv1.logged("network 1001: vmbr1001 is somebody else's")) << hv1.log();
    EXPECT_TRUE(has(hv1, 1001));
}

// As in a tree that is being restored.
TEST_F(dhcp_folders_test, a_tree_without_networks_takes_none_away) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001); }));
    put_folder(hv1, "1001");
    ensemble.remove_tree("/networks");
    beat(31s);
    EXPECT_NE(link(hv1, "vmbr1001"), "gone");
    EXPECT_EQ(files(hv1, 1001), 1U);
}

// A symbolic link, say: the simulated machine has files in its place. What it leads to is somebody else's.
TEST_F(dhcp_folders_test, what_is_no_directory_is_neither_used_nor_removed_and_is_said_once) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001); }));
    hv1.host.directories.erase(folder(1001));
    hv1.host.files[folder(1001)] = "elsewhere";
    hv1.host.files[folder(7)] = "elsewhere";
    beat(120s);
    EXPECT_EQ(hv1.times_logged("/run/pvc/dnsmasq/1001: refused: it is no directory (a symbolic link is none)"), 1U)
        << hv1.log();
    EXPECT_EQ(hv1.times_logged("/run/pvc/dnsmasq/7: it is no directory (a symbolic link is none): it is left alone"),
              1U)
        << hv1.log();
    put_network(1002);
    EXPECT_TRUE(within(31s, [&] { return has(hv1, 1002); })) << "the others have theirs";
    EXPECT_TRUE(hv1.host.files.contains(folder(1001)) && hv1.host.files.contains(folder(7)));
    hv1.host.files.erase(folder(1001));
    EXPECT_TRUE(within(31s, [&] { return has(hv1, 1001); }));
}

// All of it leads elsewhere: whatever stands there is somebody else's, by whatever number.
TEST_F(dhcp_folders_test, nothing_is_removed_where_a_link_leads) {
    auto& hv1 = stage();
    put_network(1001);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001); }));
    put_folder(hv1, "7");
    hv1.host.files["/run/pvc/dnsmasq"] = "elsewhere";
    hv1.host.directories.erase("/run/pvc/dnsmasq");
    remove_network(1001);
    beat(120s);
    EXPECT_TRUE(has(hv1, 1001));
    EXPECT_TRUE(has(hv1, 7));
    EXPECT_EQ(hv1.times_logged("/run/pvc/dnsmasq: refused: it is no directory (a symbolic link is none)"), 1U)
        << hv1.log();
}

TEST_F(dhcp_folders_test, what_somebody_removes_comes_back) {
    auto& hv1 = stage();
    put_network(1001);
    put_network(1002);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1001) && has(hv1, 1002); }));
    hv1.host.directories.erase(folder(1001));
    EXPECT_TRUE(within(31s, [&] { return has(hv1, 1001); }));
    std::erase_if(hv1.host.directories, [](const auto& one) { return one.first.starts_with(all_folders); });
    EXPECT_TRUE(within(31s, [&] { return has(hv1, 1001) && has(hv1, 1002); }));
    EXPECT_FALSE(hv1.logged("directories of client networks")) << hv1.log();
}

TEST_F(dhcp_folders_test, what_fails_is_told_once_and_tried_again_and_the_others_go_on) {
    auto& hv1 = stage();
    const std::string told = "the directories of client networks for DHCP are not as they shall be: ";
    put_network(1002);
    ASSERT_TRUE(within(2s, [&] { return has(hv1, 1002); }));
    break_folder(hv1, 1001);
    put_network(1001);
    beat(70s);
    put_network(1003);
    EXPECT_TRUE(within(2s, [&] { return has(hv1, 1003); }));
    EXPECT_EQ(hv1.times_logged(told + folder(1001) +
                               ": input/output error: Input/output error, trying again [network-failed]"),
              1U)
        << hv1.log();
    EXPECT_EQ(link(hv1, "vxlan1001"), "mtu 1450 up master vmbr1001");
    hv1.host.broken.clear();
    EXPECT_TRUE(within(31s, [&] { return has(hv1, 1001); }));
    beat(1s);
    EXPECT_EQ(hv1.times_logged("this is over: " + told), 1U) << hv1.log();
    // Somebody put a directory into it: that is not ours.
    hv1.host.directories[folder(1002) + "/mine"] = {};
    hv1.host.files[folder(1002) + "/mine/file"] = "text";
    remove_network(1002);
    beat(70s);
    EXPECT_EQ(hv1.times_logged(told + folder(1002) + ": refused: \"mine\" in it is no plain file"), 1U) << hv1.log();
    EXPECT_TRUE(hv1.host.files.contains(folder(1002) + "/mine/file"));
    hv1.host.files.erase(folder(1002) + "/mine/file");
    hv1.host.directories.erase(folder(1002) + "/mine");
    EXPECT_TRUE(within(31s, [&] { return !has(hv1, 1002); }));
}

TEST_F(dhcp_folders_test, a_disk_that_hangs_holds_up_nothing_else) {
    auto& hv1 = stage();
    hv1.host.disk_time = 1h;
    for (int vni = 2000; vni < 2005; ++vni) {
        put_network(vni);
        EXPECT_TRUE(within(1s, [&] { return link(hv1, fmt::format("vxlan{}", vni)) != "gone"; })) << vni;
    }
    beat(20s);
    EXPECT_FALSE(has(hv1, 2000));
    hv1.host.disk_time = 1ms;
    EXPECT_TRUE(within(40s, [&] { return has(hv1, 2000) && has(hv1, 2004); }));
}

}  // namespace
}  // namespace pvc::node
