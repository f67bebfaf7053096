#include "pvcnoded/config/ipv4.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pvc::config::test {
namespace {

ipv4_network network(std::string_view text) {
    const auto parsed = *parse_cidr(text);
    return {parsed.address, parsed.prefix};
}

TEST(ipv4, parse) {
    EXPECT_EQ(parse_ipv4("1.2.3.4")->value, 0x01020304U);
    EXPECT_EQ(parse_ipv4("255.255.255.255")->text(), "255.255.255.255");
    for (const auto* bad : {"", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.1.1.1", "1.1.1.", "1..1.1", " 1.1.1.1",
                            "1.1.1.a", "1.1.1.1/24", "+1.1.1.1", "1000.1.1.1"}) {
        EXPECT_FALSE(parse_ipv4(bad)) << bad;
    }
    EXPECT_EQ(parse_cidr("10.0.0.1/0")->text(), "10.0.0.1/0");
    EXPECT_EQ(parse_cidr("10.0.0.1/32")->prefix, 32);
    for (const auto* bad :
         {"10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/024", "/24", "10.0.0.1/2/4", "10.0.0.1/-1"}) {
        EXPECT_FALSE(parse_cidr(bad)) << bad;
    }
}

TEST(ipv4, usable_hosts) {
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
        const auto subnet = network(row.text);
        EXPECT_EQ(subnet.text(), row.text);
        EXPECT_EQ(subnet.first_host().text(), row.first);
        EXPECT_EQ(subnet.last_host().text(), row.last);
        EXPECT_EQ(subnet.host_count(), row.count);
        EXPECT_EQ(subnet.host(1), subnet.first_host());
        EXPECT_EQ(subnet.host(row.count), subnet.last_host());
        EXPECT_FALSE(subnet.host(0));
        EXPECT_FALSE(subnet.host(row.count + 1));
        EXPECT_FALSE(subnet.host(UINT64_MAX));
        EXPECT_TRUE(subnet.is_usable_host(subnet.first_host()));
        EXPECT_TRUE(subnet.is_usable_host(subnet.last_host()));
    }
    EXPECT_FALSE(network("10.0.0.0/24").is_usable_host(*parse_ipv4("10.0.0.0")));
    EXPECT_FALSE(network("10.0.0.0/24").is_usable_host(*parse_ipv4("10.0.0.255")));
    EXPECT_FALSE(network("10.0.0.0/24").is_usable_host(*parse_ipv4("10.0.1.1")));
}

TEST(ipv4, masks) {
    EXPECT_EQ(prefix_mask(0), 0U);
    EXPECT_EQ(prefix_mask(1), 0x80000000U);
    EXPECT_EQ(prefix_mask(24), 0xffffff00U);
    EXPECT_EQ(prefix_mask(32), 0xffffffffU);
}

}  // namespace
}  // namespace pvc::config::test
