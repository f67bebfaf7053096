// The orderly stop and signals: node-lifecycle.md 5.1, 5.2, B.2; zookeeper-schema.md 10.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class termination : public node_test {
protected:
    termination() { sim::initialise(ensemble, 10); }

    // Seconds from the request to the end.
    double stop_time(sim_node& node) {
        const auto from = loop.clock().now();
        node.stop();
        EXPECT_TRUE(node.exit_status);
        return std::chrono::duration<double>(loop.clock().now() - from).count();
    }
    // What happened to these keys, in order.
    [[nodiscard]] std::vector<std::string> story(const std::vector<std::string>& paths) const {
        std::vector<std::string> lines;
        for (const auto& change : ensemble.trace()) {
            if (std::ranges::count(paths, change.path) > 0) {
                lines.push_back(change.text());
            }
        }
        return lines;
    }
    [[nodiscard]] bool was_closed(std::int64_t session) const {
        return std::ranges::any_of(ensemble.trace_of(session),
                                   [](const auto& change) { return change.what == recorded_kind::close_session; });
    }
};

TEST_F(termination, ac18_an_idle_secondary) {
    put_peer("hv2", "coordinator", "run", "primary");
    ensemble.put("/config/primary_node", "hv2");
    auto& hv1 = add_running();
    run_with_beats(12s, {"hv2"});
    const auto session = hv1.connector.link().session_id();
    ensemble.clear_trace();
    EXPECT_LT(stop_time(hv1), 1.0);
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(values_written("/nodes/hv1/daemonstate"), (std::vector<std::string>{"shutdown", "stop"}));
    const auto lines = story({"/nodes/hv1/daemonstate", "/nodes/hv1/keepalive"});
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0], "set /nodes/hv1/daemonstate = shutdown");
    EXPECT_TRUE(lines[1].starts_with("set /nodes/hv1/keepalive = "));
    EXPECT_EQ(lines[2], "set /nodes/hv1/daemonstate = stop");
    EXPECT_EQ(changes("/nodes/hv1/selfreset").back().zxid, changes("/nodes/hv1/daemonstate").back().zxid);
    EXPECT_EQ(value("/nodes/hv1/monitoring_health"), "None");
    EXPECT_TRUE(changes("/config").empty());
    EXPECT_TRUE(was_closed(session));
    EXPECT_EQ(hv1.notifier.count("STOPPING=1"), 1U);
}

TEST_F(termination, ac19_zk32_a_primary_hands_over_first) {
    auto& hv1 = add_primary();
    auto& hv2 = add_running({.name = "hv2"});
    loop.run_for(12s);
    ensemble.clear_trace();
    EXPECT_LT(stop_time(hv1), 3.0);
    EXPECT_EQ(hv1.exit_status, 0);
    const auto lines = story({"/nodes/hv1/daemonstate", "/config/primary_node", "/nodes/hv1/routerstate"});
    EXPECT_EQ(lines,
              (std::vector<std::string>{"set /nodes/hv1/daemonstate = shutdown", "set /config/primary_node = none",
                                        "set /config/primary_node = hv2", "set /nodes/hv1/routerstate = secondary",
                                        "set /nodes/hv1/daemonstate = stop"}));
    EXPECT_EQ(value("/nodes/hv1/monitoring_health"), "None");
    loop.run_for(2s);
    EXPECT_EQ(role_of(hv2), "primary");
}

TEST_F(termination, ac20_a_primary_without_a_successor_does_not_wait) {
    put_peer("hv2", "coordinator", "stop", "secondary");
    put_peer("hv3", "coordinator", "run", "secondary");  // silent: its keepalive stands still
    put_peer("hv4", "hypervisor", "run", "client");
    auto& hv1 = add_primary();
    run_with_beats(45s, {"hv4"});
    ensemble.clear_trace();
    EXPECT_LT(stop_time(hv1), 5.0);
    EXPECT_EQ(
        story({"/nodes/hv1/daemonstate", "/config/primary_node", "/nodes/hv1/routerstate"}),
        (std::vector<std::string>{"set /nodes/hv1/daemonstate = shutdown", "set /config/primary_node = none",
                                  "set /nodes/hv1/routerstate = secondary", "set /nodes/hv1/daemonstate = stop"}));
}

TEST_F(termination, a_successor_that_never_comes_is_waited_for_60_s) {
    put_peer("hv2", "coordinator", "run", "secondary");
    auto& hv1 = add_primary();
    run_with_beats(12s, {"hv2"});
    hv1.terminate();
    const auto from = loop.clock().now();
    run_with_beats(58s, {"hv2"});
    EXPECT_FALSE(hv1.exit_status);
    EXPECT_EQ(state_of(hv1), "shutdown");
    EXPECT_GE(times("/nodes/hv1/keepalive", from).size(), 11U);  // it goes on checking in
    run_with_beats(5s, {"hv2"});
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_EQ(state_of(hv1), "stop");
}

TEST_F(termination, ac22_a_stopping_node_does_not_contend) {
    put_peer("hv2", "coordinator", "run", "secondary");
    put_peer("hv3", "coordinator", "run", "secondary");
    auto& hv1 = add_primary();
    run_with_beats(12s, {"hv2", "hv3"});
    ensemble.clear_trace();
    hv1.terminate();
    run_with_beats(1s, {"hv2", "hv3"});
    ensemble.put("/config/primary_node", "");
    run_with_beats(20s, {"hv2", "hv3"});
    ensemble.put("/config/primary_node", "none");
    run_with_beats(20s, {"hv2", "hv3"});
    EXPECT_FALSE(was_written("/config/primary_node", "hv1"));
    EXPECT_EQ(state_of(hv1), "shutdown");
    ensemble.put("/config/primary_node", "hv3");
    run_with_beats(2s, {"hv2", "hv3"});
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(value("/config/primary_node"), "hv3");
}

