// Bridges that lost their base while no daemon ran, on a simulated daemon: whose they are says the record of an earlier
// one (networking.md 5.3, 5.4, 6, case 39).
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class bridge_record_test : public network_fixture {
protected:
    // Without what it says of bases, which were made anew.
    static std::string bridges_in(const std::string& record) { return record.substr(0, record.find("base ")); }
    // hv1 was primary with the networks 1001 to 1007 and is killed; the device of the cluster network goes, with all
    // that stands on it, and comes. hv2 is primary.
    sim_node& killed_primary_without_bases() {
        constexpr int first = 1001;
        constexpr int last = 1007;
        const auto gateway = [](int vni) { return fmt::format("10.1.{}.1", vni - first + 1); };
        for (int vni = first; vni <= last; ++vni) {
            put_network(
                vni, {{"/ip4_network", fmt::format("10.1.{}.0/24", vni - first + 1)}, {"/ip4_gateway", gateway(vni)}});
        }
        auto& hv1 = stage_primary();
        beat(6s);
        hv1.kill();
        hv1.kernel.remove_device("ens5");
        hv1.kernel.add_device("ens5");
        for (int vni = first; vni <= last; ++vni) {
            EXPECT_EQ(addresses(hv1, fmt::format("vmbr{}", vni)), gateway(vni) + "/24");
            EXPECT_EQ(link(hv1, fmt::format("vxlan{}", vni)), "gone");
        }
        ensemble.put(primary_key, "hv2");
        put_peer("hv2", "coordinator", "run", "primary");
        return hv1;
    }
};

// Whoever is killed right then leaves no gateway on a bridge that nobody knows.
TEST_F(bridge_record_test, a_bridge_is_noted_before_it_has_a_gateway) {
    auto& hv1 = stage_primary();
    const auto record = [&] {
        const auto found = hv1.host.files.find("/run/pvc/client-bridges");
        return found == hv1.host.files.end() ? std::string() : found->second;
    };
    for (const auto disk : {1ms, 20ms, 300ms}) {
        hv1.host.disk_time = disk;
        const int vni = 2000 + static_cast<int>(disk / 1ms);
        put_network(vni, {{"/ip4_network", fmt::format("10.1.{}.0/24", vni % 256)},
                          {"/ip4_gateway", fmt::format("10.1.{}.1", vni % 256)}});
        const auto bridge = fmt::format("vmbr{}", vni);
        ASSERT_TRUE(within(5s, [&] { return link(hv1, bridge) != "gone" && !addresses(hv1, bridge).empty(); }));
        EXPECT_NE(record().find(fmt::format("{} {}", vni, index_of(hv1, bridge))), std::string::npos) << record();
    }
    // A disk that hangs holds it up until that has failed, and no longer.
    hv1.host.disk_time = 1h;
    put_network(2999, {{"/ip4_network", "10.9.9.0/24"}, {"/ip4_gateway", "10.9.9.1"}});
    EXPECT_TRUE(within(7s, [&] { return addresses(hv1, "vmbr2999") == "10.9.9.1/24"; }));
}

// The next daemon knows its bridges by the record of them, and nothing else for its own.
TEST_F(bridge_record_test, case_39_also_from_bridges_that_lost_their_base_while_no_daemon_ran) {
    auto& hv1 = killed_primary_without_bases();
    change(1002, {{"/ip4_network", "10.2.2.0/24"}, {"/ip4_gateway", "10.2.2.1"}});
    change(1003, {{"/ip4_network", "None"}, {"/ip4_gateway", "None"}});
    remove_network(1004);
    change(1005, {{"/nettype", "bridged"}, {"/ip4_network", "None"}, {"/ip4_gateway", "None"}});
    // Somebody's: one is of the same name and another bridge.
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"vmbr1006"}));
    remove_network(1007);
    ASSERT_TRUE(hv1.kernel.apply(model::delete_link{"vmbr1007"}));
    for (const auto* name : {"vmbr1006", "vmbr1007", "vmbr1008"}) {
        ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{name}));
        hv1.kernel.add(name, "192.0.2.8/24");
    }
    put_network(1008);
    start(hv1);
    beat(2s);
    for (const int vni : {1001, 1002, 1003, 1005}) {
        const auto bridge = fmt::format("vmbr{}", vni);
        EXPECT_EQ(addresses(hv1, bridge), "") << vni;
        EXPECT_EQ(link(hv1, bridge), "mtu 1450 up");
        EXPECT_EQ(link(hv1, fmt::format("vxlan{}", vni)),
                  vni == 1005 ? "gone" : fmt::format("mtu 1450 up master vmbr{}", vni));
    }
    EXPECT_EQ(link(hv1, "vmbr1004"), "gone");
    for (const auto* name : {"vmbr1006", "vmbr1007", "vmbr1008"}) {
        EXPECT_EQ(addresses(hv1, name), "192.0.2.8/24");
    }
    EXPECT_EQ(hv1.times_logged("is somebody else's"), 2U) << hv1.log();
}

