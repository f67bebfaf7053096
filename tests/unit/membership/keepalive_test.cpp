// The heartbeat and the node's figures: node-lifecycle.md 6 and B.3, zookeeper-schema.md 3.2.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class keepalive_test : public node_test {
protected:
    keepalive_test() { sim::initialise(ensemble, 10); }
};

TEST_F(keepalive_test, the_cadence_is_exact) {
    auto& hv1 = add_running();
    const auto from = loop.clock().now();
    hv1.connector.link().latency = 300ms;
    loop.run_for(300s);
    hv1.connector.link().latency = 1ms;
    const auto at = times("/nodes/hv1/keepalive", from);
    ASSERT_GE(at.size(), 59U);
    for (std::size_t i = 1; i < at.size(); ++i) {
        EXPECT_NEAR(at[i] - at[0], 5.0 * static_cast<double>(i), 0.2) << i;
    }
}

TEST_F(keepalive_test, missed_ticks_coalesce_and_the_cadence_stays) {
    auto& hv1 = add_running({.keepalive_interval = 1});
    loop.run_for(10s + 500ms);
    const auto first = times("/nodes/hv1/keepalive").back();
    const auto before = loop.clock().now();
    loop.clock().advance_to(before + 3s + 200ms);  // nothing ran: three ticks fell due
    loop.run_ready();
    loop.run_for(100ms);
    const auto late = times("/nodes/hv1/keepalive", before);
    EXPECT_EQ(late.size(), 1U);
    loop.run_for(5s);
    for (const double at : times("/nodes/hv1/keepalive", before + 4s)) {
        const double since = std::chrono::duration<double>(before + 4s - time_point{}).count() + at - first;
        EXPECT_NEAR(since, std::round(since), 0.01);
    }
    EXPECT_EQ(state_of(hv1), "run");
}

TEST_F(keepalive_test, wall_clock_steps_change_nothing_but_the_stamp) {
    auto& hv1 = add_primary();
    put_peer("hv2", "coordinator", "run", "secondary");
    const auto from = loop.clock().now();
    for (const auto step : {duration(1h), duration(-2h), duration(1h)}) {
        hv1.clock.step_wall(step);
        const auto stamp = hv1.clock.wall_now();
        run_with_beats(30s, {"hv2"});
        EXPECT_GE(std::stoll(value("/nodes/hv1/keepalive")), unix_seconds(stamp));
        EXPECT_LE(std::stoll(value("/nodes/hv1/keepalive")), unix_seconds(stamp) + 31);
    }
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 18U);
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_FALSE(hv1.logged("missed"));
    EXPECT_FALSE(hv1.logged("gave up"));
}

TEST_F(keepalive_test, ac35_declared_dead_or_fenced_checks_in_within_a_second) {
    auto& hv1 = add_running();
    loop.run_for(7s);
    for (const auto* state : {"dead", "fenced"}) {
        loop.run_for(10s);
        const auto from = loop.clock().now();
        ensemble.put("/nodes/hv1/daemonstate", state);
        loop.run_for(1s);
        EXPECT_EQ(state_of(hv1), "run");
        const auto state_change = changes("/nodes/hv1/daemonstate").back();
        const auto beat = changes("/nodes/hv1/keepalive").back();
        EXPECT_EQ(state_change.zxid, beat.zxid);
        EXPECT_LE(beat.when - from, 1s);
    }
}

TEST_F(keepalive_test, ac35_somebody_who_keeps_writing_dead_is_answered_and_not_flooded) {
    auto& hv1 = add_running();
    loop.run_for(7s);
    const auto from = loop.clock().now();
    for (int i = 0; i < 100; ++i) {
        ensemble.put("/nodes/hv1/daemonstate", "dead");
        loop.run_for(100ms);
    }
    loop.run_for(1s);
    EXPECT_EQ(state_of(hv1), "run");
    EXPECT_LE(times("/nodes/hv1/keepalive", from).size(), 14U);  // one a second, and the cadence
    EXPECT_GE(times("/nodes/hv1/keepalive", from).size(), 8U);
}

