// What a fence rests on while it waits, and its power-on, in whole daemons (README rulings 38 to 40, 46, 76).
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class fencer_power : public fencer_fixture {
protected:
    // From then on the board of hv3 is not reached.
    void silent_once(const std::string& key, const std::string& what) {
        ensemble.observe([this, path = "/nodes/hv3" + key, what](const recorded_change& change) {
            if (change.path == path && change.data == what) {
                board.is_reachable = false;
            }
        });
    }
    [[nodiscard]] std::ptrdiff_t times_told(const std::string& what) const {
        return std::ranges::count(board.heard(), what);
    }
};

// The next dead node, other coordinators, tries at leftovers: nobody waits for it.
TEST_F(fencer_power, R39_a_board_that_is_silent_at_the_power_on_keeps_the_fence_lock_from_nobody) {
    sim_node& hv1 = start();
    put_machine(vm1);
    ensemble.put(std::string("/domains/") + vm1 + "/state", "stop");
    add_hv5(hv1);
    silent_once("/daemonstate", "fenced");
    run_with_beats(30s, {"hv2", "hv5"});
    died = loop.clock().now() - 30s;
    run_with_beats(60s, {"hv2", "hv5"});
    ASSERT_EQ(value("/nodes/hv3/domainstate"), "flushed") << hv1.log();
    EXPECT_EQ(lock_children("/config/fence_lock").size(), 0U);
    EXPECT_NE(reports(hv1).find("switching it on"), std::string::npos) << reports(hv1);
    dead_for(170s);  // hv5 is dead, too
    EXPECT_EQ(value("/nodes/hv5/daemonstate"), "fenced") << hv1.log();
    EXPECT_FALSE(board.is_machine_on);
    dead_for(100s);
    board.is_reachable = true;
    dead_for(180s);
    EXPECT_TRUE(board.is_machine_on) << hv1.log();
    EXPECT_NE(hv1.log().find("node hv3 is switched on again"), std::string::npos) << hv1.log();
}

// What the last tick saw of the others is up to an interval old when the order is due.
// "The usual reason": board and node hang on one line. Another node dies a minute later.
TEST_F(fencer_power, R39_a_board_that_died_with_its_node_holds_up_no_other_fence) {
    sim_node& hv1 = start();
    add_hv5(hv1);
    run_with_beats(11min, {"hv2", "hv3", "hv5"});  // the boards are probed
    died = loop.clock().now();
    board.is_reachable = false;
    run_with_beats(60s, {"hv2", "hv5"});
    third_board.set_power(false);
    run_with_beats(35s, {"hv2"});
    EXPECT_GE(times_told("off"), 1) << hv1.log();
    EXPECT_EQ(value("/nodes/hv5/daemonstate"), "fenced") << hv1.log();
    EXPECT_FALSE(hv1.logged("[fence-failed]")) << hv1.log();
    run_with_beats(80s, {"hv2"});
    EXPECT_EQ(times_told("off"), 3) << "three orders and one look: " << hv1.log();
    EXPECT_TRUE(hv1.logged("[fence-failed]")) << hv1.log();
    EXPECT_EQ(state(), "dead");
}

// It answered until its node was ordered off.
TEST_F(fencer_power, R39_a_board_that_falls_silent_in_its_fence_holds_up_no_other_fence) {
    sim_node& hv1 = start();
    add_hv5(hv1);
    run_with_beats(11min, {"hv2", "hv3", "hv5"});
    died = loop.clock().now();
    run_with_beats(60s, {"hv2", "hv5"});
    third_board.set_power(false);
    ASSERT_EQ(times_told("off"), 0);
    board.is_reachable = false;
    run_with_beats(40s, {"hv2"});
    EXPECT_GE(times_told("off"), 1) << hv1.log();
    EXPECT_EQ(value("/nodes/hv5/daemonstate"), "fenced") << hv1.log();
    EXPECT_EQ(state(), "dead");
}

TEST_F(fencer_power, R31_who_has_fallen_silent_since_the_last_tick_does_not_count_for_the_majority) {
    sim_node& hv1 = start("coordinator", {.coordinators = {"hv1", "hv2", "hv3"}});
    const auto other = take_lock(0, "hv2:1:x:y");
    run_with_beats(43s, {"hv2"});
    ensemble.put("/nodes/hv2/keepalive", "its last");
    const std::string before = value("/nodes/hv1/keepalive");
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv1/keepalive") != before; }, 6s));
    loop.run_for(2s);
    ensemble.close_session(other);
    loop.run_for(1s);
    ASSERT_EQ(state(), "dead") << hv1.log();
    loop.run_for(60s);
    EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log();
    EXPECT_NE(hv1.log().find("fence-held-back"), std::string::npos) << hv1.log();
}

