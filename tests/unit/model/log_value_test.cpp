#include "pvcnoded/model/log_value.hpp"

#include <gtest/gtest.h>

namespace pvc::model {
namespace {

using list = std::vector<std::string>;

TEST(log_value, lines_are_joined_without_a_final_newline) {
    EXPECT_EQ(split_lines(""), list{});
    EXPECT_EQ(split_lines("a\n\nb"), (list{"a", "", "b"}));
    EXPECT_EQ(join_lines({"a", "", "b"}), "a\n\nb");
    EXPECT_EQ(append_lines("", {"a"}, 10), "a") << "no leading blank line";
    EXPECT_EQ(append_lines("a\nb", {"c", "d"}, 10), "a\nb\nc\nd");
    EXPECT_EQ(append_lines("a\nb", {}, 10), "a\nb");
}

TEST(log_value, zk28_the_last_lines_are_kept) {
    list lines;
    for (int i = 0; i < 5000; ++i) {
        lines.push_back("line " + std::to_string(i));
    }
    const auto value = append_lines("old 1\nold 2", lines, 100);
    const auto kept = split_lines(value);
    ASSERT_EQ(kept.size(), 100U);
    EXPECT_EQ(kept.front(), "line 4900");
    EXPECT_EQ(kept.back(), "line 4999");
}

TEST(log_value, a_message_of_several_lines_counts_as_several) {
    EXPECT_EQ(append_lines("a", {"b\nc\nd"}, 3), "b\nc\nd");
    EXPECT_EQ(append_lines("a", {"b\nc\nd"}, 2), "c\nd");
}

TEST(log_value, zk29_bytes_are_limited) {
    const std::string line(100UL * 1024UL, 'x');
    const auto value = append_lines("", list(1000, line), 1000);
    EXPECT_LE(value.size(), value_bytes_limit);
    EXPECT_EQ(split_lines(value).size(), 5U);
    EXPECT_EQ(append_lines("aa\nbb", {"cc"}, 10, 5), "bb\ncc") << "exactly the limit";
    EXPECT_EQ(append_lines("aa\nbb", {"cc"}, 10, 4), "cc");
}

TEST(log_value, a_line_beyond_the_limit_is_cut_between_characters) {
    EXPECT_EQ(append_lines("old", {"abcdef"}, 10, 4), "abcd");
    EXPECT_EQ(append_lines("old", {"abc\xe2\x82\xac"}, 10, 5), "abc");
    EXPECT_EQ(append_lines("old", {"abc"}, 0), "");
    EXPECT_EQ(append_lines("old", {"abc"}, 10, 0), "");
}

}  // namespace
}  // namespace pvc::model
