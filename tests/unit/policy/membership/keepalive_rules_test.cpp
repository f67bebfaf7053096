#include "pvcnoded/policy/membership/keepalive_rules.hpp"

#include "pvcnoded/policy/membership/peer_watch.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using enum model::daemon_state;

time_point at(duration d) {
    return time_point(d);
}

TEST(keepalive_rules, ac14_ac35_ac36_which_state_a_heartbeat_writes) {
    struct row {
        std::optional<model::daemon_state> stored;
        std::optional<model::daemon_state> written;
    };
    for (const auto& row :
         {row{init, run}, row{run, {}}, row{shutdown, {}}, row{stop, run}, row{dead, run}, row{std::nullopt, run}}) {
        const auto plan = plan_heartbeat({row.stored, true, false, false});
        EXPECT_EQ(plan.write_state, row.written);
        EXPECT_FALSE(plan.needs_fence_cleanup);
    }
}

TEST(keepalive_rules, ac28_a_fenced_node_cleans_up_before_it_runs) {
    const auto before = plan_heartbeat({fenced, true, false, false});
    EXPECT_EQ(before.write_state, std::nullopt);
    EXPECT_TRUE(before.needs_fence_cleanup);
    const auto after = plan_heartbeat({fenced, true, false, true});
    EXPECT_EQ(after.write_state, run);
    EXPECT_FALSE(after.needs_fence_cleanup);
}

TEST(keepalive_rules, ac114_during_start_up_the_keepalive_goes_alone) {
    EXPECT_EQ(plan_heartbeat({init, false, false, false}).write_state, std::nullopt);
    EXPECT_EQ(plan_heartbeat({dead, false, false, false}).write_state, init);
}

TEST(keepalive_rules, ac18_the_final_heartbeat_changes_no_state) {
    for (const auto state : {init, run, shutdown, stop, dead, fenced}) {
        EXPECT_EQ(plan_heartbeat({state, true, true, false}).write_state, std::nullopt);
    }
}

TEST(keepalive_rules, heartbeat_age_counts_from_the_sending) {
    EXPECT_EQ(heartbeat_age(boot_time(100s), boot_time(155s)), 55s);
    EXPECT_EQ(heartbeat_age(boot_time(100s), boot_time(99s)), 0s);
}

TEST(peer_watch, ac44_age_counts_from_the_change_that_was_seen) {
    peer_watch hv3;
    hv3.connected(at(-30s));
    EXPECT_TRUE(hv3.observe(77, at(0s), at(10ms)));
    EXPECT_TRUE(hv3.observe(77, at(30s), at(30010ms)));
    EXPECT_EQ(hv3.unchanged_for(at(30s)), 30s);
    EXPECT_EQ(hv3.unchanged_for(at(35s)), 35s);
    EXPECT_TRUE(hv3.observe(90, at(35s), at(35s)));
    EXPECT_EQ(hv3.unchanged_for(at(36s)), 1s);
}

TEST(peer_watch, ac54_not_before_the_own_reconnection) {
    peer_watch hv3;
    hv3.connected(at(0s));
    hv3.observe(77, at(1s), at(1s));
    hv3.connected(at(100s));
    hv3.observe(77, at(101s), at(101s));
    EXPECT_EQ(hv3.unchanged_for(at(129s)), 29s);
}

TEST(peer_watch, ac131_a_read_that_was_answered_late_is_void) {
    peer_watch hv3;
    hv3.observe(77, at(0s), at(0s));
    EXPECT_FALSE(hv3.observe(78, at(20s), at(60s)));
    EXPECT_EQ(hv3.id(), 77);
    EXPECT_TRUE(hv3.observe(std::nullopt, at(61s), at(61s)));
    EXPECT_EQ(hv3.unchanged_for(at(70s)), 9s) << "a deleted key was a change";
    EXPECT_EQ(peer_watch().unchanged_for(at(5s)), 0s);
}

}  // namespace
}  // namespace pvc::policy
