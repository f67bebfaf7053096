// Machines with RBD disks on a node with the storage function: whole daemons whose locks are asked of the helper
// (storage.md cases 19, 20, 25, 41; the decisions themselves are vm-domains.md B.2, in unit_domains).
#include "unit/domains/domain_fixture.hpp"

namespace pvc::node {
namespace {

class machines_on_rbd : public domain_test {
protected:
    sim_node& add_storage_host() {
        sim_node& node = add_host("hv1");
        node.settings.storage = true;
        node.start();
        EXPECT_TRUE(node.run_until_ready()) << node.log();
        return node;
    }
    void wanted(const std::string& volumes) {
        define("stop", "hv1", "", {{"/rbdlist", volumes}});
        loop.run_for(1s);
        set("start");
    }
    [[nodiscard]] std::string reason() const { return value(key("/failedreason")); }
};

TEST_F(machines_on_rbd, case_19_what_a_dead_client_of_this_host_left_is_broken_and_its_client_kept_away) {
    hardware.rbd.lock("vms/a", "10.254.0.1:0/77");
    sim_node& hv1 = add_storage_host();
    wanted("vms/a");
    pass(5s);
    EXPECT_EQ(state(), "start");
    EXPECT_TRUE(guest().executes());
    EXPECT_TRUE(hardware.rbd.is_blocklisted("10.254.0.1:0/77"));
    EXPECT_FALSE(hardware.rbd.write("vms/a", "10.254.0.1:0/77"));
    EXPECT_EQ(hv1.ceph->programs.starts(), 1U);
    EXPECT_TRUE(hv1.logged("of 10.254.0.1:0/77 on vms/a"));
}

TEST_F(machines_on_rbd, case_20_one_foreign_lock_and_neither_is_removed) {
    hardware.rbd.lock("vms/a", "10.254.0.1:0/77");
    hardware.rbd.lock("vms/b", "10.254.0.2:0/78");
    add_storage_host();
    wanted("vms/a,vms/b");
    pass(20s);
    EXPECT_EQ(state(), "fail");
    EXPECT_NE(reason().find("on vms/b is held by 10.254.0.2"), std::string::npos) << reason();
    EXPECT_TRUE(hardware.rbd.blocklist().empty());
    EXPECT_TRUE(calls().empty());
}

TEST_F(machines_on_rbd, case_25_osds_that_do_not_answer_are_waited_for_and_delay_nobody) {
    hardware.rbd.lock("vms/a", "10.254.0.1:0/77");
    hardware.rbd.hangs = true;
    add_storage_host();
    define("stop", "hv1", "", {}, u2, "db");
    wanted("vms/a");
    ensemble.put(model::domain_path(to_text(u2), "/state"), "start");
    const time_point from = loop.clock().now();
    pass(1s);
    EXPECT_TRUE(machine().guest(u2).executes());
    ASSERT_TRUE(run_until([&] { return !reason().empty(); }, 40s));
    EXPECT_LE(loop.clock().now() - from, 30s);
    EXPECT_NE(reason().find("vms/a"), std::string::npos) << reason();
    pass(200s);
    EXPECT_EQ(state(), "start");
    hardware.rbd.hangs = false;
    ASSERT_TRUE(run_until([&] { return guest().executes(); }, 62s)) << reason();
    pass(1s);
    EXPECT_EQ(reason(), "");
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
}

TEST_F(machines_on_rbd, case_41_a_helper_that_freezes_is_killed_and_the_start_waits_with_a_reason) {
    hardware.rbd.lock("vms/a", "10.254.0.1:0/77");
    sim_node& hv1 = add_storage_host();
    hv1.ceph->helper.is_frozen = true;
    wanted("vms/a");
    const time_point from = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return !reason().empty(); }, 40s));
    EXPECT_LE(loop.clock().now() - from, 30s);
    EXPECT_NE(reason().find("Ceph"), std::string::npos) << reason();
    pass(30s);
    EXPECT_EQ(state(), "start");
    EXPECT_GE(hv1.ceph->client.view().killed, 1U);
    hv1.ceph->helper.is_frozen = false;
    ASSERT_TRUE(run_until([&] { return guest().executes(); }, 100s)) << reason();
    EXPECT_LE(hv1.ceph->programs.running(), 1);
    EXPECT_LT(beat_gaps("hv1", from).front(), 5.1);
}

TEST_F(machines_on_rbd, a_helper_that_is_not_installed_is_named) {
    hardware.rbd.lock("vms/a", "10.254.0.1:0/77");
    sim_node& hv1 = add_storage_host();
    hv1.ceph->programs.refusal = failure(errc::not_found, "pvcnoded-ceph", "No such file or directory");
    wanted("vms/a");
    ASSERT_TRUE(run_until([&] { return !reason().empty(); }, 40s));
    EXPECT_EQ(state(), "start") << "it may be installed yet";
    EXPECT_NE(reason().find("pvcnoded-ceph"), std::string::npos) << reason();
    EXPECT_TRUE(hv1.logged("[ceph-helper-missing]"));
}

}  // namespace
}  // namespace pvc::node
