// What happens to a node when its ZooKeeper session does not: node-lifecycle.md 4 and B.2, zookeeper-schema.md 14.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class session_test : public node_test {
protected:
    session_test() { sim::initialise(ensemble, 10); }

    // SIGSTOP for a while: nothing of the node runs and nothing reaches it; the servers go on.
    void stand_still(sim_node& node, duration time) {
        node.connector.link().pause();
        loop.clock().advance_to(loop.clock().now() + time);
        node.connector.link().resume();
    }
    static std::int64_t session_of(sim_node& node) { return node.connector.link().session_id(); }
};

TEST_F(session_test, ac24_a_lost_connection_within_the_session_changes_nothing) {
    auto& hv1 = add_primary();
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/config/maintenance", "true");
    loop.run_for(12s);
    const auto id = session_of(hv1);
    const auto reads = hv1.configuration_reads;
    ensemble.clear_trace();
    ASSERT_TRUE(run_until([&] { return !changes("/nodes/hv1/keepalive").empty(); }, 6s));
    loop.run_for(100ms);
    ensemble.clear_trace();
    const auto last_beat = loop.clock().now();
    hv1.connector.link().silence();
    run_with_beats(8s, {"hv2"});
    EXPECT_TRUE(changes("/nodes/hv1").empty());
    hv1.connector.link().end_silence();
    loop.run_for(10s);
    EXPECT_EQ(session_of(hv1), id);
    EXPECT_EQ(hv1.configuration_reads, reads);
    EXPECT_EQ(hv1.times_logged("maintenance mode is"), 1U);
    EXPECT_EQ(hv1.times_logged("is now in state"), 0U);
    EXPECT_TRUE(changes("/nodes/hv1/routerstate").empty());
    EXPECT_TRUE(changes("/nodes/hv1/daemonstate").empty());
    EXPECT_TRUE(changes("/config").empty());
    const auto beats = times("/nodes/hv1/keepalive", last_beat);
    ASSERT_FALSE(beats.empty());
    EXPECT_LE(beats.front(), 8.0 + 5.0);
    EXPECT_EQ(ensemble.watches("/config/primary_node"), 1U);
}

TEST_F(session_test, ac25_an_expired_session_is_replaced_and_everything_is_read_anew) {
    auto& hv1 = add_primary();
    put_peer("hv2", "coordinator", "run", "secondary");
    loop.run_for(12s);
    const auto id = session_of(hv1);
    EXPECT_EQ(hv1.memory_given_back, 1);
    hv1.connector.link().cut();
    hv1.connector.link().expire_sessions();
    ensemble.put("/config/maintenance", "true");
    loop.run_for(1s);
    hv1.connector.link().mend();
    const auto from = loop.clock().now();
    run_with_beats(12s, {"hv2"});
    EXPECT_NE(session_of(hv1), id);
    for (const auto* path : {"/config/primary_node", "/config/maintenance", "/nodes", "/nodes/hv1/daemonstate",
                             "/nodes/hv1/routerstate", "/nodes/hv2/daemonstate", "/schema/version"}) {
        EXPECT_EQ(ensemble.watches(path), 1U) << path;
    }
    const auto beats = times("/nodes/hv1/keepalive", from);
    ASSERT_FALSE(beats.empty());
    EXPECT_LE(beats.front(), 5.0);
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_TRUE(hv1.logged("maintenance mode is on"));
    EXPECT_EQ(hv1.configuration_reads, 1);
    EXPECT_EQ(hv1.memory_given_back, 2);
    EXPECT_EQ(changes("/nodes/hv1/daemonstate").back().data, "run");
    EXPECT_FALSE(was_written("/nodes/hv1/daemonstate", "shutdown"));
    // What changes from now on is seen.
    ensemble.put("/config/primary_node", "hv2");
    loop.run_for(1s);
    EXPECT_EQ(role_of(hv1), "secondary");
}

TEST_F(session_test, ac25_a_role_that_was_handed_over_meanwhile_is_given_up) {
    for (const bool by_fencer : {false, true}) {
        sim::initialise(ensemble, 10);
        auto& node = add({.name = by_fencer ? "hv2" : "hv1"});
        ensemble.put("/config/primary_node", "none");
        node.start();
        ASSERT_TRUE(run_until([&] { return role_of(node) == "primary"; }));
        put_peer("hv3", "coordinator", "run", "secondary");
        loop.run_for(12s);
        node.connector.link().cut();
        run_with_beats(15s, {"hv3"});  // the session is over
        ensemble.put("/config/primary_node", "hv3");
        if (by_fencer) {
            ensemble.put({{"/nodes/hv2/routerstate", "secondary"}, {"/nodes/hv2/daemonstate", "fenced"}});
        }
        node.connector.link().mend();
        run_with_beats(10s, {"hv3"});
        EXPECT_EQ(role_of(node), "secondary");
        EXPECT_EQ(state_of(node), "run");
        EXPECT_EQ(node.daemon().context().role.now(), model::router_state::secondary);
        EXPECT_EQ(value("/config/primary_node"), "hv3");
        node.stop();
    }
}

