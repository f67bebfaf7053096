#include "pvcnoded/base/utf8.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pvc {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

const std::string none(replacement_character);

TEST(utf8, each_length_is_decoded) {
    struct row {
        std::string_view text;
        char32_t code;
        std::size_t bytes;
    };
    const std::vector<row> table{
        {"a", 'a', 1},
        {"\0"sv, 0, 1},
        {"\x7f", 0x7f, 1},
        {"\xc2\x80", 0x80, 2},
        {"\xdf\xbf", 0x7ff, 2},
        {"\xe0\xa0\x80", 0x800, 3},
        {"\xed\x9f\xbf", 0xd7ff, 3},
        {"\xee\x80\x80", 0xe000, 3},
        {"\xef\xbf\xbf", 0xffff, 3},
        {"\xf0\x90\x80\x80", 0x10000, 4},
        {"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
    };
    for (const auto& [text, code, bytes] : table) {
        for (const auto& behind : {""s, "x"s, "\x80"s}) {
            const auto whole = std::string(text) + behind;
            const auto character = decode_utf8(whole);
            EXPECT_TRUE(character.valid) << text;
            EXPECT_EQ(character.code, code) << text;
            EXPECT_EQ(character.bytes, bytes) << text;
        }
        EXPECT_FALSE(first_invalid_utf8(text)) << text;
        EXPECT_EQ(valid_utf8(text), text);
    }
}

// As Python's decode("utf-8", "replace") counts them.
TEST(utf8, what_could_have_been_a_beginning_is_one_malformed_sequence) {
    struct row {
        std::string_view text;
        std::size_t bytes;
    };
    const std::vector<row> table{
        {"\x80", 1},
        {"\xbf", 1},
        {"\xc0\xaf", 1},
        {"\xc1\xbf", 1},
        {"\xc2", 1},
        {"\xc2x", 1},
        {"\xe0\x9f\xbf", 1},
        {"\xe2\x82", 2},
        {"\xe2\x82x", 2},
        {"\xe2\xe2\x82\xac", 1},
        {"\xed\xa0\x80", 1},
        {"\xf0\x8f\xbf", 1},
        {"\xf0\x9f\x98", 3},
        {"\xf0\x9f\x98z", 3},
        {"\xf4\x90\x80\x80", 1},
        {"\xf5\x80\x80\x80", 1},
        {"\xff", 1},
    };
    for (const auto& [text, bytes] : table) {
        const auto character = decode_utf8(text);
        EXPECT_FALSE(character.valid) << text;
        EXPECT_EQ(character.code, 0xfffdU) << text;
        EXPECT_EQ(character.bytes, bytes) << text;
        EXPECT_EQ(first_invalid_utf8("\xc3\xa4"s + std::string(text)), 2U) << text;
    }
}

TEST(utf8, malformed_sequences_are_replaced) {
    EXPECT_EQ(valid_utf8(""), "");
    EXPECT_EQ(valid_utf8("a\xc3\xa4 \xff\xc3"), "a\xc3\xa4 " + none + none);
    EXPECT_EQ(valid_utf8("\xf0\x9f\x98z\xe2\x82"), none + "z" + none);
    EXPECT_EQ(valid_utf8("\xed\xa0\x80"), none + none + none);
    std::string out = "x";
    EXPECT_EQ(append_character(out, "\xe2\x82\xac!"), 3U);
    EXPECT_EQ(append_character(out, "\xe2\x82!"), 2U);
    EXPECT_EQ(out, "x\xe2\x82\xac" + none);
}

TEST(utf8, the_first_invalid_byte_is_found) {
    EXPECT_FALSE(first_invalid_utf8(""));
    EXPECT_FALSE(first_invalid_utf8("a\xc3\xa4\xf0\x9f\x98\x80"));
    EXPECT_EQ(first_invalid_utf8("ab\xff"), 2U);
    EXPECT_EQ(first_invalid_utf8("ab\xe2\x82"), 2U) << "where the character begins";
    EXPECT_EQ(first_invalid_utf8("\xe2\x82\xac\x80"), 3U);
}

TEST(utf8, control_characters_are_tamed) {
    EXPECT_EQ(tame_text("a\x1b[2J\r\0\x7f\tb\n"sv), "a?[2J???\tb\n");
    EXPECT_EQ(tame_text("\xc2\x80\xc2\x9f\xc2\xa0"), "??\xc2\xa0");
    EXPECT_EQ(tame_text("\xff\xc3\xa4"), none + "\xc3\xa4");
}

TEST(utf8, control_characters_and_direction_marks_are_told) {
    for (const char32_t code : {0U, 0x1fU, 0x7fU, 0x80U, 0x9fU}) {
        EXPECT_TRUE(is_control(code)) << unsigned(code);
        EXPECT_EQ(is_ascii_control(static_cast<char>(code)), code < 0x80) << unsigned(code);
    }
    for (const char32_t code : {0x20U, 0x7eU, 0xa0U, 0xfffdU}) {
        EXPECT_FALSE(is_control(code)) << unsigned(code);
    }
    for (const char byte : {' ', '~', '\x80', '\xff'}) {
        EXPECT_FALSE(is_ascii_control(byte));
    }
    for (const char32_t code : {0x061cU, 0x200eU, 0x200fU, 0x2028U, 0x2029U, 0x202aU, 0x202eU, 0x2066U, 0x2069U}) {
        EXPECT_TRUE(is_direction_mark(code)) << unsigned(code);
    }
    for (const char32_t code : {0x061bU, 0x061dU, 0x200dU, 0x2010U, 0x2027U, 0x202fU, 0x2065U, 0x206aU}) {
        EXPECT_FALSE(is_direction_mark(code)) << unsigned(code);
    }
}

TEST(utf8, a_beginning_has_no_part_of_a_character) {
    struct row {
        std::string_view text;
        std::size_t most;
        std::string_view kept;
    };
    const std::vector<row> table{
        {"", 0, ""},
        {"abc", 3, "abc"},
        {"abc", 2, "ab"},
        {"abc", 0, ""},
        {"a\xe2\x82\xac", 4, "a\xe2\x82\xac"},
        {"a\xe2\x82\xac", 3, "a"},
        {"a\xe2\x82\xac", 2, "a"},
        {"a\xe2\x82\xac", 1, "a"},
        {"\xf0\x9f\x98\x80", 3, ""},
        {"a\xf0\x9f\x98\x80", 4, "a"},
        // No character: not further back than one is long.
        {"a\x80\x80\x80\x80\x80\x80", 6, "a\x80\x80"},
    };
    for (const auto& [text, most, kept] : table) {
        EXPECT_EQ(start_to_character(text, most), kept) << text << ' ' << most;
    }
}

TEST(utf8, an_end_has_no_part_of_a_character) {
    struct row {
        std::string_view text;
        std::size_t most;
        std::string_view kept;
    };
    const std::vector<row> table{
        {"", 0, ""},
        {"abc", 9, "abc"},
        {"abc", 2, "bc"},
        {"abc", 0, ""},
        {"\xe2\x82\xac"
         "b",
         4,
         "\xe2\x82\xac"
         "b"},
        {"\xe2\x82\xac"
         "b",
         3, "b"},
        {"\xe2\x82\xac"
         "b",
         2, "b"},
        {"\x80\x80\x80\x80"
         "b",
         5, "b"},
    };
    for (const auto& [text, most, kept] : table) {
        EXPECT_EQ(end_from_character(text, most), kept) << text << ' ' << most;
    }
}

}  // namespace
}  // namespace pvc
