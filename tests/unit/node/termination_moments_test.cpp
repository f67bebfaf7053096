// The orderly stop at every moment of a life: exit 0, bounded, and never `run` left behind. node-lifecycle.md 5.2.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class termination_moments : public node_test {
protected:
    termination_moments() { sim::initialise(ensemble, 10); }

    // Seconds from the request to the end.
    double stop_time(sim_node& node) {
        const auto from = loop.clock().now();
        node.stop();
        EXPECT_TRUE(node.exit_status);
        return std::chrono::duration<double>(loop.clock().now() - from).count();
    }
};

TEST_F(termination_moments, before_the_configuration_is_read) {
    auto& hv1 = add();
    hv1.start();
    hv1.terminate();
    EXPECT_LT(stop_time(hv1), 1.0);
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_FALSE(ensemble.exists("/nodes/hv1"));
    EXPECT_EQ(hv1.notifier.count("READY=1"), 0U);
}

TEST_F(termination_moments, while_services_are_awaited) {
    auto& hv1 = add();
    hv1.services["zookeeper.service"].never_active = true;
    hv1.start();
    loop.run_for(2s);
    EXPECT_LT(stop_time(hv1), 0.5);
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(ensemble.counters().connection_attempts, 0U);
}

TEST_F(termination_moments, while_connecting_and_between_attempts) {
    for (const auto after : {5s, 16s}) {  // the second falls into the pause of 2 s
        ensemble.stop();
        auto& node = add();
        node.start();
        loop.run_for(after);
        EXPECT_LT(stop_time(node), 0.5);
        EXPECT_EQ(node.exit_status, 0);
        ensemble.start();
        nodes.pop_back();
    }
}

TEST_F(termination_moments, while_the_cluster_is_not_initialised) {
    ensemble.remove_tree("/schema");
    auto& hv1 = add();
    hv1.start();
    loop.run_for(30s);
    ensemble.clear_trace();
    EXPECT_LT(stop_time(hv1), 0.5);
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_TRUE(changes("/").empty());
}

// Every request of a start-up, one after the other, is the one at which the signal comes.
TEST_F(termination_moments, at_every_request_of_a_start) {
    bool reached = true;
    for (int number = 0; reached; ++number) {
        ASSERT_LT(number, 300);
        sim::initialise(ensemble, 10);
        ensemble.put("/config/primary_node", "none");
        put_peer("hv2", "coordinator", "stop", "secondary");
        auto& hv1 = add();
        int count = 0;
        hv1.connector.link().on_request = [&](const zookeeper::request&) {
            if (count++ == number) {
                hv1.terminate();
            }
            return sim::verdict::answer;
        };
        hv1.start();
        hv1.run_until_ready(20s);
        reached = count > number;
        EXPECT_LT(stop_time(hv1), 1.0) << number;
        EXPECT_EQ(hv1.exit_status, 0) << number;
        const auto state = value("/nodes/hv1/daemonstate");
        EXPECT_TRUE(state == "stop" || state == "<missing>") << number << ": " << state << '\n' << hv1.log();
        EXPECT_NE(value("/nodes/hv1/routerstate"), "primary") << number;
        EXPECT_TRUE(lock_children("/schema/version").empty()) << number;
        EXPECT_TRUE(hv1.complaints.empty()) << number;
        hv1.connector.link().on_request = nullptr;
        nodes.pop_back();
        ensemble.remove_tree("/nodes");
    }
}

// The same for a takeover, a hand-over and a hot update.
TEST_F(termination_moments, at_every_request_of_a_role_change_and_of_an_update) {
    for (const std::string what : {"takeover", "relinquish", "update"}) {
        bool reached = true;
        for (int number = 0; reached; ++number) {
            ASSERT_LT(number, 400);
            sim::initialise(ensemble, 10);
            ensemble.put("/config/primary_node", what == "takeover" ? "hv2" : "none");
            put_peer("hv2", "coordinator", "run", "secondary");
            auto& hv1 = add();
            hv1.start();
            ASSERT_TRUE(hv1.run_until_ready());
            run_with_beats(7s, {"hv2"});
            int count = 0;
            hv1.connector.link().on_request = [&](const zookeeper::request&) {
                if (count++ == number) {
                    hv1.terminate();
                    ensemble.put("/nodes/hv2/daemonstate", "stop");  // nobody to wait for
                }
                return sim::verdict::answer;
            };
            if (what == "update") {
                ensemble.put("/schema/version", "11");
            } else {
                ensemble.put("/config/primary_node", what == "takeover" ? "hv1" : "hv2");
            }
            loop.run_for(3s);
            reached = count > number;
            EXPECT_LT(stop_time(hv1), 5.0) << what << number;
            EXPECT_EQ(hv1.exit_status, 0) << what << number;
            EXPECT_EQ(state_of(hv1), "stop") << what << number << '\n' << hv1.log();
            EXPECT_EQ(role_of(hv1), "secondary") << what << number << '\n' << hv1.log();
            EXPECT_TRUE(lock_children("/schema/version").empty()) << what << number;
            EXPECT_TRUE(lock_children("/config/primary_node").empty()) << what << number;
            hv1.connector.link().on_request = nullptr;
            nodes.pop_back();
            ensemble.remove_tree("/nodes");
        }
    }
}

TEST_F(termination_moments, without_zookeeper_it_is_bounded) {
    for (const bool lost : {false, true}) {
        auto& hv1 = add_primary();
        loop.run_for(7s);
        hv1.connector.link().cut();
        loop.run_for(lost ? duration(30s) : duration(1s));
        EXPECT_LT(stop_time(hv1), 10.0);
        EXPECT_EQ(hv1.exit_status, 0);
        EXPECT_EQ(state_of(hv1), "run");  // nobody could be told
        hv1.connector.link().mend();
        nodes.pop_back();
        ensemble.remove_tree("/nodes");
        ensemble.put("/config/primary_node", "none");
    }
}

TEST_F(termination_moments, every_request_without_an_answer_is_bounded) {
    put_peer("hv2", "coordinator", "run", "secondary");
    auto& hv1 = add_primary();
    run_with_beats(12s, {"hv2"});
    hv1.connector.link().answer_delay = 4s;
    hv1.terminate();
    run_with_beats(115s, {"hv2"});
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(state_of(hv1), "stop");
}

TEST_F(termination_moments, right_after_a_new_session_the_role_is_handed_over_too) {
    put_peer("hv2", "coordinator", "stop", "secondary");
    auto& hv1 = add_primary();
    loop.run_for(7s);
    hv1.connector.link().expire_sessions();
    hv1.connector.link().answer_delay = 200ms;
    ASSERT_TRUE(run_until([&] { return hv1.logged("in a new session"); }, 10s));
    EXPECT_LT(stop_time(hv1), 10.0);
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_EQ(value("/config/primary_node"), "none");
    EXPECT_EQ(state_of(hv1), "stop");
}

}  // namespace
}  // namespace pvc::node
