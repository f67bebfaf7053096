// The primary role and what peers are, do and leave undone: rules C1, C5 and foreign writes, node-lifecycle.md 7.2,
// B.5.
#include "unit/role/role_fixture.hpp"

namespace pvc::node {
namespace {

class role_peers_test : public role_fixture {};

TEST_F(role_peers_test, ac83_c5_a_stopped_or_fenced_name_is_cleared_after_two_intervals) {
    for (const auto* state : {"stop", "fenced"}) {
        if (nodes.empty()) {
            stage("hv2");
        } else {
            ensemble.put({{primary_key, "hv2"}, {"/nodes/hv2/daemonstate", "run"}});
            beat(15s);
            ASSERT_EQ(value("/nodes/hv1/routerstate"), "secondary");
        }
        ensemble.clear_trace();
        ensemble.put("/nodes/hv2/daemonstate", state);
        const double after = seconds_until([&] { return value("/nodes/hv1/routerstate") == "primary"; }, 30s);
        EXPECT_GE(after, 10.0);
        EXPECT_LE(after, 16.0);
        EXPECT_EQ(values_written(primary_key), (std::vector<std::string>{"none", "hv1"}));
    }
}

TEST_F(role_peers_test, c5_a_hypervisor_or_a_deleted_node_cannot_be_primary) {
    auto& hv1 = stage("hv2");
    put_peer("hv4", "hypervisor", "run", "client");
    beat(1s);
    ensemble.put(primary_key, "hv4");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 10s);
    ensemble.put(primary_key, "hv3");
    beat(5s);
    ASSERT_EQ(role_of(hv1), "secondary");
    ensemble.remove_tree("/nodes/hv3");
    loop.run_for(6s);
    EXPECT_EQ(role_of(hv1), "primary");
}

TEST_F(role_peers_test, ac87_a_foreign_secondary_is_an_order_to_demote) {
    auto& hv1 = stage("none");
    // As a fencing coordinator does: the role first, then the name.
    ensemble.put("/nodes/hv1/routerstate", "secondary");
    ensemble.put(primary_key, "hv2");
    loop.run_for(100ms);
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);  // no delay, no lock
    beat(20s);
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_EQ(values_written("/nodes/hv1/routerstate"), std::vector<std::string>{"secondary"});
    EXPECT_EQ(hv1.times_logged("this node is now secondary: somebody else set this node to secondary"), 1U);
}

TEST_F(role_peers_test, a_role_that_somebody_writes_is_not_taken_on) {
    auto& hv1 = stage("hv2");
    for (const auto* role : {"primary", "takeover", "relinquish", "client", "\xff garbage", ""}) {
        ensemble.put("/nodes/hv1/routerstate", role);
        beat(1s);
        EXPECT_EQ(role_of(hv1), "secondary") << role;
        EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);
    }
    EXPECT_EQ(values_written(primary_key), std::vector<std::string>{});
    ensemble.put(primary_key, "hv1");
    beat(1s);
    for (const auto* role : {"takeover", "relinquish", "client", "\xff garbage", ""}) {
        ensemble.put("/nodes/hv1/routerstate", role);
        beat(1s);
        EXPECT_EQ(role_of(hv1), "primary") << role;
    }
}

TEST_F(role_peers_test, ac88_a_hypervisor_writes_nothing) {
    put_peer("hv2", "coordinator", "run", "primary");
    ensemble.put(primary_key, "hv2");
    auto& hv4 = add_running({.name = "hv4"});
    run_with_beats(6s, {"hv2"});
    ensemble.clear_trace();
    for (const auto* name : {"hv4", "none", "", "hv9", "hv2"}) {
        ensemble.put(primary_key, name);
        run_with_beats(20s, {"hv2"});
    }
    EXPECT_EQ(changes("/config").size(), 5U);
    EXPECT_TRUE(changes("/nodes/hv4/routerstate").empty());
    ensemble.put("/nodes/hv4/routerstate", "primary");
    run_with_beats(1s, {"hv2"});
    EXPECT_EQ(role_of(hv4), "client");
}

