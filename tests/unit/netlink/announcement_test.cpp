#include "pvcnoded/netlink/announcement.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

namespace pvc::netlink {
namespace {

constexpr hardware_address device{0x02, 0, 0, 0, 0, 0x01};

std::string digits(const std::string& bytes) {
    std::string text;
    for (const char one : bytes) {
        std::array<char, 3> two{};
        std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned char>(one));
        text += two.data();
    }
    return text;
}

TEST(announcement, of_ipv4) {
    EXPECT_EQ(digits(announcement(device, parse_address("10.1.1.1").value(), announced_as::request)),
              "ffffffffffff"
              "020000000001"
              "0806"
              "0001080006040001"
              "0200000000010a010101"
              "0000000000000a010101");
    EXPECT_EQ(digits(announcement(device, parse_address("10.1.1.1").value(), announced_as::reply)),
              "ffffffffffff"
              "020000000001"
              "0806"
              "0001080006040002"
              "0200000000010a010101"
              "ffffffffffff0a010101");
}

TEST(announcement, of_ipv6) {
    EXPECT_EQ(digits(announcement(device, parse_address("fd00::1").value(), announced_as::advertisement)),
              "333300000001"
              "020000000001"
              "86dd"
              "6000000000203aff"
              "fd000000000000000000000000000001"
              "ff020000000000000000000000000001"
              "8800da9aa0000000"
              "fd000000000000000000000000000001"
              "0201020000000001");
}

// The sum of all words with the checksum in them, pseudo header included, is all ones.
TEST(announcement, has_a_right_checksum) {
    for (const char* text : {"fd00::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "::", "fd00:1:2:3:4:5:6:7"}) {
        const auto frame = neighbour_announcement(hardware_address{0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa},
                                                  parse_address_v6(text).value());
        ASSERT_EQ(frame.size(), 86U);
        std::uint32_t sum = 32 + 58;  // length and next header
        for (std::size_t at = 22; at < frame.size(); at += 2) {
            sum += static_cast<std::uint32_t>(static_cast<unsigned char>(frame[at]) << 8U) |
                   static_cast<unsigned char>(frame[at + 1]);
        }
        while ((sum >> 16U) != 0) {
            sum = (sum & 0xffffU) + (sum >> 16U);
        }
        EXPECT_EQ(sum, 0xffffU) << text;
    }
}

}  // namespace
}  // namespace pvc::netlink
