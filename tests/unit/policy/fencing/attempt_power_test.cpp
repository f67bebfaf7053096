// The fence of one dead node: what its board is asked and told beside the power-off itself. README rulings 38 to 40,
// 46, 76.
#include "fence_play.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using lines = fence_play::lines;
using model::daemon_state;

// Its fencer was killed between the end of the recovery and the power-on.
TEST(fence_attempt, R38_R46_a_power_on_that_is_owed_is_all_that_is_done) {
    const auto owed = [](fence_play& p) {
        p.is_dead(fence_origin::recovering);
        p.victim.state = daemon_state::fenced;
        p.is_on = false;
        p.fence.owes_power_on = true;
        p.fence.power_on_until = p.now + 5min;
    };
    fence_play p;
    owed(p);
    EXPECT_EQ(p.run(), (lines{"35 record the attempt", "35 power on", "37 power status", "done"}));
    fence_play late;
    owed(late);
    late.fence.power_on_until = late.now;
    late.run();
    EXPECT_EQ(late.count("power on"), 0) << "somebody may work on the machine";
    fence_play third;
    owed(third);
    third.seen.fences_in_an_hour = 2;
    third.run();
    EXPECT_EQ(third.count("power on"), 0);
    fence_play back;
    owed(back);
    back.beats();
    EXPECT_EQ(back.run().back(), "node back");
    fence_play others;
    owed(others);
    others.victim.is_recovering = true;
    EXPECT_EQ(others.run(), lines{"abandoned"}) << "its recovery is not over, and takes the lock";
}

// Nobody waits for a board that has fallen silent since the node was seen off.
TEST(fence_attempt, R39_a_power_on_needs_neither_the_turn_nor_the_lock) {
    fence_play p;
    p.at(66, [&] {
        EXPECT_FALSE(p.fence.wants_lock);
        EXPECT_FALSE(p.fence.wants_turn);
        EXPECT_EQ(p.fence.stage(), "switching it on");
        p.seen.has_lock = p.seen.has_turn = false;
        p.status_status = 1;
        p.on_status = 1;
    });
    p.at(300, [&] { p.status_status = 0; });
    p.at(310, [&] { p.on_status = 0; });
    p.run();
    EXPECT_EQ(p.done.back(), "done");
    EXPECT_TRUE(p.has_said(fence_news::powered_on));
    fence_play owed;
    owed.is_dead(fence_origin::recovering);
    owed.victim.state = daemon_state::fenced;
    owed.is_on = false;
    owed.fence.owes_power_on = true;
    owed.seen.has_lock = false;
    EXPECT_EQ(owed.run(), (lines{"35 record the attempt", "35 power on", "37 power status", "done"}));
    EXPECT_FALSE(owed.fence.wants_lock);
    fence_play back;
    back.obeys_on = false;
    back.at(70, [&] { back.seen.has_lock = false; });
    back.at(90, [&] { back.writes(daemon_state::init); });
    back.run();
    EXPECT_EQ(back.second(), 91) << "F0 does not stand any more: it has booted";
    EXPECT_EQ(back.done.back(), "done");
    fence_play others;
    others.obeys_on = false;
    others.at(70, [&] { others.victim.is_recovering = true; });
    others.run();
    EXPECT_EQ(others.count("power on"), 1) << "that its recovery is over was not written: others may be at it";
    EXPECT_EQ(others.done.back(), "abandoned");
    fence_play worded;
    worded.obeys_on = false;
    worded.at(90, [&] { worded.seen.is_confirmed = true; });
    worded.run();
    EXPECT_EQ(worded.second(), 90) << "somebody is at work on it";
    fence_play failed;
    failed.off_status = failed.status_status = 1;
    failed.at(82, [&] { EXPECT_TRUE(failed.fence.wants_lock) << "another one may try to switch it off"; });
    failed.run();
    EXPECT_EQ(failed.done.back(), "failed");
}

// A board that hangs takes an order and does nothing; then it boots, and says off of a machine that runs.
TEST(fence_attempt, R40_an_order_that_was_not_obeyed_for_five_seconds_makes_one_look_not_enough) {
    fence_play p;
    p.obeys_off = false;
    p.at(75, [&] { p.is_on = false; });
    p.at(79, [&] { p.is_on = true; });
    p.run();
    EXPECT_EQ(p.count("recover"), 0);
    EXPECT_EQ(p.done.back(), "failed");
    fence_play late;
    late.obeys_off = false;
    late.at(75, [&] { late.is_on = false; });
    late.run();
    EXPECT_EQ(late.count("80 recover by power"), 1) << "it was a request to shut down, and is seen off twice";
    fence_play soon;
    soon.obeys_off = false;
    soon.at(69, [&] { soon.is_on = false; });
    soon.run();
    EXPECT_EQ(soon.count("69 recover by power"), 1);
}

