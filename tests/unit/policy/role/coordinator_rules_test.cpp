#include "pvcnoded/policy/role/coordinator_rules.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using enum model::daemon_state;
using enum model::router_state;
using action = coordinator_action;

// hv1, started and connected; hv2 and hv3 run as secondaries and check in; KI 5, FI 6.
coordinator_view view_of(model::router_state role, std::optional<std::string> named, duration unchanged_for = 0s) {
    coordinator_view view;
    view.self = "hv1";
    view.role = role;
    view.stored_role = role;
    view.started = true;
    view.session_live = true;
    view.heartbeat_age = 1s;
    view.primary = {std::move(named), 7, unchanged_for};
    view.peers = {{"hv2", run, secondary, 2s, 0s, 0s}, {"hv3", run, secondary, 2s, 0s, 0s}};
    return view;
}

coordinator_peer& hv2(coordinator_view& view) {
    return view.peers[0];
}

TEST(coordinator_rules, nothing_to_do_when_all_agree) {
    EXPECT_EQ(decide(view_of(primary, "hv1")).action, action::none);
    EXPECT_EQ(decide(view_of(secondary, "hv2")).action, action::none);
}

TEST(coordinator_rules, ac134_whoever_has_just_connected_waits_for_a_sign_of_the_old_primary) {
    auto view = view_of(secondary, "hv1");
    hv2(view).router = primary;
    hv2(view).has_beaten = false;
    hv2(view).keepalive_unchanged_for = 0s;
    EXPECT_EQ(decide(view).action, action::none);
    EXPECT_EQ(decide(view).rule, "C1");
    hv2(view).has_beaten = true;
    EXPECT_EQ(decide(view).action, action::start_takeover);
    hv2(view).has_beaten = false;
    hv2(view).keepalive_unchanged_for = 60s;  // it has given the role up by itself
    EXPECT_EQ(decide(view).action, action::start_takeover);
}

// It would give the role up in the same moment, and take it again, and so on.
TEST(coordinator_rules, nobody_takes_over_whose_own_heartbeat_is_too_old) {
    auto view = view_of(secondary, "hv1");
    view.heartbeat_age = *isolation_limit(view.times);
    EXPECT_EQ(decide(view).action, action::none);
    view.heartbeat_age = 1s;
    EXPECT_EQ(decide(view).action, action::start_takeover);
}

TEST(coordinator_rules, ac71_the_named_node_takes_over) {
    const auto decision = decide(view_of(secondary, "hv1"));
    EXPECT_EQ(decision.action, action::start_takeover);
    EXPECT_EQ(decision.rule, "C1");
    EXPECT_FALSE(decision.reason.empty());
}

TEST(coordinator_rules, ac11_not_before_the_node_runs) {
    auto view = view_of(secondary, "hv1");
    view.started = false;
    EXPECT_EQ(decide(view).action, action::none);
    view = view_of(secondary, std::nullopt);
    view.started = false;
    EXPECT_EQ(decide(view).action, action::none);
}

TEST(coordinator_rules, ac73_the_primary_relinquishes_to_a_running_coordinator) {
    EXPECT_EQ(decide(view_of(primary, "hv2")).action, action::start_relinquish);
}

TEST(coordinator_rules, ac76_a_changed_version_loses_the_contention) {
    const primary_view seen{std::nullopt, 7, 0s};
    EXPECT_TRUE(still_vacant(seen, {std::nullopt, 7, 0s}));
    EXPECT_FALSE(still_vacant(seen, {"hv2", 8, 0s}));
    EXPECT_FALSE(still_vacant(seen, {std::nullopt, 9, 0s})) << "taken and given up again: decide again";
}

TEST(coordinator_rules, ac77_contends_at_every_tick_while_nobody_is_named) {
    for (const auto age : {0s, 5s, 100s}) {
        const auto decision = decide(view_of(secondary, std::nullopt, age));
        EXPECT_EQ(decision.action, action::contend);
        EXPECT_EQ(decision.rule, "C3");
    }
}

TEST(coordinator_rules, ac78_the_primary_claims_the_role_that_nobody_takes) {
    EXPECT_EQ(decide(view_of(primary, std::nullopt, 9s)).action, action::none);
    EXPECT_EQ(decide(view_of(primary, std::nullopt, 10s)).action, action::claim);
}

TEST(coordinator_rules, ac79_a_successor_is_not_overwritten) {
    EXPECT_EQ(decide(view_of(primary, "hv2", 800ms)).action, action::start_relinquish);
    EXPECT_EQ(decide(view_of(primary, "hv2", 60s)).action, action::start_relinquish);
}

