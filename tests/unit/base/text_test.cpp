#include "pvcnoded/base/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pvc {
namespace {

TEST(text, a_float_has_a_fraction_and_nothing_else) {
    EXPECT_EQ(float_text(0), "0.0");
    EXPECT_EQ(float_text(1.05), "1.05");
    EXPECT_EQ(float_text(-3), "-3.0");
}

// Both once became "0.0" for want of room.
TEST(text, the_largest_and_the_smallest_float_are_written_out) {
    const auto large = float_text(1e308);
    EXPECT_EQ(large.size(), 311U);
    EXPECT_TRUE(large.starts_with("1000") && large.ends_with(".0"));
    const auto small = float_text(std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(small, "0." + std::string(323, '0') + "5");
}

TEST(text, what_is_not_finite_is_no_number) {
    EXPECT_EQ(float_text(std::numeric_limits<double>::infinity()), "0.0");
    EXPECT_EQ(float_text(std::numeric_limits<double>::quiet_NaN()), "0.0");
}

}  // namespace
}  // namespace pvc