TEST_F(keepalive_test, ac36_a_foreign_shutdown_is_not_overwritten) {
    auto& hv1 = add_running();
    ensemble.put("/nodes/hv1/daemonstate", "shutdown");
    const auto from = loop.clock().now();
    loop.run_for(20s);
    EXPECT_EQ(state_of(hv1), "shutdown");
    EXPECT_EQ(times("/nodes/hv1/daemonstate", from).size(), 1U);  // the foreign write itself
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 4U);
    ensemble.put("/nodes/hv1/daemonstate", "run");
}

TEST_F(keepalive_test, ac38_a_secondary_writes_nothing_of_the_cluster) {
    put_peer("hv2", "coordinator", "run", "primary");
    ensemble.put("/config/primary_node", "hv2");
    auto& hv1 = add_running();
    ensemble.clear_trace();
    run_with_beats(60s, {"hv2"});
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_TRUE(changes("/config").empty());
    EXPECT_TRUE(changes("/ceph").empty());
    EXPECT_TRUE(changes("/schema").empty());
}

TEST_F(keepalive_test, ac42_details_without_keepalives_give_no_tick_line) {
    auto& hv1 = add_running({.log_keepalives = false, .cluster_details = true});
    loop.run_for(20s);
    EXPECT_FALSE(hv1.logged("tick: "));
    hv1.stop();
    auto& hv2 = add_running({.name = "hv2", .cluster_details = true});
    loop.run_for(11s);
    EXPECT_EQ(hv2.times_logged("tick: hv2 keepalive @"), 3U);
    EXPECT_EQ(hv2.times_logged("tick: Maintenance: False, health: N/A, VMs: 0, OSDs: 0, load: 0.1"), 3U);
}

TEST_F(keepalive_test, ac114_before_run_the_keepalive_goes_alone) {
    sim::initialise(ensemble, 9);  // a version that is considered for raising: more to read
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/nodes/hv2/latestschema", "9");
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(run_until([&] { return state_of(hv1) == "init"; }));
    const auto registered = loop.clock().now();
    hv1.connector.link().answer_delay = 1900ms;  // everything that S8 and S12 read takes long
    loop.run_for(7s);
    ensemble.put("/nodes/hv1/daemonstate", "dead");
    loop.run_for(5s);
    const auto beats = times("/nodes/hv1/keepalive", registered + 1ms);
    ASSERT_GE(beats.size(), 2U);
    EXPECT_NEAR(beats[0], 5.0 + 1.9, 0.1);  // the last read of S8 is among the slow ones
    EXPECT_NEAR(beats[1] - beats[0], 5.0, 0.1);
    EXPECT_EQ(state_of(hv1), "init");  // dead before it ever ran: set back in the heartbeat
    EXPECT_EQ(changes("/nodes/hv1/daemonstate").back().zxid, changes("/nodes/hv1/keepalive").back().zxid);
    EXPECT_FALSE(was_written("/nodes/hv1/daemonstate", "run"));
    hv1.connector.link().answer_delay = {};
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(state_of(hv1), "run");
}

TEST_F(keepalive_test, ac117_a_deleted_entry_is_an_error_per_tick_and_no_isolation) {
    auto& hv1 = add_primary({.suicide_intervals = 6});
    loop.run_for(1s);
    ensemble.remove_tree("/nodes/hv1");
    const std::size_t before = hv1.times_logged("failed: the entry of this node");
    loop.run_for(120s);
    EXPECT_NEAR(static_cast<double>(hv1.times_logged("failed: the entry of this node") - before), 24, 1);
    EXPECT_FALSE(ensemble.exists("/nodes/hv1"));
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::primary);
    EXPECT_FALSE(hv1.logged("gave up the primary role"));
    EXPECT_EQ(value("/config/primary_node"), "hv1");
    hv1.stop();
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_FALSE(ensemble.exists("/nodes/hv1"));
}

TEST_F(keepalive_test, ac138_slow_acknowledgements_are_no_isolation) {
    auto& hv1 = add_primary({.suicide_intervals = 6});
    loop.run_for(1s);
    const auto from = loop.clock().now();
    hv1.connector.link().write_answer_delay = 3s;
    for (int i = 0; i < 120; ++i) {
        loop.run_for(1s);
        EXPECT_LE(hv1.daemon().context().heartbeat_age(), 8s);
        EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::primary);
    }
    hv1.connector.link().write_answer_delay = {};
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_NEAR(beat_gaps("hv1", from).front(), 5, 0.01);
}

