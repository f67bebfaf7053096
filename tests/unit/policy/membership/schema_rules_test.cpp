#include "pvcnoded/policy/membership/schema_rules.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using model::daemon_state;
using stored_texts = std::vector<std::optional<std::string>>;

TEST(schema_rules, zk01_without_a_version_the_cluster_is_not_initialised) {
    for (const std::optional<std::string_view> stored :
         {std::optional<std::string_view>(), std::optional<std::string_view>(""),
          std::optional<std::string_view>("abc"), std::optional<std::string_view>("-1"),
          std::optional<std::string_view>("1.5")}) {
        const auto decision = decide_schema_start(stored);
        EXPECT_EQ(decision.action, schema_start::wait);
        EXPECT_TRUE(decision.reason.starts_with("the cluster is not initialised")) << decision.reason;
    }
}

TEST(schema_rules, zk05_every_known_version_runs) {
    for (int version = 0; version <= 15; ++version) {
        const auto decision = decide_schema_start(std::to_string(version));
        EXPECT_EQ(decision.action, schema_start::run);
        EXPECT_EQ(decision.version, version);
    }
}

TEST(schema_rules, zk06_a_newer_version_ends_the_daemon_with_both_numbers) {
    const auto decision = decide_schema_start("16");
    EXPECT_EQ(decision.action, schema_start::exit);
    EXPECT_NE(decision.reason.find("16"), std::string::npos);
    EXPECT_NE(decision.reason.find("15"), std::string::npos);
    EXPECT_EQ(decide_schema_start("99999999999999999999").action, schema_start::wait) << "not a number";
    EXPECT_EQ(decide_schema_change(10, "16").action, schema_change::exit);
}

TEST(schema_rules, zk07_unreadable_while_running_keeps_the_version) {
    for (const std::optional<std::string_view> stored :
         {std::optional<std::string_view>(), std::optional<std::string_view>("abc")}) {
        const auto decision = decide_schema_change(10, stored);
        EXPECT_EQ(decision.action, schema_change::none);
        EXPECT_EQ(decision.version, 10);
        EXPECT_FALSE(decision.message.empty());
    }
    EXPECT_EQ(decide_schema_change(10, "10").action, schema_change::none);
    EXPECT_TRUE(decide_schema_change(10, "10").message.empty());
}

TEST(schema_rules, zk42_another_version_is_a_hot_update_in_both_directions) {
    EXPECT_EQ(decide_schema_change(10, "11").action, schema_change::update);
    EXPECT_EQ(decide_schema_change(10, "11").version, 11);
    EXPECT_EQ(decide_schema_change(15, "14").version, 14);
    EXPECT_EQ(decide_schema_change(10, "0").action, schema_change::update) << "an explicit 0 is a version";
}

TEST(schema_rules, advertised_version) {
    struct row {
        int cluster;
        std::optional<int> limit;
        int latest;
    };
    for (const auto& row : {row{0, {}, 10}, row{9, {}, 10}, row{10, {}, 10}, row{11, {}, 11}, row{15, {}, 15},
                            row{10, 15, 15}, row{12, 13, 13}, row{15, 10, 15}, row{0, 10, 10}}) {
        EXPECT_EQ(advertised_latest(row.cluster, row.limit), row.latest) << row.cluster;
    }
}

TEST(schema_rules, schema_limit) {
    EXPECT_EQ(*parse_schema_limit(std::nullopt), std::nullopt);
    EXPECT_EQ(*parse_schema_limit(""), std::nullopt);
    EXPECT_EQ(*parse_schema_limit("15"), 15);
    for (const auto* text : {"9", "16", "x", "12.5"}) {
        ASSERT_FALSE(parse_schema_limit(text)) << text;
        EXPECT_EQ(parse_schema_limit(text).error().code(), errc::invalid);
    }
}

TEST(schema_rules, zk02_zk08_ac16_raised_only_when_every_node_says_the_same) {
    EXPECT_TRUE(must_raise(0, 10, stored_texts{"10"}));
    EXPECT_FALSE(must_raise(9, 10, stored_texts{"10", "9"}));
    EXPECT_TRUE(must_raise(9, 10, stored_texts{"10", "10"}));
    EXPECT_FALSE(must_raise(9, 10, stored_texts{"10", ""})) << "AC16";
    EXPECT_FALSE(must_raise(9, 10, stored_texts{"10", std::nullopt}));
    EXPECT_FALSE(must_raise(9, 10, stored_texts{"10", "15"}));
    EXPECT_FALSE(must_raise(9, 10, stored_texts{}));
}

TEST(schema_rules, zk09_never_above_10_but_with_a_limit) {
    const int latest = advertised_latest(10, std::nullopt);
    EXPECT_FALSE(must_raise(10, latest, stored_texts{"10", "10"}));
    const int raised = advertised_latest(10, 15);
    EXPECT_TRUE(must_raise(10, raised, stored_texts{"15", "15"}));
}

TEST(schema_rules, who_leads_an_update) {
    EXPECT_EQ(part_in_update("hv1", "hv1", daemon_state::run), update_part::lead);
    EXPECT_EQ(part_in_update("hv1", "hv1", std::nullopt), update_part::lead);
    EXPECT_EQ(part_in_update("hv1", "hv2", daemon_state::run), update_part::follow);
    EXPECT_EQ(part_in_update("hv1", "hv2", daemon_state::dead), update_part::stand);
    EXPECT_EQ(part_in_update("hv1", "hv2", std::nullopt), update_part::stand);
    EXPECT_EQ(part_in_update("hv1", std::nullopt, std::nullopt), update_part::stand);
}

}  // namespace
}  // namespace pvc::policy
