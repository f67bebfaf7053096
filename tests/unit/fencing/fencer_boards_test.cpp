// What boards say, what a self-reset proves, and a fence that its daemon forgot, in whole daemons. Acceptance cases
// AC56, AC57, AC70, AC122 (node-lifecycle.md B.4; README rulings 37, 40, 48). While boards or disks hang, heartbeats
// come at the interval.
#include "unit/fencing/fencer_fixture.hpp"

namespace pvc::node {
namespace {

class fencer_boards : public fencer_fixture {
protected:
    // What hv3 last said of its reset, in the same moment as its heartbeat, or later.
    void say_of_reset(const std::string& text, bool is_of_beat = true) {
        ensemble.put("/nodes/hv3/selfreset", text);
        zookeeper::transaction beat;
        beat.set("/nodes/hv3/keepalive", "1700001234", zookeeper::any_version);
        if (is_of_beat) {
            beat.set("/nodes/hv3/selfreset", text, zookeeper::any_version);
        }
        EXPECT_TRUE(ensemble.commit(beat));
        died = loop.clock().now();
    }
    sim_node& start_with_reset() {
        return start("hypervisor", {.coordinators = {"hv1"}, .suicide_intervals = 6, .recovers_after_failure = true});
    }
    [[nodiscard]] std::string machine_on() const { return value(std::string("/domains/") + vm1 + "/node"); }
};

// The crashed daemon keeps nothing of it: whoever of the two takes it up does so when the mark has rested.
TEST_F(fencer_boards, AC56_a_fence_that_its_daemon_has_forgotten) {
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    put_machine(vm1);
    dead_for(50s);
    ASSERT_EQ(state(), "dead") << hv1.log() << hv4.log();
    const auto has_record = [](const sim_node& node) {
        return std::ranges::any_of(node.host.files, [](const auto& one) {
            return one.first.starts_with("/var/lib/pvc/fences/2") && one.first.ends_with("-hv3.json");
        });
    };
    ASSERT_NE(has_record(hv1), has_record(hv4));
    sim_node& fencer = has_record(hv1) ? hv1 : hv4;
    const double marked = when("/daemonstate", "dead");
    fencer.kill();
    std::erase_if(fencer.host.files, [](const auto& one) { return one.first.starts_with("/var/lib/pvc/fences/2"); });
    dead_for(25s);
    fencer.start();
    dead_for(std::chrono::milliseconds(static_cast<int>((marked + 179 - 75) * 1000)));
    EXPECT_EQ(offs(), std::vector<std::string>()) << hv1.log() << hv4.log();
    EXPECT_EQ(state(), "dead");
    dead_for(28s);
    EXPECT_EQ(offs(), std::vector<std::string>()) << "six throws: " << hv1.log() << hv4.log();
    dead_for(40s);
    EXPECT_EQ(state(), "fenced") << hv1.log() << hv4.log();
    EXPECT_EQ(machine_on(), "hv2");
    dead_for(100s);  // nobody runs it on hv2, which is looked for
    EXPECT_EQ(offs(), (std::vector<std::string>{"off", "on"}));
    EXPECT_EQ(std::ranges::count(values_written("/nodes/hv3/daemonstate"), "dead"), 1);
}

// The rows of 10.3, with what a real board does: whether `off` was accepted, and what is seen of the power then.
struct board_row {
    const char* name;
    void (*is_like)(sim::sim_bmc& board);  // before it is told anything
    bool is_success = false;
    void (*then)(sim::sim_bmc& board) = nullptr;  // 3 s after the first `off` was told
};

class fencer_board_rows : public fencer_boards, public ::testing::WithParamInterface<board_row> {};

TEST_P(fencer_board_rows, AC57_what_is_seen_off_is_off) {
    sim_node& hv1 = start();
    put_machine(vm1);
    GetParam().is_like(board);
    dead_for(60s);
    ASSERT_TRUE(run_until([&] { return !offs().empty(); }, 20s)) << hv1.log();
    dead_for(3s);
    if (GetParam().then != nullptr) {
        GetParam().then(board);
    }
    dead_for(240s);
    EXPECT_EQ(state(), GetParam().is_success ? "fenced" : "dead") << hv1.log();
    EXPECT_EQ(machine_on(), GetParam().is_success ? "hv2" : "hv3") << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/fenceproof").ends_with(" hv1 power"), GetParam().is_success);
    EXPECT_EQ(offs().back(), "on") << "whichever it was, it is switched on";
}

INSTANTIATE_TEST_SUITE_P(
    each, fencer_board_rows,
    ::testing::Values(board_row{"accepted, off", [](sim::sim_bmc&) {}, true},
                      board_row{"accepted, on all along", [](sim::sim_bmc& b) { b.lies = true; }},
                      board_row{"accepted, on, off later", [](sim::sim_bmc& b) { b.acts_after = 8s; }, true},
                      board_row{"accepted, then silent", [](sim::sim_bmc& b) { b.lies = true; }, false,
                                [](sim::sim_bmc& b) { b.is_reachable = false; }},
                      board_row{"refused, on", [](sim::sim_bmc& b) { b.refuses = true; }},
                      board_row{"refused, off later", [](sim::sim_bmc& b) { b.refuses = true; }, true,
                                [](sim::sim_bmc& b) { b.set_power(false); }},
                      board_row{"no answer at all", [](sim::sim_bmc& b) { b.is_reachable = false; }},
                      board_row{"no answer, then off", [](sim::sim_bmc& b) { b.is_reachable = false; }, true,
                                [](sim::sim_bmc& b) {
                                    b.set_power(false);
                                    b.is_reachable = true;
                                }}),
    [](const auto& row) {
        std::string name = row.param.name;
        std::ranges::replace_if(name, [](char c) { return c == ' ' || c == ','; }, '_');
        return name;
    });

TEST_F(fencer_boards, AC70_letters_of_any_case) {
    sim_node& hv1 = start();
    put_machine(vm1);
    hv1.boards.add([&](const async::command& what) {
        auto program = board.answer(what);
        if (program && program->output.find("Power is off") != std::string::npos) {
            program->output = "chassis power is OFF\n";
        }
        return program;
    });
    dead_for(120s);
    EXPECT_EQ(state(), "fenced") << hv1.log();
    EXPECT_EQ(machine_on(), "hv2");
}

TEST_F(fencer_boards, AC122_b_d_what_is_no_lease_proves_nothing) {
    for (const bool is_armed : {false, true}) {
        SCOPED_TRACE(is_armed);
        sim_node& hv1 = start_with_reset();
        put_machine(vm1);
        board.refuses = true;
        say_of_reset(is_armed ? "armed 40" : "off", !is_armed);
        dead_for(250s);
        EXPECT_EQ(state(), "dead") << hv1.log();
        EXPECT_EQ(machine_on(), "hv3") << hv1.log();
        EXPECT_NE(hv1.log().find("[fence-no-proof]"), std::string::npos) << hv1.log();
        hv1.kill();
        nodes.clear();
        board.refuses = false;
    }
}

TEST_F(fencer_boards, AC122_c_a_lease_that_is_over_is_a_proof) {
    sim_node& hv1 = start_with_reset();
    put_machine(vm1);
    board.refuses = true;
    say_of_reset("armed 110");
    dead_for(110s);
    EXPECT_EQ(machine_on(), "hv3") << hv1.log();
    dead_for(30s);
    EXPECT_EQ(machine_on(), "hv2") << hv1.log();
    EXPECT_EQ(state(), "dead") << "it was not seen off";
    EXPECT_TRUE(value("/nodes/hv3/fenceproof").ends_with(" hv1 lease")) << value("/nodes/hv3/fenceproof");
    dead_for(100s);  // nobody runs it on hv2, which is looked for
    EXPECT_EQ(value("/nodes/hv3/domainstate"), "flushed");
}

TEST_F(fencer_boards, AC122_e_who_beats_before_the_end_of_its_lease_passes) {
    sim_node& hv1 = start_with_reset();
    put_machine(vm1);
    board.refuses = true;
    say_of_reset("armed 110");
    dead_for(100s);
    ASSERT_EQ(state(), "dead") << hv1.log();
    run_with_beats(100s, {"hv2", "hv3"});
    EXPECT_EQ(machine_on(), "hv3") << hv1.log();
    EXPECT_EQ(value("/nodes/hv3/fenceproof"), "<missing>");
    EXPECT_EQ(value("/nodes/hv3/domainstate"), "ready");
    EXPECT_EQ(record(hv1).outcome, model::fence_outcome::passed);
}

// Of whoever fences, and of whoever cannot write his record.
class fencer_hangs : public fencer_boards, public ::testing::WithParamInterface<bool> {};

TEST_P(fencer_hangs, no_heartbeat_is_later_than_100_ms) {
    const bool is_disk = GetParam();
    sim_node& hv4 = add_hv4();
    sim_node& hv1 = start("hypervisor", {.coordinators = {"hv1", "hv4"}});
    put_machine(vm1);
    for (auto* node : {&hv1, &hv4}) {
        if (is_disk) {
            node->host.disk_time = 1h;
        } else {
            node->boards.add([&](const async::command& what) {
                auto program = board.answer(what);
                if (program && what.arguments.front().ends_with("ipmitool")) {
                    program->takes = 1h;
                    program->ignores_term = true;
                }
                return program;
            });
        }
    }
    const time_point from = loop.clock().now();
    dead_for(400s);
    EXPECT_EQ(state(), is_disk ? "run" : "dead") << hv1.log() << hv4.log();
    for (const auto* name : {"hv1", "hv4"}) {
        const auto gaps = beat_gaps(name, from);
        ASSERT_GE(gaps.size(), 78U) << name;
        EXPECT_LE(gaps.front(), 5.1) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(each, fencer_hangs, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "disk" : "board"; });

}  // namespace
}  // namespace pvc::node
