// A coordinator fences nodes that are dead, in whole daemons on records of other nodes (node-lifecycle.md 10, B.4).
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class fencer : public fencer_fixture {};

// AC44, AC45: throws, off, seen off, fenced with its proof, machines, flushed, figures, on.
TEST_F(fencer, a_silent_node_is_fenced_and_its_machine_runs_elsewhere) {
    sim_node& hv1 = start();
    put_machine(vm1);
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_GE(when("/daemonstate", "dead"), 30.0);
    EXPECT_LE(when("/daemonstate", "dead"), 40.0);
    EXPECT_GE(when("/daemonstate", "fenced") - when("/daemonstate", "dead"), 30.0);
    EXPECT_LE(when("/daemonstate", "fenced") - when("/daemonstate", "dead"), 37.0) << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/state"), "start");
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/lastnode"), "hv3");
    EXPECT_EQ(value("/nodes/hv3/domainstate"), "flushed");
    EXPECT_EQ(value("/nodes/hv3/runningdomains"), "");
    EXPECT_EQ(value("/nodes/hv3/memfree"), "0");
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"}));
    const auto written = record(hv1);
    EXPECT_EQ(value("/nodes/hv3/fenceproof"), written.id + " hv1 power");
    EXPECT_EQ(written.outcome, model::fence_outcome::done);
    EXPECT_EQ(written.way, model::fence_way::silence);
    ASSERT_TRUE(written.proof);
    EXPECT_EQ(written.proof->kind, model::fence_proof_kind::power);
    EXPECT_TRUE(written.fenced_id && written.powered_on && written.ended);
    EXPECT_EQ(written.machines.size(), 1U);
    EXPECT_EQ(lock_children("/config/fence_lock").size(), 0U);
}

// AC49, AC50.
TEST_F(fencer, a_node_that_comes_back_is_left_alone) {
    sim_node& hv1 = start();
    dead_for(52s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    ensemble.put("/nodes/hv3/keepalive", "1700001234");
    dead_for(30s);
    EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log();
}

// Ruling 76.
TEST_F(fencer, a_node_without_power_is_fenced_without_throws) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.set_power(false);
    dead_for(40s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_LE(when("/daemonstate", "fenced"), 35.0) << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(record(hv1).way, model::fence_way::seen_off);
}

// AC58, AC59.
TEST_F(fencer, a_board_that_refuses_leaves_the_node_dead_and_gives_its_role_away) {
    sim_node& hv1 = start("coordinator", {.coordinators = {"hv1", "hv3"}});
    put_machine(vm1);
    board.refuses = true;
    dead_for(60s);
    EXPECT_EQ(state(), "run") << "no majority would be left: " << hv1.log();
    EXPECT_NE(hv1.log().find("fence-held-back"), std::string::npos);
}

TEST_F(fencer, a_fence_that_fails_moves_nothing) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.refuses = true;
    dead_for(150s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "off", "off", "on"})) << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    EXPECT_NE(hv1.log().find("fence-failed"), std::string::npos);
    EXPECT_EQ(record(hv1).outcome, model::fence_outcome::failed);
    // AC123: tried again after 10 min.
    board.refuses = false;
    dead_for(11min);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
}

