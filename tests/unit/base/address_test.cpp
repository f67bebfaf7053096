// config.md 4; what Asio's own parsers do otherwise, difference by difference.
#include "pvcnoded/base/address.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace pvc {
namespace {

using namespace std::string_view_literals;

TEST(address, ipv4_has_one_spelling) {
    EXPECT_EQ(parse_address_v4("1.2.3.4")->to_uint(), 0x01020304U);
    for (const auto* text : {"0.0.0.0", "10.0.0.1", "255.255.255.255"}) {
        EXPECT_EQ(parse_address_v4(text)->to_string(), text);
        EXPECT_EQ(parse_address(text)->to_string(), text);
        EXPECT_TRUE(parse_address(text)->is_v4());
    }
    for (const auto* bad :
         {"",         "1",        "1.2.3",      "1.2.3.4.5",  "256.1.1.1", "01.1.1.1", "00.1.1.1",  "1.1.1.",
          "1..1.1",   ".1.1.1",   " 1.1.1.1",   "1.1.1.1 ",   "1.1.1.1\n", "1.1.1.a",  "0x1.1.1.1", "1.1.1.1/24",
          "+1.1.1.1", "-1.1.1.1", "1000.1.1.1", "1.1.1.0001", "::1",       "localhost"}) {
        EXPECT_FALSE(parse_address_v4(bad)) << bad;
    }
}

TEST(address, ipv6_has_the_spellings_of_rfc_4291) {
    struct row {
        std::string_view text, shown;
    };
    for (const auto& [text, shown] :
         {row{"::", "::"}, row{"::1", "::1"}, row{"FD00:0:0::0002", "fd00::2"},
          row{"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"}, row{"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
          row{"fe80::1", "fe80::1"},
          row{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}}) {
        const auto address = parse_address_v6(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->to_string(), shown);
        EXPECT_EQ(*parse_address(text), ip::address(*address));
    }
    EXPECT_NE(*parse_address("::ffff:10.0.0.1"), *parse_address("10.0.0.1")) << "mapped, but not the same";
    for (const auto* bad : {"", ":", ":::", "1", "::1::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
                            "g::", "12345::", "[::1]", " ::1", "::1 ", "::1/64", "::ffff:10.0.0.256",
                            "::ffff:010.0.0.1", "10.0.0.1", "0ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"}) {
        EXPECT_FALSE(parse_address_v6(bad)) << bad;
    }
}

TEST(address, scope_ids_are_refused) {
    for (const auto* bad : {"fe80::1%lo", "fe80::1%1", "ff02::1%lo", "::1%", "10.0.0.1%lo"}) {
        EXPECT_FALSE(parse_address(bad)) << bad;
    }
}

TEST(address, nothing_may_follow_a_nul) {
    EXPECT_FALSE(parse_address("10.0.0.1\0x"sv));
    EXPECT_FALSE(parse_address("10.0.0.1\0"sv));
    EXPECT_FALSE(parse_address("::1\0x"sv));
    EXPECT_FALSE(parse_host_address("10.0.0.1/24\0"sv));
}

TEST(address, an_older_error_of_the_system_is_no_failure) {
    errno = ENOENT;
    EXPECT_TRUE(parse_address("10.0.0.1"));
    EXPECT_TRUE(parse_address("::1"));
    errno = 0;
    EXPECT_FALSE(parse_address("10.0.0"));
}

TEST(address, an_interface_has_a_prefix_length) {
    for (const auto* text : {"10.0.0.1/0", "10.0.0.1/9", "10.0.0.1/32", "::/0", "fd00::1/64", "::1/128"}) {
        const auto written = parse_host_address(text);
        ASSERT_TRUE(written) << text;
        EXPECT_EQ(written->text(), text);
        EXPECT_EQ(*parse_host_address(written->text()), *written);
    }
    for (const auto* bad : {"", "/", "/24", "10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/024", "10.0.0.1/00",
                            "10.0.0.1/2/4", "10.0.0.1/-1", "10.0.0.1/+1", "10.0.0.1/ 1", "10.0.0.1/255.255.255.0",
                            "::1/129", "::1/1000", "fd00::1", "hv1/24"}) {
        EXPECT_FALSE(parse_host_address(bad)) << bad;
    }
    EXPECT_NE(*parse_host_address("10.0.0.1/24"), *parse_host_address("10.0.0.1/25"));
}

TEST(address, a_network_keeps_what_is_written) {
    const auto v4 = *parse_network_v4("10.0.0.5/24");
    EXPECT_EQ(v4.to_string(), "10.0.0.5/24");
    EXPECT_EQ(v4.canonical().to_string(), "10.0.0.0/24");
    EXPECT_EQ(parse_network_v4("10.1.2.3/0")->canonical().to_string(), "0.0.0.0/0");
    EXPECT_EQ(parse_network_v6("fd00::5/64")->canonical().to_string(), "fd00::/64");
    EXPECT_FALSE(parse_network_v4("fd00::/64"));
    EXPECT_FALSE(parse_network_v6("10.0.0.0/24"));
    EXPECT_FALSE(parse_network_v4("10.0.0.0/024"));
}

TEST(address, a_failure_names_the_text_and_the_part) {
    EXPECT_EQ(parse_address("10.0.0.256").error().text(), "10.0.0.256: invalid: no IPv4 address");
    EXPECT_EQ(parse_host_address("fd00::1/129").error().text(),
              "fd00::1/129: invalid: behind the / no prefix length from 0 to 128");
    EXPECT_EQ(parse_host_address("10.0.0.1").error().text(), "10.0.0.1: invalid: no prefix length behind the address");
    EXPECT_EQ(parse_network_v4("::/0").error().code(), errc::invalid);
}

}  // namespace
}  // namespace pvc
