// What operators read each hour of a node that is down and that nobody fences.
#include "pvcnoded/policy/fencing/order.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;

TEST(forgotten, what_is_said_of_it_each_hour) {
    node_seen one;
    one.name = "hv3";
    one.state = model::daemon_state::stop;
    one.silent_for = 400s;
    one.has_machines = true;
    EXPECT_EQ(words_of_forgotten(one, {}, {}),
              "node hv3 is down (state stop, no heartbeat for 400 s), and machines belong to it: start it, or see that "
              "it is off and say so: pvcnodectl fence confirm hv3");
    one.state = model::daemon_state::fenced;
    victim_seen victim{.state = one.state, .state_id = 12, .heartbeat_id = 20};
    EXPECT_EQ(words_of_forgotten(one, victim, "hv1"),
              "node hv3 is down (state fenced, no heartbeat for 400 s), and machines belong to it; no coordinator of "
              "ours has proven that it is off, and nothing is started elsewhere: start it, or see that it is off and "
              "say so: pvcnodectl fence confirm hv3");
    victim.proof = {.record = "r1", .by = "hv1", .which = fence_proof::power, .is_valid = true};
    EXPECT_EQ(words_of_forgotten(one, victim, "hv1"),
              "node hv3 is down (state fenced, no heartbeat for 400 s), and machines of it are left: start it, or see "
              "why they are left");
    one.has_machines = false;
    EXPECT_EQ(words_of_forgotten(one, victim, "hv1"),
              "node hv3 is down (state fenced, no heartbeat for 400 s): its machines were dealt with; start it");
    victim.is_recovering = true;
    EXPECT_EQ(words_of_forgotten(one, victim, "hv1"),
              "node hv3 is down (state fenced, no heartbeat for 400 s), and its machines are being recovered (record "
              "r1 of hv1): start it once that is over");
}

// A coordinator that could not see it off tries again, and another one after it.
TEST(forgotten, nobody_is_told_to_start_what_may_be_ordered_off_the_next_moment) {
    node_seen one;
    one.name = "hv3";
    one.state = model::daemon_state::dead;
    one.silent_for = 345s;
    one.has_machines = true;
    const victim_seen victim{.state = one.state, .state_id = 12, .heartbeat_id = 10};
    EXPECT_EQ(words_of_forgotten(one, victim, "hv4"),
              "node hv3 is down (state dead, no heartbeat for 345 s), and machines belong to it: a coordinator may "
              "order it off at any time (hv4 has the fence lock now), so do not start it before it is fenced; see that "
              "it is off and say so: pvcnodectl fence confirm hv3");
    EXPECT_EQ(words_of_forgotten(one, {}, {}),
              "node hv3 is down (state dead, no heartbeat for 345 s), and machines belong to it: a coordinator may "
              "order it off at any time, so do not start it before it is fenced; see that it is off and say so: "
              "pvcnodectl fence confirm hv3");
}

}  // namespace
}  // namespace pvc::policy