TEST(coordinator_rules, ac81_back_to_itself_within_the_delay_is_nothing) {
    EXPECT_EQ(decide(view_of(primary, "hv1", 100ms)).action, action::none);
}

TEST(coordinator_rules, ac82_unknown_primary_is_taken_back) {
    EXPECT_EQ(decide(view_of(primary, "hv9", 9999ms)).action, action::none);
    const auto decision = decide(view_of(primary, "hv9", 10s));
    EXPECT_EQ(decision.action, action::claim);
    EXPECT_EQ(decision.rule, "C2'");
}

TEST(coordinator_rules, c2_prime_also_when_the_named_coordinator_does_not_run) {
    auto view = view_of(primary, "hv2", 10s);
    for (const auto state : {init, shutdown, stop, dead, fenced}) {
        hv2(view).daemon = state;
        EXPECT_EQ(decide(view).action, action::claim) << to_text(state);
    }
}

TEST(coordinator_rules, ac83_a_stopped_primary_is_cleared) {
    auto view = view_of(secondary, "hv2", 300s);
    for (const auto state : {stop, fenced}) {
        hv2(view) = {"hv2", state, secondary, 300s, 9s, 9s};
        EXPECT_EQ(decide(view).action, action::none) << to_text(state);
        hv2(view).stopped_for = 10s;
        const auto decision = decide(view);
        EXPECT_EQ(decision.action, action::clear_to_none) << to_text(state);
        EXPECT_EQ(decision.rule, "C5");
    }
}

TEST(coordinator_rules, c5_a_named_node_without_an_entry_is_cleared_at_once) {
    EXPECT_EQ(decide(view_of(secondary, "hv9")).action, action::clear_to_none);
}

TEST(coordinator_rules, ac137_a_named_node_that_hangs_in_start_up_is_cleared) {
    auto view = view_of(secondary, "hv2", 300s);
    hv2(view) = {"hv2", init, secondary, 1s, 0s, 119s};
    EXPECT_EQ(decide(view).action, action::none);
    hv2(view).not_run_for = 120s;
    EXPECT_EQ(decide(view).action, action::clear_to_none) << "even if it checks in";
    hv2(view).daemon = shutdown;
    EXPECT_EQ(decide(view).action, action::none) << "still stopping, checks in";
    hv2(view).keepalive_unchanged_for = 30s;
    EXPECT_EQ(decide(view).action, action::clear_to_none);
    hv2(view).daemon = dead;
    EXPECT_EQ(decide(view).action, action::none) << "the fence decides";
    hv2(view).daemon = run;
    EXPECT_EQ(decide(view).action, action::none);
}

TEST(coordinator_rules, c5_waits_for_the_dead_time_when_that_is_longer) {
    auto view = view_of(secondary, "hv2", 600s);
    view.times.keepalive = 60s;
    hv2(view) = {"hv2", init, secondary, 1s, 0s, 359s};
    EXPECT_EQ(decide(view).action, action::none);
    hv2(view).not_run_for = 360s;
    EXPECT_EQ(decide(view).action, action::clear_to_none);
}

TEST(coordinator_rules, ac87_a_foreign_secondary_demotes_the_primary) {
    auto view = view_of(primary, "hv1");
    view.stored_role = secondary;
    EXPECT_EQ(decide(view).action, action::demote);
    view.stored_role = std::nullopt;
    EXPECT_EQ(decide(view).action, action::none);
}

TEST(coordinator_rules, ac88_a_hypervisor_has_no_part_in_it) {
    for (const auto& named :
         {std::optional<std::string>(), std::optional<std::string>("hv4"), std::optional<std::string>("hv9")}) {
        auto view = view_of(client, named, 300s);
        view.self = "hv4";
        view.mode = model::daemon_mode::hypervisor;
        EXPECT_EQ(decide(view).action, action::none);
        view.mode = model::daemon_mode::coordinator;
        EXPECT_EQ(decide(view).action, action::none) << "nor a client by any other name";
    }
}

TEST(coordinator_rules, ac134_no_takeover_while_the_old_primary_may_hold_the_addresses) {
    struct row {
        duration unchanged;
        model::daemon_state state;
        action expected;
    };
    const row rows[] = {
        {12s, run, action::none},
        {12s, dead, action::none},
        {12s, shutdown, action::none},
        {59999ms, dead, action::none},
        {60s, dead, action::start_takeover},
        {12s, fenced, action::start_takeover},
        {2s, run, action::start_takeover},
        {9s, run, action::start_takeover},
        {10s, run, action::none},
        {12s, init, action::start_takeover},
        {12s, stop, action::start_takeover},
    };
    for (const auto role : {primary, takeover, relinquish}) {
        for (const auto& row : rows) {
            auto view = view_of(secondary, "hv1");
            hv2(view) = {"hv2", row.state, role, row.unchanged, 0s, 0s};
            const auto decision = decide(view);
            EXPECT_EQ(decision.action, row.expected) << to_text(row.state) << " " << row.unchanged.count();
            EXPECT_NE(decision.reason.find(row.expected == action::none ? "hv2" : "named"), std::string::npos);
        }
    }
    auto view = view_of(secondary, "hv1");
    hv2(view) = {"hv2", dead, secondary, 40s, 0s, 40s};
    EXPECT_EQ(decide(view).action, action::start_takeover) << "a silent secondary holds nothing";
}

