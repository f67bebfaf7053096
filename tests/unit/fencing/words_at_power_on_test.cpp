// An operator's word that falls together with the power-on of a fence (README ruling 43): from when it is said nobody
// orders the node to be switched on, and after an order it is not taken on what was heard before that.
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class words_at_power_on : public fencer_fixture {
protected:
    // Said the moment that this is written, which the power-on follows at once.
    void say_when(const std::string& key, const std::string& data, sim_node*& to) {
        ensemble.observe([this, path = "/nodes/hv3" + key, data, &to](const recorded_change& change) {
            if (change.path == path && change.data == data && !said) {
                said = confirm(*to, loop.clock().now() + 54s);
            }
        });
    }

    said_word said;
};

// It asks the board first, and is in line for the fence lock only after that.
TEST_F(words_at_power_on, R43_one_that_is_said_to_another_coordinator_right_before_it_keeps_the_node_off) {
    start_two();
    board.answer_time = 3s;
    say_when("/daemonstate", "fenced", other);
    dead_for(120s);
    ASSERT_TRUE(said) << fencer->log();
    expect_taken(said, *other);
    dead_for(10min);
    EXPECT_EQ(times_ordered("off"), 1);
    EXPECT_EQ(times_ordered("on"), 0) << fencer->log() << other->log();
    EXPECT_FALSE(board.is_machine_on);
    EXPECT_TRUE(record(*fencer).is_left_off);
    EXPECT_EQ(record(*fencer).remark, "an operator says that it is off");
}

// What it was heard to say before is `off`, and it boots.
TEST_F(words_at_power_on, R43_one_that_is_said_after_the_order_is_refused_and_says_who_gave_it) {
    start_two();
    board.answer_time = 3s;
    board.acts_after = 4s;
    ASSERT_TRUE(run_until([&] { return times_ordered("on") == 1; }, 120s)) << fencer->log();
    const bool is_by_hv1 = value("/nodes/hv3/fenceproof").find(" hv1 ") != std::string::npos;
    const std::string by = is_by_hv1 ? "hv1" : "hv4";
    for (sim_node* const to : {fencer, other}) {
        const auto word = confirm(*to, loop.clock().now() + 54s);
        dead_for(1s);
        expect_refused_for_order(word, by);
    }
    EXPECT_EQ(lines_with(*other, "node hv3 is not switched on by its fence, by the word of root, which proves nothing"),
              1)
        << other->log();
    dead_for(3min);
    EXPECT_EQ(times_ordered("on"), 1) << fencer->log();
}

// The order is out, and the node is switched off again by who found it booting.
TEST_F(words_at_power_on, R43_one_that_is_said_again_a_minute_after_the_order_is_taken) {
    start_two();
    ASSERT_TRUE(run_until([&] { return times_ordered("on") == 1; }, 120s)) << fencer->log();
    const auto early = confirm(*other, loop.clock().now() + 54s);
    dead_for(1s);
    ASSERT_TRUE(early->answer && !*early->answer) << other->log();
    board.set_power(false);
    dead_for(60s);
    const std::string proof = value("/nodes/hv3/fenceproof");
    const std::string fence = proof.substr(0, proof.find(' '));
    const auto again = confirm(*other, loop.clock().now() + 54s);
    dead_for(30s);
    expect_taken(again, *other);
    EXPECT_EQ(record(*other).follows, fence) << "which tells what was recovered";
    dead_for(10min);
    EXPECT_EQ(times_ordered("on"), 1) << fencer->log() << other->log();
    EXPECT_FALSE(board.is_machine_on);
}

// It waits for what the board says to the fence, which then has its proof.
TEST_F(words_at_power_on, R43_one_that_waits_on_the_fencer_is_heard_by_its_own_power_on) {
    start_two();
    board.answer_time = 3s;
    ASSERT_TRUE(run_with_beats_until([&] { return times_ordered("off") == 1; }, 120s)) << fencer->log();
    said = confirm(*fencer, loop.clock().now() + 54s);
    dead_for(60s);
    ASSERT_TRUE(said->answer) << fencer->log();
    EXPECT_EQ(times_ordered("on"), 0) << (*said->answer ? "taken" : said->answer->error().text()) << fencer->log();
    EXPECT_TRUE(*said->answer || said->answer->error().text().find("by this word") != std::string::npos)
        << said->answer->error().text();
    dead_for(10min);
    EXPECT_EQ(state(), "fenced");
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(times_ordered("on"), 0) << fencer->log() << other->log();
    EXPECT_FALSE(board.is_machine_on);
}