// Somebody works on it.
TEST_F(fencer_power, R43_who_confirms_it_ends_the_power_on) {
    sim_node& hv1 = start();
    silent_once("/daemonstate", "fenced");
    dead_for(120s);
    ASSERT_EQ(value("/nodes/hv3/domainstate"), "flushed") << hv1.log();
    const auto early = confirm(hv1, loop.clock().now() + 20s);
    dead_for(1s);
    expect_refused_for_order(early, "hv1");
    const auto told = times_told("on");
    dead_for(65s);
    EXPECT_EQ(times_told("on"), told) << "no further order";
    auto answer = confirm(hv1, loop.clock().now() + 100s);
    dead_for(95s);
    expect_taken(answer, hv1);
    board.is_reachable = true;
    dead_for(10min);
    EXPECT_FALSE(board.is_machine_on) << hv1.log();
    EXPECT_EQ(state(), "fenced");
}

// Its word is written, and nothing that rests on what was written before goes to a board: for a power-on that is
// enough, without the fence lock of node-lifecycle.md 10.7.
TEST_F(fencer_power, R43_who_confirms_it_to_another_coordinator_ends_the_power_on) {
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    silent_once("/daemonstate", "fenced");
    dead_for(120s);
    ASSERT_EQ(value("/nodes/hv3/domainstate"), "flushed") << hv1.log() << hv4.log();
    const bool is_first = value("/nodes/hv3/fenceproof").ends_with(" hv1 power");
    const auto early = confirm(is_first ? hv4 : hv1, loop.clock().now() + 20s);
    dead_for(1s);
    expect_refused_for_order(early, is_first ? "hv1" : "hv4");
    const auto told = times_told("on");
    dead_for(65s);
    auto answer = confirm(is_first ? hv4 : hv1, loop.clock().now() + 100s);
    dead_for(95s);
    ASSERT_TRUE(answer->answer) << hv1.log() << hv4.log();
    EXPECT_TRUE(*answer->answer) << answer->answer->error().text();
    EXPECT_TRUE(value("/nodes/hv3/fenceproof").ends_with(is_first ? " hv4 operator" : " hv1 operator"));
    board.is_reachable = true;
    dead_for(10min);
    EXPECT_FALSE(board.is_machine_on) << hv1.log() << hv4.log();
    EXPECT_EQ(times_told("on"), told) << hv1.log() << hv4.log();
}

// No clock of another machine counts, and none of the servers.
TEST_F(fencer_power, R46_the_age_of_anothers_proof_is_counted_from_when_its_node_was_seen_to_die) {
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    for (sim_node* const one : {&hv1, &hv4}) {
        one->clock.step_wall(3h);
    }
    put_machine(vm1);
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return state() == "fenced"; }, 30s)) << hv1.log() << hv4.log();
    const bool is_first = value("/nodes/hv3/fenceproof").ends_with(" hv1 power");
    (is_first ? hv1 : hv4).kill();
    dead_for(340s);
    EXPECT_EQ(value("/nodes/hv3/domainstate"), "flushed");
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"})) << (is_first ? hv4 : hv1).log();
}

// It waits for the turn while another's machine is looked for where it went; meanwhile somebody switches it on.
TEST_F(fencer_power, R76_who_is_on_again_when_its_turn_comes_is_not_switched_off_for_what_its_board_said_before) {
    sim_node& hv1 = start();
    put_machine(vm1);
    add_hv5(hv1);
    run_with_beats(11min, {"hv2", "hv3", "hv5"});  // its board is probed
    died = loop.clock().now();
    board.set_power(false);
    third_board.set_power(false);
    dead_for(35s);
    ASSERT_EQ(value("/nodes/hv5/daemonstate"), "dead") << hv1.log();
    third_board.set_power(true);
    EXPECT_TRUE(
        run_until([&] { return hv1.log().find("node hv5 was said to be without power") != std::string::npos; }, 150s))
        << hv1.log();
    EXPECT_EQ(std::ranges::count(third_board.heard(), "off"), 0) << hv1.log();
    ensemble.put({{"/nodes/hv5/daemonstate", "init"}, {"/nodes/hv5/keepalive", "1700009999"}});
    run_with_beats(100s, {"hv2", "hv5"});
    EXPECT_EQ(std::ranges::count(third_board.heard(), "off"), 0) << hv1.log();
}

// Somebody had the fence lock, and then there was maintenance, in which nobody is asked.
TEST_F(fencer_power, R76_what_a_board_said_before_a_pause_marks_nobody) {
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1"}, .fence_intervals = 20});
    run_with_beats(60s, {"hv2", "hv3"});
    const auto other = take_lock(0, "hv2:1:x:y");
    board.set_power(false);
    dead_for(30s);
    ASSERT_GE(times_told("status"), 3) << "a probe, and two questions: it is seen off";
    ASSERT_EQ(state(), "run");
    ensemble.put("/config/maintenance", "True");
    dead_for(20s);
    board.set_power(true);
    ensemble.close_session(other);
    dead_for(5s);
    ensemble.put("/config/maintenance", "False");
    dead_for(10s);
    EXPECT_EQ(state(), "run") << hv1.log();
    EXPECT_EQ(offs(), std::vector<std::string>());
}

}  // namespace
}  // namespace pvc::node
