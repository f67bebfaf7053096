// Several dead nodes, orphans and repetitions, and an operator's word. Acceptance cases AC52, AC56, AC119, AC123,
// AC124; README rulings 37, 38, 39, 43, 46.
#include "pvcnoded/policy/fencing/order.hpp"
#include "pvcnoded/policy/fencing/confirm.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;

constexpr time_point start{1h};

TEST(fence_order, AC52_R39_one_after_the_other_those_whose_boards_answer_first) {
    std::vector<fence_in_line> all{{"hv5", true, false, false}, {"hv4", true, false, true}, {"hv3", true, false, true}};
    EXPECT_EQ(turn_of(all), "hv3");
    all[0].has_turn = true;
    EXPECT_EQ(turn_of(all), "hv5") << "until its end";
    all[0].wants_turn = false;
    EXPECT_EQ(turn_of(all), "hv3") << "one that waits holds up nobody";
    all[2].wants_turn = false;
    EXPECT_EQ(turn_of(all), "hv4");
    all[1].wants_turn = false;
    EXPECT_FALSE(turn_of(all));
}

// D0 is 11, F0 is 15; K0 is 20.
model::fence_record recorded(model::fence_outcome how, bool has_proof, bool is_fenced) {
    model::fence_record one;
    one.outcome = how;
    one.keepalive_id = 20;
    one.mark_id = 11;
    if (has_proof) {
        one.proof = model::fence_proof{.at = {}, .text = {}, .keepalive_id = 20, .mark_id = 11};
    }
    if (is_fenced) {
        one.fenced_id = 15;
    }
    return one;
}

TEST(fence_order, R37_what_an_own_record_says_is_of_the_node_as_it_was) {
    using model::fence_outcome;
    const auto opened = recorded(fence_outcome::under_way, false, false);
    EXPECT_EQ(what_record_says(opened, 11, 20), own_record::opened);
    EXPECT_EQ(what_record_says(opened, 12, 20), own_record::none);
    EXPECT_EQ(what_record_says(opened, 11, 21), own_record::none);
    const auto proven = recorded(fence_outcome::abandoned, true, false);
    EXPECT_EQ(what_record_says(proven, 11, 20), own_record::proven);
    EXPECT_EQ(what_record_says(proven, 11, 21), own_record::none);
    EXPECT_EQ(what_record_says(proven, 12, 20), own_record::none);
    auto word = proven;
    word.proof->kind = model::fence_proof_kind::operator_word;
    EXPECT_EQ(what_record_says(word, 11, 20), own_record::worded);
    EXPECT_EQ(what_record_says(word, 11, 21), own_record::none) << "it has beaten since";
    const auto fenced = recorded(fence_outcome::handed_on, true, true);
    EXPECT_EQ(what_record_says(fenced, 15, 20), own_record::fenced);
    EXPECT_EQ(what_record_says(fenced, 15, 21), own_record::none) << "it beats although it is fenced";
    EXPECT_EQ(what_record_says(fenced, 16, 20), own_record::none);
    auto marked = recorded(fence_outcome::abandoned, false, false);
    marked.mark_id = 0;
    EXPECT_EQ(what_record_says(marked, 11, 20), own_record::none) << "whose mark it is nobody knows";
    marked.writes.push_back({"dead", 11, {}});
    EXPECT_EQ(what_record_says(marked, 11, 20), own_record::marked);
    EXPECT_EQ(what_record_says(marked, 12, 20), own_record::none) << "another one marked it since";
    EXPECT_EQ(what_record_says(marked, 11, 21), own_record::none) << "it has beaten since";
    const auto failed = recorded(fence_outcome::failed, false, false);
    EXPECT_EQ(what_record_says(failed, 11, 20), std::nullopt) << "older ones were gone on from";
    EXPECT_EQ(what_record_says(failed, 12, 20), own_record::none);
}

