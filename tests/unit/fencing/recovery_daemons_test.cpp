// Two coordinators that run machines, a third node with machines that dies: a real fence, and what then runs where.
// Specification: node-lifecycle.md 10.3 to 10.5; README rulings 37, 38, 44.
#include "unit/domains/domain_fixture.hpp"

#include "sim/sim_bmc.hpp"

namespace pvc::node {
namespace {

class recovery_daemons : public domain_test {
protected:
    void start(bool first_has_storage = true) {
        put_host("hv3");
        ensemble.put({{"/nodes/hv3/ipmihostname", "hv3-lom"},
                      {"/nodes/hv3/ipmiusername", "admin"},
                      {"/nodes/hv3/ipmipassword", "Passw0rd"}});
        board.address = "192.0.2.3";
        board.guid = "31303043-534d-2500-90d8-7a1600000003";
        for (const std::string name : {"hv1", "hv2"}) {
            has_storage = name != "hv1" || first_has_storage;
            sim_node& node = add_host(name);
            node.settings.coordinators = coordinators;
            if (name == "hv1" && has_files) {
                node.host.storage.files["/etc/ceph/ceph.conf"] = "[global]";
                node.host.storage.files["/etc/ceph/ceph.client.admin.keyring"] = "[client.admin]";
            }
            board.attach(node.boards);
            node.start();
        }
        for (auto& node : nodes) {
            EXPECT_TRUE(node.run_until_ready()) << node.log();
        }
        for (const std::string name : {"hv1", "hv2"}) {
            ensemble.put("/nodes/" + name + "/domainstate", "ready");
        }
        run_with_beats(60s, {"hv3"});
    }
    void put_machine(const uuid& id, const std::string& name, bool has_disk, const std::string& state = "start") {
        const std::string image = "vms/" + name;
        const std::string disk =
            "<disk type='network'><source protocol='rbd' name='" + image + "'/><target dev='sda'/></disk>";
        if (has_disk) {
            hardware.rbd.lock(image, "10.254.0.3:0/7");
        }
        const std::string text = has_disk ? xml(id, name, disk) : xml(id, name);
        define(state, "hv3", "", {{"/rbdlist", has_disk ? image : ""}, {"/xml", text}}, id, name);
        machine("hv3").put_running(id, name, text);
        ensemble.put("/nodes/hv3/runningdomains", to_text(id));
    }
    void cut_power() {
        machine("hv3").lose_power();
        died = loop.clock().now();
    }
    [[nodiscard]] std::string of(const uuid& id, const std::string& suffix) const {
        return value(model::domain_path(to_text(id), suffix));
    }
    [[nodiscard]] std::string logs() {
        std::string all;
        for (auto& node : nodes) {
            all += node.log();
        }
        return all;
    }
    [[nodiscard]] bool runs(const uuid& id) {
        return machine("hv1").guest(id).is_there() || machine("hv2").guest(id).is_there();
    }

