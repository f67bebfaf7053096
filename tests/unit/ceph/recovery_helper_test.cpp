// Coordinators without the storage function (storage.md 3.2; cases 38, 39, 40).
#include "unit/domains/domain_fixture.hpp"

#include "pvcnoded/placement/rbd_clearing.hpp"

namespace pvc::node {
namespace {

class recovery_helper : public domain_test {
protected:
    recovery_helper() {
        hardware.rbd.lock("vms/a", "10.254.0.3:0/7");
        hardware.rbd.lock("vms/b", "10.254.0.1:0/7");
    }
    sim_node& add_without_storage() {
        sim_node& node = add_host("hv1");
        node.settings.coordinators = {"hv1"};
        return node;
    }
    // As fencing does for a machine of a dead node.
    placement::lock_outcome recover(sim_node& by) {
        std::optional<placement::lock_outcome> out;
        loop.run([&]() -> async::awaitable<void> {
            placement::rbd_clearing clearing(by.ceph->client.for_recovery(), loop.clock(), {"10.254.0.3"},
                                             [](const policy::act::line&) {});
            const auto still_dead = [&]() -> async::awaitable<std::optional<boot_time>> {
                co_return loop.clock().boot_now();
            };
            out = co_await clearing.for_recovery({"vms/a"}, still_dead);
        });
        return *out;
    }
    using kind = placement::lock_outcome::kind;
};

TEST_F(recovery_helper, case_39_it_is_started_clears_the_locks_and_is_gone_a_minute_later) {
    sim_node& hv1 = add_without_storage();
    hv1.host.storage.files["/etc/ceph/ceph.conf"] = "[global]";
    hv1.host.storage.files["/etc/ceph/ceph.client.admin.keyring"] = "[client.admin]";
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    pass(30s);
    EXPECT_EQ(hv1.ceph->programs.starts(), 0U);
    EXPECT_EQ(recover(hv1).what, kind::clear);
    EXPECT_TRUE(hardware.rbd.locks("vms/a").empty());
    EXPECT_EQ(hv1.ceph->programs.running(), 1);
    pass(50s);
    EXPECT_EQ(hv1.ceph->programs.running(), 1);
    pass(40s);
    EXPECT_EQ(hv1.ceph->programs.running(), 0);
    EXPECT_EQ(hv1.ceph->programs.starts(), 1U);
    EXPECT_FALSE(hv1.logged("[ceph-helper-gone]")) << hv1.log();
}

TEST_F(recovery_helper, case_40_without_a_readable_keyring_nothing_is_started) {
    sim_node& hv1 = add_without_storage();
    hv1.host.storage.files["/etc/ceph/ceph.conf"] = "[global]";
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    const auto refused = recover(hv1);
    EXPECT_EQ(refused.what, kind::refused);
    EXPECT_NE(refused.reason.find("/etc/ceph/ceph.client.admin.keyring"), std::string::npos) << refused.reason;
    pass(1s);
    EXPECT_EQ(hv1.ceph->programs.starts(), 0U);
    EXPECT_EQ(hv1.times_logged("[ceph-helper-missing]"), 1U);
    EXPECT_EQ(hardware.rbd.locks("vms/a").size(), 1U);
}

// Its own machines are not started: another node's storage is none of this node's business.
TEST_F(recovery_helper, case_38_a_machine_with_rbd_disks_is_refused_and_nobody_is_asked) {
    sim_node& hv1 = add_without_storage();
    hv1.host.storage.files["/etc/ceph/ceph.conf"] = "[global]";
    hv1.host.storage.files["/etc/ceph/ceph.client.admin.keyring"] = "[client.admin]";
    hv1.asks_store = false;
    define("stop", "hv1", "", {{"/rbdlist", "vms/b"}});
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    set("start");
    pass(10s);
    EXPECT_EQ(state(), "fail");
    EXPECT_EQ(value(key("/failedreason")),
              "RBD locks of vms/b could not be read: Ceph cannot be asked on this node: its storage function is off");
    EXPECT_EQ(hv1.ceph->programs.starts(), 0U);
    EXPECT_EQ(guest().is_there(), false);
}

TEST_F(recovery_helper, no_coordinator_no_helper) {
    sim_node& hv1 = add_host("hv1");
    hv1.settings.coordinators = {"hv9"};
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(recover(hv1).what, kind::refused);
    EXPECT_EQ(hv1.ceph->programs.starts(), 0U);
}

}  // namespace
}  // namespace pvc::node