// A site that comes back: whose fence was under way when the power went may be booting by now.
TEST(fence_order, R39_R46_what_was_under_way_a_moment_ago_is_gone_on_with_and_older_ones_have_their_throws) {
    const model::fence_moment now{.wall = wall_time(5h), .boot = boot_time(2h)};
    auto one = recorded(model::fence_outcome::under_way, false, false);
    one.boot_id = "this";
    one.begun.boot = now.boot - 2min;
    const auto is = [&](own_record what) { return as_old_as_it_is(what, one, "this", now); };
    EXPECT_EQ(is(own_record::opened), own_record::opened);
    one.begun.boot = now.boot - 1h;
    EXPECT_EQ(is(own_record::opened), own_record::marked) << "with its throws";
    one.writes.push_back({"dead", 11, {.wall = {}, .boot = now.boot - 1min}});
    EXPECT_EQ(is(own_record::opened), own_record::opened);
    one.commands.emplace_back().ended.boot = now.boot - 4min;
    EXPECT_EQ(is(own_record::opened), own_record::marked);
    one.boot_id = "another";
    for (const auto what : {own_record::opened, own_record::marked}) {
        EXPECT_EQ(is(what), own_record::none) << "nobody's, as of another coordinator";
    }
    for (const auto what : {own_record::proven, own_record::worded, own_record::fenced, own_record::none}) {
        EXPECT_EQ(is(what), what);
    }
}

TEST(fence_order, R38_R46_a_power_on_is_owed_by_who_fenced_and_came_no_further) {
    using model::fence_outcome;
    const model::fence_moment now{.wall = wall_time(5h), .boot = boot_time(2h)};
    const auto age_of = [&](const std::vector<model::fence_record>& own) {
        return proof_of_owed_power_on(own, 15, 20, "this", now);
    };
    const auto of = [&](const std::vector<model::fence_record>& own, std::int64_t state, std::int64_t beat) {
        return proof_of_owed_power_on(own, state, beat, "this", now).has_value();
    };
    for (const auto how : {fence_outcome::under_way, fence_outcome::abandoned}) {
        EXPECT_TRUE(of({recorded(how, true, true)}, 15, 20));
    }
    for (const auto how : {fence_outcome::done, fence_outcome::handed_on, fence_outcome::node_back}) {
        EXPECT_FALSE(of({recorded(how, true, true)}, 15, 20)) << "nothing is left, or it is for others";
    }
    auto fence = recorded(fence_outcome::under_way, true, true);
    fence.proof->at = {.wall = wall_time(4h), .boot = boot_time(2h - 3min)};
    EXPECT_EQ(age_of({fence}), 1h) << "the machine has booted since: by the wall";
    fence.proof->at.wall = now.wall + 30s;
    EXPECT_EQ(age_of({fence}), 0s) << "two clocks are never alike";
    fence.proof->at.wall = now.wall + 2h;
    EXPECT_GE(age_of({fence}).value_or(0s), 1h)
        << "a clock that was set back: nobody knows how long somebody works on it";
    fence.boot_id = "this";
    EXPECT_EQ(age_of({fence}), 3min) << "whatever was done to its wall clock";
    EXPECT_FALSE(of({fence}, 16, 20)) << "another one fenced it since";
    EXPECT_FALSE(of({fence}, 15, 21)) << "it has beaten since";
    EXPECT_FALSE(of({recorded(fence_outcome::under_way, true, false)}, 11, 20)) << "it is not fenced";
    auto other = recorded(fence_outcome::under_way, false, false);
    other.mark_id = 15;
    EXPECT_EQ(age_of({other, fence}), 3min) << "who went on was killed, too";
    other.outcome = fence_outcome::done;
    EXPECT_FALSE(of({other, fence}, 15, 20)) << "who went on came to the end";
    other = recorded(fence_outcome::failed, false, false);
    other.keepalive_id = 19;
    EXPECT_TRUE(of({other, fence}, 15, 20)) << "what is of another silence says nothing";
    auto on = fence;
    on.powered_on = model::fence_moment{};
    EXPECT_FALSE(of({on}, 15, 20)) << "somebody may have switched it off since";
    auto word = fence;
    word.proof->kind = model::fence_proof_kind::operator_word;
    EXPECT_FALSE(of({word}, 15, 20)) << "no power-on follows a word";
}

struct orphans : ::testing::Test {
    left_over one{.victim = {.state = daemon_state::dead, .state_id = 11, .heartbeat_id = 20}, .may_detect = true};
    fence_memory memory;

