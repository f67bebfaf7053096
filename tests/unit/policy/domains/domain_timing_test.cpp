// Spacing of automatic restarts and progress of a live migration (vm-domains.md 6.1, 8.3, 17).
#include "pvcnoded/policy/domains/domain_timing.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using verdict = migration_watch::verdict;

class restart_spacing_test : public ::testing::Test {
protected:
    // It starts now, ends after `life`; seconds until the next start.
    double pause_after(duration life) {
        spacing.started(now);
        now += life;
        const time_point next = spacing.ended(now);
        const double pause = std::chrono::duration<double>(next - now).count();
        now = next;
        return pause;
    }
    restart_spacing spacing;
    time_point now{1000s};
};

TEST_F(restart_spacing_test, at_once_then_doubling_up_to_a_minute) {
    std::vector<double> pauses;
    for (int i = 0; i < 9; ++i) {
        pauses.push_back(pause_after(1s));
    }
    EXPECT_EQ(pauses, (std::vector<double>{0, 2, 4, 8, 16, 32, 60, 60, 60}));
}

TEST_F(restart_spacing_test, a_life_of_a_minute_is_followed_at_once) {
    EXPECT_EQ(pause_after(1s), 0);
    EXPECT_EQ(pause_after(1s), 2);
    EXPECT_EQ(pause_after(60s), 0);
    EXPECT_EQ(pause_after(59999ms), 4);  // the counter goes on: no ten minutes have passed
}

TEST_F(restart_spacing_test, ten_minutes_begin_anew) {
    for (int i = 0; i < 6; ++i) {
        (void)pause_after(1s);
    }
    EXPECT_EQ(pause_after(10min), 0);
    EXPECT_EQ(pause_after(1s), 2);
    EXPECT_EQ(pause_after(1s), 4);
    EXPECT_EQ(pause_after(9min), 0);
    EXPECT_EQ(pause_after(1s), 8);
}

TEST_F(restart_spacing_test, a_client_begins_anew) {
    for (int i = 0; i < 6; ++i) {
        (void)pause_after(1s);
    }
    spacing.reset();
    EXPECT_EQ(pause_after(1s), 0);
    EXPECT_EQ(pause_after(1s), 2);
}

TEST_F(restart_spacing_test, an_end_without_a_start) {
    EXPECT_EQ(spacing.ended(now), now);
    EXPECT_EQ(spacing.ended(now), now + 2s);
}

TEST(migration_watch_test, no_new_minimum_for_300_s) {
    const time_point began{1000s};
    migration_watch watch(began);
    EXPECT_EQ(watch.observe(began + 1s, 1000, false), verdict::go_on);
    EXPECT_EQ(watch.observe(began + 200s, 999, false), verdict::go_on);
    EXPECT_EQ(watch.observe(began + 499s, 999, false), verdict::go_on);  // the same is no progress
    EXPECT_EQ(watch.observe(began + 499s + 999ms, 5000, false), verdict::go_on);
    EXPECT_EQ(watch.observe(began + 500s, 5000, false), verdict::no_progress);
    EXPECT_EQ(watch.stalled_for(began + 500s), 300s);
    EXPECT_EQ(watch.running_for(began + 500s), 500s);
}

TEST(migration_watch_test, somebody_waits) {
    const time_point began{1000s};
    migration_watch watch(began);
    EXPECT_EQ(watch.observe(began + 10s, 1000, true), verdict::go_on);
    EXPECT_EQ(watch.observe(began + 39s + 999ms, 1000, true), verdict::go_on);
    EXPECT_EQ(watch.observe(began + 40s, 1000, false), verdict::go_on);
    EXPECT_EQ(watch.observe(began + 40s, 999, true), verdict::go_on);  // progress counts first
    EXPECT_EQ(watch.observe(began + 70s, 999, true), verdict::somebody_waits);
}

TEST(migration_watch_test, no_figures_are_no_progress) {
    const time_point began{1000s};
    migration_watch watch(began);
    EXPECT_EQ(watch.observe(began + 299s, std::nullopt, false), verdict::go_on);
    EXPECT_EQ(watch.observe(began + 300s, std::nullopt, false), verdict::no_progress);
    migration_watch other(began);
    EXPECT_EQ(other.observe(began + 29s, std::nullopt, true), verdict::go_on);
    EXPECT_EQ(other.observe(began + 30s, std::nullopt, true), verdict::somebody_waits);
}

TEST(migration_watch_test, warns_once_after_20_s) {
    const time_point began{1000s};
    migration_watch watch(began);
    (void)watch.observe(began + 5s, 1000, false);
    EXPECT_FALSE(watch.must_warn(began + 24s));
    EXPECT_TRUE(watch.must_warn(began + 25s));
    EXPECT_FALSE(watch.must_warn(began + 26s));
    (void)watch.observe(began + 30s, 10, false);
    EXPECT_FALSE(watch.must_warn(began + 90s));
}

}  // namespace
}  // namespace pvc::policy
