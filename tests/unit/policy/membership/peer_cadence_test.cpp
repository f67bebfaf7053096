#include "pvcnoded/policy/membership/peer_cadence.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

// Reads every 5 s a peer that beats at the given interval; returns the warnings.
struct observer {
    peer_cadence cadence{5s};
    duration now{};
    double beats = 0;

    int watch(duration length, duration peer_interval) {
        int warnings = 0;
        for (const auto end = now + length; now < end; now += 5s) {
            beats += std::chrono::duration<double>(5s) / std::chrono::duration<double>(peer_interval);
            const auto mean = cadence.observe(static_cast<std::int32_t>(beats), time_point(now));
            warnings += mean ? 1 : 0;
        }
        return warnings;
    }
};

TEST(peer_cadence, cfg45_a_slow_peer_is_named_once) {
    observer hv2;
    EXPECT_EQ(hv2.watch(299s, 30s), 0) << "fewer than ten changes";
    EXPECT_EQ(hv2.watch(3000s, 30s), 1);
    EXPECT_EQ(cadence_warning("hv2", 30s, 5s),
              "hv2 checks in every 30.0 s, this node every 5.0 s: keepalive_interval must be equal on all nodes");
}

TEST(peer_cadence, a_peer_that_beats_faster_than_it_is_read_is_noticed) {
    observer hv2;
    EXPECT_EQ(hv2.watch(600s, 1s), 1);
}

TEST(peer_cadence, within_half_and_twice_nothing_is_said) {
    for (const duration interval : {duration(2600ms), duration(5s), duration(9s)}) {
        observer hv2;
        EXPECT_EQ(hv2.watch(3000s, interval), 0) << interval.count();
    }
}

TEST(peer_cadence, it_is_said_again_after_the_peer_was_back_in_range) {
    observer hv2;
    EXPECT_EQ(hv2.watch(1000s, 30s), 1);
    EXPECT_EQ(hv2.watch(1000s, 5s), 0);
    EXPECT_EQ(hv2.watch(1000s, 30s), 1);
}

TEST(peer_cadence, a_restart_of_the_peer_starts_counting_anew) {
    observer hv2;
    hv2.watch(40s, 5s);
    hv2.cadence.restart();
    hv2.now += 1h;
    EXPECT_EQ(hv2.watch(300s, 5s), 0);
    hv2.beats = 0;  // registered again
    EXPECT_EQ(hv2.watch(300s, 5s), 0);
}

}  // namespace
}  // namespace pvc::policy
