// The fence of one dead node, from its mark to the power-on. Acceptance cases AC45, AC48 to AC50, AC55 to AC61, AC70,
// AC119 to AC124, AC132, AC133; README rulings 31, 37, 38, 40, 76.
#include "fence_play.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using lines = fence_play::lines;
using model::daemon_state;

TEST(fence_attempt, AC45_a_dead_node_is_switched_off_seen_off_recovered_and_switched_on) {
    fence_play p;
    EXPECT_EQ(p.run(),
              (lines{"35 begin its record", "35 write dead", "60 power status", "65 record the attempt", "65 power off",
                     "65 power status", "65 record the proof", "65 write fenced", "65 write its role",
                     "65 recover by power", "65 write flushed", "65 power on", "67 power status", "done"}));
    EXPECT_TRUE(p.has_said(fence_news::fenced));
}

TEST(fence_attempt, AC45_one_that_is_no_coordinator_has_no_role_to_give_up) {
    fence_play p;
    p.fence.is_coordinator = false;
    p.majority_stays = false;
    p.run();
    EXPECT_EQ(p.count("write its role"), 0);
    EXPECT_EQ(p.count("power on"), 1) << "the majority is one of coordinators";
}

// By 76 it is marked at once, off is sent all the same, and seen twice.
TEST(fence_attempt, R76_a_node_without_power_has_no_throws) {
    fence_play p;
    p.is_told_off(20);
    p.seen.has_board_said_on = false;
    p.is_on = false;
    EXPECT_EQ(p.run(),
              (lines{"20 begin its record", "20 write dead", "20 record the attempt", "20 power off", "20 power status",
                     "21 power status", "22 power status", "23 power status", "24 power status", "25 power status",
                     "25 record the proof", "25 write fenced", "25 write its role", "25 recover by power",
                     "25 write flushed", "25 power on", "27 power status", "done"}));
}

TEST(fence_attempt, R76_what_is_not_seen_off_again_has_its_throws_and_no_outcome_before) {
    fence_play p;
    p.is_told_off(20);
    p.obeys_off = false;
    p.at(70, [&p] { p.obeys_off = true; });
    p.run();
    EXPECT_TRUE(p.has_said(fence_news::not_seen_off));
    EXPECT_FALSE(p.has_said(fence_news::failed)) << "a failed one would give its role away";
    EXPECT_EQ(p.done[3], "20 power off");
    EXPECT_EQ(p.count("power off"), 2);
    const auto board = p.of_board();
    EXPECT_NE(std::ranges::find(board, "80 power off"), board.end()) << "30 s of looks, then six throws";
    EXPECT_EQ(p.done.back(), "done");
}

// t=35, 50, 66 of AC48: not marked (detection), ended, gone on with.
TEST(fence_attempt, AC48_maintenance_ends_it_until_the_first_off) {
    fence_play early;
    early.at(50, [&] { early.in_maintenance = true; });
    EXPECT_EQ(early.run(), (lines{"35 begin its record", "35 write dead", "abandoned"}));
    EXPECT_EQ(early.second(), 50);
    EXPECT_EQ(early.victim.state, daemon_state::dead);
    fence_play late;
    late.command_time = 2s;
    late.at(66, [&] { late.in_maintenance = true; });
    late.run();
    EXPECT_EQ(late.done.back(), "done");
}

// 10.2: that it became true is what counts, and no read need fall into that time.
TEST(fence_attempt, maintenance_that_is_set_and_taken_back_between_two_throws_ends_it) {
    fence_play early;
    early.at(52, [&] { early.maintenance.version += 2; });
    EXPECT_EQ(early.run(), (lines{"35 begin its record", "35 write dead", "abandoned"}));
    EXPECT_EQ(early.second(), 55);
    fence_play late;
    late.command_time = 2s;
    late.at(66, [&] { late.maintenance.version += 2; });
    late.run();
    EXPECT_EQ(late.done.back(), "done") << "the first off was sent";
    fence_play told_off;
    told_off.is_told_off(20);
    told_off.obeys_off = false;
    told_off.at(21, [&] { told_off.maintenance.version += 2; });
    told_off.at(70, [&] { told_off.obeys_off = true; });
    told_off.run();
    EXPECT_EQ(told_off.done.back(), "done") << "likewise";
}