    orphans() { look(start); }
    void look(time_point when) {
        memory.look({one.victim.state_id, one.victim.heartbeat_id, one.victim.is_recovering, 1}, when);
    }
    [[nodiscard]] std::optional<fence_origin> at(duration when) const {
        return next_attempt(one, memory, start + when).why;
    }
};

TEST_F(orphans, AC56_a_dead_node_that_nobody_goes_on_with_is_taken_up_after_180_s) {
    EXPECT_FALSE(at(179s));
    EXPECT_EQ(next_attempt(one, memory, start).after, start + 180s);
    EXPECT_EQ(at(180s), fence_origin::orphan);
    look(start + 100s);
    EXPECT_EQ(at(180s), fence_origin::orphan) << "nothing has changed";
    memory.look({11, 20, false, 2}, start + 100s);
    EXPECT_FALSE(at(200s)) << "somebody recovers its machines";
    memory.look({11, 21, false, 2}, start + 150s);
    EXPECT_FALSE(at(300s)) << "it beat";
    EXPECT_EQ(at(330s), fence_origin::orphan);
}

TEST_F(orphans, AC48_AC54_who_may_not_detect_takes_up_nothing) {
    one.may_detect = false;
    EXPECT_FALSE(at(1h));
    one.may_detect = true;
    one.is_ours = true;
    EXPECT_FALSE(at(1h));
    one.is_ours = false;
    memory.forget();
    EXPECT_FALSE(at(1h)) << "not seen yet";
}

TEST_F(orphans, AC119_R37_what_has_a_valid_proof_is_taken_up_at_once) {
    one.victim.state = daemon_state::fenced;
    EXPECT_FALSE(at(1h)) << "its recovery is over";
    one.victim.is_recovering = true;
    look(start);
    EXPECT_FALSE(at(0s));
    EXPECT_EQ(at(180s), fence_origin::interrupted) << "a reference node fenced it";
    one.victim.proof = {.record = "r", .by = "hv2", .which = fence_proof::power, .is_valid = true};
    EXPECT_EQ(at(0s), fence_origin::recovering);
    one.is_recoverable_here = false;
    EXPECT_FALSE(at(179s)) << "for those with Ceph first (38)";
    EXPECT_EQ(at(180s), fence_origin::recovering);
    one.is_recoverable_here = true;
    one.victim.proof->is_valid = false;
    EXPECT_FALSE(at(179s));
    one.record = own_record::fenced;
    EXPECT_EQ(at(0s), fence_origin::recovering);
}

TEST_F(orphans, R38_a_power_on_that_is_owed_is_given_once_the_recovery_is_ended) {
    one.victim.state = daemon_state::fenced;
    one.victim.proof = {.record = "r", .by = "hv1", .which = fence_proof::power, .is_valid = true};
    one.record = own_record::fenced;
    look(start);
    EXPECT_FALSE(at(1h)) << "whose fence came to its end";
    one.is_power_owed = true;
    EXPECT_EQ(at(0s), fence_origin::recovering);
    memory.ended(fence_end::abandoned, 11, 20, start);
    EXPECT_EQ(at(0s), fence_origin::recovering);
    memory.ended(fence_end::done, 11, 20, start);
    EXPECT_FALSE(at(1h)) << "though its record may not say so yet";
    memory = {};
    look(start);
    one.victim.proof->is_valid = false;
    EXPECT_FALSE(at(1h)) << "another fenced it since";
}

TEST_F(orphans, R37_a_recovery_on_a_lease_that_somebody_left_is_taken_up_at_once) {
    one.victim.is_recovering = true;
    look(start);
    EXPECT_FALSE(at(0s)) << "by storage: each machine for itself, after a fence of one's own";
    one.victim.proof = {.record = "r", .by = "hv2", .which = fence_proof::lease, .is_valid = true};
    EXPECT_EQ(at(0s), fence_origin::recovering);
    one.victim.proof->is_valid = false;
    EXPECT_FALSE(at(0s));
}

TEST_F(orphans, a_fencer_that_was_restarted_goes_on_from_its_record) {
    one.record = own_record::opened;
    EXPECT_EQ(at(0s), fence_origin::resumed);
    one.record = own_record::proven;
    EXPECT_EQ(at(0s), fence_origin::proven);
}

