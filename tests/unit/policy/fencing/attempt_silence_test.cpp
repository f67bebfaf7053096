// The fence of one dead node whose board falls silent: it keeps the turn from nobody (README ruling 39).
#include "fence_play.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using lines = fence_play::lines;

class fence_silence : public ::testing::Test {
protected:
    // From then on no command is answered, and each takes as long as silence takes.
    void is_silent_from(int second) {
        p.at(second, [this] {
            p.command_time = 20s;
            p.off_status = p.status_status = 1;
            p.seen.has_board_said_on = false;
        });
        p.at(second + 15, [this] { p.seen.is_board_unheard = true; });  // by then it is known
    }
    void answers_from(int second) {
        p.at(second, [this] {
            p.command_time = {};
            p.off_status = p.status_status = 0;
            p.seen.is_board_unheard = false;
        });
    }
    // Whether it would keep others waiting then.
    void look_at_turn(int second, bool wants_it) {
        p.at(second, [this, second, wants_it] { EXPECT_EQ(p.fence.wants_turn, wants_it) << second; });
    }

    fence_play p;
};

TEST_F(fence_silence, R39_a_board_that_does_not_take_the_order_gives_the_turn_away_and_has_three_tries_and_one_look) {
    is_silent_from(62);
    look_at_turn(84, true);
    look_at_turn(86, false);
    look_at_turn(140, false);
    p.run();
    EXPECT_EQ(p.of_board(), (lines{"60 power status", "65 power off", "86 power off", "107 power off",
                                   "127 power status", "152 power on", "174 power status"}));
    EXPECT_EQ(p.done.back(), "failed");
}

// Nobody tells how long that took.
TEST_F(fence_silence, R39_an_order_that_comes_to_no_end_is_an_order_that_is_not_answered) {
    std::vector<fence_act::any> acts;
    p.is_dead(fence_origin::resumed);
    auto step = p.fence.resume({p.seen, fence_said::woken{}, 0, p.now}, acts);
    while (!std::holds_alternative<fence_ask::power>(step.what)) {
        fence_said::any said = fence_said::synced{true};
        if (std::holds_alternative<fence_ask::guarded_read>(step.what)) {
            said = fence_said::read{.victim = p.victim, .has_lock = true, .majority_stays = true};
        }
        step = p.fence.resume({p.seen, said, step.number, p.now}, acts);
    }
    EXPECT_TRUE(p.fence.wants_turn);
    step = p.fence.resume({p.seen, fence_said::woken{}, 0, step.until}, acts);
    EXPECT_FALSE(p.fence.wants_turn);
}

TEST_F(fence_silence, R39_a_board_that_was_silent_to_the_last_question_is_not_waited_for_at_all) {
    p.seen.is_board_unheard = true;
    p.seen.has_turn = false;
    is_silent_from(62);
    look_at_turn(66, false);
    p.run();
    EXPECT_EQ(p.of_board()[1], "65 power off") << "beside the others";
    EXPECT_EQ(p.done.back(), "failed");
}

TEST_F(fence_silence, R39_a_board_that_is_heard_before_the_last_throw_is_not_silent) {
    p.seen.is_board_unheard = true;
    p.seen.has_turn = false;
    answers_from(58);
    p.at(100, [this] { p.seen.has_turn = true; });
    p.run();
    EXPECT_EQ(p.of_board()[0], "60 power status");
    EXPECT_EQ(p.of_board()[1], "100 power off") << "with the turn";
    EXPECT_EQ(p.done.back(), "done");
}

TEST_F(fence_silence, R39_a_board_that_refuses_quickly_keeps_the_turn) {
    p.off_status = 1;
    look_at_turn(70, true);
    p.run();
    EXPECT_EQ(p.done.back(), "failed");
    EXPECT_EQ(p.count("power off"), 3);
    EXPECT_EQ(p.count("power status"), 12) << "before, ten looks, and after the power-on";
}