    std::vector<std::string> coordinators{"hv1", "hv2"};
    bool has_files = false;  // of Ceph, also where hv1 has no storage function
    sim::sim_bmc board{"hv3-lom", &loop.clock()};
    time_point died{};
};

TEST_F(recovery_daemons, AC45_its_machine_runs_elsewhere) {
    start();
    put_machine(u1, "web", true);
    cut_power();
    ASSERT_TRUE(run_until([&] { return runs(u1); }, 120s)) << logs();
    EXPECT_LE(loop.clock().now() - died, 80s);
    EXPECT_EQ(of(u1, "/state"), "start");
    EXPECT_EQ(of(u1, "/lastnode"), "hv3");
    EXPECT_TRUE(hardware.rbd.is_blocklisted("10.254.0.3:0/7"));
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv3/domainstate") == "flushed"; }, 60s)) << logs();
    EXPECT_EQ(value("/nodes/hv3/runningdomains"), "");
}

// Whoever fences: one that cannot ask Ceph leaves the machine to the other.
TEST_F(recovery_daemons, storage_40_whoever_can_ask_ceph_recovers_it) {
    start(false);
    put_machine(u1, "web", true);
    ensemble.put(model::domain_path(to_text(u1), "/node_limit"), "hv2,hv3");
    cut_power();
    ASSERT_TRUE(run_until([&] { return runs(u1); }, 600s)) << logs();
    EXPECT_TRUE(machine("hv2").guest(u1).is_there());
}

// D124: it belongs to the dead node, and nobody makes it anew before the lock on its disk is gone.
TEST_F(recovery_daemons, D124_a_lock_that_cannot_be_broken_for_200_s) {
    start();
    put_machine(u1, "web", true);
    hardware.rbd.fail_always("break", failure(errc::timed_out, "vms/web", "no answer"));
    cut_power();
    run_until([] { return false; }, 260s);
    EXPECT_FALSE(runs(u1));
    EXPECT_EQ(of(u1, "/state"), "start");
    EXPECT_EQ(of(u1, "/node"), "hv3");
    hardware.rbd.clear_faults();
    ASSERT_TRUE(run_until([&] { return runs(u1); }, 120s)) << logs();
}

// The same of one that it was sending: nobody sends it any more, and whoever is to receive it waits for the recovery.
TEST_F(recovery_daemons, D124_one_that_was_on_its_way_from_there) {
    start();
    put_machine(u1, "web", true);
    hardware.rbd.fail_always("break", failure(errc::timed_out, "vms/web", "no answer"));
    place("migrate", "hv2", "hv3");
    cut_power();
    run_until([] { return false; }, 260s);
    EXPECT_EQ(value("/nodes/hv3/daemonstate"), "fenced") << logs();
    EXPECT_FALSE(runs(u1));
    EXPECT_EQ(of(u1, "/state"), "migrate");
    EXPECT_EQ(of(u1, "/node"), "hv2");
    EXPECT_EQ(of(u1, "/failedreason"), "");
    EXPECT_EQ(hardware.rbd.locks("vms/web").size(), 1U);
    hardware.rbd.clear_faults();
    ASSERT_TRUE(run_until([&] { return runs(u1); }, 120s)) << logs();
    EXPECT_TRUE(machine("hv2").guest(u1).is_there()) << "where it was going";
    EXPECT_EQ(of(u1, "/state"), "start");
}

TEST_F(recovery_daemons, AC118_locks_that_cannot_be_listed_for_100_s) {
    start();
    put_machine(u1, "web", true);
    hardware.rbd.fail_always("list", failure(errc::timed_out, "vms/web", "no answer"));
    cut_power();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv3/domainstate") == "flushed"; }, 120s)) << logs();
    EXPECT_EQ(value("/nodes/hv3/daemonstate"), "fenced");
    EXPECT_EQ(value("/nodes/hv3/runningdomains"), to_text(u1));
    ASSERT_TRUE(run_until([&] { return board.heard().back() == "on"; }, 20s)) << logs();
    run_until([] { return false; }, 60s);
    EXPECT_EQ(of(u1, "/node"), "hv3");
    hardware.rbd.clear_faults();
    ASSERT_TRUE(run_until([&] { return runs(u1); }, 120s)) << logs();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv3/runningdomains").empty(); }, 60s)) << logs();
}

// Of whoever fences, and of the other one, whose machines have disks there, too.
TEST_F(recovery_daemons, no_heartbeat_is_later_than_100_ms_while_ceph_hangs) {
    start();
    put_machine(u1, "web", true);
    hardware.rbd.hangs = hardware.ceph.hangs = true;
    cut_power();
    const time_point from = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv3/domainstate") == "fence-flush"; }, 120s)) << logs();
    run_until([] { return false; }, 300s);
    EXPECT_EQ(of(u1, "/node"), "hv3");
    for (const auto* name : {"hv1", "hv2"}) {
        const auto gaps = beat_gaps(name, from);
        ASSERT_GE(gaps.size(), 60U) << name;
        EXPECT_LE(gaps.front(), 5.1) << name;
    }
    hardware.rbd.hangs = hardware.ceph.hangs = false;
    ASSERT_TRUE(run_until([&] { return runs(u1); }, 120s)) << logs();
}

TEST_F(recovery_daemons, AC118_a_node_that_is_back_before_the_next_try_keeps_it) {
    start();
    put_machine(u1, "web", true);
    hardware.rbd.fail_always("list", failure(errc::timed_out, "vms/web", "no answer"));
    cut_power();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv3/domainstate") == "flushed"; }, 120s)) << logs();
    ensemble.put("/nodes/hv3/daemonstate", "init");
    hardware.rbd.clear_faults();
    run_until([] { return false; }, 200s);
    EXPECT_EQ(of(u1, "/node"), "hv3");
    EXPECT_FALSE(runs(u1));
    EXPECT_EQ(hardware.rbd.locks("vms/web").size(), 1U);
}

// The only one that fences has no storage function: its helper is started for the locks, and ends when it is of no use.
TEST_F(recovery_daemons, storage_39_a_coordinator_without_the_storage_function) {
    coordinators = {"hv1"};
    has_files = true;
    start(false);
    EXPECT_EQ(nodes.front().ceph->programs.starts(), 0U);
    put_machine(u1, "web", true);
    ensemble.put(model::domain_path(to_text(u1), "/node_limit"), "hv2,hv3");
    cut_power();
    ASSERT_TRUE(run_until([&] { return runs(u1); }, 300s)) << logs();
    EXPECT_LE(loop.clock().now() - died, 80s) << "for nobody else is waited";
    EXPECT_TRUE(hardware.rbd.is_blocklisted("10.254.0.3:0/7"));
    EXPECT_EQ(nodes.front().ceph->programs.starts(), 1U);
    run_until([] { return false; }, 90s);
    EXPECT_EQ(nodes.front().ceph->programs.running(), 0);
}

}  // namespace
}  // namespace pvc::node