// Held back for want of a majority, it would begin anew for ever.
TEST_F(orphans, what_this_session_has_ended_without_an_outcome_is_not_resumed_at_once) {
    one.record = own_record::opened;
    memory.ended(fence_end::held_back, 11, 20, start);
    EXPECT_FALSE(at(179s));
    EXPECT_EQ(at(180s), fence_origin::orphan);
    one.majority_stays = true;
    EXPECT_EQ(at(1s), fence_origin::orphan) << "other coordinators are back";
    memory.held_back_mark = 10;
    EXPECT_FALSE(at(1s)) << "another silence was held back";
}

TEST_F(orphans, AC123_a_failed_fence_is_tried_again_by_who_tried_it_after_10_20_40_and_every_60_minutes) {
    duration then{};
    for (const auto pause : {10min, 20min, 40min, 60min, 60min}) {
        memory.ended(fence_end::failed, 11, 20, start + then);
        EXPECT_FALSE(at(then + pause - 1s));
        then += pause;
        EXPECT_EQ(at(then), fence_origin::orphan);
    }
    fence_memory other;
    other.look({11, 20, false, 1}, start);
    EXPECT_EQ(next_attempt(one, other, start + 180s).why, fence_origin::orphan) << "hv2's attempt after 180 s";
    memory.ended(fence_end::failed, 11, 20, start + then);
    one.victim.heartbeat_id = 30;
    look(start + then);
    EXPECT_EQ(memory.failures, 0) << "another silence";
}

TEST_F(orphans, who_was_killed_in_the_throws_begins_them_anew) {
    one.record = own_record::marked;
    EXPECT_EQ(at(1s), fence_origin::orphan);
    memory.ended(fence_end::abandoned, 11, 20, start);
    EXPECT_FALSE(at(179s)) << "it was this session that ended it";
    EXPECT_EQ(at(180s), fence_origin::orphan);
}

TEST_F(orphans, AC124_an_attempt_without_an_outcome_does_not_count) {
    memory.ended(fence_end::abandoned, 11, 20, start + 100s);
    EXPECT_FALSE(at(200s));
    EXPECT_EQ(at(280s), fence_origin::orphan);
}

// Its state is known at once, its heartbeat by the next tick: in between it looks dead, and `run`.
TEST_F(orphans, who_was_found_back_is_not_fenced_again_on_the_same_heartbeat) {
    fence_memory one;
    const time_point now{100s};
    EXPECT_FALSE(one.is_known_back(7, now, 5s));
    one.ended(fence_end::passed, 3, 7, now);
    EXPECT_TRUE(one.is_known_back(7, now, 5s));
    EXPECT_TRUE(one.is_known_back(7, now + 9s, 5s));
    EXPECT_FALSE(one.is_known_back(7, now + 10s, 5s)) << "it has died since";
    EXPECT_FALSE(one.is_known_back(8, now, 5s)) << "another silence";
    one.ended(fence_end::abandoned, 3, 9, now);
    EXPECT_FALSE(one.is_known_back(9, now, 5s));
}

