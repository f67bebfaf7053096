// The key in which an order to switch on and an operator's word meet.
#include "pvcnoded/model/fence_power.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pvc::model {
namespace {

TEST(fence_power, what_is_written_is_read) {
    for (const std::string text : {"on hv3", "off hv1", "off hv1 1700000000123 hv3"}) {
        const auto read = parse_fence_power(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(to_text(*read), text);
    }
    const auto word = parse_fence_power("off hv1 1700000000123 hv3");
    EXPECT_FALSE(word->is_on);
    EXPECT_EQ(word->coordinator, "hv1");
    EXPECT_EQ(word->ordered, (fence_power_key::order{1700000000123, "hv3"}));
}

TEST(fence_power, what_is_none_says_nothing) {
    for (const std::string text :
         {"", "none", "on", "off", "on ", "off  ", "on hv3 1 hv1", "off hv1 1", "off hv1 0 hv3", "off hv1 -1 hv3",
          "off hv1 01 hv3", "off hv1 x hv3", "off hv1 1 ", "off hv1 1 hv3 x", "ON hv3", "on hv3\n", " on hv3"}) {
        EXPECT_FALSE(parse_fence_power(text)) << text;
    }
    EXPECT_FALSE(parse_fence_power("on " + std::string(256, 'a')));
}

}  // namespace
}  // namespace pvc::model