TEST(fence_attempt, maintenance_was_not_on_between_reads_that_are_one_write_apart) {
    using fence_said::may_have_been_on;
    EXPECT_FALSE(may_have_been_on({.created = 3, .version = 4}, {.created = 3, .version = 4}));
    EXPECT_FALSE(may_have_been_on({.created = 3, .version = 4}, {.created = 3, .version = 5}));
    EXPECT_TRUE(may_have_been_on({.created = 3, .version = 4}, {.created = 3, .version = 6}));
    EXPECT_FALSE(may_have_been_on({}, {}));
    EXPECT_FALSE(may_have_been_on({}, {.created = 9, .version = 0}));
    EXPECT_TRUE(may_have_been_on({}, {.created = 9, .version = 1}));
    EXPECT_TRUE(may_have_been_on({.created = 3, .version = 4}, {.created = 9, .version = 0})) << "deleted meanwhile";
    EXPECT_TRUE(may_have_been_on({.created = 3, .version = 4}, {})) << "likewise";
}

TEST(fence_attempt, AC49_AC50_a_node_that_is_back_passes) {
    for (const bool writes_run : {true, false}) {
        fence_play p;
        p.at(52, [&] { writes_run ? p.writes(daemon_state::run) : p.beats(); });
        EXPECT_EQ(p.run(), (lines{"35 begin its record", "35 write dead", "passed"}));
        EXPECT_EQ(p.second(), 55);
        EXPECT_TRUE(p.has_said(fence_news::passed));
    }
}

TEST(fence_attempt, AC51_who_does_not_get_the_lock_does_nothing) {
    fence_play p;
    p.seen.has_lock = false;
    EXPECT_EQ(p.run(), lines{"abandoned"});
    EXPECT_EQ(p.second(), 39);
}

TEST(fence_attempt, AC133_the_lock_is_waited_for_one_second_at_least) {
    EXPECT_EQ(fence_lock_limit(5s), 4s);
    EXPECT_EQ(fence_lock_limit(1s), 1s);
    fence_play p;
    p.fence.rules.keepalive = 1s;
    p.run();
    EXPECT_EQ(p.done.back(), "done");
    EXPECT_EQ(p.of_board()[1], "41 power off");
}

TEST(fence_attempt, a_mark_is_not_written_over_what_came_meanwhile) {
    for (const bool beats : {true, false}) {
        fence_play p;
        beats ? p.beats() : p.writes(daemon_state::stop);
        EXPECT_EQ(p.run(), lines{"passed"});
        EXPECT_FALSE(p.has_said(fence_news::passed)) << "nothing was begun";
    }
}

TEST(fence_attempt, a_mark_whose_answer_was_lost_counts_if_it_is_there) {
    fence_play p;
    p.write_end = fence_said::written::end::unknown;
    p.at(36, [&] { p.write_end = fence_said::written::end::written; });
    p.run();
    EXPECT_EQ(p.count("write dead"), 1);
    EXPECT_EQ(p.done.back(), "done");
}

TEST(fence_attempt, AC55_without_session_lock_or_daemon_nothing_is_sent) {
    for (const int what : {0, 1, 2}) {
        fence_play p;
        p.at(50, [&] {
            p.seen.session_lives = what != 0;
            p.seen.has_lock = what != 1;
            p.seen.must_end = what == 2;
        });
        EXPECT_EQ(p.run(), (lines{"35 begin its record", "35 write dead", "abandoned"}));
        EXPECT_EQ(p.second(), 50);
    }
}

TEST(fence_attempt, AC55_a_lock_that_a_read_does_not_show_is_lost) {
    fence_play p;
    p.run();
    fence_play q;
    std::vector<fence_act::any> acts;
    auto step = q.fence.resume({q.seen, fence_said::woken{}, 0, q.now}, acts);
    step = q.fence.resume({q.seen, fence_said::read{.victim = q.victim, .has_lock = false}, step.number, q.now}, acts);
    EXPECT_TRUE(step.is_over());
    EXPECT_EQ(q.fence.end, fence_end::abandoned);
}