TEST_F(keepalive_test, a_foreign_writer_of_the_keepalive_is_named) {
    auto& hv1 = add_running();
    loop.run_for(12s);
    EXPECT_FALSE(hv1.logged("somebody else writes"));
    ensemble.put("/nodes/hv1/keepalive", "1700000000");
    loop.run_for(10s);
    EXPECT_EQ(hv1.times_logged("somebody else writes /nodes/hv1/keepalive"), 1U);
}

TEST_F(keepalive_test, zk24_garbage_of_peers_is_harmless) {
    put_peer("hv2", "coordinator", "run", "secondary");
    auto& hv1 = add_running();
    for (const auto* key : {"", "/memfree", "/monitoring_health", "/keepalive", "/daemonstate", "/routerstate",
                            "/latestschema", "/domainstate"}) {
        ensemble.put(std::string("/nodes/hv2") + key, "None\xff abc");
    }
    ensemble.put("/nodes/not a node/keepalive", "");
    ensemble.put("/nodes/hv9", "");
    const auto from = loop.clock().now();
    loop.run_for(60s);
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 12U);
    EXPECT_EQ(state_of(hv1), "run");
    EXPECT_EQ(hv1.exit_status, std::nullopt);
}

TEST_F(keepalive_test, config45_a_peer_with_another_interval_is_named_once) {
    put_peer("hv2", "coordinator", "run", "secondary");
    put_peer("hv3", "coordinator", "run", "secondary");
    auto& hv1 = add_running();
    for (int i = 0; i < 30; ++i) {
        ensemble.put("/nodes/hv2/keepalive", std::to_string(i));
        run_with_beats(30s, {"hv3"});
    }
    EXPECT_EQ(hv1.times_logged("hv2 checks in every 30.0 s, this node every 5.0 s"), 1U);
    EXPECT_FALSE(hv1.logged("hv3 checks in"));
}

TEST_F(keepalive_test, a_disk_that_hangs_does_not_reach_the_heartbeat) {
    auto& hv1 = add_running();
    loop.run_for(6s);
    hv1.host.disk_time = 1h;
    const auto from = loop.clock().now();
    loop.run_for(60s);
    hv1.host.disk_time = 1ms;
    EXPECT_LE(beat_gaps("hv1", from).front(), 5.1);
    EXPECT_EQ(hv1.times_logged("cannot note the heartbeat"), 1U);
}

TEST_F(keepalive_test, answers_of_almost_two_seconds_do_not_stretch_the_cadence) {
    sim::initialise(ensemble, 10);
    put_peer("hv2", "coordinator", "run", "secondary");
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    hv1.connector.link().answer_delay = 1900ms;
    const time_point from = loop.clock().now();
    loop.run_for(60s);
    hv1.connector.link().answer_delay = {};
    const auto beats = times("/nodes/hv1/keepalive", from);
    ASSERT_GE(beats.size(), 11U);
    for (std::size_t i = 1; i < beats.size(); ++i) {
        EXPECT_NEAR(beats[i] - beats[i - 1], 5.0, 0.1) << i;
    }
}

// Each attempt to say `run` finds another version: that must not keep the heartbeat away.
TEST_F(keepalive_test, somebody_keeps_writing_the_state) {
    auto& hv1 = add_running();
    loop.run_for(7s);
    hv1.connector.link().answer_delay = hv1.connector.link().write_answer_delay = 300ms;
    const auto beats = changes("/nodes/hv1/keepalive").size();
    for (int i = 0; i < 100; ++i) {
        ensemble.put("/nodes/hv1/daemonstate", "dead");
        loop.run_for(300ms);
    }
    EXPECT_GE(changes("/nodes/hv1/keepalive").size() - beats, 6U);
    EXPECT_FALSE(hv1.logged("missed"));
    EXPECT_EQ(hv1.times_logged("node-state-contested"), 1U);
    loop.run_for(6s);
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "run");
}

}  // namespace
}  // namespace pvc::node
