// Transitions of the role that have parts: node-lifecycle.md 7.2 (C6, C7), 7.3, 7.4. The part is the test's own.
#include "unit/role/role_fixture.hpp"
#include "unit/role/test_part.hpp"

namespace pvc::node {
namespace {

class transition_test : public role_fixture {
protected:
    // hv1 is secondary and has a part to take up; hv2 is named.
    sim_node& stage_with_part(sim::node_settings settings = {}) {
        put_peer("hv2", "coordinator", "run", "secondary");
        put_peer("hv3", "coordinator", "run", "secondary");
        ensemble.put(primary_key, "hv2");
        sim_node& hv1 = add(std::move(settings));
        plug_in(hv1, log);
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        ensemble.clear_trace();
        return hv1;
    }
    // The same, and it has taken the role.
    sim_node& primary_with_part() {
        sim_node& hv1 = stage_with_part();
        ensemble.put(primary_key, "hv1");
        beat(2s);
        EXPECT_EQ(role_of(hv1), "primary");
        log.steps.clear();
        return hv1;
    }
    void leave_it_alone() {
        ensemble.put("/nodes/hv2/daemonstate", "stop");
        ensemble.put("/nodes/hv3/daemonstate", "stop");
    }
    // The children of hv1's session in this queue: somebody deletes them.
    void drop_own_locks(const std::string& queue) {
        for (const auto& name : ensemble.children(queue)) {
            const auto stat = ensemble.exists(queue + "/" + name);
            if (stat && stat->ephemeral_owner != 0) {
                ensemble.remove_tree(queue + "/" + name);
            }
        }
    }
    // It is named, and what this phase takes up takes a minute.
    void lose_the_lock_in(policy::role_phase phase) {
        stage_with_part();
        log.slow = phase;
        ensemble.put(primary_key, "hv1");
        ASSERT_TRUE(run_until([&] { return log.steps.ends_with("+" + std::string(to_text(phase))); }, 10s));
        drop_own_locks(primary_key);
        beat(62s);
        ASSERT_GE(roles().size(), 2U);
        EXPECT_EQ(roles()[0], "takeover");
        EXPECT_EQ(roles()[1], "secondary");
    }
    [[nodiscard]] std::vector<std::string> roles() const { return values_written("/nodes/hv1/routerstate"); }

    part_log log;
};

TEST_F(transition_test, a_takeover_and_a_relinquish_walk_through_the_phases) {
    auto& hv1 = stage_with_part();
    ensemble.put(primary_key, "hv1");
    beat(2s);
    EXPECT_EQ(log.steps, "+A+B+C+D+E+F+G");
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_EQ(roles(), (std::vector<std::string>{"takeover", "primary"}));
    log.steps.clear();
    ensemble.put(primary_key, "hv2");
    beat(7s);  // nobody comes: it is waited for once
    EXPECT_EQ(log.steps, "-A-B-B'-C-D-E-F-G");
    EXPECT_EQ(roles(), (std::vector<std::string>{"takeover", "primary", "relinquish", "secondary"}));
}

TEST_F(transition_test, c7_a_step_that_takes_a_minute_is_ended_when_another_node_is_named) {
    auto& hv1 = stage_with_part();
    log.slow = policy::role_phase::c;
    ensemble.put(primary_key, "hv1");
    beat(5s);
    EXPECT_EQ(log.steps, "+A+B+C");
    EXPECT_EQ(role_of(hv1), "takeover");
    ensemble.put(primary_key, "hv2");
    beat(1s);
    EXPECT_EQ(log.steps, "+A+B+C-C-B'-B-A");  // undone in reverse order
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_TRUE(hv1.logged("the takeover was undone in phase C: primary_node now says hv2"));
}

// Named again right after another was: the pause after an attempt that failed is not for it.
TEST_F(transition_test, a_node_that_is_named_again_while_it_undoes_its_takeover_begins_anew_at_once) {
    auto& hv1 = stage_with_part();
    log.slow = policy::role_phase::c;
    ensemble.put(primary_key, "hv1");
    beat(5s);
    ASSERT_EQ(role_of(hv1), "takeover");
    log.slow.reset();
    ensemble.put(primary_key, "hv2");
    ASSERT_TRUE(run_until([&] { return role_of(hv1) == "secondary"; }, 2s));
    ensemble.put(primary_key, "hv1");
    EXPECT_TRUE(run_until([&] { return role_of(hv1) == "takeover"; }, 700ms));
}

// Decided on the key as it was; while the lock is looked at once more, another node is named, and the watch shows that
// before the write is put together.
TEST_F(transition_test, primary_is_not_written_when_another_node_was_named_since_it_was_decided) {
    auto& hv1 = stage_with_part();
    log.slow = policy::role_phase::g;  // so that the last look at the lock is too old
    bool is_named = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& request) {
        const bool is_look = request.what == zookeeper::request::kind::exists &&
                             request.path.starts_with(primary_key + "/") &&
                             request.path.find("sync_lock") == std::string::npos;
        if (is_look && log.steps.ends_with("+G") && !std::exchange(is_named, true)) {
            ensemble.put(primary_key, "hv2");
        }
        return sim::verdict::answer;
    };
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return roles().size() > 1; });
    EXPECT_TRUE(is_named);
    EXPECT_EQ(roles(), (std::vector<std::string>{"takeover", "secondary"}));
    EXPECT_EQ(log.steps, "+A+B+C+D+E+F+G-G-F-E-D-C-B'-B-A");
}

