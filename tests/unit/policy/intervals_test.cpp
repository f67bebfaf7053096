// node-lifecycle.md 3.1, 4, 7.2, 10.8; AC26, AC27.
#include "pvcnoded/policy/intervals.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using seconds = std::chrono::seconds;

// One row for each setting, one column for each limit; "none" is -1 s.
struct interval_row {
    intervals times;
    seconds grace, dead, fenced, isolation, silence, fresh, absence, quiet, refusal, forgotten, twin, watchdog;
};

seconds or_none(std::optional<duration> limit) {
    return limit ? std::chrono::duration_cast<seconds>(*limit) : seconds(-1);
}

TEST(intervals, limits) {
    const std::vector<interval_row> table{
        //  KI, FI      grace  dead     fenced   isol.    silence  fresh    absence  quiet    refusal forg.   twin
        //  watchdog
        {{5s, 6, 0}, 10s, 30s, 60s, 55s, 60s, 30s, 120s, 30s, 20s, 25s, 10s, 30s},
        {{1s, 6, 0}, 2s, 6s, 12s, 11s, 12s, 30s, 120s, 6s, 20s, 13s, 2s, 30s},
        {{10s, 6, 0}, 20s, 60s, 120s, 110s, 120s, 60s, 120s, 60s, 40s, 40s, 20s, 60s},
        {{5s, 8, 0}, 10s, 40s, 70s, 65s, 70s, 40s, 120s, 40s, 20s, 25s, 10s, 40s},
        {{5s, 1, 0}, 10s, 5s, 35s, 30s, 35s, 30s, 120s, 10s, 20s, 25s, 10s, 30s},
        {{5s, 0, 0}, 10s, 0s, 30s, -1s, -1s, 30s, 120s, 10s, 20s, 25s, 10s, 60s},
        {{30s, 6, 0}, 60s, 180s, 360s, 330s, 360s, 180s, 180s, 180s, 120s, 100s, 60s, 60s},
        {{31s, 6, 0}, 62s, 186s, 372s, 341s, 372s, 186s, 186s, 186s, 124s, 103s, 60s, 60s},
        {{3600s, 1000, 0},
         7200s,
         3600000s,
         3621600s,
         3618000s,
         3621600s,
         3600000s,
         3600000s,
         3600000s,
         14400s,
         10810s,
         60s,
         60s},
    };
    for (const auto& row : table) {
        const auto& times = row.times;
        SCOPED_TRACE(std::to_string(times.keepalive.count()) + " s, " + std::to_string(times.fence));
        EXPECT_EQ(times.grace(), row.grace);
        EXPECT_EQ(times.dead_after(), row.dead);
        EXPECT_EQ(times.fenced_after(), row.fenced);
        EXPECT_EQ(or_none(isolation_limit(times)), row.isolation);
        EXPECT_EQ(or_none(silence_limit(times)), row.silence);
        EXPECT_EQ(fresh_limit(times), row.fresh);
        EXPECT_EQ(absence_limit(times), row.absence);
        EXPECT_EQ(quiet_limit(times), row.quiet);
        EXPECT_EQ(refusal_limit(times), row.refusal);
        EXPECT_EQ(twin_forgotten_after(times), row.forgotten);
        EXPECT_EQ(twin_wait(times), row.twin);
        EXPECT_EQ(watchdog_limit(times), row.watchdog);
    }
}

TEST(intervals, ac26_ac27_self_reset) {
    struct row {
        intervals times;
        seconds limit, lease, publishable;
    };
    const std::vector<row> table{
        {{5s, 6, 0}, -1s, -1s, -1s},  {{5s, 6, 1}, 30s, 40s, 40s},   // never before 30 s
        {{5s, 6, 6}, 30s, 40s, 40s},  {{5s, 6, 10}, 50s, 60s, 60s},  // B = (FI + 6) x KI
        {{5s, 6, 11}, 55s, 65s, -1s}, {{5s, 6, 12}, 60s, 70s, -1s},
        {{1s, 6, 1}, 30s, 40s, -1s},  {{5s, 0, 1}, 30s, 40s, -1s},
    };
    for (const auto& [times, limit, lease, publishable] : table) {
        EXPECT_EQ(or_none(self_reset_limit(times)), limit) << times.suicide;
        EXPECT_EQ(or_none(config::self_reset_lease(times)), lease) << times.suicide;
        EXPECT_EQ(or_none(publishable_lease(times)), publishable) << times.suicide;
    }
}

TEST(intervals, missed_ticks_coalesce) {
    const auto at = [](duration when) { return time_point(when); };
    EXPECT_EQ(next_tick(at(100s), 5s, at(90s)), at(100s));
    EXPECT_EQ(next_tick(at(100s), 5s, at(100s)), at(105s));
    EXPECT_EQ(next_tick(at(100s), 5s, at(104999ms)), at(105s));
    EXPECT_EQ(next_tick(at(100s), 5s, at(105s)), at(110s));
    EXPECT_EQ(next_tick(at(100s), 5s, at(173s)), at(175s));
}

TEST(intervals, what_a_tick_may_take) {
    EXPECT_EQ(figures_budget(5s), 4s);
    EXPECT_EQ(figures_budget(4s), 3s);
    EXPECT_EQ(figures_budget(1s), 750ms);
    EXPECT_EQ(figures_budget(60s), 59s);
    EXPECT_EQ(tick_budget(5s), 4500ms);
    EXPECT_EQ(tick_budget(1s), 900ms);
    EXPECT_EQ(missed_heartbeats(23s, 5s), 4);
    EXPECT_EQ(missed_heartbeats(4s, 5s), 0);
    EXPECT_EQ(missed_heartbeats(4s, 0s), 0);
}

TEST(intervals, another_setting_is_told_from_scheduling) {
    EXPECT_TRUE(is_same_cadence(5s, 5s));
    EXPECT_TRUE(is_same_cadence(2500ms, 5s));
    EXPECT_TRUE(is_same_cadence(10s, 5s));
    EXPECT_FALSE(is_same_cadence(2499ms, 5s));
    EXPECT_FALSE(is_same_cadence(10001ms, 5s));
}

TEST(intervals, rounds) {
    EXPECT_EQ(round_time(5s, 1, 450), 5s);
    EXPECT_EQ(round_time(5s, 450, 450), 5s);
    EXPECT_EQ(round_time(5s, 451, 450), 10s);
    EXPECT_EQ(round_time(5s, 0, 450), 0s);
    EXPECT_EQ(per_interval(5s, 90), 450U);
    EXPECT_EQ(per_interval(1s, 0.5), 1U) << "at least one";
}

}  // namespace
}  // namespace pvc::policy
