// When an outage is told of, and how.
#include "pvcnoded/policy/membership/outage.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

TEST(outage, lines_come_after_10_s_1_min_and_every_5_min) {
    EXPECT_EQ(next_outage_line({}), 10s);
    EXPECT_EQ(next_outage_line(10s), 1min);
    EXPECT_EQ(next_outage_line(1min), 6min);
    EXPECT_EQ(next_outage_line(6min), 11min);
}

TEST(outage, a_line_has_duration_cause_and_the_time_until_peers_may_fence) {
    EXPECT_EQ(outage_text({10s, "Connection refused", 20s}),
              "ZooKeeper has been away for 10 s: Connection refused; peers may fence this node in 20 s");
    EXPECT_EQ(outage_text({6min + 5s, "", -5s}),
              "ZooKeeper has been away for 6 min; peers may fence this node at any time");
    EXPECT_EQ(outage_text({60s, "", {}}), "ZooKeeper has been away for 60 s");
}

TEST(outage, its_end_has_totals) {
    EXPECT_EQ(outage_end_text(95s, 5s),
              "connected to ZooKeeper again after 95 s without it, about 19 heartbeats were missed");
}

}  // namespace
}  // namespace pvc::policy