TEST_F(fencer, a_fence_that_failed_is_tried_again_when_an_operator_says_so) {
    sim_node& hv1 = start();
    put_machine(vm1);
    const auto retry = [&] {
        const auto all = core::all_that_are<core::fence_confirmer>(hv1.daemon().subjects());
        EXPECT_EQ(all.size(), 1U);
        const auto said = all.front()->retry_fence("hv3", "root");
        EXPECT_TRUE(said->answer);
        return *said->answer;
    };
    EXPECT_EQ(retry().error().cause(), "node hv3 is run, and not dead: there is nothing to be tried again");
    board.refuses = true;
    dead_for(150s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    board.refuses = false;
    dead_for(60s);
    EXPECT_EQ(state(), "dead") << "it waits for ten minutes";
    EXPECT_TRUE(retry());
    dead_for(20s);
    EXPECT_EQ(state(), "dead") << "it has its throws";
    EXPECT_EQ(retry().error().cause(), "its fence is under way: see fence show hv3");
    dead_for(60s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(record(hv1).outcome, model::fence_outcome::done);
}

// AC48.
TEST_F(fencer, maintenance_ends_a_fence_before_its_first_off) {
    sim_node& hv1 = start();
    dead_for(50s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    ensemble.put("/config/maintenance", "True");
    dead_for(60s);
    EXPECT_EQ(offs(), std::vector<std::string>());
    // AC124: as an orphan, when it has rested.
    ensemble.put("/config/maintenance", "False");
    dead_for(5min);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

TEST_F(fencer, maintenance_that_no_read_falls_into_ends_a_fence_before_its_first_off) {
    sim_node& hv1 = start();
    dead_for(50s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    ensemble.put("/config/maintenance", "True");
    ensemble.put("/config/maintenance", "False");
    dead_for(30s);
    EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log();
    dead_for(5min);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

// Ruling 46.
TEST_F(fencer, without_a_record_nobody_is_switched_off) {
    sim_node& hv1 = start();
    hv1.host.disk_time = 1h;
    dead_for(120s);
    EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log();
    EXPECT_EQ(state(), "run") << "it is another coordinator's to mark";
    EXPECT_NE(hv1.log().find("fence-record-unwritten"), std::string::npos) << hv1.log();
}

// Ruling 43.
TEST_F(fencer, an_operators_word_is_taken_for_a_node_that_stopped) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.is_reachable = false;
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    const auto confirm = [&] {
        const auto all = core::all_that_are<core::fence_confirmer>(hv1.daemon().subjects());
        EXPECT_EQ(all.size(), 1U);
        return all.front()->confirm_fence({.node = "hv3", .by = "root"}, loop.clock().now() + 60s);
    };
    const auto early = confirm();
    dead_for(1s);
    ASSERT_TRUE(early->answer);
    EXPECT_FALSE(*early->answer) << "its heartbeat moved a moment ago";
    dead_for(60s);
    const auto said = confirm();
    dead_for(40s);
    expect_taken(said, hv1);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(offs(), std::vector<std::string>());
    EXPECT_TRUE(value("/nodes/hv3/fenceproof").ends_with(" hv1 operator"));
}

// Ruling 37: who recorded the proof goes on after a restart.
TEST_F(fencer, a_daemon_that_dies_goes_on_from_its_record) {
    sim_node& hv1 = start();
    put_machine(vm1);
    dead_for(60s);
    run_until([&] { return state() == "fenced"; }, 30s);
    hv1.kill();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    hv1.start();
    dead_for(230s);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2") << hv1.log() << reports(hv1);
    EXPECT_EQ(value("/nodes/hv3/domainstate"), "flushed");
    EXPECT_EQ(record(hv1).way, model::fence_way::recovering);
}

// The word of an operator is about the node as it was: another has the fence lock, and the node comes back meanwhile.
TEST_F(fencer, a_word_is_withdrawn_once_the_node_checks_in) {
    sim_node& hv1 = start_beside_one_in_stop();
    const auto other = take_lock(0, "hv9");
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    dead_for(20s);
    EXPECT_FALSE(said->answer);
    run_with_beats(5s, {"hv2", "hv3"});
    ASSERT_TRUE(said->answer) << hv1.log();
    ASSERT_FALSE(*said->answer);
    ensemble.close_session(other);
    dead_for(4s);
    EXPECT_EQ(state(), "stop") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
}

// AC47.
TEST_F(fencer, without_fence_intervals_nobody_is_dead) {
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1"}, .fence_intervals = 0});
    dead_for(200s);
    EXPECT_EQ(state(), "run") << hv1.log();
    EXPECT_EQ(offs(), std::vector<std::string>());
}

// AC51: two coordinators see it dead in the same tick.
TEST_F(fencer, of_two_coordinators_one_fences) {
    sim_node& hv4 = add({.name = "hv4", .coordinators = {"hv1", "hv4"}});
    board.attach(hv4.boards);
    other_board.attach(hv4.boards);
    hv4.start();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    put_machine(vm1);
    dead_for(120s);
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 1) << hv1.log() << hv4.log();
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"})) << hv1.log() << hv4.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2") << hv1.log() << hv4.log();
}

// AC55: who has lost his session sends nothing.
TEST_F(fencer, without_its_session_no_command_is_sent) {
    sim_node& hv1 = start();
    dead_for(50s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    hv1.connector.link().cut();
    dead_for(60s);
    EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log();
}

// Ruling 42: what its keys say now is another's board, as no probe has seen yet.
TEST_F(fencer, by_the_name_of_anothers_board_nobody_is_switched_off) {
    sim_node& hv1 = start();
    ensemble.put("/nodes/hv3/ipmihostname", "hv2-lom");
    dead_for(150s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    EXPECT_TRUE(other_board.is_machine_on);
    EXPECT_EQ(std::ranges::count(other_board.heard(), "off"), 0) << hv1.log();
    EXPECT_EQ(offs(), std::vector<std::string>());
}

TEST_F(fencer, by_the_address_of_anothers_board_nobody_is_switched_off) {
    sim_node& hv1 = start();
    ensemble.put("/nodes/hv3/ipmihostname", "192.0.2.2");
    dead_for(150s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    EXPECT_EQ(std::ranges::count(other_board.heard(), "off"), 0) << hv1.log();
}

// Ruling 43: while a fence has the board, what it heard last counts.
TEST_F(fencer, no_word_is_taken_while_the_board_tells_a_fence_that_it_is_on) {
    sim_node& hv1 = start();
    board.lies = true;
    board.answer_time = 8s;
    dead_for(80s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    ASSERT_EQ(std::ranges::count(board.heard(), "off"), 1) << hv1.log();
    const auto all = core::all_that_are<core::fence_confirmer>(hv1.daemon().subjects());
    const auto said = all.front()->confirm_fence({.node = "hv3", .by = "root"}, loop.clock().now() + 60s);
    dead_for(30s);
    ASSERT_TRUE(said->answer) << hv1.log();
    ASSERT_FALSE(*said->answer);
    EXPECT_EQ(said->answer->error().cause(),
              "the board of hv3 says that it is on; switch it off, or say --although-on");
    EXPECT_EQ(hv1.log().find("[fence-word]"), std::string::npos);
}

// AC54: no age is older than the own connection.
TEST_F(fencer, ac54_who_was_cut_off_himself_counts_from_when_he_is_back) {
    sim_node& hv1 = start();
    hv1.connector.link().cut();
    dead_for(80s);
    hv1.connector.link().mend();
    const time_point back = loop.clock().now();
    dead_for(29s);
    EXPECT_EQ(state(), "run") << hv1.log();
    dead_for(30s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    EXPECT_GE(when("/daemonstate", "dead"), std::chrono::duration<double>(back - died).count() + 30.0);
}

// Nor than its last reconnection within a session.
TEST_F(fencer, ac54_who_was_cut_off_for_a_moment_counts_from_when_he_is_back) {
    sim_node& hv1 = start();
    board.is_reachable = false;
    dead_for(20s);
    const auto session = hv1.connector.link().session_id();
    hv1.connector.link().cut();
    dead_for(4s);
    hv1.connector.link().mend();
    const time_point back = loop.clock().now();
    dead_for(29s);
    EXPECT_EQ(state(), "run") << hv1.log();
    dead_for(12s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    EXPECT_GE(when("/daemonstate", "dead"), std::chrono::duration<double>(back - died).count() + 30.0);
    EXPECT_EQ(hv1.connector.link().session_id(), session);
}

TEST_F(fencer, ac59_a_primary_that_cannot_be_switched_off_loses_its_role_and_nothing_else) {
    sim_node& hv1 = start("coordinator", {.coordinators = {"hv1", "hv2", "hv3"}});
    put_machine(vm1);
    ensemble.put("/nodes/hv3/routerstate", "primary");
    ensemble.put("/config/primary_node", "hv3");
    run_with_beats(10s, {"hv2", "hv3"});
    died = loop.clock().now();
    const auto before = values_written("/config/primary_node").size();
    board.refuses = true;
    dead_for(110s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    const auto names = values_written("/config/primary_node");
    ASSERT_GT(names.size(), before) << hv1.log();
    EXPECT_EQ(names[before], "none") << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/routerstate"), "secondary");
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "off", "off", "on"})) << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    EXPECT_EQ(value("/nodes/hv3/domainstate").find("flush"), std::string::npos);
}

// AC60, AC122: without self-reset of its own a node may not; with it only on a proof.
TEST_F(fencer, ac60_after_a_failed_fence_only_a_proof_moves_machines) {
    for (const int self_reset : {0, 6}) {
        SCOPED_TRACE(self_reset);
        sim_node& hv1 = start(
            "hypervisor", {.coordinators = {"hv1"}, .suicide_intervals = self_reset, .recovers_after_failure = true});
        put_machine(vm1);
        board.refuses = true;
        dead_for(150s);
        EXPECT_EQ(state(), "dead") << hv1.log();
        EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3") << hv1.log();
        EXPECT_EQ(hv1.log().find("[fence-no-proof]") != std::string::npos, self_reset != 0) << hv1.log();
        const auto flushes = values_written("/nodes/hv3/domainstate");
        EXPECT_EQ(std::ranges::count(flushes, "fence-flush"), self_reset == 0 ? 0 : 1);
        hv1.kill();
        nodes.clear();
        board.refuses = false;
    }
}

TEST_F(fencer, ac61_where_nothing_is_to_be_recovered_it_is_switched_on_at_once) {
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1"}, .recovers = false});
    put_machine(vm1);
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/domainstate"), "fence-flush"), 0);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"})) << hv1.log();
}

TEST_F(fencer, ac121_a_node_that_is_back_while_its_board_is_asked_passes) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.answer_time = 10s;
    board.refuses = true;
    ASSERT_TRUE(run_until(
        [&] {
            run_with_beats(1s, {"hv2"});
            return !offs().empty();
        },
        120s))
        << hv1.log();
    ensemble.put("/nodes/hv3/daemonstate", "run");
    run_with_beats(60s, {"hv2", "hv3"});
    EXPECT_EQ(offs(), std::vector<std::string>{"off"}) << hv1.log();
    EXPECT_EQ(state(), "run");
    EXPECT_EQ(record(hv1).outcome, model::fence_outcome::passed);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
}

// It has stood still itself: what it read before is no news.
TEST_F(fencer, ac131_who_stood_still_himself_marks_nobody) {
    sim_node& hv1 = start();
    hv1.pause();
    run_with_beats(40s, {"hv2", "hv3"});
    hv1.resume();
    run_with_beats(20s, {"hv2", "hv3"});
    EXPECT_EQ(state(), "run") << hv1.log();
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 0);
    EXPECT_TRUE(lock_children("/config/fence_lock").empty());
}

TEST_F(fencer, ac132_who_stood_still_before_the_power_off_does_not_send_it) {
    sim_node& hv1 = start();
    ASSERT_TRUE(run_until(
        [&] {
            run_with_beats(200ms, {"hv2"});
            return when("/daemonstate", "dead") >= 0 &&
                   loop.clock().now() - died >= std::chrono::duration_cast<duration>(
                                                    std::chrono::duration<double>(when("/daemonstate", "dead") + 29.3));
        },
        120s))
        << hv1.log();
    ASSERT_TRUE(offs().empty()) << hv1.log();
    hv1.pause();
    ensemble.put("/nodes/hv3/daemonstate", "run");
    run_with_beats(300s, {"hv2", "hv3"});
    hv1.resume();
    run_with_beats(60s, {"hv2", "hv3"});
    EXPECT_TRUE(offs().empty()) << hv1.log();
    EXPECT_EQ(state(), "run") << hv1.log();
}

TEST_F(fencer, a_word_is_taken_while_a_fence_asks_a_board_that_is_silent) {
    sim_node& hv1 = start();
    board.is_reachable = false;
    dead_for(120s);  // three orders and one look end after 150 s
    EXPECT_EQ(state(), "dead") << hv1.log();
    ASSERT_EQ(hv1.log().find("[fence-failed]"), std::string::npos) << hv1.log();
    const auto all = core::all_that_are<core::fence_confirmer>(hv1.daemon().subjects());
    const auto said = all.front()->confirm_fence({.node = "hv3", .by = "root"}, loop.clock().now() + 60s);
    dead_for(40s);
    expect_taken(said, hv1);
}

// Nothing is asked of anybody while nobody is dead.
TEST_F(fencer, nobody_dead_no_request_more) {
    sim_node& hv1 = start();
    const auto before = board.commands();
    run_with_beats(100s, {"hv2", "hv3"});
    EXPECT_EQ(board.commands(), before);
    EXPECT_EQ(state(), "run");
    EXPECT_EQ(hv1.log().find("[fence-"), std::string::npos) << hv1.log();
}

// Nor of ZooKeeper: a tick costs what it costs where nobody is fenced at all.
TEST_F(fencer, nobody_dead_no_transaction_more_a_tick) {
    std::vector<std::pair<int, int>> counted;  // requests, transactions
    for (const int intervals : {0, 6}) {
        sim_node& hv1 = start("coordinator", {.coordinators = {"hv1", "hv3"}, .fence_intervals = intervals});
        auto& [requests, transactions] = counted.emplace_back();
        hv1.connector.link().on_request = [&](const zookeeper::request& what) {
            ++requests;
            transactions += what.what == zookeeper::request::kind::commit ? 1 : 0;
            return sim::verdict::answer;
        };
        run_with_beats(100s, {"hv2", "hv3"});
        hv1.connector.link().on_request = nullptr;
        EXPECT_EQ(state(), "run");
        hv1.kill();
        nodes.clear();
    }
    EXPECT_EQ(counted[0], counted[1]);
    constexpr int ticks = 20;
    EXPECT_EQ(counted[1], std::pair(ticks * (3 + 2), ticks * 2)) << "with one stat of each of two others";
}

}  // namespace
}  // namespace pvc::node