TEST_F(session_test, ac116_a_pause_proves_nothing_and_the_heartbeat_comes_first) {
    auto& hv1 = add_primary();
    loop.run_for(11s);
    const auto sent = *hv1.daemon().context().heartbeat_sent;
    stand_still(hv1, 40s);
    EXPECT_GE(hv1.daemon().context().heartbeat_age(), 40s);
    EXPECT_EQ(*hv1.daemon().context().heartbeat_sent, sent);
    const auto from = loop.clock().now();
    ensemble.clear_trace();
    loop.run_for(3s);
    EXPECT_EQ(role_of(hv1), "primary");  // 40 s are not 55
    ASSERT_FALSE(times("/nodes/hv1/keepalive", from).empty());
    EXPECT_LE(times("/nodes/hv1/keepalive", from).front(), 3.0);
    const auto written = changes("/");
    ASSERT_FALSE(written.empty());
    EXPECT_EQ(written.front().path, "/nodes/hv1/keepalive") << written.front().text();
}

TEST_F(session_test, ac116_a_short_pause_keeps_the_session) {
    auto& hv1 = add_primary();
    loop.run_for(11s);
    const auto id = session_of(hv1);
    stand_still(hv1, 5s);
    loop.run_for(10s);
    EXPECT_EQ(session_of(hv1), id);
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_FALSE(hv1.logged("session lost"));
}

TEST_F(session_test, a_pause_beyond_the_limit_costs_the_role_before_anything_else) {
    auto& hv1 = add_primary();
    put_peer("hv2", "coordinator", "run", "secondary");
    run_with_beats(11s, {"hv2"});
    ensemble.put("/config/primary_node", "hv2");  // named while it stood still
    stand_still(hv1, 70s);
    ASSERT_TRUE(run_until([&] { return hv1.daemon().context().role.now() == model::router_state::secondary; }, 1s));
    run_with_beats(10s, {"hv2"});
    EXPECT_EQ(role_of(hv1), "secondary");
}

TEST_F(session_test, an_isolated_primary_gives_up_at_its_limit_and_not_before) {
    auto& hv1 = add_primary();
    loop.run_for(12s);
    hv1.connector.link().cut();
    const auto sent = *hv1.daemon().context().heartbeat_sent;
    while (hv1.daemon().context().role.now() == model::router_state::primary) {
        ASSERT_LE(hv1.daemon().context().heartbeat_age(), 56s);
        loop.run_for(100ms);
    }
    EXPECT_EQ(*hv1.daemon().context().heartbeat_sent, sent);
    EXPECT_GE(hv1.daemon().context().heartbeat_age(), 55s);  // (6 + 6) x 5 - 5
    EXPECT_EQ(hv1.times_logged("failed: no heartbeat was acknowledged for 55 s: gave up the primary role"), 1U);
    EXPECT_EQ(role_of(hv1), "primary");  // it could not write
    loop.run_for(10min);
    hv1.connector.link().mend();
    loop.run_for(10s);
    const auto roles = values_written("/nodes/hv1/routerstate");
    ASSERT_GE(roles.size(), 2U);
    EXPECT_EQ(roles[roles.size() - 2], "secondary");  // first what it is, then the usual rules
    EXPECT_EQ(roles.back(), "primary");
    EXPECT_EQ(hv1.exit_status, std::nullopt);
}

TEST_F(session_test, without_fencing_nobody_else_takes_over_and_the_role_is_kept) {
    auto& hv1 = add_primary({.fence_intervals = 0});
    loop.run_for(12s);
    hv1.connector.link().cut();
    loop.run_for(10min);
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::primary);
    hv1.connector.link().mend();
    loop.run_for(10s);
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_FALSE(was_written("/nodes/hv1/routerstate", "takeover"));
    EXPECT_FALSE(hv1.logged("now secondary"));
}

TEST_F(session_test, flapping_every_second_loses_nothing_for_good) {
    auto& hv1 = add_primary();
    loop.run_for(12s);
    const auto from = loop.clock().now();
    for (int i = 0; i < 300; ++i) {
        hv1.connector.link().drop(i % 2 == 0 ? sim::in_flight::lost : sim::in_flight::applied);
        loop.run_for(1s);
    }
    EXPECT_LE(beat_gaps("hv1", from).front(), 25.0);  // nobody fences it
    loop.run_for(10s);
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::primary);
    EXPECT_TRUE(lock_children("/config/primary_node").empty());
}