TEST_F(orphans, who_asks_is_told_what_is_to_come_of_it) {
    using model::daemon_state;
    victim_seen victim{.state = daemon_state::dead, .state_id = 11, .heartbeat_id = 20};
    const auto told = [&](duration then) { return outlook_of("hv3", victim, memory, start + then); };
    EXPECT_EQ(outlook_of("hv3", victim, {}, start), "") << "not looked at yet";
    EXPECT_EQ(told(20s), "left to who marked it, and taken up here after 160 s without progress");
    EXPECT_EQ(told(200s), "left to who marked it, and taken up here after 0 s without progress");
    memory.ended(fence_end::held_back, 11, 20, start);
    EXPECT_EQ(told(20s),
              "not switched off, as no majority of coordinators would be left; taken up here as soon as one is; if it "
              "is off: pvcnodectl fence confirm hv3");
    memory.ended(fence_end::unrecordable, 11, 20, start);
    EXPECT_EQ(
        told(100s),
        "this node could not write the record of its fence, which is left to other coordinators; tried here again "
        "in 200 s, or once one can be written");
    memory = {};
    memory.look({11, 20, false, 1}, start);
    memory.ended(fence_end::failed, 11, 20, start);
    EXPECT_EQ(told(60s),
              "it was not seen off, and is asked again in 540 s, or at once: pvcnodectl fence retry hv3; if it is off: "
              "pvcnodectl fence confirm hv3");
    memory.look({12, 20, true, 1}, start + 100s);
    victim = {.state = daemon_state::fenced, .state_id = 12, .heartbeat_id = 20, .is_recovering = true};
    EXPECT_EQ(told(110s), "its machines are left to who recovers them, and taken up here after 170 s without progress");
    victim.is_recovering = false;  // what was last looked at is older
    const std::string unproven =
        "no coordinator of ours has proven that it is off: what belongs to it stays as it is; if it is off: pvcnodectl "
        "fence confirm hv3";
    EXPECT_EQ(told(300s), unproven);
    victim.proof = {.record = "r1", .by = "hv1", .which = fence_proof::power, .is_valid = false};
    EXPECT_EQ(told(300s), unproven) << "it has written since";
    victim.proof->is_valid = true;
    EXPECT_EQ(told(300s), "its machines were dealt with; it may be switched on");
    EXPECT_EQ(outlook_of("hv3", victim, {}, start), "its machines were dealt with; it may be switched on");
    const std::string said =
        "its machines were dealt with; an operator says that it is off: ask him before you switch it on";
    victim.is_worded = true;
    EXPECT_EQ(told(300s), said) << "on whichever coordinator";
    victim.is_worded = false;
    victim.proof->which = fence_proof::operators_word;
    EXPECT_EQ(told(300s), said);
}

TEST(left_off, is_known_by_the_record_of_the_fence_that_wrote_the_state) {
    model::fence_record one;
    one.fenced_id = 12;
    one.remark = "it was fenced for the third time within an hour";
    EXPECT_EQ(why_left_off({one}, 12), "") << "it was switched on, or is to be";
    one.is_left_off = true;
    EXPECT_EQ(why_left_off({one}, 12), one.remark);
    EXPECT_EQ(why_left_off({one}, 13), "") << "somebody has written it since";
    one.fenced_id = 0;
    one.mark_id = 12;
    EXPECT_EQ(why_left_off({one}, 12), one.remark);
    one.outcome = model::fence_outcome::failed;
    EXPECT_EQ(why_left_off({one}, 12), "") << "it was not seen off, and is fenced again";
}

TEST_F(orphans, R46_who_cannot_write_leaves_the_lock_to_others_for_five_minutes) {
    memory.ended(fence_end::unrecordable, 11, 20, start);
    EXPECT_FALSE(at(299s));
    EXPECT_EQ(at(300s), fence_origin::orphan);
}

// Who has the lock is looked at; behind him nobody stands in line, only behind who comes after him.
TEST(fence_lock, who_needs_it_stands_in_line_once_its_holder_has_given_it_up) {
    const std::optional<std::string> nobody;
    lock_wait wait;
    EXPECT_TRUE(wait.may_queue(nobody, false, start)) << "it is free";
    EXPECT_FALSE(wait.may_queue("a", false, start));
    EXPECT_FALSE(wait.may_queue("a", false, start + 1h));
    EXPECT_TRUE(wait.may_queue("b", false, start + 1h)) << "a has given it up: in line behind b";
    EXPECT_FALSE(wait.may_queue("b", false, start + 1h)) << "in vain";
    EXPECT_TRUE(wait.may_queue(nobody, false, start + 2h));
    EXPECT_FALSE(wait.may_queue("c", false, start));
    EXPECT_TRUE(wait.may_queue("c", true, start)) << "it is this node's";
    EXPECT_EQ(wait, lock_wait());
}

