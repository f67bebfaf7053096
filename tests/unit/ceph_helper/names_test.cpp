// Names of images, lists of lockers and addresses as Ceph spells them.
#include "pvcnoded/ceph_helper/names.hpp"

#include <gtest/gtest.h>

namespace pvc::ceph_helper {
namespace {

using namespace std::string_literals;

TEST(image_names, are_split_at_the_first_and_the_last_slash) {
    EXPECT_EQ(*parse_image_name("vms/a"), (image_name{"vms", "", "a"}));
    EXPECT_EQ(*parse_image_name("vms/space/a"), (image_name{"vms", "space", "a"}));
    EXPECT_EQ(*parse_image_name("vms/one/two/a"), (image_name{"vms", "one/two", "a"}));
    EXPECT_EQ(*parse_image_name("v ms/ä@1"), (image_name{"v ms", "", "ä@1"}));
}

TEST(image_names, lack_no_part) {
    for (const auto& bad : {""s, "a"s, "/"s, "/a"s, "vms/"s, "vms//a"s, "//"s, "vms/sp/"s, "vms/a\0b"s}) {
        const auto parsed = parse_image_name(bad);
        ASSERT_FALSE(parsed) << bad;
        EXPECT_EQ(parsed.error().code(), errc::invalid) << bad;
    }
}

TEST(lists_of_lockers, are_texts_side_by_side) {
    const locker_lists lists{"client.1\0client.22\0"s, "auto 7\0mine\0"s, "10.0.0.1:0/5\0[fd00::1]:0/6\0"s};
    const auto parsed = parse_lockers(lists, 2);
    ASSERT_TRUE(parsed);
    const std::vector<protocol::ceph::lock> expected{{"auto 7", "client.1", "10.0.0.1:0/5"},
                                                     {"mine", "client.22", "[fd00::1]:0/6"}};
    EXPECT_EQ(*parsed, expected);
    EXPECT_EQ(parse_lockers({}, 0)->size(), 0U);
    EXPECT_EQ((*parse_lockers({"client.1\0"s, "\0"s, "\0"s}, 1))[0].id, "") << "a cookie may be empty";
}

// Whatever the library says: no byte beyond what it gave is read.
TEST(lists_of_lockers, that_do_not_fit_together_are_refused) {
    for (const auto& lists : {locker_lists{"client.1\0"s, "a\0"s, ""s}, locker_lists{"client.1"s, "a\0"s, "b\0"s},
                              locker_lists{"client.1\0"s, "a"s, "b\0"s}}) {
        EXPECT_FALSE(parse_lockers(lists, 1));
    }
    EXPECT_FALSE(parse_lockers({"c\0"s, "a\0"s, "b\0"s}, 2));
}

TEST(addresses, are_compared_without_their_version) {
    using texts = std::vector<std::string>;
    EXPECT_EQ(plain_addresses("10.0.0.1:0/5"), texts{"10.0.0.1:0/5"});
    EXPECT_EQ(plain_addresses("v1:10.0.0.1:0/5\n"), texts{"10.0.0.1:0/5"});
    EXPECT_EQ(plain_addresses("any:[fd00::1]:0/5"), texts{"[fd00::1]:0/5"});
    EXPECT_EQ(plain_addresses("[fd00::1]:0/5"), texts{"[fd00::1]:0/5"});
    EXPECT_EQ(plain_addresses("[v2:10.0.0.1:0/5,v1:10.0.0.1:0/6]"), (texts{"10.0.0.1:0/5", "10.0.0.1:0/6"}));
    EXPECT_EQ(client_name(4185), "client.4185");
}

}  // namespace
}  // namespace pvc::ceph_helper
