// Start, stop, kill and faults of a single foreign node: node-lifecycle.md 3 to 6, the columns of the reference.
#include "sim/foreign/foreign_fixture.hpp"

namespace pvc::sim {
namespace {

using names = std::vector<std::string>;

class foreign_life : public foreign_test {};

TEST_F(foreign_life, a_new_node_is_entered_in_one_transaction_without_its_schema_numbers) {
    auto& hv1 = add_running({.name = "hv1"});
    EXPECT_EQ(written_with("/nodes/hv1/daemonmode"),
              (names{"hv1",          "keepalive",  "daemonmode", "daemonstate",    "domainstate",
                     "routerstate",  "staticdata", "pvcversion", "ipmihostname",   "ipmiusername",
                     "ipmipassword", "memtotal",   "memused",    "memfree",        "memalloc",
                     "memprov",      "vcpualloc",  "cpuload",    "runningdomains", "domainscount",
                     "networkscount"}));
    EXPECT_EQ(value("/nodes/hv1"), "coordinator");
    EXPECT_EQ(value("/nodes/hv1/runningdomains"), "0");
    EXPECT_EQ(value("/nodes/hv1/domainstate"), "flushed");
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "init");
    EXPECT_EQ(value("/nodes/hv1/activeschema"), "<missing>");
    EXPECT_EQ(value("/config/primary_node"), "hv1");

    // The first tick is one interval away.
    const auto before = ensemble.trace().size();
    loop.run_for(4900ms);
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "init");
    loop.run_for(200ms);
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "run");
    EXPECT_GT(ensemble.trace().size(), before);
    EXPECT_EQ(written_with("/nodes/hv1/keepalive"),
              (names{"memtotal", "memused", "memfree", "memalloc", "memprov", "vcpualloc", "cpuload", "domainscount",
                     "runningdomains", "keepalive"}));
    EXPECT_TRUE(run_until_role("hv1", "primary"));
    EXPECT_TRUE(hv1.is_running());
}

TEST_F(foreign_life, a_known_node_keeps_its_domain_state_and_gets_its_schema_numbers) {
    auto& hv1 = add_running({.name = "hv1"});
    loop.run_for(12s);
    ensemble.put("/nodes/hv1/domainstate", "ready");
    hv1.kill();
    EXPECT_FALSE(hv1.is_running());
    loop.run_for(20s);
    EXPECT_FALSE(ensemble.has_session(hv1.link().session_id()));
    ensemble.clear_trace();
    hv1.start();
    EXPECT_TRUE(run_until([&] { return hv1.is_ready(); }));
    EXPECT_EQ(written_with("/nodes/hv1/daemonmode"),
              (names{"hv1", "daemonmode", "daemonstate", "routerstate", "staticdata", "pvcversion", "ipmihostname",
                     "ipmiusername", "ipmipassword"}));
    EXPECT_EQ(value("/nodes/hv1/activeschema"), "10");
    EXPECT_EQ(value("/nodes/hv1/latestschema"), "10");
    EXPECT_EQ(value("/nodes/hv1/domainstate"), "ready");
    EXPECT_TRUE(run_until_role("hv1", "primary"));
}

