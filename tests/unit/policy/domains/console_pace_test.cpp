#include "pvcnoded/policy/domains/console_pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

constexpr time_point begin = time_point{} + 100s;
constexpr std::size_t full = 512UL * 1024;

TEST(console_pace, what_writes_little_is_not_held_up) {
    console_pace pace;
    for (int i = 0; i < 1000; ++i) {
        const time_point now = begin + i * 50ms;
        EXPECT_EQ(pace.next_turn(now, 1000), now) << i;
    }
    EXPECT_EQ(console_pace().pause_after(0), 500ms);
    EXPECT_EQ(console_pace().pause_after(10'000), 500ms);
}

TEST(console_pace, who_writes_much_pauses_longer) {
    EXPECT_GT(console_pace().pause_after(64UL * 1024), 1s);
    EXPECT_EQ(console_pace().pause_after(full), 10s);
    EXPECT_EQ(console_pace().pause_after(100 * full), 10s);
}

// Fifty guests that never stop: together no more than the node may write, each as often as the next.
TEST(console_pace, many_that_write_without_end_share) {
    constexpr std::size_t text = 64UL * 1024;
    constexpr std::size_t guests = 50;
    console_pace pace;
    std::vector<time_point> asks(guests, begin);
    std::vector<int> turns(guests, 0);
    const time_point end = begin + 600s;
    for (;;) {
        const auto first = std::ranges::min_element(asks);
        if (*first >= end) {
            break;
        }
        const time_point turn = pace.next_turn(*first, text);
        ++turns[static_cast<std::size_t>(first - asks.begin())];
        *first = turn + pace.pause_after(text);
    }
    std::size_t all = 0;
    for (const int one : turns) {
        all += static_cast<std::size_t>(one);
        EXPECT_NEAR(one, turns[0], 1);
    }
    EXPECT_LE(all * text, console_pace::bytes_per_second * 630);
    EXPECT_GE(all * text, console_pace::bytes_per_second * 500);
}

TEST(console_pace, as_many_publications_as_the_operator_allows) {
    console_pace pace;
    pace.allow(2);
    time_point turn = begin;
    for (int i = 0; i < 100; ++i) {
        turn = pace.next_turn(turn, 0);
    }
    EXPECT_NEAR(std::chrono::duration<double>(turn - begin).count(), 48.0, 1.0) << "two seconds at once after a rest";
    EXPECT_EQ(pace.pause_after(0), 500ms) << "one that writes little is not slowed down by the number";
}

TEST(console_pace, a_wrong_guess_is_made_up_for) {
    console_pace pace;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(pace.next_turn(begin, 0), begin);
        pace.published(0, 0);
    }
    EXPECT_EQ(pace.next_turn(begin, 0), begin);
    pace.published(0, full);
    EXPECT_GT(pace.next_turn(begin, 0), begin + 2s);
}

}  // namespace
}  // namespace pvc::policy