// A board that loses an order, or carries it out late.
TEST(fence_attempt, a_power_on_that_is_not_seen_is_given_again) {
    fence_play p;
    p.at(65, [&] { p.obeys_on = false; });
    p.at(70, [&] { p.obeys_on = true; });
    p.run();
    EXPECT_EQ(p.of_board(), (lines{"60 power status", "65 power off", "65 power status", "65 recover by power",
                                   "65 power on", "67 power status", "69 power status", "71 power status",
                                   "73 power status", "75 power status", "75 power on", "77 power status"}));
    EXPECT_TRUE(p.has_said(fence_news::powered_on));
    EXPECT_FALSE(p.has_said(fence_news::not_powered_on));
    fence_play refused;
    refused.at(65, [&] { refused.on_status = 1; });
    refused.at(70, [&] { refused.on_status = 0; });
    refused.run();
    EXPECT_EQ(refused.count("power on"), 2);
    EXPECT_TRUE(refused.has_said(fence_news::powered_on));
}

TEST(fence_attempt, a_power_on_that_is_never_seen_is_given_for_ten_minutes_from_the_proof_and_said) {
    fence_play p;
    p.obeys_on = false;
    p.run();
    EXPECT_EQ(p.done.back(), "done");
    EXPECT_EQ(p.count("power on"), 60);
    EXPECT_EQ(p.second(), 65 + 600);
    EXPECT_TRUE(p.has_said(fence_news::not_powered_on));
    EXPECT_FALSE(p.has_said(fence_news::powered_on));
    fence_play no_board;
    no_board.at(65, [&] { no_board.command_time = 1s; });
    no_board.at(67, [&] { no_board.is_no_board = true; });
    no_board.run();
    EXPECT_EQ(no_board.count("power on"), 1) << "there is none any more";
    EXPECT_TRUE(no_board.has_said(fence_news::not_powered_on));
}

TEST(fence_attempt, a_power_on_ends_with_the_ten_minutes_of_its_proof) {
    fence_play p;
    p.is_dead(fence_origin::recovering);
    p.victim.state = daemon_state::fenced;
    p.victim.is_recovering = true;
    p.is_on = p.obeys_on = false;
    p.fence.power_on_until = p.now + 20s;
    p.run();
    EXPECT_EQ(p.second(), 35 + 20);
    EXPECT_EQ(p.count("power on"), 2);
}

// The throws are left out for what the board says now, not for what it said before a long wait.
TEST(fence_attempt, R76_who_waited_for_the_turn_looks_again) {
    const auto waiting = [](fence_play& p, int until) {
        p.is_told_off(20);
        p.seen.has_board_said_on = p.seen.has_turn = false;
        p.is_on = false;
        p.at(until, [&p] { p.seen.has_turn = true; });
    };
    fence_play soon;
    waiting(soon, 22);
    soon.run();
    EXPECT_EQ(soon.of_board().front(), "22 power off");
    fence_play later;
    waiting(later, 23);
    later.run();
    EXPECT_EQ(later.of_board().front(), "23 power status") << "it may have been switched on since";
    fence_play locked;  // the same, of the lock
    waiting(locked, 20);
    locked.seen.has_lock = false;
    locked.at(23, [&] { locked.seen.has_lock = true; });
    locked.run();
    EXPECT_EQ(locked.of_board().front(), "23 power status");
    fence_play late;
    waiting(late, 100);
    late.run();
    EXPECT_EQ(late.of_board()[0], "100 power status");
    EXPECT_EQ(late.of_board()[1], "100 power off");
    EXPECT_FALSE(late.has_said(fence_news::not_seen_off));
    EXPECT_EQ(late.done.back(), "done");
    for (const bool is_silent : {false, true}) {
        fence_play on;
        waiting(on, 100);
        on.at(60, [&] {
            on.is_on = true;  // somebody has switched it on: it boots
            on.status_status = is_silent ? 1 : 0;
        });
        on.at(125, [&] { on.beats(); });
        on.run();
        EXPECT_EQ(on.count("power off"), 0) << is_silent;
        EXPECT_TRUE(on.has_said(fence_news::not_seen_off));
        EXPECT_EQ(on.done.back(), "passed");
    }
}

// Else it would have to be seen off twice, five seconds apart.
TEST(fence_attempt, R40_a_board_that_says_on_before_the_last_throw_need_say_off_once) {
    fence_play p;
    p.seen.has_board_said_on = false;
    p.run();
    EXPECT_EQ(p.of_board(), (lines{"60 power status", "65 power off", "65 power status", "65 recover by power",
                                   "65 power on", "67 power status"}));
    fence_play untold;
    untold.seen.has_board_said_on = false;
    untold.status_status = 1;
    untold.at(62, [&] { untold.status_status = 0; });
    untold.run();
    EXPECT_EQ(untold.count("70 record the proof"), 1) << "twice";
    fence_play waits;
    waits.seen.has_board_said_on = waits.seen.has_turn = false;
    waits.at(71, [&] { waits.seen.has_turn = true; });
    waits.run();
    EXPECT_EQ(waits.count("76 record the proof"), 1) << "it is old by then";
    fence_play slow;
    slow.seen.has_board_said_on = false;
    slow.command_time = 4s;
    slow.run();
    EXPECT_EQ(slow.of_board()[1], "65 power off") << "nothing waits for it";
}

}  // namespace
}  // namespace pvc::policy
