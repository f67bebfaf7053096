// The first is told, then a number a minute, as long as it goes on.
#include "pvcnoded/policy/networks/repeated_lines.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

TEST(repeated_lines, an_event_is_told_once_and_then_counted) {
    repeated_events events;
    const time_point begin = time_point() + 1h;
    EXPECT_EQ(events.next_due(), std::nullopt);
    EXPECT_TRUE(events.is_first("an address", begin));
    EXPECT_TRUE(events.is_first("another one", begin + 1s));
    for (int again = 0; again < 100; ++again) {
        EXPECT_FALSE(events.is_first("an address", begin + 1s));
    }
    EXPECT_EQ(events.next_due(), begin + 60s);
    EXPECT_TRUE(events.take_due(begin + 59s).empty());
    auto due = events.take_due(begin + 60s);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].what, "an address");
    EXPECT_EQ(due[0].times, 100U);
    EXPECT_EQ(events.next_due(), std::nullopt) << "nothing is counted";
    EXPECT_FALSE(events.is_first("an address", begin + 61s));
    due = events.take_due(begin + 120s);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].times, 1U);
    EXPECT_TRUE(events.take_due(begin + 180s).empty());
    EXPECT_EQ(events.next_due(), std::nullopt) << "a quiet minute";
    EXPECT_TRUE(events.is_first("an address", begin + 181s));
}

TEST(repeated_lines, of_a_state_the_log_says_what_it_is_at_the_end_of_each_minute) {
    repeated_states states;
    const time_point begin = time_point() + 1h;
    EXPECT_TRUE(states.is_first("no carrier", true, begin));
    EXPECT_TRUE(states.is_first("no carrier", false, begin + 1s));
    EXPECT_FALSE(states.is_first("no carrier", true, begin + 2s));
    EXPECT_FALSE(states.is_first("no carrier", false, begin + 3s));
    EXPECT_FALSE(states.is_first("no carrier", true, begin + 4s));
    auto due = states.take_due(begin + 60s);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].times, 2U);
    EXPECT_TRUE(due[0].is_so);
    EXPECT_FALSE(states.is_first("no carrier", false, begin + 61s)) << "it goes on";
    due = states.take_due(begin + 120s);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].times, 0U);
    EXPECT_FALSE(due[0].is_so);
    EXPECT_TRUE(states.take_due(begin + 180s).empty());
    EXPECT_EQ(states.next_due(), std::nullopt);
    // What lasted, and ends, is told at once, and so is it if it comes again.
    EXPECT_TRUE(states.is_first("no carrier", false, begin + 1h));
    EXPECT_TRUE(states.is_first("no carrier", true, begin + 1h + 1s));
    EXPECT_TRUE(states.take_due(begin + 2h).empty());
    EXPECT_TRUE(states.is_first("no carrier", true, begin + 2h));
    EXPECT_EQ(states.next_due(), std::nullopt) << "as it was told";
}

}  // namespace
}  // namespace pvc::policy
