// `osd status` in its three layouts, and figures as it writes them (storage.md 4.5; cases 6, 7, 8).
#include "pvcnoded/model/ceph_health.hpp"
#include "pvcnoded/model/ceph_osds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pvc::model {
namespace {

// Case 6 of storage.md: as 16.2.15 prints it.
TEST(osd_status, plain_table_with_a_blank_host) {
    const auto rows = parse_osd_status(
        "ID  HOST   USED  AVAIL  WR OPS  WR DATA  RD OPS  RD DATA  STATE      \n"
        " 0  vm    16.0M  2031M      0        0       0        0   exists,up  \n"
        " 2           0      0       0        0       0        0   exists     \n");
    ASSERT_TRUE(rows) << rows.error().text();
    ASSERT_EQ(rows->size(), 2U);
    EXPECT_EQ(rows->at(0), (osd_status_row{0, "vm", {"16.0M", "2031M", "0", "0", "0", "0"}, "exists,up"}));
    EXPECT_EQ(rows->at(1), (osd_status_row{2, "", {"0", "0", "0", "0", "0", "0"}, "exists"}));
}

// Case 7 of storage.md: Ceph 14, with colours.
TEST(osd_status, table_with_bars_and_colours) {
    const auto rows = parse_osd_status(
        "\x1b]0;title\a+----+----------------------+-------+-------+--------+---------+--------+---------+-----------+"
        "\n"
        "| id |         host         |  used | avail | wr ops | wr data | rd ops | rd data |   state   |\n"
        "+----+----------------------+-------+-------+--------+---------+--------+---------+-----------+\n"
        "| \x1b[1;32m0\x1b[0m  | \x1b[1mhv1.p.example.net\x1b[0m |  \x1b[33m1026M\x1b[0m |  299G |    1   |  2.00k  |  "
        " "
        "3    |  4095   | exists,up |\n"
        "| 1  |                      |    0  |    0  |    0   |     0   |    0   |     0   |   exists  |\n"
        "+----+----------------------+-------+-------+--------+---------+--------+---------+-----------+\n");
    ASSERT_TRUE(rows) << rows.error().text();
    ASSERT_EQ(rows->size(), 2U);
    EXPECT_EQ(rows->at(0), (osd_status_row{0, "hv1", {"1026M", "299G", "1", "2.00k", "3", "4095"}, "exists,up"}));
    EXPECT_EQ(rows->at(1).host, "");
}

// Case 8 of storage.md: sizes are bytes, whatever they are called.
TEST(osd_status, json) {
    const auto rows = parse_osd_status(
        "\n"
        R"({"OSDs":[{"id":3,"host name":"hv1.example.net","kb used":48128,"kb available":2147467264,)"
        R"("write ops rate":10000.0,"write byte rate":126418944,"read ops rate":nan,"read byte rate":0,)"
        R"("state":["exists","up"]}]})");
    ASSERT_TRUE(rows) << rows.error().text();
    EXPECT_EQ(rows->at(0), (osd_status_row{3, "hv1", {"47.0k", "2047M", "10.0k", "120M", "0", "0"}, "exists,up"}));
    EXPECT_EQ(parse_osd_status(R"({"OSDs":[{"id":3}]})").error().cause(), R"(OSDs[0]: "host name" is no text)");
}

TEST(osd_status, what_is_no_row_is_left_out_and_what_is_no_table_refused) {
    const std::string header = "ID HOST USED AVAIL WR OPS WR DATA RD OPS RD DATA STATE\n";
    for (const char* line : {
             "0 vm 16.0M 2031M 0 0 0 0 exists up",  // a column more
             "0 vm 16.0M 2031M 0 0 0 0",            // eight, and the last is a figure
             "0 vm 16.0Mi 2031M 0 0 0 0 up",        // no figure
             "0 vm | 2031M 0 0 0 0 up",
             "x vm 16.0M 2031M 0 0 0 0 up",
             "99999999999999999999 vm 16.0M 2031M 0 0 0 0 up",
             "| 0 | vm | 1 | 2 | 3 | 4 | 5 | 6 |",
             "| 0 | vm | 1 | 2 | 3 | 4 | 5 | x | up |",
         }) {
        const auto rows = parse_osd_status(header + line);
        ASSERT_TRUE(rows) << line;
        EXPECT_TRUE(rows->empty()) << line;
    }
    for (const char* text : {"", "\n\n", "garbage", "\x1b[", "\x1b]never ending", "{", "{}"}) {
        EXPECT_FALSE(parse_osd_status(text)) << text;
    }
    EXPECT_EQ(parse_osd_status(std::string(ceph_output_max + 1, ' ')).error().code(), errc::too_large);
}

TEST(osd_status, a_host_that_looks_like_a_figure_is_a_host) {
    const auto rows = parse_osd_status("0 7 1 2 3 4 5 6 exists,up");
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->at(0).host, "7");
}

// The table of storage.md 4.5.
TEST(osd_status, figures_as_the_manager_writes_them) {
    const struct {
        double number;
        const char* bytes;
        const char* operations;
    } table[] = {
        {0, "0", "0"},
        {0.9, "0", "0"},
        {9999, "9999", "9999"},
        {10000, "9.76k", "10.0k"},
        {48128, "47.0k", "48.1k"},
        {12345678, "11.7M", "12.3M"},
        {126418944, "120M", "126M"},
        {2147467264, "2047M", "2147M"},
        {-1, "0", "0"},
        {std::nan(""), "0", "0"},
        {std::numeric_limits<double>::infinity(), "9999E", "9999E"},
        {1e300, "9999E", "9999E"},
    };
    for (const auto& row : table) {
        EXPECT_EQ(byte_figure(row.number), row.bytes) << row.number;
        EXPECT_EQ(operation_figure(row.number), row.operations) << row.number;
        EXPECT_TRUE(is_figure(byte_figure(row.number)));
    }
    for (const char* text : {"", ".", "k", "1.", ".5", "1.5kB", "1 k", "-1", "1..2", "|"}) {
        EXPECT_FALSE(is_figure(text)) << text;
    }
}

}  // namespace
}  // namespace pvc::model
