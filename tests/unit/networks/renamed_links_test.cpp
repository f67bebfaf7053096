// Bridges of a simulated daemon that somebody calls otherwise by hand, and rules of the host that name devices of it.
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class renamed_links_test : public network_fixture {
protected:
    void put_with_gateway(int vni) {
        put_network(vni, {{"/ip4_network", fmt::format("10.1.{}.0/24", vni - 1000)},
                          {"/ip4_gateway", fmt::format("10.1.{}.1", vni - 1000)}});
    }
    sim_node& stage_two() {
        auto& hv1 = stage_primary();
        put_with_gateway(1001);
        put_with_gateway(1002);
        EXPECT_TRUE(within(5s, [&] {
            return addresses(hv1, "vmbr1001") == "10.1.1.1/24" && addresses(hv1, "vmbr1002") == "10.1.2.1/24";
        })) << hv1.log();
        beat(1s);
        return hv1;
    }
    static void call(sim_node& node, const std::string& name, int index) {
        EXPECT_TRUE(node.kernel.apply(model::rename_link{name, index})) << name;
    }
    [[nodiscard]] static bool is_as_before(const sim_node& node, int first, int second) {
        return index_of(node, "vmbr1001") == first && index_of(node, "vmbr1002") == second &&
               addresses(node, "vmbr1001") == "10.1.1.1/24" && addresses(node, "vmbr1002") == "10.1.2.1/24" &&
               link(node, "vxlan1001") == "mtu 1450 up master vmbr1001";
    }
};

TEST_F(renamed_links_test, a_bridge_that_is_called_as_another_networks_is_no_second_one) {
    auto& hv1 = stage_two();
    const int first = index_of(hv1, "vmbr1001");
    const int second = index_of(hv1, "vmbr1002");
    for (const bool with_restart : {false, true}) {
        if (with_restart) {
            hv1.kill();
        }
        call(hv1, "vmbr9999", first);
        if (with_restart) {
            start(hv1);
        }
        EXPECT_TRUE(within(60s, [&] { return is_as_before(hv1, first, second); })) << hv1.log();
        EXPECT_EQ(link(hv1, "vmbr9999"), "gone");
    }
    EXPECT_TRUE(hv1.logged("network 1001: vmbr1001 was called vmbr9999, repairing it")) << hv1.log();
}

TEST_F(renamed_links_test, two_that_exchanged_their_names_have_their_own_again) {
    auto& hv1 = stage_two();
    const int first = index_of(hv1, "vmbr1001");
    const int second = index_of(hv1, "vmbr1002");
    for (const bool with_restart : {false, true}) {
        if (with_restart) {
            hv1.kill();
        }
        call(hv1, "between", first);
        call(hv1, "vmbr1001", second);
        call(hv1, "vmbr1002", first);
        if (with_restart) {
            start(hv1);
        }
        EXPECT_TRUE(within(60s, [&] { return is_as_before(hv1, first, second); })) << hv1.log();
    }
    beat(5s);
    EXPECT_TRUE(is_as_before(hv1, first, second)) << hv1.log();
    EXPECT_FALSE(hv1.logged("[network-refused]") || hv1.logged("[network-failed]")) << hv1.log();
}

TEST_F(renamed_links_test, one_by_another_name_goes_with_its_network) {
    auto& hv1 = stage_two();
    hv1.kill();
    call(hv1, "mine", index_of(hv1, "vmbr1001"));
    call(hv1, "vmbr9999", index_of(hv1, "vmbr1002"));
    remove_network(1001);
    remove_network(1002);
    start(hv1);
    for (const auto* name : {"mine", "vmbr9999", "vmbr1001", "vmbr1002", "vxlan1001", "vxlan1002"}) {
        EXPECT_TRUE(within(60s, [&] { return link(hv1, name) == "gone"; })) << name << "\n" << hv1.log();
    }
}

TEST_F(renamed_links_test, what_the_hosts_files_name_by_now_stays_without_its_network) {
    auto& hv1 = stage_two();
    hv1.kill();
    hv1.host.files["/etc/network/interfaces"] = "auto vmbr1001\niface vmbr1001 inet manual\n";
    remove_network(1001);
    remove_network(1002);
    start(hv1);
    EXPECT_TRUE(within(60s, [&] { return link(hv1, "vmbr1002") == "gone"; })) << hv1.log();
    beat(5s);
    EXPECT_NE(link(hv1, "vmbr1001"), "gone") << hv1.log();
    EXPECT_EQ(hv1.times_logged("network 1001 is gone, but the network configuration of this host names vmbr1001, which "
                               "a node daemon made: its links stay"),
              1U)
        << hv1.log();
}

TEST_F(renamed_links_test, rules_that_name_a_port_are_said_until_they_name_it_no_more) {
    auto& hv1 = add_networked();
    hv1.network.rules = {{"ens5", "77 (iif ens5, table 100)"}, {"lo", "78 (iif lo, table 100)"}};
    start(hv1);
    beat(10s);
    const std::string said = "rules of this host name ens5, which is a port of brcluster";
    EXPECT_EQ(hv1.times_logged(said), 1U) << hv1.log();
    hv1.network.rules = {};
    beat(60s);  // a firewall may have very many: it is not read with each look
    ASSERT_TRUE(hv1.kernel.apply(model::make_bridge{"br0"}));
    beat(5s);
    EXPECT_TRUE(hv1.logged("this is over: " + said)) << hv1.log();
}

// No record names the bridges that a node daemon of PVC made, and ZooKeeper is away. That the file calls the device
// below them by another name that it has makes them nobody else's.
TEST_F(renamed_links_test, case_95_gateways_that_another_daemon_left_go_whatever_name_the_file_has_for_the_device) {
    for (const bool has_other_names : {false, true}) {
        SCOPED_TRACE(has_other_names);
        auto& hv1 = stage_primary({.has_other_names = has_other_names});
        put_with_gateway(1001);
        ASSERT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1001") == "10.1.1.1/24"; })) << hv1.log();
        beat(6s);
        hv1.kill();
        hv1.host.files.erase("/run/pvc/client-bridges");
        hv1.host.files.erase("/run/pvc/heartbeat");
        hv1.connector.link().cut();
        hv1.start();
        EXPECT_TRUE(within(5s, [&] { return addresses(hv1, "vmbr1001").empty(); })) << hv1.log();
        hv1.kill();
        hv1.settings.name += "x";  // the next one is another machine
        ensemble.remove_tree("/nodes/hv1");
        put_peer("hv2", "coordinator", "run", "primary");
        ensemble.put(primary_key, "hv2");
    }
}

}  // namespace
}  // namespace pvc::node
