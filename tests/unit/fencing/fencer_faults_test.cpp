// What goes wrong around a fence, in whole daemons: disks that take no record, a fence lock that others have, daemons
// that end in the middle, boards that fall silent (README rulings 15, 36, 43, 45, 46; node-lifecycle.md 10.1, 10.3).
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class fencer_faults : public fencer_fixture {
protected:
    sim_node& start_of_two() { return start("hypervisor", {.coordinators = {"hv1", "hv4"}}); }
    // Runs until there is a proof in a record of that node's disk, and not a step longer.
    bool run_until_proven(const sim_node& node) {
        return run_until(
            [&] {
                return std::ranges::any_of(node.host.files, [](const auto& one) {
                    const bool is_one = one.first.starts_with("/var/lib/pvc/fences/2") && one.first.ends_with(".json");
                    const auto record = is_one ? model::parse_fence_record(one.second)
                                               : result<model::fence_record>(failure(errc::not_found));
                    return record && record->proof.has_value();
                });
            },
            60s);
    }
};

// Ruling 46: whichever of the two comes first, and whatever ails its disk.
class fencer_disks : public fencer_faults, public ::testing::WithParamInterface<std::tuple<bool, bool>> {};

TEST_P(fencer_disks, a_coordinator_that_can_write_no_record_leaves_even_the_mark_to_another) {
    const auto [is_first, hangs] = GetParam();
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start_of_two();
    put_machine(vm1);
    sim_node& bad = is_first ? hv1 : hv4;
    hangs ? static_cast<void>(bad.host.disk_time = 1h) : static_cast<void>(bad.host.is_full = true);
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log() << hv4.log();
    EXPECT_LE(when("/daemonstate", "dead"), 50.0) << "no orphan of 180 s";
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_TRUE(value("/nodes/hv3/fenceproof").ends_with(is_first ? " hv4 power" : " hv1 power"));
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 1);
}

INSTANTIATE_TEST_SUITE_P(each, fencer_disks, ::testing::Combine(::testing::Bool(), ::testing::Bool()));

