// Acceptance cases of fences with two daemons, or with a node that comes back in the middle: AC119, AC121, AC123,
// AC124, AC130, AC132 (node-lifecycle.md B.4; README rulings 37, 40).
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class fencer_cases : public fencer_fixture {};

// Ruling 37 amends it: there is a proof, so the other one sends no `off` and asks nothing. It cannot ask Ceph, and
// leaves it to others for 180 s (38).
TEST_F(fencer_cases, AC119_the_fencer_dies_right_after_it_has_written_fenced) {
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    put_machine(vm1);
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return state() == "fenced"; }, 30s)) << hv1.log() << hv4.log();
    const bool is_first = value("/nodes/hv3/fenceproof").ends_with(" hv1 power");
    sim_node& fencer = is_first ? hv1 : hv4;
    sim_node& other = is_first ? hv4 : hv1;
    fencer.kill();
    ASSERT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    dead_for(230s);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2") << other.log();
    EXPECT_EQ(value("/nodes/hv3/domainstate"), "flushed");
    EXPECT_EQ(std::ranges::count(offs(), "off"), 1) << other.log();
    EXPECT_EQ(record(other).way, model::fence_way::recovering);
}

TEST_F(fencer_cases, AC121_who_comes_back_during_an_off_that_fails_is_not_told_off_again) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.refuses = true;
    board.answer_time = 10s;
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return std::ranges::count(board.heard(), "off") == 1; }, 20s)) << hv1.log();
    loop.run_for(3s);
    ensemble.put({{"/nodes/hv3/daemonstate", "run"}, {"/nodes/hv3/keepalive", "1700009999"}});
    run_with_beats(60s, {"hv2", "hv3"});
    EXPECT_EQ(offs(), std::vector<std::string>{"off"}) << hv1.log();
    EXPECT_EQ(state(), "run");
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    EXPECT_EQ(record(hv1).outcome, model::fence_outcome::passed);
}

// The other one tries when the mark has rested, in vain; then each again after ten minutes, and nobody starts a daemon.
TEST_F(fencer_cases, AC123_boards_that_refuse_until_400_s) {
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    put_machine(vm1);
    board.refuses = true;
    dead_for(110s);
    ASSERT_EQ(state(), "dead") << hv1.log() << hv4.log();
    const bool is_first = hv1.logged("[fence-failed]");
    ASSERT_NE(is_first, hv4.logged("[fence-failed]")) << hv1.log() << hv4.log();
    sim_node& other = is_first ? hv4 : hv1;
    dead_for(100s);
    EXPECT_EQ(std::ranges::count(board.heard(), "off"), 3) << "not before 215 s";
    dead_for(190s);
    EXPECT_TRUE(other.logged("[fence-failed]")) << other.log();
    EXPECT_EQ(std::ranges::count(board.heard(), "off"), 6) << hv1.log() << hv4.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    board.refuses = false;
    dead_for(330s);
    EXPECT_EQ(state(), "fenced") << hv1.log() << hv4.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(std::ranges::count(board.heard(), "off"), 7);
}

// With two of ours: by whichever of them, once its mark has rested.
TEST_F(fencer_cases, AC124_a_fence_that_maintenance_ended_begins_again_as_an_orphan) {
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    put_machine(vm1);
    dead_for(50s);
    ASSERT_EQ(state(), "dead") << hv1.log() << hv4.log();
    ensemble.put("/config/maintenance", "True");
    dead_for(50s);
    ensemble.put("/config/maintenance", "False");
    dead_for(105s);
    EXPECT_EQ(offs(), std::vector<std::string>()) << "not before 215 s";
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log() << hv4.log();
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"}));
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 1);
}