// Between the last look at the lock and the write somebody deletes its child.
TEST_F(transition_test, primary_is_not_written_when_the_lock_of_the_role_is_gone) {
    auto& hv1 = stage_with_part();
    bool is_gone = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& request) {
        const bool is_word = std::ranges::any_of(request.operations, [](const zookeeper::operation& one) {
            return one.path == "/nodes/hv1/routerstate" && one.data == "primary";
        });
        if (is_word && !std::exchange(is_gone, true)) {
            drop_own_locks(primary_key);
        }
        return sim::verdict::answer;
    };
    ensemble.put(primary_key, "hv1");
    seconds_until([&] { return roles().size() > 1; });
    EXPECT_TRUE(is_gone);
    EXPECT_EQ(roles(), (std::vector<std::string>{"takeover", "secondary"}));
    EXPECT_EQ(log.steps, "+A+B+C+D+E+F+G-G-F-E-D-C-B'-B-A");
}

// AC29: a takeover goes on by nothing but its locks: one that somebody deleted ends it, and is not asked about again.
TEST_F(transition_test, a_lock_of_the_role_that_is_gone_between_two_phases_undoes_the_takeover) {
    lose_the_lock_in(policy::role_phase::c);
    EXPECT_TRUE(log.steps.starts_with("+A+B+C-C-B'-B-A")) << log.steps;
}

TEST_F(transition_test, AC29_a_lock_of_the_role_that_is_gone_in_phase_f_undoes_the_takeover_which_begins_anew) {
    lose_the_lock_in(policy::role_phase::f);
    EXPECT_TRUE(log.steps.starts_with("+A+B+C+D+E+F-F-E-D-C-B'-B-A+A")) << log.steps;
    ASSERT_GE(roles().size(), 3U);
    EXPECT_EQ(roles()[2], "takeover");
}

TEST_F(transition_test, a_lock_of_the_role_that_is_gone_before_primary_is_written_undoes_the_takeover) {
    lose_the_lock_in(policy::role_phase::g);
    EXPECT_TRUE(log.steps.starts_with("+A+B+C+D+E+F+G-G-F-E-D-C-B'-B-A")) << log.steps;
}

// No write of that phase shows it, as none comes before what it takes up: the look at the locks alone does.
TEST_F(transition_test, a_lock_of_the_role_that_is_gone_while_the_partner_is_waited_for_lets_nothing_be_taken_up) {
    auto& hv1 = stage_with_part();
    ensemble.put("/nodes/hv2/routerstate", "primary");  // who should come, and does not
    ensemble.put(primary_key, "hv1");
    ASSERT_TRUE(run_until([&] { return !lock_children(primary_key + "/sync_lock").empty(); }, 5s));
    ASSERT_EQ(role_of(hv1), "takeover");
    drop_own_locks(primary_key);
    EXPECT_TRUE(run_until([&] { return hv1.logged("the takeover was undone in phase A: an own lock is gone"); }, 10s));
    EXPECT_EQ(log.steps, "-A") << "it was not taken up";
}