TEST(fence_lock, who_has_it_is_said_once_and_a_holder_that_is_silent_is_an_error_after_300_s) {
    using telling = lock_wait::telling;
    for (const bool lives : {true, false}) {
        lock_wait wait;
        EXPECT_EQ(wait.tell(lives, start), telling::nothing);
        EXPECT_FALSE(wait.may_queue("a", false, start));
        EXPECT_EQ(wait.tell(lives, start), telling::who);
        EXPECT_EQ(wait.tell(lives, start + 299s), telling::nothing);
        EXPECT_EQ(wait.tell(lives, start + 300s), lives ? telling::nothing : telling::awaited) << "a long recovery";
        EXPECT_EQ(wait.tell(lives, start + 301s), telling::nothing);
        EXPECT_EQ(wait.tell(lives, start + 30min), lives ? telling::awaited : telling::nothing);
        EXPECT_EQ(wait.tell(lives, start + 90min), telling::awaited) << "hourly";
    }
    lock_wait both;
    EXPECT_FALSE(both.may_queue("a", false, start));
    EXPECT_EQ(both.tell(true, start), telling::who);
    EXPECT_TRUE(both.may_queue("b", false, start + 10s));
    EXPECT_FALSE(both.may_queue("b", false, start + 15s));
    EXPECT_EQ(both.tell(true, start + 15s), telling::who) << "another one";
}

// The back-off outlives the session and the daemon, by the records.
TEST(fence_order, failures_are_known_by_the_records) {
    using model::fence_outcome;
    const auto at = [](duration when) {
        return model::fence_moment{.wall = wall_time(1h) + when, .boot = boot_time(2h) + when};
    };
    const auto failed = [&](duration when) {
        auto one = recorded(fence_outcome::failed, false, false);
        one.boot_id = "this";
        one.ended = at(when);
        return one;
    };
    EXPECT_EQ(failures_in({}, 11, 20, "this", at(0s)), failed_before());
    const std::vector<model::fence_record> twice{failed(20min), failed(10min)};
    EXPECT_EQ(failures_in(twice, 11, 20, "this", at(21min)), (failed_before{2, 1min}));
    EXPECT_EQ(failures_in(twice, 12, 20, "this", at(21min)), failed_before()) << "it was marked anew";
    EXPECT_EQ(failures_in(twice, 11, 21, "this", at(21min)), failed_before()) << "it beat since";
    auto after_boot = at(21min);
    after_boot.boot = boot_time(1min);
    EXPECT_EQ(failures_in(twice, 11, 20, "another", after_boot), (failed_before{2, 1min})) << "by the wall";
    EXPECT_EQ(failures_in(twice, 11, 20, "another", at(1min)), (failed_before{2, 0s})) << "a clock that was set back";
    auto cut_short = recorded(fence_outcome::abandoned, false, false);
    EXPECT_EQ(failures_in({cut_short, failed(10min)}, 11, 20, "this", at(21min)), (failed_before{1, 11min}));
    EXPECT_EQ(failures_in({failed(20min), recorded(fence_outcome::passed, false, false), failed(10min)}, 11, 20, "this",
                          at(21min))
                  .times,
              2);
    cut_short.mark_id = 7;
    EXPECT_EQ(failures_in({cut_short, failed(10min)}, 11, 20, "this", at(21min)).times, 1) << "another silence between";
    fence_memory memory;
    memory.recall({2, 1min}, 11, 20, start);
    EXPECT_EQ(memory.failures, 2);
    EXPECT_EQ(memory.failed_at, start - 1min);
    memory.recall({1, 5min}, 11, 20, start);
    EXPECT_EQ(memory.failures, 2) << "it knows already";
}

TEST_F(orphans, R43_a_recorded_word_is_gone_on_with_whatever_the_state_and_in_maintenance) {
    one.victim.state = daemon_state::stop;
    EXPECT_FALSE(at(1h));
    one.record = own_record::worded;
    EXPECT_EQ(at(0s), fence_origin::proven);
    one.may_detect = false;
    EXPECT_FALSE(at(0s));
    one.may_act = true;
    EXPECT_EQ(at(0s), fence_origin::proven);
    memory.ended(fence_end::unrecordable, 11, 20, start);
    EXPECT_FALSE(at(299s));
    // Its recovery, too.
    left_over fenced{
        .victim = {.state = daemon_state::fenced, .state_id = 11, .heartbeat_id = 20, .is_recovering = true},
        .may_act = true};
    fence_memory other;
    other.look({11, 20, true, 1}, start);
    EXPECT_FALSE(next_attempt(fenced, other, start).why);
    fenced.victim.proof = {.record = "r", .by = "hv1", .which = fence_proof::operators_word, .is_valid = true};
    EXPECT_EQ(next_attempt(fenced, other, start).why, fence_origin::recovering);
}