TEST_F(fencer_faults, that_no_record_can_be_written_is_said_hourly) {
    sim_node& hv1 = start();
    hv1.host.is_full = true;
    dead_for(150min);
    EXPECT_EQ(state(), "run");
    EXPECT_EQ(offs(), std::vector<std::string>());
    EXPECT_EQ(lines_with(hv1, "another coordinator is to fence it"), 3) << "at once, and each hour";
    hv1.host.is_full = false;
    dead_for(6min);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

TEST_F(fencer_faults, once_records_can_be_written_nobody_waits_for_the_end_of_five_minutes) {
    sim_node& hv1 = start();
    hv1.host.is_full = true;
    dead_for(60s);
    ASSERT_EQ(state(), "run");
    EXPECT_NE(reports(hv1).find("this node could not write the record of its fence"), std::string::npos)
        << reports(hv1);
    hv1.host.is_full = false;
    dead_for(35s);
    EXPECT_NE(state(), "run") << hv1.log();
}

// A file in place of the folder: nobody knows what was there.
TEST_F(fencer_faults, where_no_record_can_be_there_is_said_of_each_dead_node) {
    sim_node& hv1 = start();
    std::erase_if(hv1.host.files, [](const auto& one) { return one.first.starts_with("/var/lib/pvc/"); });
    hv1.host.directories.erase("/var/lib/pvc/fences");
    hv1.host.files["/var/lib/pvc/fences"] = "mine";
    ensemble.put("/nodes/hv3/daemonstate", "dead");
    dead_for(30s);
    EXPECT_NE(reports(hv1).find("the records of its fences here cannot be read"), std::string::npos) << reports(hv1);
    dead_for(5min);
    EXPECT_EQ(state(), "dead");
    EXPECT_EQ(offs(), std::vector<std::string>());
}

// 10.1: nobody stands in line behind a long recovery, and nobody complains of it.
TEST_F(fencer_faults, who_has_the_fence_lock_is_said_once_and_waited_for) {
    sim_node& hv1 = start();
    const auto other = take_lock(0, "hv2:1:fencing:a dead node");
    dead_for(60s);
    ASSERT_EQ(lock_children("/config/fence_lock").size(), 1U) << "hv1 is not in line";
    dead_for(540s);
    EXPECT_EQ(state(), "run");
    EXPECT_EQ(lines_with(hv1, "waits here: hv2:1:fencing:a dead node has the fence lock"), 1) << hv1.log();
    EXPECT_EQ(lines_with(hv1, "[fence-lock-awaited]"), 0) << "hv2 lives";
    EXPECT_EQ(lines_with(hv1, "the fence of node hv3 ends here"), 0);
    ensemble.close_session(other);
    EXPECT_TRUE(run_until([&] { return state() == "dead"; }, 2s)) << "as soon as it is free";
    dead_for(60s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

TEST_F(fencer_faults, a_stranger_that_keeps_the_fence_lock_is_an_error_after_300_s) {
    sim_node& hv1 = start();
    const auto other = take_lock(0, "");  // as a reference node's, which says nothing
    dead_for(300s);
    EXPECT_EQ(lines_with(hv1, "[fence-lock-awaited]"), 0);
    dead_for(300s);
    EXPECT_EQ(lines_with(hv1, "[fence-lock-awaited]"), 1) << hv1.log();
    EXPECT_NE(hv1.log().find("which aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa__lock__0000000000 holds"), std::string::npos);
    ensemble.close_session(other);  // it dies with the lock
    dead_for(60s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

// Reference nodes have it in each of their ticks: who waited for a free moment might find none.
TEST_F(fencer_faults, behind_who_comes_next_it_stands_in_line) {
    sim_node& hv1 = start();
    const auto first = take_lock(0, "");
    const auto second = take_lock(1, "");
    dead_for(60s);
    EXPECT_EQ(lock_children("/config/fence_lock").size(), 2U);
    ensemble.close_session(first);
    dead_for(2s);
    EXPECT_EQ(lock_children("/config/fence_lock").size(), 2U) << "the second, and hv1 in line: " << hv1.log();
    ensemble.close_session(second);
    dead_for(50s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
}

// 10.1 "repetition": whoever tried, with whatever session and daemon.
TEST_F(fencer_faults, the_back_off_after_a_failed_fence_outlives_the_daemon) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.refuses = true;
    dead_for(150s);
    ASSERT_EQ(record(hv1).outcome, model::fence_outcome::failed) << hv1.log();
    const auto tried = offs().size();
    hv1.kill();
    hv1.start();
    dead_for(400s);
    EXPECT_EQ(offs().size(), tried) << hv1.log();
    board.refuses = false;
    dead_for(240s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
}

TEST_F(fencer_faults, the_back_off_after_a_failed_fence_outlives_the_session) {
    sim_node& hv1 = start();
    board.refuses = true;
    dead_for(150s);
    ASSERT_EQ(record(hv1).outcome, model::fence_outcome::failed) << hv1.log();
    const auto tried = offs().size();
    hv1.connector.link().cut();
    dead_for(60s);
    hv1.connector.link().mend();
    dead_for(360s);
    EXPECT_EQ(offs().size(), tried) << hv1.log();
}

// Ruling 43: proven is proven, whatever became of the daemon; in maintenance, too, and of a node that nobody fences.
TEST_F(fencer_faults, a_recorded_word_outlives_the_daemon) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.is_reachable = false;
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    dead_for(60s);
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    ASSERT_TRUE(run_until_proven(hv1)) << hv1.log();
    hv1.kill();
    ASSERT_EQ(state(), "stop");
    ensemble.put("/config/maintenance", "True");
    hv1.start();
    dead_for(60s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
    EXPECT_EQ(offs(), std::vector<std::string>());
    EXPECT_TRUE(value("/nodes/hv3/fenceproof").ends_with(" hv1 operator"));
}

TEST_F(fencer_faults, a_recorded_word_about_a_node_that_beat_since_is_nobodys) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.is_reachable = false;
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    dead_for(60s);
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    ASSERT_TRUE(run_until_proven(hv1)) << hv1.log();
    hv1.kill();
    run_with_beats(5s, {"hv2", "hv3"});
    hv1.start();
    dead_for(200s);
    EXPECT_EQ(state(), "stop") << hv1.log();
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
}

// Rulings 36, 46: what could not be read once says something all the same.
TEST_F(fencer_faults, records_that_could_not_be_read_are_read_again) {
    sim_node& hv1 = start();
    put_machine(vm1);
    dead_for(60s);
    ASSERT_TRUE(run_until_proven(hv1)) << hv1.log();
    hv1.kill();
    ASSERT_EQ(state(), "dead");
    const auto told = offs();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready()) << hv1.log();
    hv1.host.disk_time = 1h;
    dead_for(90s);
    EXPECT_EQ(state(), "dead") << hv1.log();
    hv1.host.disk_time = 1ms;
    dead_for(30s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(record(hv1).way, model::fence_way::proven);
    EXPECT_EQ(std::ranges::count(offs(), "off"), std::ranges::count(told, "off")) << "it is proven to be off";
}

// Ruling 15: the 180 s bound all of it; what follows is a failed fence like any other.
TEST_F(fencer_faults, a_board_that_falls_silent_in_the_middle_has_180_s) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.lies = true;  // it takes the `off`, and the node runs on
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return std::ranges::count(board.heard(), "off") == 1; }, 30s)) << hv1.log();
    const auto begun = loop.clock().now();
    board.is_reachable = false;
    dead_for(170s);
    EXPECT_FALSE(hv1.logged("[fence-failed]")) << "the limit is not reached";
    ASSERT_TRUE(run_until([&] { return hv1.logged("[fence-failed]"); }, 20s)) << hv1.log();
    EXPECT_LE(loop.clock().now() - begun, 182s);
    dead_for(100s);
    EXPECT_EQ(record(hv1).outcome, model::fence_outcome::failed);
    EXPECT_EQ(state(), "dead");
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv3");
    EXPECT_EQ(std::ranges::count(board.heard(), "off"), 1);
    // Each hour it is named, until somebody says that it is off.
    dead_for(62min);
    EXPECT_GE(lines_with(hv1, "[fence-forgotten]"), 1) << hv1.log();
    board.is_machine_on = false;
    const auto said = confirm(hv1, loop.clock().now() + 100s);
    dead_for(130s);
    expect_taken(said, hv1);
    EXPECT_EQ(value(std::string("/domains/") + vm1 + "/node"), "hv2");
}

// "BMC, Ceph or disk hanging throughout: no heartbeat later than 100 ms": here the board and the disk.
TEST_F(fencer_faults, neither_board_nor_disk_delays_a_heartbeat) {
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start_of_two();
    put_machine(vm1);
    hv1.host.disk_time = 1h;
    board.is_reachable = false;
    other_board.answer_time = 29s;
    dead_for(300s);
    for (const std::string name : {"hv1", "hv4"}) {
        const auto gaps = beat_gaps(name, died);
        ASSERT_FALSE(gaps.empty());
        EXPECT_LE(gaps.front(), 5.1) << name << hv1.log() << hv4.log();
    }
}

// Ruling 43.
TEST_F(fencer_faults, a_word_is_refused_while_the_board_says_on) {
    sim_node& hv1 = start();
    put_machine(vm1);
    ensemble.put("/nodes/hv3/daemonstate", "stop");
    dead_for(60s);
    const auto refused = confirm(hv1, loop.clock().now() + 60s);
    dead_for(10s);
    ASSERT_TRUE(refused->answer && !*refused->answer) << hv1.log();
    EXPECT_EQ(refused->answer->error().cause(),
              "the board of hv3 says that it is on; switch it off, or say --although-on");
    EXPECT_EQ(state(), "stop");
    const auto taken = confirm(hv1, loop.clock().now() + 60s, true);
    dead_for(30s);
    ASSERT_TRUE(taken->answer && *taken->answer) << hv1.log();
    EXPECT_EQ(state(), "fenced");
    ASSERT_TRUE(record(hv1).proof);
    EXPECT_TRUE(record(hv1).proof->although_on);
}

// Ruling 43: a board that hangs keeps nobody from saying that the node is off.
TEST_F(fencer_faults, a_word_is_taken_once_a_board_was_silent_to_the_first_order) {
    sim_node& hv1 = start();
    put_machine(vm1);
    board.answer_time = 10min;
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return std::ranges::count(board.heard(), "off") == 1; }, 30s)) << hv1.log();
    dead_for(10s);
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    dead_for(65s);
    expect_taken(said, hv1);
}