TEST(coordinator_rules, without_fencing_a_silent_primary_never_gives_up_by_itself) {
    auto view = view_of(secondary, "hv1");
    view.times.fence = 0;
    hv2(view) = {"hv2", run, primary, 1h, 0s, 0s};
    EXPECT_EQ(decide(view).action, action::none);
    hv2(view).daemon = fenced;
    EXPECT_EQ(decide(view).action, action::start_takeover);
}

TEST(coordinator_rules, ac26_c6_an_isolated_primary_demotes_itself) {
    auto view = view_of(primary, "hv1");
    view.session_live = false;
    view.heartbeat_age = 54999ms;
    EXPECT_EQ(decide(view).action, action::none);
    view.heartbeat_age = 55s;
    EXPECT_EQ(decide(view).action, action::demote);
    EXPECT_EQ(decide(view).rule, "C6");
    view.times.fence = 0;
    EXPECT_EQ(decide(view).action, action::none);
}

TEST(coordinator_rules, ac22_a_terminating_node_neither_contends_nor_claims) {
    for (const auto role : {primary, secondary}) {
        auto view = view_of(role, std::nullopt, 60s);
        view.terminating = true;
        EXPECT_EQ(decide(view).action, action::none);
    }
    auto view = view_of(primary, "hv9", 60s);
    view.terminating = true;
    EXPECT_EQ(decide(view).action, action::none);
    view = view_of(primary, "hv2");
    view.terminating = true;
    EXPECT_EQ(decide(view).action, action::start_relinquish) << "AC19: the hand-over at stop";
}

TEST(coordinator_rules, without_a_session_or_within_a_transition_nothing_starts) {
    auto view = view_of(secondary, "hv1");
    view.in_transition = true;
    EXPECT_EQ(decide(view).action, action::none);
    for (const auto& named : {std::optional<std::string>(), std::optional<std::string>("hv1")}) {
        auto offline = view_of(secondary, named);
        offline.session_live = false;
        EXPECT_EQ(decide(offline).action, action::none);
    }
}

TEST(coordinator_rules, ac19_ac20_whether_a_successor_can_be_expected) {
    auto view = view_of(primary, "hv1");
    EXPECT_TRUE(is_successor_expected(view));
    view.peers = {{"hv2", run, secondary, 30s, 0s, 0s}, {"hv3", stop, secondary, 1s, 0s, 0s}};
    EXPECT_FALSE(is_successor_expected(view));
    view.peers.clear();
    EXPECT_FALSE(is_successor_expected(view));
}

TEST(coordinator_rules, partner_of_a_takeover) {
    auto view = view_of(secondary, "hv1");
    EXPECT_FALSE(is_peer_expected(view));
    hv2(view) = {"hv2", shutdown, relinquish, 29s, 0s, 3s};
    EXPECT_TRUE(is_peer_expected(view));
    hv2(view).keepalive_unchanged_for = 30s;
    EXPECT_FALSE(is_peer_expected(view));
    hv2(view) = {"hv2", dead, primary, 1s, 0s, 3s};
    EXPECT_FALSE(is_peer_expected(view));
}

TEST(coordinator_rules, ac29_ac80_c7_when_a_takeover_is_undone) {
    auto view = view_of(takeover, "hv1");
    EXPECT_EQ(withdraw_reason(view, true), std::nullopt);
    EXPECT_TRUE(withdraw_reason(view, false));
    view.terminating = true;
    EXPECT_TRUE(withdraw_reason(view, true));
    view = view_of(takeover, "hv3");
    EXPECT_NE(withdraw_reason(view, true)->find("hv3"), std::string::npos);
    view = view_of(takeover, "hv1");
    view.session_live = false;
    EXPECT_TRUE(withdraw_reason(view, true));
    view = view_of(takeover, "hv1");
    view.heartbeat_age = *isolation_limit(view.times);  // C6: it would have to give the role up at once
    EXPECT_TRUE(withdraw_reason(view, true));
}

}  // namespace
}  // namespace pvc::policy