TEST_F(orphans, a_pause_is_ended_by_an_operator_and_the_next_one_is_as_long) {
    memory.ended(fence_end::failed, 11, 20, start);
    EXPECT_TRUE(memory.has_failed_at(11, 20));
    EXPECT_FALSE(memory.has_failed_at(11, 21)) << "it beat";
    EXPECT_FALSE(memory.has_failed_at(12, 20)) << "it wrote";
    EXPECT_FALSE(at(1min));
    memory.end_pause(start + 1min);
    EXPECT_EQ(at(1min), fence_origin::orphan);
    memory.ended(fence_end::failed, 11, 20, start + 2min);
    EXPECT_FALSE(at(21min)) << "it is the second in a row";
    EXPECT_EQ(at(22min), fence_origin::orphan);
}

TEST(fence_retry, what_is_refused_says_what_would_help) {
    const retry_seen good{.node = "hv3",
                          .self = "hv1",
                          .is_coordinator = true,
                          .coordinators = {"hv2", "hv3"},
                          .is_known = true,
                          .state = daemon_state::dead,
                          .not_judging = {},
                          .has_failed = true};
    EXPECT_EQ(why_not_retried(good), "");
    const auto with = [&good](void (*change)(retry_seen&)) {
        retry_seen seen = good;
        change(seen);
        return why_not_retried(seen);
    };
    EXPECT_EQ(with([](retry_seen& one) { one.is_coordinator = false; }),
              "this node is no coordinator; ask one: hv2, hv3");
    EXPECT_EQ(with([](retry_seen& one) { one.is_known = false; }), "there is no node hv3");
    EXPECT_EQ(with([](retry_seen& one) { one.self = "hv3"; }), "this is the node itself, and it runs");
    EXPECT_EQ(with([](retry_seen& one) { one.is_under_way = true; }), "its fence is under way: see fence show hv3");
    EXPECT_EQ(with([](retry_seen& one) { one.state = daemon_state::run; }),
              "node hv3 is run, and not dead: there is nothing to be tried again");
    EXPECT_EQ(with([](retry_seen& one) { one.state.reset(); }),
              "node hv3 is in no state that is known, and not dead: there is nothing to be tried again");
    EXPECT_EQ(with([](retry_seen& one) { one.not_judging = "maintenance mode is on"; }),
              "this node fences nobody now: maintenance mode is on");
    EXPECT_EQ(with([](retry_seen& one) { one.has_failed = false; }),
              "no fence of hv3 by this node has failed since it fell silent: ask the others (hv2, hv3); explain fences "
              "says what comes next here");
}

TEST(fence_confirm, R43_what_is_refused_says_what_would_help) {
    const confirm_seen taken{.node = "hv3",
                             .self = "hv1",
                             .is_coordinator = true,
                             .coordinators = {"hv2"},
                             .is_known = true,
                             .state = daemon_state::stop,
                             .silent_for = 31s,
                             .looked_for = 31s,
                             .fence_intervals = 6,
                             .keepalive = 5s};
    EXPECT_EQ(why_not_confirmed(taken), "");
    const auto refused = [&taken](auto change) {
        auto seen = taken;
        change(seen);
        return why_not_confirmed(seen);
    };
    EXPECT_EQ(refused([](auto& s) { s.is_coordinator = false; }), "this node is no coordinator; ask one: hv2");
    EXPECT_EQ(refused([](auto& s) { s.is_known = false; }), "there is no node hv3");
    EXPECT_EQ(refused([](auto& s) { s.node = "hv1"; }), "this is the node itself, and it runs");
    EXPECT_EQ(refused([](auto& s) { s.silent_for = 10s; }),
              "the heartbeat of hv3 moved 10 s ago: it runs, or did; if it is off, ask again in 21 s");
    EXPECT_EQ(refused([](auto& s) { s.looked_for = 20s; }),
              "this daemon has looked at the heartbeat of hv3 for 20 s; ask again in 11 s");
    EXPECT_NE(refused([](auto& s) { s.board = board_power::on; }), "");
    EXPECT_NE(refused([](auto& s) { s.is_under_way = true; }), "");
    EXPECT_EQ(refused([](auto& s) { s.taken_before = "r1 of hv2"; }),
              "node hv3 is fenced by an operator's word already, and its recovery is over: record r1 of hv2");
    EXPECT_EQ(refused([](auto& s) {
                  s.board = board_power::on;
                  s.although_on = true;
              }),
              "");
    EXPECT_EQ(refused([](auto& s) { s.fence_intervals = 0; }), "") << "good with detection off, too";
    EXPECT_NE(refused([](auto& s) {
                  s.fence_intervals = 0;
                  s.silent_for = 29s;
              }),
              "");
}

