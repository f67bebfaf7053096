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
    EXPECT_EQ(words_of_forgotten(one, {}),
              "node hv3 is down (state stop, no heartbeat for 400 s), and machines belong to it: start it, or see that "
              "it is off and say so: pvcnodectl fence confirm hv3");
    one.state = model::daemon_state::fenced;
    victim_seen victim{.state = one.state, .state_id = 12, .heartbeat_id = 20};
    EXPECT_EQ(words_of_forgotten(one, victim),
              "node hv3 is down (state fenced, no heartbeat for 400 s), and machines belong to it; no coordinator of "
              "ours has proven that it is off, and nothing is started elsewhere: start it, or see that it is off and "
              "say so: pvcnodectl fence confirm hv3");
    victim.proof = {.record = "r1", .by = "hv1", .which = fence_proof::power, .is_valid = true};
    EXPECT_EQ(words_of_forgotten(one, victim),
              "node hv3 is down (state fenced, no heartbeat for 400 s), and machines of it are left: start it, or see "
              "why they are left");
    one.has_machines = false;
    EXPECT_EQ(words_of_forgotten(one, victim),
              "node hv3 is down (state fenced, no heartbeat for 400 s): its machines were dealt with; start it");
}

}  // namespace
}  // namespace pvc::policy