// Its board says that it is on: the word is none, and stands in nobody's way.
TEST_F(words_at_power_on, R43_one_that_is_refused_is_not_noted_any_more) {
    sim_node& hv1 = start();
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    dead_for(60s);
    const auto word = confirm(hv1, loop.clock().now() + 54s);
    dead_for(10s);
    ASSERT_TRUE(word->answer && !*word->answer) << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/fencepower"), "none");
}

// That of another coordinator, which may wait there or have lost its daemon, holds as before.
TEST_F(words_at_power_on, R43_one_that_is_refused_takes_back_no_other) {
    sim_node& hv1 = start();
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    dead_for(60s);
    ensemble.put("/nodes/hv3/fencepower", "off hv2");
    const auto word = confirm(hv1, loop.clock().now() + 54s);
    dead_for(10s);
    ASSERT_TRUE(word->answer && !*word->answer) << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/fencepower"), "off hv2");
}

// Written once more it would hold for the next time that the node dies.
TEST_F(words_at_power_on, R43_no_other_is_written_again_once_the_node_has_beaten) {
    sim_node& hv1 = start();
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    dead_for(60s);
    ensemble.put("/nodes/hv3/fencepower", "off hv2");
    board.answer_time = 3s;
    const auto word = confirm(hv1, loop.clock().now() + 54s);
    dead_for(1s);
    EXPECT_EQ(value("/nodes/hv3/fencepower"), "off hv1");
    run_with_beats(10s, {"hv2", "hv3"});
    ASSERT_TRUE(word->answer && !*word->answer) << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/fencepower"), "none");
}

// It was about the node as it was before it booted.
TEST_F(words_at_power_on, R43_one_of_before_its_last_heartbeat_keeps_nothing_off) {
    sim_node& hv1 = start();
    ensemble.put("/nodes/hv3/fencepower", "off hv2");
    run_with_beats(15s, {"hv2", "hv3"});
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(times_ordered("on"), 1) << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/fencepower"), "on hv1");
}

// Whoever sets the key first has it.
TEST_F(words_at_power_on, R43_one_that_is_noted_between_the_last_read_and_the_order_stops_that) {
    sim_node& hv1 = start();
    bool is_noted = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& what) {
        const bool is_claim = std::ranges::any_of(what.operations, [](const zookeeper::operation& one) {
            return one.path == "/nodes/hv3/fencepower" && one.data == "on hv1";
        });
        if (is_claim && !std::exchange(is_noted, true)) {
            ensemble.put("/nodes/hv3/fencepower", "off hv2");
        }
        return sim::verdict::answer;
    };
    dead_for(3min);
    EXPECT_TRUE(is_noted) << hv1.log();
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/fencepower"), "off hv2");
    EXPECT_EQ(times_ordered("on"), 0) << hv1.log();
    hv1.connector.link().on_request = nullptr;
}

// Likewise the other way round: the order is seen, and the word is no word about it.
TEST_F(words_at_power_on, R43_one_that_an_order_overtakes_is_refused) {
    start_two();
    bool is_ordered = false;
    other->connector.link().on_request = [&](const zookeeper::request& what) {
        const bool is_note = std::ranges::any_of(what.operations, [](const zookeeper::operation& one) {
            return one.path == "/nodes/hv3/fencepower" && one.data.starts_with("off ");
        });
        if (is_note && !std::exchange(is_ordered, true)) {
            ensemble.put("/nodes/hv3/fencepower", "on hv9");
        }
        return sim::verdict::answer;
    };
    said = confirm(*other, loop.clock().now() + 54s);
    dead_for(2s);
    EXPECT_TRUE(is_ordered) << other->log();
    expect_refused_for_order(said, "hv9");
    other->connector.link().on_request = nullptr;
}

}  // namespace
}  // namespace pvc::node
