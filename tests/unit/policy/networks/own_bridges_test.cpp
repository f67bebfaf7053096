// The record of bridges that are this daemon's own (networking.md 5.3, 5.4, 6).
#include "pvcnoded/policy/networks/own_bridges.hpp"

#include "unit/policy/networks/toy_kernel.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

constexpr std::size_t limit = 60'000;

TEST(own_bridges, ports_of_the_host_are_written_and_read) {
    const host_ports ports{{"ens4", {2, "brcluster"}}, {"eth0.100", {77, "brupstream"}}};
    const auto texts = record_texts({{7, {12, true}}}, {}, "a-boot", limit, ports);
    EXPECT_EQ(texts[0], "boot a-boot\n7 12 m\nport ens4 2 brcluster\nport eth0.100 77 brupstream\n");
    own_bridges read;
    own_bases bases;
    host_ports read_ports;
    EXPECT_EQ(add_record(read, bases, texts[0], "a-boot", &read_ports), "");
    EXPECT_EQ(read_ports, ports);
    EXPECT_EQ(add_record(read, bases, texts[0], "a-boot"), "");
    for (const auto* line : {"port", "port ens4", "port ens4 2", "port ens4 0 b", "port ens4 x b", "port e 1 b b"}) {
        EXPECT_NE(add_record(read, bases, std::string("boot a\n") + line + "\n", "a", &read_ports), "") << line;
    }
}

TEST(own_bridges, bridges_without_a_device_and_routes_are_written_and_read) {
    further_notes all{.made = {"brcluster", "brupstream"}};
    all.routes.push_back({"vmbr7", 57, {.to = *parse_host_address("10.8.0.0/16")}, model::main_table, true});
    const auto texts = record_texts({}, {}, "a-boot", limit, {}, all);
    EXPECT_EQ(
        texts[0],
        "boot a-boot\nmade brcluster\nmade brupstream\nroute vmbr7 57 254 10.8.0.0/16 waits scope=0 protocol=3\n");
    own_bridges read;
    own_bases bases;
    further_notes further;
    EXPECT_EQ(add_record(read, bases, texts[0], "a-boot", nullptr, &further), "");
    EXPECT_EQ(further, all);
    EXPECT_EQ(add_record(read, bases, texts[0], "a-boot"), "");
    for (const auto* line : {"made", "made a b", "route", "route a 0 254 10.0.0.0/8"}) {
        EXPECT_NE(add_record(read, bases, std::string("boot a\n") + line + "\n", "a", nullptr, &further), "") << line;
    }
}

TEST(own_bridges, what_is_written_is_read) {
    const own_bridges all{{7, {12, true}}, {200, {13, false}}, {16777215, {2147483647, true}}};
    const auto texts = record_texts(all, {}, "a-boot", limit);
    EXPECT_EQ(texts, std::vector<std::string>{"boot a-boot\n7 12 m\n200 13 b\n16777215 2147483647 m\n"});
    own_bridges read;
    own_bases bases;
    EXPECT_EQ(add_record(read, bases, texts[0], "a-boot"), "");
    EXPECT_EQ(read, all);
    EXPECT_EQ(index_of(read, 200), 13);
    EXPECT_EQ(index_of(read, 201), 0);
}

TEST(own_bridges, bases_are_written_and_read) {
    const own_bases all{{"vlan400", {58, true}}, {"vlan401", {59, false}}, {"vxlan7", {}}};
    const auto texts = record_texts({{7, {12, true}}}, all, "a-boot", limit);
    EXPECT_EQ(texts, std::vector<std::string>{
                         "boot a-boot\n7 12 m\nbase vlan400 58 own\nbase vlan401 59 used\nbase vxlan7 0 own\n"});
    own_bridges read;
    own_bases bases;
    EXPECT_EQ(add_record(read, bases, texts[0], "a-boot"), "");
    EXPECT_EQ(bases, all);
    EXPECT_EQ(read.size(), 1U);
    for (const auto* line :
         {"base", "base vlan400 58", "base vlan400 58 mine", "base vlan400 x own", "base vlan400 -1 own",
          "base eth0 58 own", "base vlan0 58 own", "base vlan400 58 own more"}) {
        own_bases none;
        EXPECT_NE(add_record(read, none, std::string("boot a\n") + line + "\n", "a"), "") << line;
        EXPECT_TRUE(none.empty()) << line;
    }
}