TEST_F(role_peers_test, ac134_c1_waits_for_a_silent_primary_until_it_has_demoted_itself) {
    auto& hv1 = stage("hv2", "primary");
    beat(4700ms);
    ensemble.put("/nodes/hv2/keepalive", "1");  // its last one, t = 0: a tick sees it in 200 ms
    const auto from = loop.clock().now();
    run_with_beats(12s, {"hv3"});
    ensemble.put(primary_key, "hv1");
    while (role_of(hv1) != "primary" && loop.clock().now() - from < 100s) {
        run_with_beats(100ms, {"hv3"});
    }
    EXPECT_EQ(role_of(hv1), "primary");
    const double after = std::chrono::duration<double>(loop.clock().now() - from).count();
    EXPECT_GE(after, 60.0);  // (6 + 6) x 5, counted from the tick that saw the last change
    EXPECT_LE(after, 66.0);
    EXPECT_TRUE(hv1.logged("hv2 is primary, silent for"));
}

TEST_F(role_peers_test, ac134_c1_goes_on_at_once_when_the_silent_primary_is_fenced_or_back) {
    for (const bool is_back : {false, true}) {
        auto& hv1 = nodes.empty() ? stage("hv2", "primary") : nodes.front();
        run_with_beats(20s, {"hv3"});
        ensemble.put(primary_key, "hv1");
        run_with_beats(15s, {"hv3"});
        EXPECT_EQ(role_of(hv1), "secondary");
        if (is_back) {
            ensemble.put("/nodes/hv2/keepalive", "back");
        } else {
            ensemble.put("/nodes/hv2/daemonstate", "fenced");
        }
        run_with_beats(6s, {"hv3"});
        EXPECT_EQ(role_of(hv1), "primary");
        ensemble.put({{"/nodes/hv2/daemonstate", "run"}, {"/nodes/hv2/routerstate", "primary"}, {primary_key, "hv2"}});
        beat(5s);
        EXPECT_EQ(role_of(hv1), "secondary");
    }
}

TEST_F(role_peers_test, ac137_c5_a_node_that_does_not_come_to_run_loses_its_claim_after_120_s) {
    for (const bool loops : {false, true}) {
        auto& hv1 = nodes.empty() ? stage("hv2") : nodes.front();
        ensemble.put({{"/nodes/hv2/daemonstate", "run"}, {primary_key, "hv2"}});
        beat(10s);
        ASSERT_EQ(role_of(hv1), "secondary");
        ensemble.put("/nodes/hv2/daemonstate", "init");
        const auto from = loop.clock().now();
        for (int i = 0; role_of(hv1) != "primary" && i < 200; ++i) {
            if (loops) {
                ensemble.put("/nodes/hv2/daemonstate",
                             std::vector<std::string>{"init", "shutdown", "stop"}[static_cast<std::size_t>(i % 3)]);
            }
            beat(1s);
        }
        const double after = std::chrono::duration<double>(loop.clock().now() - from).count();
        EXPECT_GE(after, 114.0) << loops;  // it was seen in `run` at the tick before
        EXPECT_LE(after, 130.0) << loops;
    }
}

TEST_F(role_peers_test, two_daemons_hand_the_role_over_and_back) {
    auto& hv1 = add_primary();
    auto& hv2 = add_running({.name = "hv2"});
    for (int i = 0; i < 5; ++i) {
        for (auto* to : {&hv2, &hv1}) {
            auto* from = to == &hv2 ? &hv1 : &hv2;
            ensemble.put(primary_key, to->settings.name);
            loop.run_for(2s);
            EXPECT_EQ(role_of(*to), "primary");
            EXPECT_EQ(role_of(*from), "secondary");
        }
    }
    ensemble.put(primary_key, "none");  // "secondary" for whoever has it
    loop.run_for(2s);
    EXPECT_EQ(value(primary_key), "hv2");
    EXPECT_EQ(role_of(hv2), "primary");
    EXPECT_EQ(role_of(hv1), "secondary");
}

}  // namespace
}  // namespace pvc::node
