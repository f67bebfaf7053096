#include "pvcnoded/model/node_payloads.hpp"

#include "pvcnoded/model/system_figures.hpp"

#include <gtest/gtest.h>

namespace pvc::model {
namespace {

using namespace std::chrono_literals;
using list = std::vector<std::string>;

constexpr auto u1 = "11111111-2222-4333-8444-555555555555";
constexpr auto u2 = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

TEST(running_domains, ac69_only_uuids_count) {
    EXPECT_EQ(parse_running_domains("0"), list{});
    EXPECT_EQ(parse_running_domains(""), list{});
    EXPECT_EQ(parse_running_domains(std::string("0 ") + u2 + "  " + u1 + " " + u2), (list{u2, u1}));
    EXPECT_EQ(running_domains_text({}), "");
    EXPECT_EQ(running_domains_text({u1, u2}), std::string(u1) + " " + u2);
    EXPECT_EQ(parse_running_domains(running_domains_text({u1, u2})), (list{u1, u2}));
    EXPECT_FALSE(is_uuid("11111111-2222-4333-8444-55555555555"));
    EXPECT_FALSE(is_uuid("11111111-2222-4333-8444-55555555555g"));
    EXPECT_FALSE(is_uuid("11111111x2222-4333-8444-555555555555"));
}

TEST(static_data, ac04_four_tokens) {
    const static_data data{"16", "5.10.0-26-amd64", "GNU/Linux", "x86_64"};
    EXPECT_EQ(static_data_text(data), "16 5.10.0-26-amd64 GNU/Linux x86_64");
    EXPECT_EQ(parse_static_data(static_data_text(data)), data);
}

TEST(static_data, blanks_inside_a_token_do_not_make_more_tokens) {
    const static_data odd{"8", "6.1 custom", "", "x86_64\n"};
    EXPECT_EQ(static_data_text(odd), "8 6.1_custom unknown x86_64");
    EXPECT_EQ(parse_static_data("8 6.1 x"), std::nullopt);
    EXPECT_EQ(parse_static_data("8 6.1 GNU/Linux x86_64 more")->machine, "x86_64");
}

TEST(self_reset, only_a_well_formed_lease_is_armed) {
    EXPECT_EQ(parse_self_reset("armed 40"), 40s);
    for (const auto* text :
         {"off", "", "armed", "armed x", "armed 0", "armed -5", "armed 40 s", "Armed 40", "armed 99999999999999"}) {
        EXPECT_EQ(parse_self_reset(text), std::nullopt) << text;
    }
    EXPECT_EQ(self_reset_text(std::nullopt), "off");
    EXPECT_EQ(parse_self_reset(self_reset_text(40s)), 40s);
}

TEST(primary_node, several_spellings_of_nobody) {
    for (const auto* text : {"", "none", "None"}) {
        EXPECT_EQ(parse_primary_node(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_primary_node(std::nullopt), std::nullopt);
    EXPECT_EQ(parse_primary_node("hv1"), "hv1");
    EXPECT_EQ(parse_primary_node(primary_node_text("hv1")), "hv1");
    EXPECT_EQ(primary_node_text(std::nullopt), "none");
}

TEST(system_figures, ac30_memory) {
    const auto info = parse_memory_info(
        "MemTotal:       16384000 kB\nMemFree:         2048000 kB\nMemAvailable:    8192000 kB\n"
        "Buffers:          102400 kB\nCached:          4096000 kB\nSwapCached:        1 kB\nSReclaimable:     204800 "
        "kB\n");
    ASSERT_TRUE(info);
    EXPECT_EQ(figures_of(*info, 10), (memory_figures{16000, 9700, 2000}));
}

TEST(system_figures, zk45_free_memory_depends_on_the_version) {
    const auto info = parse_memory_info("MemTotal: 16384000 kB\nMemFree: 2048000 kB\nMemAvailable: 8192000 kB\n");
    EXPECT_EQ(figures_of(*info, 13).free_mib, 2000);
    EXPECT_EQ(figures_of(*info, 14).free_mib, 8000);
}

TEST(system_figures, odd_memory_texts) {
    EXPECT_FALSE(parse_memory_info(""));
    EXPECT_FALSE(parse_memory_info("MemTotal: 1 kB\n"));
    EXPECT_FALSE(parse_memory_info("MemTotal: x kB\nMemFree: 1 kB\n"));
    EXPECT_FALSE(parse_memory_info("MemTotal: -5 kB\nMemFree: 1 kB\n"));
    const auto negative = parse_memory_info("MemTotal: 4096 kB\nMemFree: 2048 kB\nCached: 1048576 kB");
    EXPECT_EQ(figures_of(*negative, 14), (memory_figures{4, 2, 2})) << "used = total - free";
}

TEST(system_figures, load) {
    EXPECT_EQ(parse_load_average("0.52 0.58 0.59 1/467 12345\n"), 0.52);
    for (const auto* text : {"", "x", "-1 0 0", "nan"}) {
        EXPECT_FALSE(parse_load_average(text)) << text;
    }
}

}  // namespace
}  // namespace pvc::model