// What was heard before others had the turn counts for nothing: it may have been switched on meanwhile.
TEST_F(fence_silence, R39_a_board_that_takes_a_later_order_is_ordered_off_anew_with_the_turn) {
    is_silent_from(62);
    p.at(85, [this] { p.seen.has_turn = false; });
    answers_from(90);
    p.at(150, [this] { p.seen.has_turn = true; });
    look_at_turn(149, true);
    p.run();
    EXPECT_EQ(p.of_board(),
              (lines{"60 power status", "65 power off", "86 power off", "106 power status", "150 power off",
                     "150 power status", "151 power status", "152 power status", "153 power status", "154 power status",
                     "155 power status", "155 recover by power", "155 power on", "157 power status"}));
    EXPECT_EQ(p.done.back(), "done");
}

// It may carry the order out just now.
TEST_F(fence_silence, R39_a_board_that_took_the_order_and_is_silent_then_is_looked_at_without_the_turn) {
    p.obeys_off = false;
    look_at_turn(66, true);
    is_silent_from(67);
    look_at_turn(90, false);
    p.at(91, [this] { p.seen.has_turn = false; });
    p.run();
    EXPECT_EQ(p.done.back(), "failed");
    EXPECT_EQ(p.count("power off"), 1);
    EXPECT_GE(p.count("power status"), 8) << "to the end of the 180 s";
}

TEST_F(fence_silence, R39_a_board_that_was_silent_to_the_last_question_and_takes_the_order_has_more_than_one_look) {
    p.seen.is_board_unheard = true;
    p.off_status = 0;
    p.status_status = 1;
    p.at(64, [this] { p.seen.has_turn = false; });
    p.at(90, [this] { p.seen.has_turn = true; });
    answers_from(70);
    p.run();
    EXPECT_EQ(p.of_board()[1], "65 power off");
    EXPECT_EQ(p.count("90 power off"), 1) << "anew, with the turn";
    EXPECT_EQ(p.done.back(), "done");
}

TEST_F(fence_silence, R39_a_board_that_is_silent_again_and_again_comes_to_an_end) {
    p.seen.is_board_unheard = true;
    p.obeys_off = false;
    for (int second = 65; second < 2000; second += 60) {
        is_silent_from(second + 1);
        answers_from(second + 30);
    }
    p.run();
    EXPECT_EQ(p.done.back(), "failed");
    EXPECT_LE(p.second(), 65 + 3 * 180);
}

// It came back while the `off` was under way, by a board that was silent when last asked.
TEST_F(fence_silence, R40_a_node_that_is_back_is_not_ordered_off_anew) {
    p.seen.is_board_silent = true;
    p.obeys_off = false;
    p.at(65, [this] { p.command_time = 1s; });
    p.at(66, [this] { p.beats(); });
    p.run();
    EXPECT_EQ(p.count("power off"), 1);
    EXPECT_EQ(p.done.back(), "passed");
    EXPECT_EQ(p.count("recover"), 0);
}

// And if the `off` has hit it all the same, its machines are recovered with the turn.
TEST_F(fence_silence, R39_R40_a_node_that_was_back_and_is_off_is_recovered_with_the_turn) {
    p.seen.is_board_silent = true;
    p.seen.has_turn = false;
    p.at(65, [this] { p.command_time = 1s; });
    p.at(66, [this] { p.beats(); });
    p.at(100, [this] { p.seen.has_turn = true; });
    p.run();
    EXPECT_EQ(p.count("power off"), 1);
    EXPECT_EQ(p.done.back(), "done");
    const auto recovered =
        std::ranges::find_if(p.done, [](const auto& one) { return one.find("recover") != std::string::npos; });
    ASSERT_NE(recovered, p.done.end());
    EXPECT_GE(std::stoi(*recovered), 100);
}

TEST_F(fence_silence, a_look_that_could_not_be_asked_ends_no_fence) {
    is_silent_from(62);
    p.at(126, [this] { p.command_time = {}; });
    p.at(127, [this] { p.is_asked_late = true; });
    answers_from(130);
    p.at(130, [this] { p.is_asked_late = false; });
    p.run();
    EXPECT_EQ(p.done.back(), "done");
}

}  // namespace
}  // namespace pvc::policy