TEST(fence_attempt, a_store_that_does_not_answer_is_waited_for_a_minute) {
    fence_play p;
    p.at(36, [&] { p.is_store_there = false; });
    p.at(70, [&] { p.is_store_there = true; });
    p.run();
    EXPECT_EQ(p.done.back(), "done");
    fence_play q;
    q.at(36, [&] { q.is_store_there = false; });
    EXPECT_EQ(q.run(), (lines{"35 begin its record", "35 write dead", "abandoned"}));
}

// Matrix 10.3, in its order: the status of `off`, the first looks, a later one.
TEST(fence_attempt, AC57_what_is_off_is_what_is_seen_off) {
    struct row {
        int off_status;
        std::string looks;
        std::string later;
        fence_end end;
    };
    const row rows[] = {
        {0, "off", "on", fence_end::done},  {0, "off", "off", fence_end::done}, {0, "off", "", fence_end::done},
        {0, "on", "on", fence_end::failed}, {0, "", "off", fence_end::done},    {1, "off", "off", fence_end::done},
        {1, "", "off", fence_end::done},    {1, "on", "on", fence_end::failed},
    };
    for (const auto& one : rows) {
        SCOPED_TRACE(fmt::format("{} {} {}", one.off_status, one.looks, one.later));
        const auto words = [](const std::string& word) {
            return word.empty() ? std::string("Error") : "Chassis Power is " + word;
        };
        fence_play p;
        p.off_status = one.off_status;
        p.says_on = p.says_off = words(one.looks);
        // With a refused `off` it takes two answers at least 5 s apart.
        p.at(one.off_status == 0 ? 67 : 73, [&] { p.says_on = p.says_off = words(one.later); });
        p.run();
        EXPECT_EQ(p.fence.end, one.end);
    }
}

TEST(fence_attempt, AC58_a_board_that_refuses_is_asked_three_times_and_looked_at_ten) {
    fence_play p;
    p.off_status = p.status_status = 1;
    lines wanted{"35 begin its record", "35 write dead", "60 power status", "65 record the attempt",
                 "65 power off",        "66 power off",  "67 power off"};
    for (int second = 67; second < 77; ++second) {
        wanted.push_back(fmt::format("{} power status", second));
    }
    wanted.insert(wanted.end(), {"81 write its role", "81 power on", "83 power status", "failed"});
    EXPECT_EQ(p.run(), wanted);
    EXPECT_EQ(p.victim.state, daemon_state::dead);
    EXPECT_TRUE(p.has_said(fence_news::failed));
}

// Nothing was sent: maintenance ends it as before its first `off`.
TEST(fence_attempt, a_board_that_cannot_be_asked_fails_the_fence_and_begins_nothing) {
    fence_play p;
    p.is_no_board = true;
    p.run();
    EXPECT_EQ(p.count("power off"), 3);
    EXPECT_EQ(p.done.back(), "failed");
    EXPECT_FALSE(p.fence.is_off_sent);
    fence_play paused;
    paused.is_no_board = true;
    paused.at(66, [&] { paused.in_maintenance = true; });
    paused.run();
    EXPECT_LT(paused.count("power off"), 3);
    EXPECT_EQ(paused.done.back(), "abandoned");
}

TEST(fence_attempt, AC60_without_suicide_intervals_a_failed_fence_recovers_nothing) {
    fence_play p;
    p.off_status = p.status_status = 1;
    p.fence.rules.recovers_after_failure = false;
    p.victim.lease = {.time = 40s, .is_of_beat = true};
    p.run();
    EXPECT_EQ(p.count("recover"), 0);
}