TEST_F(session_test, a_frozen_ensemble_is_survived) {
    auto& hv1 = add_primary();
    auto& hv2 = add_running({.name = "hv2"});
    loop.run_for(12s);
    ensemble.freeze();
    loop.run_for(40s);
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::primary);
    loop.run_for(80s);
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);
    ensemble.thaw();
    loop.run_for(30s);
    for (auto* node : {&hv1, &hv2}) {
        EXPECT_EQ(node->exit_status, std::nullopt);
        EXPECT_EQ(state_of(*node), "run");
        EXPECT_EQ(node->configuration_reads, 1);
    }
    EXPECT_EQ((role_of(hv1) == "primary") + (role_of(hv2) == "primary"), 1);
    EXPECT_EQ(role_of(value("/config/primary_node") == "hv1" ? hv1 : hv2), "primary");
}

TEST_F(session_test, zk16_expiry_while_contending_writes_no_name_and_leaves_no_child) {
    auto& hv1 = add_running();
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/config/primary_node", "hv2");
    run_with_beats(11s, {"hv2"});
    ASSERT_EQ(role_of(hv1), "secondary");
    bool expired = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& request) {
        const bool claims = std::ranges::any_of(request.operations, [](const auto& one) {
            return one.path == "/config/primary_node" && one.data == "hv1";
        });
        if (claims && !expired) {
            expired = true;
            hv1.connector.link().expire_sessions();
        }
        return sim::verdict::answer;
    };
    ensemble.put("/config/primary_node", "none");
    const auto from = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return expired; }, 10s));
    EXPECT_EQ(value("/config/primary_node"), "none");
    EXPECT_TRUE(lock_children("/config/primary_node").empty());
    ASSERT_TRUE(run_until([&] { return ensemble.watches("/config/primary_node") == 1; }, 5s));
    run_with_beats(15s, {"hv2"});
    EXPECT_EQ(value("/config/primary_node"), "hv1");
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_LE(times("/nodes/hv1/keepalive", from).front(), 5.1);
}

TEST_F(session_test, a_lagging_server_is_only_late) {
    auto& hv1 = add();
    auto& hv2 = add({.name = "hv2"});
    hv1.connector.link().lag = 2s;
    hv2.connector.link().lag = 500ms;
    hv1.start();
    hv2.start();
    ASSERT_TRUE(hv1.run_until_ready());
    ASSERT_TRUE(hv2.run_until_ready());
    loop.run_for(20s);
    for (const auto* name : {"hv2", "hv1", "hv2", "none"}) {
        ensemble.put("/config/primary_node", name);
        loop.run_for(20s);
        const auto primary = value("/config/primary_node");
        EXPECT_TRUE(primary == "hv1" || primary == "hv2") << primary;
        EXPECT_EQ(value("/nodes/" + primary + "/routerstate"), "primary") << name;
        EXPECT_EQ((role_of(hv1) == "primary") + (role_of(hv2) == "primary"), 1) << name;
    }
    EXPECT_TRUE(lock_children("/config/primary_node").empty());
    EXPECT_LE(hv1.times_logged("this node is now"), 6U);
}

TEST_F(session_test, the_outcome_of_a_role_change_is_unknown_it_is_read_and_kept) {
    for (const auto what : {sim::verdict::drop_before, sim::verdict::drop_after}) {
        auto& node = add_primary({.name = what == sim::verdict::drop_before ? "hv1" : "hv2"});
        put_peer("hv3", "coordinator", "run", "secondary");
        run_with_beats(11s, {"hv3"});
        for (const auto* target : {"secondary", "primary"}) {
            bool done = false;
            node.connector.link().on_request = [&](const zookeeper::request& request) {
                const bool is_role = std::ranges::any_of(request.operations, [&](const auto& one) {
                    return one.path.ends_with("/routerstate") && one.data == target;
                });
                return is_role && !std::exchange(done, true) ? what : sim::verdict::answer;
            };
            ensemble.clear_trace();
            ensemble.put("/config/primary_node", target == std::string("primary") ? node.settings.name : "hv3");
            run_with_beats(15s, {"hv3"});
            EXPECT_TRUE(done);
            EXPECT_EQ(role_of(node), target);
            EXPECT_EQ(model::to_text(node.daemon().context().role.now()), target);
            EXPECT_EQ(values_written("/nodes/" + node.settings.name + "/routerstate").size(), 1U) << node.log();
        }
        node.connector.link().on_request = nullptr;
        node.stop();
        ensemble.put("/config/primary_node", "none");
        ensemble.remove_tree("/nodes/hv3");
    }
}

}  // namespace
}  // namespace pvc::node
