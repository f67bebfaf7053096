// What ends on a node that was declared fenced while it lives, before it says that it runs (AC28).
#include "pvcnoded/policy/membership/keepalive_rules.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

TEST(fenced_guests, ac28_what_others_may_have_taken_over) {
    EXPECT_TRUE(is_forfeited({true, "hv2", false}, "hv1"));
    EXPECT_FALSE(is_forfeited({true, "hv1", false}, "hv1"));
    EXPECT_TRUE(is_forfeited({true, "hv1", true}, "hv1")) << "its machines are being moved";
    EXPECT_FALSE(is_forfeited({true, "", false}, "hv1")) << "nobody's";
    EXPECT_TRUE(is_forfeited({true, "", true}, "hv1"));
    EXPECT_FALSE(is_forfeited({false, "", true}, "hv1")) << "the cluster does not know it";
}

}  // namespace
}  // namespace pvc::policy
