#include "pvcnoded/base/histogram.hpp"

#include <gtest/gtest.h>

namespace pvc {
namespace {

using namespace std::chrono_literals;

TEST(histogram, each_duration_is_in_one_class_whose_bound_is_included) {
    histogram all;
    all.add(0ns);
    all.add(-5s);
    all.add(500us);
    all.add(500us + 1ns);
    all.add(10s);
    all.add(1h);
    EXPECT_EQ(all.count(0), 3U);
    EXPECT_EQ(all.count(1), 1U);
    EXPECT_EQ(all.count(histogram::bounds.size() - 1), 1U);
    EXPECT_EQ(all.count(histogram::bounds.size()), 1U);
    EXPECT_EQ(all.total(), 6U);
    EXPECT_EQ(all.sum(), 1h + 10s + 1ms + 1ns);
    EXPECT_EQ(all.longest(), 1h);
    EXPECT_TRUE(std::ranges::is_sorted(histogram::bounds));
}

}  // namespace
}  // namespace pvc
