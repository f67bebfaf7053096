// The primary role among coordinators, with peers that are played by the test: node-lifecycle.md 7.1, 7.2, B.5. This
// stage has no networking: a takeover has no steps.
#include "unit/role/role_fixture.hpp"

namespace pvc::node {
namespace {

class role_test : public role_fixture {};

TEST_F(role_test, ac71_named_primary_takes_over_after_half_a_second) {
    auto& hv1 = stage("hv2");
    ensemble.put("/nodes/hv2/routerstate", "secondary");
    ensemble.put(primary_key, "hv1");
    EXPECT_NEAR(seconds_until([&] { return role_of(hv1) == "primary"; }), 0.5, 0.06);
    EXPECT_EQ(values_written("/nodes/hv1/routerstate"), std::vector<std::string>{"primary"});
}

TEST_F(role_test, ac73_relinquishes_after_half_a_second) {
    auto& hv1 = stage("none");
    ensemble.put(primary_key, "hv2");
    EXPECT_NEAR(seconds_until([&] { return role_of(hv1) == "secondary"; }), 0.5, 0.06);
    EXPECT_EQ(values_written(primary_key), std::vector<std::string>{"hv2"});
}

TEST_F(role_test, ac13_ac76_whoever_writes_first_wins) {
    auto& hv1 = stage("hv2");
    const auto session = ensemble.open_session();
    hv1.connector.link().on_request = [&, done = false](const zookeeper::request& request) mutable {
        // hv1 holds the lock and is about to read: hv2 was faster.
        if (!done && request.what == zookeeper::request::kind::get && request.path == primary_key &&
            !lock_children(primary_key).empty()) {
            done = true;
            ignore(ensemble.set(primary_key, "hv2", zookeeper::any_version, session), "a peer");
        }
        return sim::verdict::answer;
    };
    ensemble.put(primary_key, "none");
    beat(1s);
    EXPECT_EQ(value(primary_key), "hv2");
    EXPECT_FALSE(was_written(primary_key, "hv1"));
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_TRUE(lock_children(primary_key).empty());
}

TEST_F(role_test, ac76_a_version_that_changed_under_the_lock_is_left_alone) {
    auto& hv1 = stage("hv2");
    hv1.connector.link().on_request = [&, done = false](const zookeeper::request& request) mutable {
        if (!done && request.what == zookeeper::request::kind::commit &&
            request.operations.front().path == primary_key) {
            done = true;
            ignore(ensemble.set(primary_key, "hv3"), "a peer");
        }
        return sim::verdict::answer;
    };
    ensemble.put(primary_key, "none");
    beat(20s);
    EXPECT_EQ(value(primary_key), "hv3");
    EXPECT_FALSE(was_written(primary_key, "hv1"));
}

TEST_F(role_test, ac77_zk10_a_held_lock_is_waited_for_400_ms_and_tried_again_with_each_tick) {
    auto& hv1 = stage("hv2");
    const auto session = ensemble.open_session();
    ASSERT_TRUE(ensemble.create(primary_key + "/6f892bb59b4541c699e870a841d1568b__lock__", "kazoo",
                                zookeeper::create_mode::ephemeral_sequential, session));
    const auto from = loop.clock().now();
    ensemble.put(primary_key, "none");
    beat(16s);
    std::vector<double> came;
    std::vector<double> went;
    for (const auto& change : ensemble.trace()) {
        if (change.path.starts_with(primary_key + "/") && change.session != session) {
            (change.what == recorded_kind::create ? came : went)
                .push_back(std::chrono::duration<double>(change.when - from).count());
        }
    }
    ASSERT_EQ(came.size(), 4U);  // at once, and at three ticks
    ASSERT_EQ(went.size(), 4U);
    for (std::size_t i = 0; i < came.size(); ++i) {
        EXPECT_NEAR(went[i] - came[i], 0.4, 0.05);
    }
    EXPECT_NEAR(came[0], 0.0, 0.05);
    EXPECT_NEAR(came[2] - came[1], 5.0, 0.05);
    EXPECT_EQ(lock_children(primary_key).size(), 1U);
    EXPECT_EQ(value(primary_key), "none");
    ensemble.close_session(session);
    beat(6s);
    EXPECT_EQ(role_of(hv1), "primary");
}

TEST_F(role_test, ac78_c4_nobody_took_it_and_the_primary_keeps_it) {
    for (const auto* nobody : {"none", "", "None"}) {
        if (nodes.empty()) {
            stage("none");
        }
        beat(5s);
        ensemble.clear_trace();
        ensemble.put(primary_key, nobody);
        const double after = seconds_until([&] { return value(primary_key) == "hv1"; }, 20s);
        EXPECT_GE(after, 9.9) << nobody;
        EXPECT_LE(after, 15.1) << nobody;
        EXPECT_TRUE(changes("/nodes/hv1/routerstate").empty());
    }
}

TEST_F(role_test, ac79_h11_a_tick_does_not_take_back_what_another_took) {
    auto& hv1 = stage("none");
    ensemble.put(primary_key, "none");
    loop.run_for(200ms);
    ensemble.put(primary_key, "hv2");
    beat(20s);
    EXPECT_EQ(values_written(primary_key), (std::vector<std::string>{"none", "hv2"}));
    EXPECT_EQ(role_of(hv1), "secondary");
}

TEST_F(role_test, ac81_there_and_back_within_the_delay_is_no_transition) {
    auto& hv1 = stage("none");
    ensemble.put(primary_key, "hv2");
    loop.run_for(300ms);
    ensemble.put(primary_key, "hv1");
    beat(10s);
    EXPECT_TRUE(changes("/nodes/hv1/routerstate").empty());
    EXPECT_EQ(role_of(hv1), "primary");
}

TEST_F(role_test, ac82_c2_an_unknown_name_is_taken_back_after_two_intervals) {
    auto& hv1 = stage("none");
    for (const auto& name : {std::string("hv9"), std::string("\xff\x01 garbage\n/..")}) {
        beat(5s);
        ensemble.clear_trace();
        ensemble.put(primary_key, name);
        const double after = seconds_until([&] { return value(primary_key) == "hv1"; }, 20s);
        EXPECT_GE(after, 9.9);
        EXPECT_LE(after, 15.1);
        EXPECT_TRUE(changes("/nodes/hv1/routerstate").empty());
    }
    EXPECT_EQ(role_of(hv1), "primary");
}

TEST_F(role_test, c5_garbage_is_cleared_by_a_secondary_which_then_contends) {
    auto& hv1 = stage("hv2");
    ensemble.put(primary_key, "\xff\x01 garbage");
    seconds_until([&] { return role_of(hv1) == "primary"; }, 6s);
    EXPECT_EQ(values_written(primary_key), (std::vector<std::string>{"\xff\x01 garbage", "none", "hv1"}));
}

TEST_F(role_test, a_deleted_primary_node_is_contended_for_and_kept) {
    auto& hv1 = stage("hv2");
    ensemble.remove_tree(primary_key);
    seconds_until([&] { return role_of(hv1) == "primary"; }, 6s);
    EXPECT_EQ(value(primary_key), "hv1");
    EXPECT_TRUE(lock_children(primary_key).empty());
    beat(5s);
    ensemble.remove_tree(primary_key);
    const double after = seconds_until([&] { return value(primary_key) == "hv1"; }, 20s);
    EXPECT_GE(after, 9.9);
    EXPECT_EQ(role_of(hv1), "primary");
}

}  // namespace
}  // namespace pvc::node
