#include "pvcnoded/model/ceph_blocklist.hpp"

#include <gtest/gtest.h>

namespace pvc::model {
namespace {

using names = std::vector<std::string>;

TEST(ceph_blocklist, addresses_as_they_are_listed) {
    const auto all = parse_ceph_blocklist(
        "\n[{\"addr\":\"10.254.0.2:0/3058373081\",\"until\":\"2026-11-20T10:15:23\"},"
        "{\"addr\":\"[fd00::7]:0/9\"}]\n");
    ASSERT_TRUE(all);
    EXPECT_EQ(*all, (names{"10.254.0.2:0/3058373081", "[fd00::7]:0/9"}));
    EXPECT_EQ(*parse_ceph_blocklist("[]"), names{});
}

// As Ceph 16.2.15 prints it.
TEST(ceph_blocklist, a_second_list_is_of_networks) {
    EXPECT_EQ(*parse_ceph_blocklist("[][]"), names{});
    EXPECT_EQ(*parse_ceph_blocklist(R"([{"addr":"10.0.0.1:0/55","until":"x"}][{"addr":"10.0.0.0:0/24"}] )"),
              names{"10.0.0.1:0/55"});
}

TEST(ceph_blocklist, what_is_no_entry_is_passed_over_and_what_is_no_list_is_refused) {
    EXPECT_EQ(*parse_ceph_blocklist(R"([1,null,{"addr":7},{"until":"x"},[],{"addr":"a"}])"), names{"a"});
    for (const auto* text :
         {"", "{}", "\"x\"", "[", "listed 0 entries", "[[[[[[[[[[]]]]]]]]]]", "[]x", "[]{}", "[][][]"}) {
        const auto all = parse_ceph_blocklist(text);
        ASSERT_FALSE(all) << text;
        EXPECT_EQ(all.error().code(), errc::invalid) << text;
    }
}

TEST(ceph_blocklist, a_client_is_told_by_address_and_nonce) {
    EXPECT_TRUE(is_same_client("10.254.0.2:0/7", "10.254.0.2:0/7"));
    EXPECT_TRUE(is_same_client("v1:10.254.0.2:0/7", "10.254.0.2:0/7"));
    EXPECT_TRUE(is_same_client("any:[fd00::7]:0/7", "v2:[fd00::7]:0/7"));
    EXPECT_FALSE(is_same_client("10.254.0.2:0/7", "10.254.0.2:0/70"));
    EXPECT_FALSE(is_same_client("", "10.254.0.2:0/7"));
}

}  // namespace
}  // namespace pvc::model