// Ruling 9: ages are those of the observer.
TEST_F(fencer_cases, AC130_the_clock_of_the_new_leader_is_no_measure) {
    for (const auto ahead : {100s, -100s}) {
        SCOPED_TRACE(ahead.count());
        ensemble.leader_ahead = {};
        sim_node& hv1 = start();
        ensemble.leader_ahead = ahead;
        run_with_beats(120s, {"hv2", "hv3"});
        EXPECT_EQ(state(), "run") << hv1.log();
        EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 0);
        EXPECT_TRUE(offs().empty());
        hv1.kill();
        nodes.clear();
    }
    sim_node& hv1 = start();
    ensemble.leader_ahead = 100s;
    dead_for(28s);
    EXPECT_EQ(state(), "run") << hv1.log();
    dead_for(60s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

// Ruling 39.
TEST_F(fencer_cases, of_a_node_that_may_be_booting_is_said_once_when_it_is_fenced_and_what_helps) {
    sim_node& hv1 = start();
    hv1.kill();
    hv1.start();
    dead_for(150s);
    EXPECT_EQ(state(), "run") << hv1.log();
    EXPECT_EQ(lines_with(hv1, "[fence-may-boot]"), 1) << hv1.log();
    EXPECT_EQ(lines_with(hv1, "it may still be booting; it is fenced in"), 1) << hv1.log();
    EXPECT_NE(reports(hv1).find("node hv3 is silent, may be booting: it is fenced in"), std::string::npos)
        << reports(hv1);
    dead_for(10min);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(lines_with(hv1, "[fence-may-boot]"), 1);
}

// Ruling 43. It writes its state before it beats.
TEST_F(fencer_cases, a_word_about_a_node_that_boots_meanwhile_is_nobodys) {
    sim_node& hv1 = start_beside_one_in_stop();
    const auto other = take_lock(0, "hv9");
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    dead_for(20s);
    EXPECT_FALSE(said->answer);
    ensemble.put("/nodes/hv3/daemonstate", "init");
    dead_for(5s);
    ASSERT_TRUE(said->answer) << hv1.log();
    EXPECT_FALSE(*said->answer);
    ensemble.close_session(other);
    dead_for(10s);
    EXPECT_EQ(state(), "init") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
}

// A node of the reference that boots after its fence writes `run` first and its heartbeat seconds later: its silence,
// and that its board said off, are of the life before. With the second row its old heartbeat is too young to be dead
// by.
class fencer_reference_boots : public fencer_fixture, public ::testing::WithParamInterface<int> {};

TEST_P(fencer_reference_boots, a_node_that_says_run_before_it_beats_is_left_alone) {
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1"}, .fence_intervals = GetParam()});
    run_with_beats(std::max<duration>(60s, GetParam() * 5s), {"hv2", "hv3"});
    died = loop.clock().now();
    put_machine(vm1);
    board.set_power(false);
    dead_for(75s);
    ASSERT_EQ(state(), "fenced") << hv1.log();
    ASSERT_TRUE(board.is_machine_on) << hv1.log();
    ensemble.put("/nodes/hv3/daemonstate", "init");
    dead_for(8s);
    ensemble.put("/nodes/hv3/daemonstate", "run");
    dead_for(4s);
    EXPECT_EQ(state(), "run") << hv1.log();
    run_with_beats(60s, {"hv2", "hv3"});
    EXPECT_EQ(state(), "run") << hv1.log();
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"})) << hv1.log();
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 1);
}

TEST_P(fencer_reference_boots, a_node_that_was_rebooted_in_good_order_is_left_alone) {
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1"}, .fence_intervals = GetParam()});
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    dead_for(150s);
    ensemble.put("/nodes/hv3/daemonstate", "init");
    dead_for(8s);
    ensemble.put("/nodes/hv3/daemonstate", "run");
    dead_for(19s);  // its first heartbeat comes up to four intervals later
    EXPECT_EQ(state(), "run") << hv1.log();
    run_with_beats(60s, {"hv2", "hv3"});
    EXPECT_EQ(state(), "run") << hv1.log();
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 0);
    EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log();
}

TEST_P(fencer_reference_boots, a_node_that_dies_between_the_two_is_dead_by_its_word) {
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1"}, .fence_intervals = GetParam()});
    run_with_beats(std::max<duration>(60s, GetParam() * 5s), {"hv2", "hv3"});
    died = loop.clock().now();
    board.set_power(false);
    dead_for(40s);
    ASSERT_EQ(state(), "fenced") << hv1.log();
    ensemble.put("/nodes/hv3/daemonstate", "init");
    dead_for(8s);
    ensemble.put("/nodes/hv3/daemonstate", "run");
    dead_for(1s);
    board.set_power(false);
    dead_for(45s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "fenced"), 2);
}

INSTANTIATE_TEST_SUITE_P(each, fencer_reference_boots, ::testing::Values(6, 20));

}  // namespace
}  // namespace pvc::node