// Restored with a backup: children of queues that no session owns.
TEST_F(transition_test, children_that_no_session_owns_take_part_in_no_hand_over) {
    auto& hv1 = stage_with_part();
    const std::string guid = "6f892bb59b4541c699e870a841d1568b";
    const auto time_of_two = [&] {
        ensemble.put(primary_key, "hv1");
        const double up = seconds_until([&] { return role_of(hv1) == "primary"; });
        ensemble.put(primary_key, "hv2");
        const double down = seconds_until([&] { return role_of(hv1) == "secondary"; });
        return std::pair(up, down);
    };
    const auto [up, down] = time_of_two();
    ensemble.put(primary_key + "/" + guid + "__lock__0000000000", "hv3:1:old");
    ensemble.put(primary_key + "/sync_lock/" + guid + "__lock__0000000000", "");
    ensemble.put(primary_key + "/sync_lock/" + guid + "__rlock__2000000000", "");
    log.steps.clear();
    const auto [up_with, down_with] = time_of_two();
    EXPECT_EQ(log.steps, "+A+B+C+D+E+F+G-A-B-B'-C-D-E-F-G");
    EXPECT_NEAR(up_with, up, 0.5);
    EXPECT_NEAR(down_with, down, 0.5);
}

TEST_F(transition_test, c7_a_session_that_is_lost_undoes_the_takeover_without_it) {
    auto& hv1 = stage_with_part();
    log.slow = policy::role_phase::f;
    ensemble.put(primary_key, "hv1");
    beat(5s);
    ASSERT_EQ(log.steps, "+A+B+C+D+E+F");
    hv1.connector.link().cut();
    loop.run_for(30s);
    EXPECT_TRUE(log.steps.ends_with("F~E~D~C~B'~B~A") || log.steps.ends_with("F-E-D-C-B'-B-A")) << log.steps;
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);
    ensemble.put(primary_key, "hv2");
    hv1.connector.link().mend();
    beat(20s);
    EXPECT_EQ(role_of(hv1), "secondary");
}

TEST_F(transition_test, c6_an_isolated_primary_gives_its_parts_up_without_a_session) {
    auto& hv1 = stage_with_part();
    ensemble.put(primary_key, "hv1");
    beat(2s);
    ASSERT_EQ(role_of(hv1), "primary");
    log.steps.clear();
    hv1.connector.link().cut();
    loop.run_for(50s);
    EXPECT_EQ(log.steps, "");
    loop.run_for(8s);
    EXPECT_EQ(log.steps, "~G~F~E~D~C~B'~B~A");
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);
}

// Its session lives, and no write of it is answered: it would walk for two minutes.
TEST_F(transition_test, c6_an_isolated_node_on_its_way_back_gives_the_rest_up) {
    auto& hv1 = primary_with_part();
    ensemble.put(primary_key, "hv2");
    ASSERT_TRUE(run_until([&] { return role_of(hv1) == "relinquish"; }, 5s));
    hv1.connector.link().write_answer_delay = 300s;
    beat(45s);
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::relinquish);
    EXPECT_EQ(log.steps, "-A");
    beat(15s);
    EXPECT_TRUE(log.steps.ends_with("~G~F~E~D~C~B'~B~A")) << log.steps;
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);
}

TEST_F(transition_test, ac19_an_orderly_stop_gives_the_parts_up) {
    auto& hv1 = stage_with_part();
    ensemble.put(primary_key, "hv1");
    beat(2s);
    log.steps.clear();
    ensemble.put("/nodes/hv2/daemonstate", "stop");
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    hv1.stop();
    EXPECT_EQ(log.steps, "-A-B-B'-C-D-E-F-G");
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_EQ(state_of(hv1), "stop");
}