TEST_F(foreign_life, a_single_node_stops_in_order) {
    auto& hv1 = add_running({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    loop.run_for(6s);
    const auto session = hv1.link().session_id();
    ensemble.clear_trace();
    hv1.terminate();
    EXPECT_TRUE(run_until([&] { return !hv1.is_running(); }, 10s));
    EXPECT_EQ(values_written("/nodes/hv1/daemonstate"), (names{"shutdown", "stop"}));
    EXPECT_EQ(values_written("/nodes/hv1/monitoring_health"), names{"None"});
    EXPECT_EQ(values_written("/nodes/hv1/keepalive").size(), 1U);
    // Nobody else is there to take the role.
    EXPECT_TRUE(values_written("/config/primary_node").empty());
    EXPECT_EQ(value("/nodes/hv1/routerstate"), "primary");
    EXPECT_EQ(ensemble.trace().back().what, recorded_kind::close_session);
    EXPECT_FALSE(ensemble.has_session(session));
}

TEST_F(foreign_life, a_signal_in_the_first_seconds_ends_the_process_at_once) {
    auto& hv1 = add({.name = "hv1"});
    hv1.start();
    loop.run_for(5s);
    hv1.terminate();
    EXPECT_FALSE(hv1.is_running());
    EXPECT_EQ(value("/nodes/hv1"), "<missing>");
}

TEST_F(foreign_life, a_primary_that_stops_hands_over_first) {
    auto& hv1 = add_running({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    auto& hv2 = add_running({.name = "hv2", .seed = 2});
    loop.run_for(8s);
    ensemble.clear_trace();
    hv1.terminate();
    EXPECT_TRUE(run_until([&] { return !hv1.is_running(); }));
    EXPECT_EQ(values_written("/config/primary_node"), (names{"none", "hv2"}));
    EXPECT_EQ(values_written("/nodes/hv1/routerstate"), (names{"relinquish", "secondary"}));
    EXPECT_EQ(values_written("/nodes/hv2/routerstate"), (names{"takeover", "primary"}));
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "stop");
    EXPECT_TRUE(hv2.is_running());
}

TEST_F(foreign_life, a_killed_node_leaves_its_record_and_its_locks_to_the_end_of_its_session) {
    auto& hv1 = add_running({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    auto& hv2 = add_running({.name = "hv2", .seed = 2});
    loop.run_for(8s);
    client.set_primary("hv2");
    ASSERT_TRUE(run_until([&] { return lock_children("/config/primary_node") == 1; }));
    loop.run_for(500ms);  // it holds both locks
    hv2.kill();
    ensemble.clear_trace();
    loop.run_for(8s);
    EXPECT_EQ(lock_children("/config/primary_node"), 1U);
    EXPECT_EQ(value("/nodes/hv1/routerstate"), "relinquish");
    loop.run_for(30s);
    EXPECT_EQ(lock_children("/config/primary_node"), 0U);
    EXPECT_EQ(lock_children("/config/primary_node/sync_lock"), 0U);
    // The old primary has walked on alone; nobody is primary now.
    EXPECT_EQ(value("/nodes/hv1/routerstate"), "secondary");
    EXPECT_EQ(value("/nodes/hv2/routerstate"), "takeover");
    EXPECT_EQ(value("/nodes/hv2/daemonstate"), "run");
    EXPECT_TRUE(values_written("/nodes/hv2/keepalive").empty());
    EXPECT_TRUE(hv1.is_running());
}

TEST_F(foreign_life, a_lost_session_is_followed_by_another_and_nobody_notices) {
    auto& hv1 = add_running({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    loop.run_for(10s);
    const auto session = hv1.link().session_id();
    hv1.link().expire_sessions();
    ensemble.clear_trace();
    loop.run_for(16s);
    EXPECT_NE(hv1.link().session_id(), session);
    EXPECT_GE(values_written("/nodes/hv1/keepalive").size(), 3U);
    // Watches live on.
    client.ready_node("hv1");
    EXPECT_TRUE(client.run());
    EXPECT_EQ(value("/nodes/hv1/domainstate"), "ready");
}

TEST_F(foreign_life, a_session_lost_in_a_takeover_takes_its_locks_and_not_its_belief) {
    add_running({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    auto& hv2 = add_running({.name = "hv2", .seed = 2});
    loop.run_for(8s);
    client.set_primary("hv2");
    ASSERT_TRUE(run_until([&] { return lock_children("/config/primary_node") == 1; }));
    loop.run_for(100ms);
    hv2.link().expire_sessions();
    loop.run_for(100ms);
    EXPECT_EQ(lock_children("/config/primary_node"), 0U);
    EXPECT_TRUE(run_until_role("hv2", "primary", 60s));
    EXPECT_TRUE(run_until_role("hv1", "secondary", 60s));
}

TEST_F(foreign_life, ticks_wait_for_the_connection_and_come_back_with_it) {
    auto& hv1 = add_running({.name = "hv1"});
    loop.run_for(12s);
    hv1.link().cut();
    loop.run_for(5s);
    ensemble.clear_trace();
    loop.run_for(20s);
    EXPECT_TRUE(values_written("/nodes/hv1/keepalive").empty());
    hv1.link().mend();
    loop.run_for(12s);
    EXPECT_GE(values_written("/nodes/hv1/keepalive").size(), 2U);
    EXPECT_LE(values_written("/nodes/hv1/keepalive").size(), 4U);
    EXPECT_TRUE(hv1.is_running());
}

TEST_F(foreign_life, a_node_waits_for_servers_that_are_down_at_its_start) {
    ensemble.stop();
    auto& hv1 = add({.name = "hv1"});
    hv1.start();
    loop.run_for(60s);
    EXPECT_TRUE(hv1.is_running());
    EXPECT_FALSE(hv1.is_ready());
    ensemble.start();
    EXPECT_TRUE(run_until([&] { return hv1.is_ready(); }));
}

TEST_F(foreign_life, connections_that_break_all_the_time_do_not_end_it) {
    auto& hv1 = add_running({.name = "hv1"});
    add_running({.name = "hv2", .seed = 2});
    random_source random(7);
    hv1.link().on_request = [&random](const zookeeper::request&) {
        const auto draw = random.below(40);
        return draw == 0 ? verdict::drop_before : draw == 1 ? verdict::drop_after : verdict::answer;
    };
    for (int i = 0; i < 20; ++i) {
        client.set_primary(i % 2 == 0 ? "hv2" : "hv1");
        loop.run_for(20s);
    }
    hv1.link().on_request = nullptr;
    ensemble.clear_trace();
    loop.run_for(20s);
    EXPECT_GE(values_written("/nodes/hv1/keepalive").size(), 3U);
    EXPECT_TRUE(hv1.is_running());
    hv1.terminate();
    EXPECT_TRUE(run_until([&] { return !hv1.is_running(); }, 200s));
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "stop");
}

TEST_F(foreign_life, a_hypervisor_of_0_9_82_rewrites_its_role_with_every_change_of_the_primary) {
    add_running({.name = "hv1"});
    add_running({.name = "hv4", .is_coordinator = false});
    EXPECT_EQ(value("/nodes/hv4"), "hypervisor");
    loop.run_for(8s);
    ensemble.clear_trace();
    ensemble.put("/config/primary_node", "none");
    loop.run_for(3s);
    const auto written = values_written("/nodes/hv4/routerstate");
    EXPECT_FALSE(written.empty());
    EXPECT_TRUE(std::ranges::all_of(written, [](const auto& role) { return role == "client"; }));
}

TEST_F(foreign_life, flush_and_unflush_of_an_empty_node) {
    add_running({.name = "hv1"});
    client.ready_node("hv1");
    client.flush_node("hv1");
    EXPECT_TRUE(client.run());
    EXPECT_EQ(values_written("/nodes/hv1/domainstate"), (names{"flushed", "unflush", "ready", "flush", "flushed"}));
    EXPECT_EQ(written_with("/nodes/hv1/domainstate"), (names{"runningdomains", "domainstate"}));
    client.flush_node("hv1");  // is already
    client.set_primary("hv9");
    client.set_maintenance(true);
    client.put({{"/nodes/hv1/extra", "1"}, {"/nodes/hv1/extra/below", "2"}});
    client.remove("/nodes/hv1/extra");
    client.garbage("/nodes/hv1/memfree");
    EXPECT_TRUE(client.run());
    EXPECT_EQ(client.refusals(), 2U);
    EXPECT_EQ(value("/config/maintenance"), "true");
    EXPECT_EQ(value("/nodes/hv1/extra"), "<missing>");
}

TEST_F(foreign_life, version_1_0_3_stops_with_other_keys_and_gives_up_read_locks_after_5_s) {
    const auto late = [](foreign_settings settings) {
        settings.level = reference_level::v1_0_3;
        settings.timings.reading(hand_over_phase::upstream).wake = 5ms;
        return settings;
    };
    auto& hv1 = add_running(late({.name = "hv1"}));
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    add_running(late({.name = "hv2", .seed = 2}));
    loop.run_for(8s);
    client.set_primary("hv2");
    // The deadlock, resolved by the limit.
    EXPECT_TRUE(run_until_role("hv2", "primary", 40s));
    EXPECT_TRUE(run_until_role("hv1", "secondary", 40s));
    EXPECT_EQ(lock_children("/config/primary_node/sync_lock"), 0U);
    ensemble.clear_trace();
    hv1.terminate();
    EXPECT_TRUE(run_until([&] { return !hv1.is_running(); }, 10s));
    EXPECT_EQ(values_written("/nodes/hv1/network_stats"), names{"{}"});
    EXPECT_TRUE(values_written("/nodes/hv1/monitoring_health").empty());
}

TEST(foreign_timings_test, draws_lie_between_the_two_sets_and_repeat) {
    foreign_timings latest;
    latest.settle = 4s;
    latest.writing(hand_over_phase::cluster).work = 2s;
    const foreign_timings earliest;
    bool has_changed = false;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_source random(seed);
        random_source again(seed);
        auto one = drawn_between(earliest, latest, random);
        EXPECT_GE(one.settle, earliest.settle);
        EXPECT_LE(one.settle, latest.settle);
        EXPECT_EQ(one.transition_delay, earliest.transition_delay);
        EXPECT_EQ(one.settle, drawn_between(earliest, latest, again).settle);
        has_changed = has_changed || one.writing(hand_over_phase::cluster).work > 1s;
    }
    EXPECT_TRUE(has_changed);
}

}  // namespace
}  // namespace pvc::sim
