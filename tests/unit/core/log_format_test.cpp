// Records of hostile bytes: what stands in a key that the log quotes must not forge lines, drive a terminal or fill
// memory. The forms of a line are in logging_test.cpp.
#include "pvcnoded/core/log_format.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::node {
namespace {

std::string formatted(std::string text, std::string prefix = {}) {
    return core::format_record({log_level::info, wall_time{}, std::move(prefix), std::move(text)}, {});
}

TEST(log_format, control_characters_are_tamed) {
    EXPECT_EQ(formatted(std::string("a\x1b[2J\r\0\x7f\tb", 10)), "info: a?[2J???\tb");
    EXPECT_EQ(formatted("a\xc2\x9b"
                        "2J\xc2\x85"),
              "info: a?2J?");
    EXPECT_EQ(formatted("\xff\xc3\x28"), "info: \xef\xbf\xbd\xef\xbf\xbd(");
    EXPECT_EQ(formatted("\xc3\xa4\xf0\x9f\x98\x80"), "info: \xc3\xa4\xf0\x9f\x98\x80");
    const log_record record{log_level::ok, wall_time{}, "", "\x1b[2J"};
    EXPECT_TRUE(core::format_shipped(record, {}, 11).ends_with("ok: ?[2J"));
}

TEST(log_format, a_prefix_cannot_begin_a_line) {
    EXPECT_EQ(formatted("x", "hv1\n<0>failed: forged"), "info: hv1?<0>failed: forged - x");
}

TEST(log_format, a_record_is_bounded_in_lines) {
    const auto at_the_limit = formatted(std::string(core::record_lines_max - 1, '\n'));
    EXPECT_EQ(std::ranges::count(at_the_limit, '\n'), core::record_lines_max - 1);
    EXPECT_EQ(at_the_limit.find("more"), std::string::npos);
    const auto beyond = formatted(std::string(core::record_lines_max + 9, '\n'));
    EXPECT_EQ(std::ranges::count(beyond, '\n'), core::record_lines_max);
    EXPECT_TRUE(beyond.ends_with("\ninfo: ... (10 bytes more)"));
}

TEST(log_format, a_record_is_bounded_in_bytes_and_cut_at_a_character) {
    const auto front = std::string(core::record_bytes_max - 2, 'x');
    EXPECT_EQ(formatted(front + "\xe2\x82\xac"), "info: " + front + "\ninfo: ... (3 bytes more)");
    EXPECT_EQ(formatted(front + "yz"), "info: " + front + "yz");
}

// Also before 1970 a fraction has six digits.
TEST(log_format, a_date_has_one_width) {
    EXPECT_EQ(core::date_text(wall_time(std::chrono::nanoseconds(-1))).size(), core::date_text(wall_time{}).size());
}

}  // namespace
}  // namespace pvc::node
