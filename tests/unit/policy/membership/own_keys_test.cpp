#include "pvcnoded/policy/membership/own_keys.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using wanted_keys = std::vector<model::key_value>;
using checks = std::vector<key_check>;

wanted_keys wanted(const std::string& memory = "16000") {
    return {{"/n/memtotal", memory}, {"/n/pvcversion", "0.9.82"}, {"/n/staticdata", "8 x y z"}};
}

own_keys known() {
    own_keys keys;
    keys.learned("/n/memtotal", "16000", 3);
    keys.learned("/n/pvcversion", "0.9.82", 1);
    keys.learned("/n/staticdata", "8 x y z", 2);
    return keys;
}

TEST(own_keys, zk44_a_tick_without_changes_only_checks) {
    auto keys = known();
    const auto plan = keys.plan(wanted());
    EXPECT_TRUE(plan.writes_nothing());
    EXPECT_EQ(plan.checks, (checks{{"/n/memtotal", 3}, {"/n/pvcversion", 1}, {"/n/staticdata", 2}}));
}

TEST(own_keys, what_changed_is_set_and_the_rest_checked) {
    auto keys = known();
    const auto plan = keys.plan(wanted("15000"));
    EXPECT_EQ(plan.sets, (wanted_keys{{"/n/memtotal", "15000"}}));
    EXPECT_EQ(plan.checks, (checks{{"/n/pvcversion", 1}, {"/n/staticdata", 2}}));
    const std::vector<std::int32_t> versions = {4};
    keys.committed(plan, versions);
    EXPECT_EQ(keys.plan(wanted("15000")).checks.front(), (key_check{"/n/memtotal", 4}));
}

TEST(own_keys, zk44_overwritten_and_deleted_keys_are_restored_at_the_next_tick_but_one) {
    auto keys = known();
    // First tick: the checks of memtotal and pvcversion are refused, one after the other.
    EXPECT_NE(keys.failed("/n/memtotal").find("/n/memtotal"), std::string::npos);
    EXPECT_EQ(keys.plan(wanted()).checks, (checks{{"/n/pvcversion", 1}, {"/n/staticdata", 2}}));
    EXPECT_NE(keys.failed("/n/pvcversion").find("/n/pvcversion"), std::string::npos);
    EXPECT_EQ(keys.plan(wanted()).checks, (checks{{"/n/staticdata", 2}}));
    // Second tick: both are read, then repaired in one transaction.
    EXPECT_EQ(keys.repairs(), (std::vector<std::string>{"/n/memtotal", "/n/pvcversion"}));
    keys.learned("/n/memtotal", "666", 9);
    keys.missing("/n/pvcversion");
    const auto repair = keys.plan(wanted());
    EXPECT_EQ(repair.sets, (wanted_keys{{"/n/memtotal", "16000"}}));
    EXPECT_EQ(repair.creates, (wanted_keys{{"/n/pvcversion", "0.9.82"}}));
    EXPECT_EQ(repair.checks, (checks{{"/n/staticdata", 2}}));
    const std::vector<std::int32_t> versions = {10};
    keys.committed(repair, versions);
    EXPECT_TRUE(keys.repairs().empty());
    const auto after = keys.plan(wanted());
    EXPECT_TRUE(after.writes_nothing());
    EXPECT_EQ(after.checks, (checks{{"/n/memtotal", 10}, {"/n/pvcversion", 0}, {"/n/staticdata", 2}}));
}

TEST(own_keys, a_late_figure_is_only_checked) {
    auto keys = known();
    const auto plan = keys.plan({{"/n/pvcversion", "0.9.82"}});
    EXPECT_TRUE(plan.writes_nothing());
    EXPECT_EQ(plan.checks.size(), 3U);
}

TEST(own_keys, unknown_keys_are_read_first) {
    own_keys keys;
    EXPECT_TRUE(keys.plan(wanted()).writes_nothing());
    EXPECT_EQ(keys.repairs().size(), 3U);
    keys = known();
    keys.forget();
    EXPECT_TRUE(keys.plan(wanted("1")).writes_nothing());
    EXPECT_EQ(keys.repairs().size(), 3U);
    keys.disown("/n/memtotal");
    EXPECT_EQ(keys.repairs().size(), 2U);
}

}  // namespace
}  // namespace pvc::policy