TEST(fence_attempt, AC122_after_a_failed_fence_a_lease_or_storage_is_the_proof) {
    struct row {
        std::string name;
        std::optional<stored_lease> lease;
        std::string recovers;
    };
    const row rows[] = {
        {"a, b: none", std::nullopt, "81 recover by storage"},
        {"c: of the heartbeat", stored_lease{75s, true}, "81 recover by lease"},
        {"c: not over", stored_lease{90s, true}, "95 recover by lease"},
        {"d: of an older heartbeat", stored_lease{40s, false}, "81 recover by storage"},
    };
    for (const auto& one : rows) {
        SCOPED_TRACE(one.name);
        fence_play p;
        p.off_status = p.status_status = 1;
        p.fence.rules.recovers_after_failure = true;
        p.victim.lease = one.lease;
        p.run();
        EXPECT_EQ(p.count(one.recovers), 1) << fmt::format("{}", fmt::join(p.done, ", "));
        EXPECT_EQ(p.count("record the proof"), one.recovers.ends_with("lease") ? 1 : 0);
        EXPECT_EQ(p.done.back(), "failed");
        EXPECT_EQ(p.count("write fenced"), 0);
    }
}

TEST(fence_attempt, AC122_e_who_beats_before_the_end_of_the_lease_passes) {
    fence_play p;
    p.off_status = p.status_status = 1;
    p.fence.rules.recovers_after_failure = true;
    p.victim.lease = {.time = 90s, .is_of_beat = true};
    p.at(85, [&] { p.beats(); });
    p.run();
    EXPECT_EQ(p.done.back(), "passed");
    EXPECT_EQ(p.count("recover"), 0);
}

TEST(fence_attempt, AC61_without_migration_it_is_switched_on_at_once) {
    fence_play p;
    p.fence.rules.recovers = false;
    p.run();
    EXPECT_EQ(p.count("recover"), 0);
    EXPECT_FALSE(p.victim.is_recovering);
    EXPECT_EQ(p.count("65 power on"), 1);
}

TEST(fence_attempt, AC70_letters_of_any_case) {
    fence_play p;
    p.says_off = "chassis power is OFF\n";
    p.run();
    EXPECT_EQ(p.done.back(), "done");
}

// 40: `on` after an accepted `off` is a request to shut down, for a minute.
TEST(fence_attempt, R40_a_board_may_turn_off_into_a_shutdown) {
    fence_play p;
    p.obeys_off = false;
    p.at(100, [&] { p.is_on = false; });
    p.run();
    EXPECT_EQ(p.count("power off"), 1);
    EXPECT_EQ(p.done.back(), "done");
    fence_play q;
    q.obeys_off = false;
    q.run();
    EXPECT_EQ(q.done.back(), "failed");
    EXPECT_GE(q.count("power status"), 60);
}

TEST(fence_attempt, AC121_who_comes_back_before_an_accepted_off_passes) {
    fence_play p;
    p.off_status = 1;
    p.command_time = 10s;
    p.at(68, [&] {
        p.writes(daemon_state::run);
        p.beats();
    });
    EXPECT_EQ(p.run(), (lines{"35 begin its record", "35 write dead", "60 power status", "65 record the attempt",
                              "65 power off", "passed"}));
}

// It came back while an accepted `off` was under way.
TEST(fence_attempt, R40_a_heartbeat_after_an_accepted_off_wants_two_looks_and_two_still_intervals) {
    fence_play p;
    p.at(65, [&] { p.command_time = 1s; });
    p.at(66, [&] {
        p.beats();
        p.command_time = 0s;
    });
    p.run();
    EXPECT_EQ(p.done.back(), "done") << "the off hit it";
    EXPECT_GE(p.count("power status"), 10);
    fence_play alive;
    alive.obeys_off = false;
    alive.at(65, [&] { alive.command_time = 1s; });
    alive.at(66, [&] { alive.beats(); });
    alive.run();
    EXPECT_EQ(alive.done.back(), "passed");
    EXPECT_EQ(alive.count("write its role"), 0) << "it lives";
    EXPECT_EQ(alive.count("power on"), 0);
}

TEST(fence_attempt, R31_the_majority_is_counted_again_before_the_first_off) {
    fence_play p;
    p.at(60, [&] { p.majority_stays = false; });
    p.run();
    EXPECT_EQ(p.done.back(), "held back");
    EXPECT_EQ(p.of_board(), lines{"60 power status"});
}