// A machine keeps the bridge of a network that is no more; nobody keeps its gateway.
TEST_F(bridge_record_test, case_39_also_from_the_bridge_of_a_network_that_is_gone_and_is_used) {
    auto& hv1 = killed_primary_without_bases();
    hv1.kernel.add_tap("vnet0", "vmbr1004");
    remove_network(1004);
    start(hv1);
    beat(2s);
    EXPECT_EQ(addresses(hv1, "vmbr1004"), "");
    EXPECT_NE(link(hv1, "vmbr1004"), "gone");
    EXPECT_EQ(hv1.times_logged("network 1004 is gone, but vnet0 uses its links: they stay"), 1U) << hv1.log();
}

TEST_F(bridge_record_test, a_record_of_bridges_that_is_garbage_is_said_and_written_anew) {
    const std::string path = "/run/pvc/client-bridges";
    auto& hv1 = killed_primary_without_bases();
    const auto before = hv1.host.files.at(path);
    hv1.host.files[path] = before + "garbage\n";
    start(hv1);
    EXPECT_EQ(
        hv1.times_logged(fmt::format("client-bridges: line {}: expected `VNI index m|b` or `base name index own|used`, "
                                     "got \"garbage\", ignored",
                                     std::ranges::count(before, '\n') + 1)),
        1U)
        << hv1.log();
    beat(2s);
    EXPECT_EQ(bridges_in(hv1.host.files.at(path)), bridges_in(before));
    EXPECT_FALSE(hv1.logged("is somebody else's"));
}

TEST_F(bridge_record_test, a_record_of_bridges_may_take_several_files) {
    const std::string path = "/run/pvc/client-bridges";
    auto& hv1 = killed_primary_without_bases();
    const auto before = hv1.host.files.at(path);
    hv1.host.files[path] = before.substr(0, before.find('\n') + 1);
    hv1.host.files[path + ".2"] = before;
    change(1002, {{"/ip4_network", "10.2.2.0/24"}, {"/ip4_gateway", "10.2.2.1"}});
    start(hv1);
    beat(2s);
    EXPECT_EQ(addresses(hv1, "vmbr1002"), "");
    EXPECT_FALSE(hv1.logged("is somebody else's"));
    remove_network(1007);
    beat(2s);
    EXPECT_EQ(std::ranges::count(bridges_in(hv1.host.files.at(path)), '\n'), 7);
    EXPECT_FALSE(hv1.host.files.contains(path + ".2"));
}

TEST_F(bridge_record_test, a_record_of_bridges_that_cannot_be_written_is_said_once_and_written_later) {
    const std::string path = "/run/pvc/client-bridges";
    auto& hv1 = stage();
    hv1.host.broken.insert_or_assign(path, failure(errc::io, path, "No space left on device"));
    put_network(1001);
    beat(12s);
    EXPECT_EQ(hv1.times_logged("which links of client networks are this daemon's own was not noted"), 1U) << hv1.log();
    hv1.host.broken.erase(path);
    beat(6s);
    EXPECT_TRUE(hv1.host.files.contains(path));
    EXPECT_EQ(hv1.host.files[path],
              fmt::format("boot {}\n1001 {} m\nbase vxlan1001 {} own\nport ens4 {} brupstream\nport ens5 {} "
                          "brcluster\nport ens6 {} brstorage\n",
                          hv1.host.machine.boot_id, index_of(hv1, "vmbr1001"), index_of(hv1, "vxlan1001"),
                          index_of(hv1, "ens4"), index_of(hv1, "ens5"), index_of(hv1, "ens6")));
}

}  // namespace
}  // namespace pvc::node