TEST(own_bridges, what_is_too_long_for_one_file_takes_several) {
    own_bridges all;
    for (std::uint32_t vni = 16'000'001; vni <= 16'010'000; ++vni) {
        all[vni] = {2'000'000'000 + static_cast<int>(vni), vni % 2 == 0};
    }
    const auto texts = record_texts(all, {}, "a-boot", limit);
    EXPECT_GT(texts.size(), 2U);
    own_bridges read;
    own_bases bases;
    for (const auto& text : texts) {
        EXPECT_LE(text.size(), limit);
        EXPECT_EQ(add_record(read, bases, text, "a-boot"), "");
    }
    EXPECT_EQ(read, all);
    EXPECT_EQ(record_texts({}, {}, "a-boot", limit), std::vector<std::string>{"boot a-boot\n"});
}

TEST(own_bridges, another_boot_says_nothing) {
    for (const auto* boot : {"b-boot", ""}) {
        own_bridges read;
        own_bases bases;
        EXPECT_EQ(add_record(read, bases, "boot a-boot\n7 12 m\n", boot), "");
        EXPECT_TRUE(read.empty());
    }
    own_bridges read;
    own_bases bases;
    EXPECT_EQ(add_record(read, bases, "boot \n7 12 m\n", ""), "");  // of a machine that does not tell it
    EXPECT_TRUE(read.empty());
}

TEST(own_bridges, garbage_is_said_once_and_the_rest_holds) {
    for (const auto* line : {"?", "7", "7 12", "7 12 x", "7 12 m m", "0 12 m", "16777216 12 m", "7 0 m", "7 -1 m",
                             "7 2147483648 m", "seven 12 m", ""}) {
        own_bridges read;
        own_bases bases;
        const auto said = add_record(read, bases, std::string("boot a\n") + line + "\n8 13 b\n?\n", "a");
        EXPECT_EQ(said,
                  std::string("line 2: expected `VNI index m|b` or `base name index own|used`, got \"") + line + "\"");
        EXPECT_EQ(read, (own_bridges{{8, {13, false}}})) << line;
    }
    own_bridges read;
    own_bases bases;
    EXPECT_EQ(add_record(read, bases, "7 12 m\n", "a"),
              "line 1: expected `boot` and the identity of the boot, got \"7 12 m\"");
    EXPECT_EQ(add_record(read, bases, "", "a"), "the file is empty");
    // A disk that was full.
    EXPECT_EQ(add_record(read, bases, "boot a-bo", "a-boot"), "line 1 has no end: \"boot a-bo\"");
    EXPECT_EQ(add_record(read, bases, "boot a\nbase vxlan7 12 us", "a"), "line 2 has no end: \"base vxlan7 12 us\"");
    EXPECT_TRUE(read.empty());
}

TEST(own_bridges, a_look_adds_what_was_taken_and_drops_what_is_gone) {
    toy_kernel kernel;
    for (const auto* name : {"vmbr7", "vmbr8", "vmbr9"}) {
        kernel.apply(model::make_bridge{name});
    }
    const int seven = kernel.link("vmbr7").index;
    const int eight = kernel.link("vmbr8").index;
    const int nine = kernel.link("vmbr9").index;
    // 8 is another bridge than the one that was recorded, 9 another than the one that was taken, and 10 is no more.
    const own_bridges before{{7, {seven, true}}, {8, {eight + 100, true}}, {10, {1, true}}};
    EXPECT_EQ(after_look(before, {}, kernel.state()), (own_bridges{{7, {seven, true}}}));
    EXPECT_EQ(after_look(before, {{8, {eight, false}}, {9, {nine + 100, true}}}, kernel.state()),
              (own_bridges{{7, {seven, true}}, {8, {eight, false}}}));
}

// What a primary gave to the bridge of a network that has become a bridged one is a gateway until it is gone.
TEST(own_bridges, another_type_counts_when_the_last_gateway_is_gone) {
    toy_kernel kernel;
    kernel.apply(model::make_bridge{"vmbr7"});
    const int index = kernel.link("vmbr7").index;
    const own_bridges bridged{{7, {index, false}}};
    EXPECT_EQ(after_look({{7, {index, true}}}, bridged, kernel.state()), bridged);
    kernel.add_address("vmbr7", "fe80::1/64");
    EXPECT_EQ(after_look({{7, {index, true}}}, bridged, kernel.state()), bridged);
    kernel.add_address("vmbr7", "10.0.0.1/24");
    EXPECT_EQ(after_look({{7, {index, true}}}, bridged, kernel.state()), (own_bridges{{7, {index, true}}}));
    EXPECT_EQ(after_look({{7, {index + 1, true}}}, bridged, kernel.state()), bridged);
    EXPECT_EQ(after_look(bridged, {{7, {index, true}}}, kernel.state()), (own_bridges{{7, {index, true}}}));
}

}  // namespace
}  // namespace pvc::policy