TEST(fence_attempt, R39_a_silent_board_is_tried_without_the_turn) {
    fence_play p;
    p.seen.is_board_silent = true;
    p.seen.has_turn = false;
    p.off_status = p.status_status = 1;
    EXPECT_EQ(p.run(), (lines{"35 begin its record", "35 write dead", "65 record the attempt", "65 power off",
                              "66 power off", "67 power off", "67 power status", "72 write its role", "72 power on",
                              "74 power status", "failed"}));
    fence_play answers;
    answers.seen.is_board_silent = true;
    answers.seen.has_turn = false;
    answers.obeys_off = false;
    answers.run();
    EXPECT_TRUE(answers.fence.wants_turn) << "it has answered: with the turn only";
    EXPECT_EQ(answers.count("power off"), 1);
}

TEST(fence_attempt, R39_without_the_turn_nothing_is_switched_off) {
    fence_play p;
    p.seen.has_turn = false;
    p.at(100, [&] { p.seen.has_turn = true; });
    p.run();
    EXPECT_EQ(p.of_board()[1], "100 power off");
}

TEST(fence_attempt, AC56_AC124_an_orphan_has_its_throws) {
    fence_play p;
    p.is_dead(fence_origin::orphan);
    p.now = fence_play::start + 216s;
    p.run();
    EXPECT_EQ(p.of_board()[1], "246 power off");
    EXPECT_EQ(p.count("write dead"), 0);
}

// AC119 as ruling 37 amends it: at once, and without a look.
TEST(fence_attempt, AC119_a_recovery_with_a_valid_proof_is_gone_on_with_at_once) {
    fence_play p;
    p.is_dead(fence_origin::recovering);
    p.victim.state = daemon_state::fenced;
    p.victim.is_recovering = true;
    EXPECT_EQ(p.run(), (lines{"35 record the attempt", "35 record the proof", "35 recover by power", "35 write flushed",
                              "35 power on", "37 power status", "done"}));
}

// One that was not seen off stays `dead`, and keeps its figures.
TEST(fence_attempt, R37_a_recovery_on_a_lease_is_gone_on_with) {
    fence_play p;
    p.is_dead(fence_origin::recovering);
    p.victim.is_recovering = true;
    p.victim.proof = {.record = "r0", .by = "hv2", .which = fence_proof::lease, .is_valid = true};
    EXPECT_EQ(p.run(), (lines{"35 record the attempt", "35 record the proof", "35 recover by lease", "35 write flushed",
                              "35 power on", "37 power status", "failed"}));
    fence_play back;
    back.is_dead(fence_origin::recovering);
    back.victim.is_recovering = true;
    back.recovery.how = fence_said::recovered::end::node_back;
    back.run();
    EXPECT_EQ(back.done.back(), "node back");
}

// It waited for the lock while who had it came to the end.
TEST(fence_attempt, a_recovery_that_others_have_ended_is_not_gone_on_with) {
    for (const auto why : {fence_origin::recovering, fence_origin::interrupted}) {
        fence_play p;
        p.is_dead(why);
        p.victim.state = daemon_state::fenced;
        EXPECT_EQ(p.run(), (lines{"abandoned"}));
    }
}

TEST(fence_attempt, AC119_what_a_reference_node_left_is_looked_at_first) {
    fence_play p;
    p.is_dead(fence_origin::interrupted);
    p.victim.state = daemon_state::fenced;
    p.victim.is_recovering = true;
    p.seen.has_board_said_on = false;
    p.is_on = false;
    p.run();
    EXPECT_EQ(p.count("power off"), 0);
    EXPECT_EQ(p.count("power status"), 7) << "two looks 5 s apart, and the one after the power-on";
    EXPECT_EQ(p.done.back(), "done");
    fence_play on;
    on.is_dead(fence_origin::interrupted);
    on.victim.state = daemon_state::fenced;
    on.victim.is_recovering = true;
    on.run();
    EXPECT_EQ(on.of_board()[1], "35 power off");
    EXPECT_EQ(on.done.back(), "done");
}

TEST(fence_attempt, what_was_proven_before_a_restart_is_written_without_another_off) {
    fence_play p;
    p.is_dead(fence_origin::proven);
    p.run();
    EXPECT_EQ(p.done.front(), "35 record the attempt");
    EXPECT_EQ(p.count("power off"), 0);
    EXPECT_EQ(p.count("write fenced"), 1);
    fence_play back;
    back.is_dead(fence_origin::proven);
    back.beats();
    EXPECT_EQ(back.run(), lines{"passed"});
}

