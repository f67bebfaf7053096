// What the simulated cluster does to its nodes is what would befall real ones.
#include "sim/world/judged_cluster.hpp"
#include "sim/world/random_run.hpp"

namespace pvc::sim {

using namespace std::chrono_literals;

class cluster_test : public judged_cluster {
protected:
    cluster_test() : judged_cluster(two_nodes({})) {}

    void SetUp() override {
        world.ensemble.observe([this](const recorded_change& change) {
            beats += change.path == "/nodes/hv1/keepalive" && change.owner == 1 ? 1 : 0;
        });
        perform("start hv1");
        perform("start hv2");
        pass(20s);
        ASSERT_TRUE(hv1.is_ready());
    }
    void pass(duration time) {
        judged_cluster::pass(time);
        EXPECT_FALSE(watch.broken()) << watch.broken()->what;
    }
    sim_node& hv1 = world.members[0]->node;
    int beats = 0;
};

TEST_F(cluster_test, a_paused_process_does_nothing_and_goes_on_afterwards) {
    perform("pause hv1 for 7s");
    const int before = beats;
    const auto steps_of_clock = hv1.clock.now();
    pass(6s);
    EXPECT_EQ(beats, before);
    EXPECT_GT(hv1.clock.now(), steps_of_clock);  // the machine's clock goes on
    pass(30s);
    EXPECT_GE(beats, before + 5);
}

TEST_F(cluster_test, a_kill_leaves_files_and_a_power_failure_those_on_the_disk) {
    ASSERT_TRUE(hv1.host.files.contains("/run/pvc/heartbeat"));
    hv1.host.files["/var/lib/kept"] = "on the disk";
    hv1.host.storage.write("/var/lib/lost", "in the page cache");
    perform("kill hv1");
    EXPECT_TRUE(hv1.host.files.contains("/run/pvc/heartbeat"));
    EXPECT_TRUE(hv1.host.files.contains("/var/lib/lost"));
    const std::string boot = hv1.host.machine.boot_id;
    perform("power-off hv1");
    EXPECT_FALSE(hv1.host.files.contains("/run/pvc/heartbeat"));
    EXPECT_FALSE(hv1.host.files.contains("/var/lib/lost"));
    EXPECT_TRUE(hv1.host.files.contains("/var/lib/kept"));
    EXPECT_NE(hv1.host.machine.boot_id, boot);
}

TEST_F(cluster_test, a_file_that_is_being_replaced_is_the_old_or_the_new_one) {
    hv1.host.files["/etc/kept"] = "old";
    hv1.host.storage.write("/etc/kept.new", "new");
    hv1.host.storage.lose_power();
    EXPECT_EQ(hv1.host.files["/etc/kept"], "old");
    hv1.host.storage.write("/etc/kept.new", "new");
    hv1.host.storage.sync("/etc/kept.new");
    hv1.host.storage.rename("/etc/kept.new", "/etc/kept");
    hv1.host.storage.lose_power();
    EXPECT_EQ(hv1.host.files["/etc/kept"], "old");  // the name was not synced yet
    hv1.host.storage.write("/etc/kept.new", "new");
    hv1.host.storage.sync("/etc/kept.new");
    hv1.host.storage.rename("/etc/kept.new", "/etc/kept");
    hv1.host.storage.sync_folder("/etc");
    hv1.host.storage.lose_power();
    EXPECT_EQ(hv1.host.files["/etc/kept"], "new");
}

TEST_F(cluster_test, a_delayed_action_strikes_so_many_steps_later) {
    perform("kill hv1 after 30 steps");
    EXPECT_TRUE(hv1.is_running());
    for (int i = 0; i < 31; ++i) {
        world.step();
    }
    EXPECT_FALSE(hv1.is_running());
}

TEST_F(cluster_test, healing_ends_every_fault) {
    for (const std::string_view fault :
         {"cut hv1", "hang-disk hv1", "fill-pool hv1", "break-services hv1", "latency hv1 2s", "pause hv2"}) {
        perform(fault);
    }
    pass(30s);
    perform("heal");
    pass(100s);
    EXPECT_EQ(watch.missing(), std::vector<std::string>());
}

// Kills at every step of a start: frames, locks and timers of each leave nothing behind (the sanitizers look on).
TEST_F(cluster_test, a_daemon_can_be_killed_at_every_step_of_its_start) {
    perform("kill hv1");
    for (int steps = 0; steps < 260; ++steps) {
        perform("start hv1");
        for (int i = 0; i < steps && world.step(); ++i) {
            watch.look();
        }
        perform("kill hv1");
        ASSERT_FALSE(watch.broken()) << watch.broken()->what;
    }
    perform("start hv1");
    pass(120s);
    EXPECT_EQ(watch.missing(), std::vector<std::string>());
}

TEST(random_run, the_same_seed_goes_the_same_way) {
    run_settings settings;
    settings.length = 10min;
    for (settings.seed = 1; settings.seed <= 3; ++settings.seed) {
        settings.nodes = std::nullopt;
        const auto one = run_once(settings);
        const auto two = run_once(settings);
        EXPECT_FALSE(one.broken) << one.broken->what;
        EXPECT_EQ(one.hash, two.hash);
        EXPECT_EQ(one.steps, two.steps);
    }
}

TEST(random_run, seeds_differ_and_faults_matter) {
    run_settings settings;
    settings.length = 60min;
    const auto one = run_once(settings);
    settings.seed = 2;
    EXPECT_NE(run_once(settings).hash, one.hash);
    settings.seed = 1;
    settings.faults = false;
    const auto quiet = run_once(settings);
    EXPECT_NE(quiet.hash, one.hash);
    EXPECT_FALSE(quiet.seen.contains("action kill"));
}

}  // namespace pvc::sim
