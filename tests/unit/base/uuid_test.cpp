#include "pvcnoded/base/uuid.hpp"

#include <gtest/gtest.h>

#include <unordered_set>

namespace pvc {
namespace {

constexpr std::string_view canonical = "8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5";

TEST(uuid, the_canonical_spelling_is_read_and_written) {
    const auto id = parse_uuid(canonical);
    ASSERT_TRUE(id);
    EXPECT_EQ(id->bytes[0], 0x8b);
    EXPECT_EQ(id->bytes[15], 0xe5);
    EXPECT_EQ(to_text(*id), canonical);
    EXPECT_EQ(to_text(uuid{}), "00000000-0000-0000-0000-000000000000");
}

TEST(uuid, other_spellings_are_known_where_they_are_allowed) {
    for (const std::string_view text : {"8B5C6F2E-0D1A-4C3B-9E7F-00A1B2C3D4E5", "8b5c6f2e0d1a4c3b9e7f00a1b2c3d4e5",
                                        "8B5c6F2E0d1A4c3B9e7F00a1B2c3D4e5"}) {
        EXPECT_FALSE(parse_uuid(text)) << text;
        EXPECT_EQ(parse_any_uuid(text), parse_uuid(canonical)) << text;
    }
}

TEST(uuid, anything_else_is_none) {
    for (const std::string_view text :
         {"", "0", "-", "8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e", "8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e56",
          "8b5c6f2e0-d1a-4c3b-9e7f-00a1b2c3d4e5", "8b5c6f2e-0d1a-4c3b-9e7f00a1b2c3d4e5-",
          "{8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5}", " 8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4e5",
          "8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4eg", "8b5c6f2e-0d1a-4c3b-9e7f-00a1b2c3d4\xc3\xa9",
          "8b5c6f2e-0d1a4c3b9e7f00a1b2c3d4e", "--------------------------------", "8-5c6f2e0d1a4c3b9e7f00a1b2c3d4e5f",
          "8b-5c-6f-2e-0d-1a-4c-3b-9e-7f-00", "0x5c6f2e0d1a4c3b9e7f00a1b2c3d4e5",
          "8b5c6f2e_0d1a_4c3b_9e7f_00a1b2c3d4e5"}) {
        EXPECT_FALSE(parse_uuid(text)) << text;
        EXPECT_FALSE(parse_any_uuid(text)) << text;
    }
}

TEST(uuid, orders_as_its_text_does_and_can_be_hashed) {
    const auto a = *parse_uuid("0fffffff-0000-0000-0000-000000000000");
    const auto b = *parse_uuid("10000000-0000-0000-0000-000000000000");
    EXPECT_LT(a, b);
    EXPECT_LT(to_text(a), to_text(b));
    const std::unordered_set<uuid> both{a, b, a};
    EXPECT_EQ(both.size(), 2U);
}

}  // namespace
}  // namespace pvc