// It was switched on, and is quick, or its board slow: that is what the power-on was for.
TEST(fence_attempt, a_node_that_is_back_after_its_power_on_ends_the_fence_as_done) {
    fence_play p;
    p.is_dead(fence_origin::recovering);
    p.victim.state = daemon_state::fenced;
    p.victim.is_recovering = true;
    p.at(36, [&] {
        p.writes(daemon_state::run);
        p.beats();
    });
    EXPECT_EQ(p.run().back(), "done");
    EXPECT_EQ(p.count("power on"), 1);
    EXPECT_FALSE(p.has_said(fence_news::node_back));
}

TEST(fence_attempt, AC120_a_node_that_is_back_ends_its_recovery) {
    fence_play p;
    p.recovery.how = fence_said::recovered::end::node_back;
    p.run();
    EXPECT_EQ(p.done.back(), "node back");
    EXPECT_EQ(p.count("power on"), 0);
    EXPECT_EQ(p.count("write flushed"), 0);
}

TEST(fence_attempt, AC132_a_command_that_began_too_late_is_read_for_again) {
    fence_play p;
    std::vector<fence_act::any> acts;
    p.is_dead(fence_origin::resumed);
    auto step = p.fence.resume({p.seen, fence_said::woken{}, 0, p.now}, acts);
    const auto read = [&] { return fence_said::read{.victim = p.victim, .has_lock = true, .majority_stays = true}; };
    step = p.fence.resume({p.seen, read(), step.number, p.now}, acts);
    step = p.fence.resume({p.seen, fence_said::synced{true}, step.number, p.now}, acts);
    step = p.fence.resume({p.seen, read(), step.number, p.now}, acts);
    ASSERT_EQ(to_text(step.what), "power off");
    p.writes(daemon_state::run);
    p.beats();
    step = p.fence.resume({p.seen, fence_said::board{}, step.number, p.now}, acts);
    step = p.fence.resume({p.seen, fence_said::woken{}, 0, step.until}, acts);
    ASSERT_EQ(to_text(step.what), "read");
    step = p.fence.resume({p.seen, read(), step.number, p.now}, acts);
    EXPECT_EQ(p.fence.end, fence_end::passed);
    EXPECT_FALSE(p.fence.is_off_sent);
}

TEST(fence_attempt, R38_what_needs_ceph_is_left_to_others_first) {
    const uuid left = *parse_uuid("0d1f7a6e-0000-4000-8000-000000000001");
    for (const bool is_taken : {true, false}) {
        fence_play p;
        p.recovery.left = {left};
        p.recovery.needs_ceph = true;
        p.at(100, [&] { p.seen.has_lock = false; });
        p.at(200, [&] {
            p.victim.is_recovering = !is_taken;
            p.seen.has_lock = true;
        });
        p.run();
        EXPECT_TRUE(p.has_said(fence_news::needs_ceph));
        EXPECT_EQ(p.done.back(), is_taken ? "handed on" : "done");
        EXPECT_EQ(p.count("power on"), is_taken ? 0 : 1);
        EXPECT_EQ(p.count("245 write flushed"), is_taken ? 0 : 1);
    }
}

TEST(fence_attempt, that_it_is_fenced_counts_although_the_answer_was_lost) {
    fence_play p;
    p.command_time = 1s;
    p.at(66, [&] { p.write_end = fence_said::written::end::unknown; });
    p.at(68, [&] { p.write_end = fence_said::written::end::written; });
    p.run();
    EXPECT_EQ(p.count("write fenced"), 1);
    EXPECT_EQ(p.done.back(), "done");
}

TEST(fence_attempt, a_node_that_another_fences_is_left_to_him) {
    fence_play p;
    p.command_time = 1s;
    p.obeys_off = false;
    p.at(67, [&] { p.writes(daemon_state::fenced); });
    p.run();
    EXPECT_EQ(p.done.back(), "abandoned");
    EXPECT_EQ(p.count("recover"), 0);
}

}  // namespace
}  // namespace pvc::policy