// Nor does it end by the signal that ends programs.
TEST_F(fencer_faults, a_word_is_taken_once_an_order_has_hung) {
    sim_node& hv1 = start();
    hv1.boards.add([&](const async::command& what) {
        auto program = board.answer(what);
        if (program && what.arguments.front().ends_with("ipmitool")) {
            program->takes = 10min;
            program->ignores_term = true;
        }
        return program;
    });
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return std::ranges::count(board.heard(), "off") == 1; }, 30s)) << hv1.log();
    dead_for(10s);
    const auto said = confirm(hv1, loop.clock().now() + 60s);
    dead_for(65s);
    expect_taken(said, hv1);
}

// The second order is under way: nobody waits behind it to ask once more what was asked just now.
TEST_F(fencer_faults, a_word_in_the_midst_of_orders_that_are_not_answered) {
    sim_node& hv1 = start();
    board.answer_time = 10min;
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return std::ranges::count(board.heard(), "off") == 2; }, 60s)) << hv1.log();
    dead_for(1s);
    const auto late = confirm(hv1, loop.clock().now() + 10s);
    dead_for(2s);
    EXPECT_NE(hv1.log().find("[fence-word]"), std::string::npos) << hv1.log();
    dead_for(8s);
    ASSERT_TRUE(late->answer && !*late->answer) << hv1.log();
    EXPECT_TRUE(late->answer->error().cause().starts_with("its fence here still waits for "))
        << late->answer->error().text();
    const auto said = confirm(hv1, loop.clock().now() + 54s);
    dead_for(40s);
    expect_taken(said, hv1);
}

