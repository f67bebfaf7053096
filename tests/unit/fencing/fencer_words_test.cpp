// An operator's word while somebody fences the node, this coordinator or another (README ruling 43), and what is said
// of nodes that are `fenced` by whomever.
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class fencer_words : public fencer_fixture {};

// Its question is given up for the first order to switch off: the word waits for what comes of that.
TEST_F(fencer_words, R43_one_that_is_said_while_the_first_order_is_due_waits_for_what_the_board_says) {
    sim_node& hv1 = start();
    board.answer_time = 10min;
    dead_for(50s);
    ASSERT_EQ(state(), "dead") << hv1.log();
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    dead_for(14s);
    ASSERT_EQ(times_ordered("off"), 1) << hv1.log();
    EXPECT_FALSE(said->answer) << "neither taken nor refused: " << hv1.log();
    EXPECT_EQ(lines_with(hv1, "waits for what its board says to the fence that asks it now"), 1) << hv1.log();
    dead_for(50s);
    expect_taken(said, hv1);
    EXPECT_EQ(times_ordered("on"), 0);
}

TEST_F(fencer_words, R43_one_that_waits_for_a_board_that_says_on_is_refused) {
    sim_node& hv1 = start();
    board.lies = true;
    board.answer_time = 8s;
    dead_for(55s);
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    dead_for(40s);
    ASSERT_TRUE(said->answer) << hv1.log();
    ASSERT_FALSE(*said->answer);
    EXPECT_EQ(said->answer->error().cause(),
              "the board of hv3 says that it is on; switch it off, or say --although-on");
}

// Whoever has the lock sees its node off and recovers; the word of the other is in line by then.
TEST_F(fencer_words, R43_one_that_waits_for_the_lock_of_another_coordinator_keeps_the_node_off) {
    start_two();
    dead_for(20s);
    const auto said = confirm(*other, loop.clock().now() + 54s, true);
    ASSERT_TRUE(run_with_beats_until([&] { return said->answer.has_value(); }, 60s));
    EXPECT_TRUE(*said->answer) << said->answer->error().text() << fencer->log() << other->log();
    dead_for(12min);
    EXPECT_EQ(state(), "fenced");
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(times_ordered("off"), 1);
    EXPECT_EQ(times_ordered("on"), 0) << fencer->log() << other->log();
    EXPECT_FALSE(board.is_machine_on);
}

// It proves nothing any more, as its operator is told; and the node is switched on against it by nobody.
TEST_F(fencer_words, R43_one_that_was_not_taken_in_time_keeps_a_node_off_that_is_seen_off_later) {
    start_two();
    const auto said = confirm(*other, loop.clock().now() + 8s, true);
    dead_for(9s);
    ASSERT_TRUE(said->answer && !*said->answer) << other->log();
    EXPECT_EQ(said->answer->error().code(), errc::timed_out);
    EXPECT_EQ(lines_with(*other, "that node hv3 is off was not taken in time, and proves nothing: "), 1)
        << other->log();
    EXPECT_EQ(state(), "dead");
    dead_for(12min);
    EXPECT_EQ(state(), "fenced");
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(times_ordered("on"), 0) << fencer->log() << other->log();
    EXPECT_FALSE(board.is_machine_on);
}

TEST_F(fencer_words, R43_one_that_was_not_taken_in_time_moves_no_machine) {
    start_two();
    board.is_reachable = false;
    const auto said = confirm(*other, loop.clock().now() + 30s, true);
    dead_for(31s);
    ASSERT_TRUE(said->answer && !*said->answer) << other->log();
    dead_for(9min);
    EXPECT_EQ(state(), "dead") << other->log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
}

// The same of this coordinator's own fence; its record says why the node is off.
TEST_F(fencer_words, R43_one_that_was_too_late_for_its_own_fence_leaves_the_node_off) {
    sim_node& hv1 = start();
    board.answer_time = 10min;
    ASSERT_TRUE(run_with_beats_until([&] { return times_ordered("off") == 2; }, 200s)) << hv1.log();
    dead_for(1s);
    const auto said = confirm(hv1, loop.clock().now() + 3s);
    dead_for(4s);
    ASSERT_TRUE(said->answer && !*said->answer) << hv1.log();
    board.answer_time = 300ms;
    dead_for(90s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(times_ordered("on"), 0) << hv1.log();
    EXPECT_TRUE(record(hv1).is_left_off);
    EXPECT_EQ(record(hv1).remark, "an operator says that it is off");
    EXPECT_NE(reports(hv1).find("left off until somebody switches it on: an operator says"), std::string::npos)
        << reports(hv1);
}

// A client wrote it: nothing is started elsewhere, and that is said again each hour.
TEST_F(fencer_words, of_a_node_that_is_fenced_without_a_proof_is_said_what_is_missing) {
    sim_node& hv1 = start();
    put_machine(vm1);
    dead_for(45s);
    ASSERT_EQ(state(), "dead");
    ensemble.put("/nodes/hv3/daemonstate", "fenced");
    dead_for(10min);
    const std::string line = "and machines belong to it; no coordinator of ours has proven that it is off";
    EXPECT_EQ(lines_with(hv1, line), 1) << hv1.log();
    EXPECT_NE(reports(hv1).find("no coordinator of ours has proven that it is off: what belongs to it stays as it is"),
              std::string::npos)
        << reports(hv1);
    dead_for(60min);
    EXPECT_EQ(lines_with(hv1, line), 2) << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    const auto said = confirm(hv1, loop.clock().now() + 54s, true);
    dead_for(60s);
    expect_taken(said, hv1);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
}

// What belonged to it when it died is an hour old, and is looked up for the line.
TEST_F(fencer_words, of_a_node_whose_machines_have_moved_since_it_died_is_not_said_that_it_has_some) {
    sim_node& hv1 = start();
    put_machine(vm1);
    dead_for(20s);
    ensemble.put("/nodes/hv3/daemonstate", "dead");  // another coordinator's
    dead_for(20s);
    ensemble.put("/nodes/hv3/daemonstate", "fenced");
    ensemble.put(std::string("/domains/") + vm1 + "/node", "hv2");
    dead_for(10min);
    EXPECT_EQ(lines_with(hv1, "[fence-forgotten]"), 1) << hv1.log();
    EXPECT_EQ(lines_with(hv1, "and machines belong to it"), 0) << hv1.log();
}

// What belonged to it was moved: nobody is sent to confirm what is proven.
TEST_F(fencer_words, of_a_node_whose_machines_were_moved_is_said_that_it_may_be_started) {
    sim_node& hv1 = start();
    put_machine(vm1);
    ensemble.observe(
        [this](const recorded_change& change) { board.is_reachable = board.is_reachable && change.data != "fenced"; });
    dead_for(20min);
    ASSERT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(lines_with(hv1, "and machines belong to it"), 0) << hv1.log();
    EXPECT_EQ(lines_with(hv1, ": its machines were dealt with; start it [fence-forgotten]"), 1) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
