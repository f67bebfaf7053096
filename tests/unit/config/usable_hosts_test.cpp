#include "pvcnoded/config/usable_hosts.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pvc::config::test {
namespace {

TEST(usable_hosts, are_counted_and_found) {
    struct row {
        std::string_view text, first, last;
        std::uint64_t count;
    };
    const std::vector<row> table{
        {"10.0.0.0/24", "10.0.0.1", "10.0.0.254", 254},
        {"10.0.0.0/30", "10.0.0.1", "10.0.0.2", 2},
        {"10.0.0.2/31", "10.0.0.2", "10.0.0.3", 2},
        {"10.0.0.4/32", "10.0.0.4", "10.0.0.4", 1},
        {"10.0.0.0/8", "10.0.0.1", "10.255.255.254", 16777214},
        {"0.0.0.0/1", "0.0.0.1", "127.255.255.254", 2147483646},
        {"255.255.255.254/31", "255.255.255.254", "255.255.255.255", 2},
    };
    for (const auto& row : table) {
        const auto subnet = *parse_network_v4(row.text);
        EXPECT_EQ(first_host(subnet).to_string(), row.first);
        EXPECT_EQ(last_host(subnet).to_string(), row.last);
        EXPECT_EQ(host_count(subnet), row.count);
        EXPECT_EQ(host(subnet, 1), first_host(subnet));
        EXPECT_EQ(host(subnet, row.count), last_host(subnet));
        EXPECT_FALSE(host(subnet, 0));
        EXPECT_FALSE(host(subnet, row.count + 1));
        EXPECT_FALSE(host(subnet, UINT64_MAX));
        EXPECT_TRUE(is_usable_host(subnet, first_host(subnet)));
        EXPECT_TRUE(is_usable_host(subnet, last_host(subnet)));
    }
    const auto subnet = *parse_network_v4("10.0.0.0/24");
    for (const auto* other : {"10.0.0.0", "10.0.0.255", "10.0.1.1", "::ffff:10.0.0.1", "::a00:1"}) {
        EXPECT_FALSE(is_usable_host(subnet, *parse_address(other))) << other;
    }
}

}  // namespace
}  // namespace pvc::config::test