TEST_F(termination, a_stopping_node_that_is_declared_dead_does_not_come_back) {
    put_peer("hv2", "coordinator", "run", "secondary");
    auto& hv1 = add_primary();
    run_with_beats(12s, {"hv2"});
    hv1.terminate();
    run_with_beats(2s, {"hv2"});
    ensemble.clear_trace();
    ensemble.put("/nodes/hv1/daemonstate", "dead");
    run_with_beats(15s, {"hv2"});
    EXPECT_EQ(times("/nodes/hv1/keepalive").size(), 3U);
    ensemble.put("/config/primary_node", "hv2");
    run_with_beats(2s, {"hv2"});
    EXPECT_EQ(values_written("/nodes/hv1/daemonstate"), (std::vector<std::string>{"dead", "stop"}));
}

TEST_F(termination, ac23_hup_reopens_the_file_and_nothing_else) {
    auto& hv1 = add_running();
    auto& hv2 = add_running({.name = "hv2", .file_logging = false});
    loop.run_for(6s);
    ensemble.clear_trace();
    for (auto* node : {&hv1, &hv2}) {
        node->daemon().reopen_logs();
    }
    loop.run_for(1s);
    EXPECT_EQ(hv1.log_file->reopened(), 2);  // at start, and now
    EXPECT_EQ(hv2.log_file->reopened(), 0);
    EXPECT_TRUE(changes("/").empty());
    EXPECT_TRUE(hv1.logged("reopening the log file"));
    EXPECT_FALSE(hv2.logged("reopening the log file"));
    EXPECT_EQ(hv1.configuration_reads, 1);
}

TEST_F(termination, a_second_request_is_ignored) {
    put_peer("hv2", "coordinator", "run", "secondary");
    auto& hv1 = add_primary();
    run_with_beats(12s, {"hv2"});
    hv1.terminate();
    for (int i = 0; i < 20; ++i) {
        loop.run_for(1s);
        hv1.daemon().request_stop("signal INT");
    }
    EXPECT_FALSE(hv1.exit_status);  // it still waits for its successor
    EXPECT_EQ(hv1.notifier.count("STOPPING=1"), 1U);
    EXPECT_EQ(hv1.times_logged("stopping: signal"), 1U);
    ensemble.put("/config/primary_node", "hv2");
    loop.run_for(1s);
    EXPECT_EQ(hv1.exit_status, 0);
}

// It accepts what is sent and answers nothing: after 5 s it is as good as away. When it goes on, it finds that this
// node was leaving.
TEST_F(termination, a_server_that_falls_silent_is_not_waited_for) {
    put_peer("hv2", "coordinator", "stop", "secondary");
    auto& hv1 = add_primary();
    loop.run_for(7s);
    ensemble.freeze();
    loop.run_for(300ms);
    EXPECT_LT(stop_time(hv1), 5.5);
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_TRUE(hv1.logged("stopping without ZooKeeper"));
    ensemble.thaw();
    loop.run_for(2s);
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "shutdown");
}

TEST_F(termination, a_deleted_record_does_not_keep_the_role) {
    put_peer("hv2", "coordinator", "stop", "secondary");
    auto& hv1 = add_primary();
    loop.run_for(7s);
    ensemble.remove_tree("/nodes/hv1");
    loop.run_for(7s);
    EXPECT_LT(stop_time(hv1), 5.0);
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(value("/config/primary_node"), "none");
    EXPECT_FALSE(ensemble.exists("/nodes/hv1"));
}

TEST_F(termination, a_version_that_is_too_new_ends_a_running_node_in_order_with_exit_1) {
    put_peer("hv2", "coordinator", "stop", "secondary");
    auto& hv1 = add_primary();
    loop.run_for(7s);
    ensemble.put("/schema/version", "16");
    ASSERT_TRUE(run_until([&] { return hv1.exit_status.has_value(); }, 20s));
    EXPECT_EQ(hv1.exit_status, 1);
    EXPECT_EQ(state_of(hv1), "stop");
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_EQ(value("/config/primary_node"), "none");
    EXPECT_EQ(value("/schema/version"), "16");
}

TEST_F(termination, a_whole_cluster_that_stops_at_once_waits_for_nobody) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add();
    auto& hv2 = add({.name = "hv2"});
    auto& hv3 = add({.name = "hv3"});
    for (auto* node : {&hv1, &hv2, &hv3}) {
        node->start();
    }
    loop.run_for(20s);
    const time_point from = loop.clock().now();
    for (auto* node : {&hv1, &hv2, &hv3}) {
        node->terminate();
    }
    ASSERT_TRUE(run_until([&] { return hv1.exit_status && hv2.exit_status && hv3.exit_status; }));
    EXPECT_LT(loop.clock().now() - from, 2s);
    EXPECT_EQ(value("/config/primary_node"), "none");
    for (const auto* name : {"hv1", "hv2", "hv3"}) {
        EXPECT_EQ(value(std::string("/nodes/") + name + "/daemonstate"), "stop");
        EXPECT_EQ(value(std::string("/nodes/") + name + "/routerstate"), "secondary");
    }
}

}  // namespace
}  // namespace pvc::node
