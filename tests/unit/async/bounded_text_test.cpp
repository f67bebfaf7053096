#include "pvcnoded/async/bounded_text.hpp"

#include <gtest/gtest.h>

namespace pvc::async {
namespace {

TEST(bounded_text, keeps_the_front_and_notes_the_rest) {
    bounded_text text(5);
    text.add("abc");
    text.add("");
    EXPECT_EQ(text.text(), "abc");
    text.add("de");
    EXPECT_FALSE(text.truncated());
    text.add("f");
    EXPECT_TRUE(text.truncated());
    EXPECT_EQ(text.take(), "abcde");
    EXPECT_TRUE(text.truncated());
}

TEST(bounded_text, may_keep_nothing) {
    bounded_text text(0);
    text.add("");
    EXPECT_FALSE(text.truncated());
    text.add("a");
    EXPECT_TRUE(text.truncated());
    EXPECT_EQ(text.text(), "");
}

}  // namespace
}  // namespace pvc::async
