// Failures in words.
#include "pvcnoded/base/result.hpp"

#include <gtest/gtest.h>

namespace pvc {
namespace {

TEST(failure, names_what_it_is_about_once) {
    const auto refused = [](std::string subject) { return failure(errc::refused, std::move(subject), "No"); };
    EXPECT_EQ(refused("ens4").text(), "ens4: refused: No");
    EXPECT_EQ(refused("ens4").during("set ens4 up").text(), "set ens4 up: ens4: refused: No");
    EXPECT_EQ(refused("set ens4 up").during("set ens4 up").text(), "set ens4 up: refused: No");
    EXPECT_EQ(refused("set ens4 up").during("set ens4 up").during("a repair").text(),
              "a repair: set ens4 up: refused: No");
    EXPECT_EQ(refused("a").during("b").during("a").text(), "a: b: a: refused: No");
}

}  // namespace
}  // namespace pvc
