// Copies of the host's own table inet filter: which is another one, and where it is kept.
#include "pvcnoded/policy/networks/filter_copies.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pvc::policy {
namespace {

std::string listing_of(const std::string& rules) {
    return "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n" + rules +
           "\t}\n}\n";
}

TEST(filter_copies, what_counts_is_no_other_table) {
    const auto rules = rules_in_listing(listing_of("\t\ttcp dport 22 counter packets 5 bytes 420 accept\n"));
    EXPECT_EQ(rules,
              "table inet filter { chain input { type filter hook input priority filter; policy drop; tcp dport 22 "
              "counter accept } } ");
    EXPECT_EQ(
        rules_in_listing("# a word\n\n  # more\n" + listing_of("   tcp dport 22 counter packets 77 bytes 9 accept")),
        rules);
    EXPECT_NE(rules_in_listing(listing_of("\t\ttcp dport 23 counter packets 5 bytes 420 accept\n")), rules);
    EXPECT_EQ(rules_in_listing("elements = { 10.0.0.1 timeout 1h expires 5m3s, 10.0.0.2 }"),
              rules_in_listing("elements = { 10.0.0.1 timeout 1h expires 7m, 10.0.0.2 }"));
    EXPECT_EQ(rules_in_listing(""), "");
    EXPECT_EQ(rules_in_listing("counter packets"), "counter ");
}

TEST(filter_copies, a_table_that_a_daemon_made_is_known) {
    EXPECT_TRUE(is_listing_of_daemons("# x\ntable inet filter {\n\tchain vxlan1001-in {\n\t\tcounter\n\t}\n}\n"));
    EXPECT_TRUE(is_listing_of_daemons("chain vxlan7-out {"));
    EXPECT_FALSE(is_listing_of_daemons(listing_of("")));
    EXPECT_FALSE(is_listing_of_daemons("# chain vxlan7-out {"));
    EXPECT_FALSE(is_listing_of_daemons("chain vxlanx-in {"));
    EXPECT_FALSE(is_listing_of_daemons("chain vxlan7-inside {"));
    EXPECT_FALSE(is_listing_of_daemons("jump vxlan7-in"));
    EXPECT_FALSE(is_listing_of_daemons("chain"));
    EXPECT_FALSE(is_listing_of_daemons(""));
}

TEST(filter_copies, each_other_table_has_a_place) {
    const auto text = [](std::size_t number) {
        return listing_of("tcp dport " + std::to_string(number) + " accept\n");
    };
    std::vector<filter_copy> there;
    for (std::size_t number = 0; number < most_filter_copies; ++number) {
        const auto place = place_for(text(number), there);
        EXPECT_EQ(place, (copy_place{name_of_copy(number), false}));
        there.push_back({place.name, "# head\n" + text(number)});
        EXPECT_EQ(place_for(text(number), there), (copy_place{name_of_copy(number), true}));
        EXPECT_EQ(place_for(text(0), there), (copy_place{"nftables-before", true}));
    }
    EXPECT_EQ(name_of_copy(1), "nftables-before.2");
    // What was first stays, and so does what is now.
    EXPECT_EQ(place_for(text(99), there), (copy_place{"nftables-before.8", false}));
    // One of a version that took the daemon's own table for the host's.
    there.front().text = "chain vxlan1001-in {\n";
    EXPECT_EQ(place_for(text(99), there), (copy_place{"nftables-before", false}));
    there.front().text.reset();  // it cannot be read
    there.resize(1);
    EXPECT_EQ(place_for(text(99), there), (copy_place{"nftables-before.2", false}));
}

TEST(filter_copies, a_look_tells_tables_apart) {
    using model::filter_hook;
    const model::filter_state one{true, 0, 5, {{"input", filter_hook::none, true, {{7, "", 1}}, 9}}, 1};
    auto other = one;
    other.generation = 6;
    other.table = 2;
    other.chains[0].rules[0].handle = 8;
    EXPECT_EQ(content_of(one), content_of(other));
    const auto is_other = [&](auto change) {
        auto changed = one;
        change(changed);
        return content_of(changed) != content_of(one);
    };
    EXPECT_TRUE(is_other([](auto& seen) { seen.chains[0].rules[0].digest = 2; }));
    EXPECT_TRUE(is_other([](auto& seen) { seen.chains[0].rules[0].tag = "a"; }));
    EXPECT_TRUE(is_other([](auto& seen) { seen.chains[0].rules.clear(); }));
    EXPECT_TRUE(is_other([](auto& seen) { seen.chains[0].digest = 1; }));
    EXPECT_TRUE(is_other([](auto& seen) { seen.chains[0].name = "inpu"; }));
    EXPECT_TRUE(is_other([](auto& seen) { seen.chains[0].hook = filter_hook::input; }));
    EXPECT_TRUE(is_other([](auto& seen) { seen.chains.clear(); }));
    EXPECT_TRUE(is_other([](auto& seen) { seen.flags = 1; }));
}

}  // namespace
}  // namespace pvc::policy