TEST(fence_word, a_word_is_about_the_node_as_it_was) {
    using model::daemon_state;
    const node_of_word then{20, 10, daemon_state::stop};
    EXPECT_TRUE(word_stands(then, then));
    EXPECT_TRUE(word_stands(then, {20, 30, daemon_state::dead})) << "by a fencer";
    EXPECT_TRUE(word_stands(then, {20, 30, daemon_state::fenced}));
    EXPECT_FALSE(word_stands(then, {21, 10, daemon_state::stop})) << "it beats";
    EXPECT_FALSE(word_stands(then, {20, 30, daemon_state::init})) << "it boots";
    EXPECT_FALSE(word_stands(then, {20, 30, daemon_state::run}));
    EXPECT_FALSE(word_stands(then, {20, 30, daemon_state::stop}));
    EXPECT_FALSE(word_stands(then, {20, {}, {}}));
}

// Ruling 45.
TEST(fence_order, R45_fences_within_an_hour) {
    const wall_time now(1'795'762'812s);
    const auto fence = [&](duration ago, std::int64_t fenced) {
        model::fence_record one;
        one.begun.wall = now - ago;
        one.id = model::fence_record_id(one.begun.wall, "hv3");
        one.fenced_id = fenced;
        one.commands.emplace_back().what = "chassis power off";
        return one;
    };
    const auto count = [&](const std::vector<model::fence_record>& all, std::int64_t going_on = 0) {
        return static_cast<int>(fences_within_hour(all, now, going_on));
    };
    EXPECT_EQ(count({}), 0);
    EXPECT_EQ(count({fence(1min, 3), fence(30min, 2)}), 2);
    EXPECT_EQ(count({fence(1min, 3), fence(30min, 3)}), 1) << "one that was gone on with";
    EXPECT_EQ(count({fence(1min, 3), fence(30min, 2)}, 3), 1);
    EXPECT_EQ(count({fence(61min, 3)}), 0);
    EXPECT_EQ(count({fence(-30s, 3)}), 1);
    EXPECT_EQ(count({fence(-2min, 3), fence(-24h * 365, 2)}), 0) << "a clock that was wrong";
    auto unfenced = fence(1min, 3);
    unfenced.fenced_id.reset();
    EXPECT_EQ(count({unfenced}), 0);
    // A word, with which nothing was switched off: given, and gone on with by a daemon that was started anew.
    auto word = fence(2min, 3);
    word.way = model::fence_way::operator_word;
    word.commands.clear();
    EXPECT_EQ(count({word}), 0);
    auto given = word;
    given.fenced_id.reset();
    auto goes_on = fence(1min, 3);
    goes_on.way = model::fence_way::proven;
    goes_on.commands.clear();
    goes_on.follows = given.id;
    EXPECT_EQ(count({goes_on, given}), 0);
    // One about a node that was fenced and recovered before.
    auto after_fence = word;
    after_fence.fenced_id = 4;
    const auto before = fence(5min, 3);
    after_fence.follows = before.id;
    EXPECT_EQ(count({after_fence, before}), 1);
    // One in the midst of a fence that did order it off.
    auto after_off = fence(2min, 3);
    after_off.proof = model::fence_proof{};
    after_off.proof->kind = model::fence_proof_kind::operator_word;
    EXPECT_EQ(count({after_off}), 1);
}

}  // namespace
}  // namespace pvc::policy
