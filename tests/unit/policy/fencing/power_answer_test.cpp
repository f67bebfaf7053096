// Acceptance cases AC57 and AC70 as far as they are about answers; README ruling 40.
#include "pvcnoded/policy/fencing/power_answer.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

constexpr time_point at_start = time_point() + 1000s;

struct told {
    std::optional<int> status;
    std::string_view output;
    std::string_view errors;
    board_power power;
    std::string_view why;
};

TEST(power_answer, only_one_clear_line_with_status_0_is_an_answer) {
    const std::string long_tail = "Chassis Power is off" + std::string(200, ' ') + "x";
    const std::array cases{
        told{0, "Chassis Power is on\n", "", board_power::on, ""},
        told{0, "Chassis Power is off", "", board_power::off, ""},
        told{0, "  chassis power is OFF \r\n\n", "", board_power::off, ""},  // AC70
        told{0, "Chassis Power is off\n", "Unable to read FRU\n", board_power::off, ""},
        told{0, "Chassis Power is off\nChassis Power is on\n", "", board_power::unknown, ""},
        told{0, "Chassis Power is off\nChassis Power is off\n", "", board_power::unknown, ""},
        told{0, "Chassis Power is off\nChassis Power is unknown\n", "", board_power::unknown, ""},
        told{0, "Chassis Power is offline\n", "", board_power::unknown,
             "expected \"Chassis Power is on\" or \"off\", got \"Chassis Power is offline\""},
        told{0, "Chassis Power Control: Down/Off\n", "", board_power::unknown,
             "expected \"Chassis Power is on\" or \"off\", got \"Chassis Power Control: Down/Off\""},
        told{0, "", "", board_power::unknown, "it said nothing"},
        told{0, "\n\n", "", board_power::unknown, "it said nothing"},
        told{0, long_tail, "", board_power::unknown, ""},
        told{1, "Chassis Power is off\n", "", board_power::unknown, "exit status 1, Chassis Power is off"},
        told{1, "", "Error: Unable to establish IPMI v2 / RMCP+ session\n", board_power::unknown,
             "exit status 1, Error: Unable to establish IPMI v2 / RMCP+ session"},
        told{1, "", "", board_power::unknown, "exit status 1"},
        told{{},
             "Chassis Power is off\n",
             "",
             board_power::unknown,
             "it did not end by itself, and said: Chassis Power is off"},
        told{{}, "", "", board_power::unknown, "it did not end by itself"},
    };
    for (const auto& one : cases) {
        const auto read = read_power(one.status, one.output, one.errors);
        EXPECT_EQ(read.power, one.power) << one.output;
        EXPECT_EQ(read.why.empty(), one.power != board_power::unknown) << one.output;
        if (!one.why.empty()) {
            EXPECT_EQ(read.why, one.why);
        }
        EXPECT_FALSE(read.needs_operator);
    }
}

TEST(power_answer, what_it_says_is_shown_safely_and_short) {
    const auto read = read_power(1, "", "\x1b[31m" + std::string(10'000, 'a') + std::string(3, '\0'));
    EXPECT_LT(read.why.size(), 200U);
    EXPECT_EQ(read.why.find('\x1b'), std::string::npos);
}

TEST(power_answer, a_refused_privilege_is_told) {
    const auto read = read_power(1, "", "Set Session Privilege Level to ADMINISTRATOR failed: Unknown (0x80)\n");
    EXPECT_TRUE(read.needs_operator);
    EXPECT_EQ(read.power, board_power::unknown);
}

TEST(power_answer, two_answers_are_named_as_such) {
    const auto read = read_power(0, "Chassis Power is off\nChassis Power is on\n", "");
    EXPECT_EQ(read.power, board_power::unknown);
    EXPECT_EQ(read.why, "more than one answer: \"Chassis Power is off\", \"Chassis Power is on\"");
    EXPECT_EQ(read_power(0, "Chassis Power is off\nnonsense\nChassis Power is off\n", "").why,
              "more than one answer: \"Chassis Power is off\", \"Chassis Power is off\"");
    EXPECT_EQ(read_power(0, "nonsense\n", "").why, "expected \"Chassis Power is on\" or \"off\", got \"nonsense\"");
}

TEST(off_watch, one_answer_does_after_an_accepted_off_of_a_board_that_said_on) {
    off_watch watch;
    watch.heard(board_power::on, at_start);
    watch.told_off(true);
    EXPECT_FALSE(watch.is_off());
    watch.heard(board_power::off, at_start + 1s);
    EXPECT_TRUE(watch.is_off());
    watch.heard(board_power::on, at_start + 2s);
    EXPECT_FALSE(watch.is_off());
}

TEST(off_watch, an_order_that_is_not_obeyed_is_as_none) {
    off_watch watch;
    watch.heard(board_power::on, at_start);
    watch.told_off(true);
    watch.heard(board_power::on, at_start + 6s);
    watch.not_obeyed();
    watch.heard(board_power::off, at_start + 7s);
    EXPECT_FALSE(watch.is_off()) << "it may boot";
    watch.heard(board_power::off, at_start + 12s);
    EXPECT_TRUE(watch.is_off());
}

TEST(off_watch, else_two_in_a_row_five_seconds_apart) {
    for (const bool is_accepted : {false, true}) {
        off_watch watch;
        watch.told_off(is_accepted);
        watch.heard(board_power::off, at_start);
        EXPECT_FALSE(watch.is_off());
        watch.heard(board_power::off, at_start + 4999ms);
        EXPECT_FALSE(watch.is_off());
        watch.heard(board_power::unknown, at_start + 6s);
        watch.heard(board_power::off, at_start + 7s);
        EXPECT_FALSE(watch.is_off()) << "not in a row";
        watch.heard(board_power::off, at_start + 12s);
        EXPECT_TRUE(watch.is_off());
    }
    off_watch refused;
    refused.heard(board_power::on, at_start);
    refused.told_off(false);
    refused.heard(board_power::off, at_start + 1s);
    EXPECT_FALSE(refused.is_off());
}

TEST(off_watch, two_answers_with_a_long_time_in_between_do_not_count_together) {
    off_watch watch;
    watch.heard(board_power::off, at_start);
    watch.heard(board_power::off, at_start + 61s);
    EXPECT_FALSE(watch.is_off()) << "it may have been on, and its board boots again";
    watch.heard(board_power::off, at_start + 66s);
    EXPECT_TRUE(watch.is_off());
    off_watch slow;
    slow.heard(board_power::off, at_start);
    slow.heard(board_power::off, at_start + 31s);
    EXPECT_TRUE(slow.is_off());
}

TEST(off_watch, after_a_heartbeat_off_must_be_seen_anew_and_twice) {
    off_watch watch;
    watch.heard(board_power::on, at_start);
    watch.told_off(true);
    watch.heard(board_power::off, at_start + 1s);
    watch.beaten();
    EXPECT_FALSE(watch.is_off());
    watch.heard(board_power::on, at_start + 2s);
    watch.heard(board_power::off, at_start + 3s);
    EXPECT_FALSE(watch.is_off());
    watch.heard(board_power::off, at_start + 8s);
    EXPECT_TRUE(watch.is_off());
}

}  // namespace
}  // namespace pvc::policy