TEST_F(fencer_faults, who_asks_in_vain_is_told_who_has_the_fence_lock) {
    sim_node& hv1 = start();
    const auto other = take_lock(0, "hv2:1:fencing:a dead node");
    board.is_reachable = false;
    dead_for(60s);
    const auto said = confirm(hv1, loop.clock().now() + 40s, true);
    dead_for(40s);
    ASSERT_TRUE(said->answer && !*said->answer) << hv1.log();
    EXPECT_EQ(said->answer->error().code(), errc::timed_out);
    EXPECT_EQ(said->answer->error().cause(),
              "hv2:1:fencing:a dead node has the fence lock: say it on node hv2, or ask again when that fence is over; "
              "--although-on does not help");
    EXPECT_EQ(state(), "run");
    ensemble.close_session(other);
}

TEST_F(fencer_faults, explained) {
    sim_node& hv1 = start();
    const auto ask = [&] {
        const auto all = core::all_that_are<core::explainer>(hv1.daemon().subjects());
        const auto found = std::ranges::find(all, "fences", [](const auto* one) { return one->topic(); });
        EXPECT_NE(found, all.end());
        std::string text;
        const auto said = (*found)->explain(loop.clock().now() + 5s);
        EXPECT_TRUE(said->answer && *said->answer);
        for (const auto& row : (*said->answer)->lists.at(0).second) {
            for (const auto& [name, what] : row) {
                const auto* words = std::get_if<std::string>(&what);
                text += std::string(name) + "=" + (words == nullptr ? "" : *words) + " ";
            }
        }
        return text;
    };
    EXPECT_NE(ask().find("node=hv3 is=well"), std::string::npos) << ask();
    dead_for(50s);
    EXPECT_NE(ask().find("node=hv3 is=being fenced heartbeat_age_s= why=saving throws"), std::string::npos) << ask();
    board.is_reachable = false;
    dead_for(300s);
    EXPECT_NE(ask().find("why=it was not seen off, 1 time"), std::string::npos) << ask();
    EXPECT_NE(ask().find("pvcnodectl fence confirm hv3"), std::string::npos);
}

}  // namespace
}  // namespace pvc::node