TEST_F(transition_test, a_stop_in_the_middle_of_a_takeover_leaves_nothing) {
    auto& hv1 = stage_with_part();
    log.slow = policy::role_phase::d;
    ensemble.put(primary_key, "hv1");
    beat(5s);
    ASSERT_EQ(log.steps, "+A+B+C+D");
    ensemble.put("/nodes/hv2/daemonstate", "stop");
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    hv1.stop();
    EXPECT_TRUE(log.steps.find("~D~C~B'~B~A") != std::string::npos ||
                log.steps.find("-D-C-B'-B-A") != std::string::npos)
        << log.steps;
    EXPECT_EQ(role_of(hv1), "secondary");
}

// What is given up locally is over before the role is taken again.
TEST_F(transition_test, a_takeover_waits_for_a_local_end_that_takes_long) {
    auto& hv1 = primary_with_part();
    log.slow_to_give = policy::role_phase::g;
    ensemble.put("/nodes/hv1/routerstate", "secondary");  // demoted by somebody, and still named
    beat(60s);
    EXPECT_EQ(log.steps, "~G!~F~E~D~C~B'~B~A+A+B+C+D+E+F+G");
    EXPECT_EQ(role_of(hv1), "primary");
}

TEST_F(transition_test, a_stop_without_zookeeper_gives_the_parts_up) {
    auto& hv1 = primary_with_part();
    hv1.connector.link().cut();
    loop.run_for(2s);
    hv1.stop();
    EXPECT_EQ(log.steps, "~G~F~E~D~C~B'~B~A");
}

TEST_F(transition_test, a_stop_gives_the_parts_up_whatever_the_own_key_says) {
    auto& hv1 = primary_with_part();
    leave_it_alone();
    ensemble.remove("/nodes/hv1/routerstate");
    hv1.stop();
    EXPECT_EQ(log.steps, "-A-B-B'-C-D-E-F-G");
    EXPECT_EQ(state_of(hv1), "stop");
}

TEST_F(transition_test, a_part_that_hangs_does_not_keep_the_stop_from_being_written) {
    auto& hv1 = primary_with_part();
    leave_it_alone();
    log.slow_to_give = policy::role_phase::a;
    log.how_slow = 600s;
    const auto from = loop.clock().now();
    hv1.stop();
    EXPECT_LT(loop.clock().now() - from, 110s);
    EXPECT_EQ(state_of(hv1), "stop");
    EXPECT_TRUE(hv1.logged("stop of role was not over after 71 s"));
    EXPECT_TRUE(log.steps.ends_with("~G~F~E~D~C~B'~B~A")) << log.steps;  // what is left, at the end of the attempt
}

TEST_F(transition_test, a_stop_in_the_middle_of_giving_up_asks_no_part_twice_at_once) {
    auto& hv1 = primary_with_part();
    log.slow_to_give = policy::role_phase::c;
    log.how_slow = 20s;
    ensemble.put(primary_key, "hv2");
    beat(7s);
    ASSERT_EQ(log.steps, "-A-B-B'-C");
    leave_it_alone();
    hv1.stop();
    EXPECT_TRUE(log.steps.starts_with("-A-B-B'-C~G~F~E~D~C~B'~B~A")) << log.steps;
    EXPECT_EQ(role_of(hv1), "secondary");
}

TEST_F(transition_test, c6_a_node_that_is_not_heard_undoes_its_takeover) {
    sim::node_settings settings;
    settings.keepalive_interval = 1;
    settings.fence_intervals = 1;
    auto& hv1 = stage_with_part(settings);
    log.slow = policy::role_phase::d;
    ensemble.put(primary_key, "hv1");
    beat(3s);
    ASSERT_EQ(log.steps, "+A+B+C+D");
    hv1.connector.link().write_answer_delay = 60s;
    beat(30s);
    EXPECT_TRUE(log.steps.ends_with("D~D~C~B'~B~A") || log.steps.ends_with("D-D-C-B'-B-A")) << log.steps;
    EXPECT_NE(hv1.daemon().context().role.now(), model::router_state::primary);
}

}  // namespace
}  // namespace pvc::node
