// README rulings 21, 78: a flush does not try a dead target with every machine, and what arrives late goes on.
#include "domain_state_fixture.hpp"

namespace pvc::node {
namespace {

class flush_targets : public domain_state_fixture {
protected:
    // hv1 with machines that must move live; hv2 has the most memory, and no libvirt.
    void dead_target(const std::vector<uuid>& machines, bool with_another) {
        for (const auto& id : machines) {
            machine_on(id, "hv1", "start", {}, {{"/migration_method", "live"}});
        }
        add_ready("hv1", 1000);
        add_ready("hv2", 8000);
        if (with_another) {
            add_ready("hv4", 6000);
        }
        settle();
        machine("hv2").kill_libvirtd();
    }
    // u1 was to come to hv1, whose peer hv2 is only about to send it; hv1 is flushed meanwhile.
    void flushed_before_it_comes() {
        machine_on(u1, "hv2", "start");
        add_ready("hv1", 1000);
        auto& sender = add_ready("hv2", 8000);
        add_ready("hv4", 6000);
        settle();
        sender.pause();
        move_to("hv1");
        pass(1s);
        order("flush");
        ASSERT_TRUE(until_word("flushed")) << hv1().log();
        sender.resume();
    }
    void move_to(const std::string& node) { place("migrate", node, "hv2"); }
    static std::size_t moves_to(const std::string& node, const std::vector<std::string>& jobs) {
        return static_cast<std::size_t>(std::ranges::count_if(
            jobs, [&](const std::string& one) { return one.find("node=" + node + " ") != std::string::npos; }));
    }
};

TEST_F(flush_targets, a_dead_target_is_left_out_after_two_moves) {
    dead_target({u1, u2, u3, u4}, true);
    order("flush");
    ASSERT_TRUE(until_word("flushed", 600s)) << hv1().log();
    EXPECT_EQ(moves_to("hv2", jobs()), 2U);
    EXPECT_EQ(moves_to("hv4", jobs()), 4U) << "those that failed are tried with another node after the others";
    for (const auto& id : {u1, u2, u3, u4}) {
        EXPECT_EQ(place_of(id), "start hv4 hv1");
    }
    EXPECT_TRUE(hv1().logged("flush: two virtual machines could not be moved to node hv2, it is left out for 10 min"));
    EXPECT_TRUE(hv1().logged("no virtual machine runs here any more"));
}

TEST_F(flush_targets, with_nobody_left_they_go_on_running_and_that_is_an_error) {
    dead_target({u1, u2, u3}, false);
    order("flush");
    ASSERT_TRUE(until_word("flushed", 600s)) << hv1().log();
    for (const auto& id : {u1, u2, u3}) {
        EXPECT_EQ(place_of(id), "start hv1 ");
        EXPECT_TRUE(machine().executes(id));
        EXPECT_EQ(value(key_of(id, "/node_autostart")), "False");
    }
    EXPECT_GE(moves_to("hv2", jobs()), 4U) << "for a minute at the end";
    EXPECT_TRUE(hv1().logged("failed: flush: done after"));
    EXPECT_TRUE(hv1().logged("but still running here: web, db, m00000003")) << hv1().log();
    std::vector<std::string> status;
    for (const auto* one : core::all_that_are<core::reporter>(hv1().daemon().subjects())) {
        one->report(status);
    }
    EXPECT_TRUE(std::ranges::any_of(status, [](const auto& line) {
        return line.starts_with("flush: this node is `flushed`, and 3 virtual machine(s) run here: web, db, ");
    }));
}

TEST_F(flush_targets, what_comes_back_in_the_last_minute_takes_all) {
    dead_target({u1, u2, u3}, false);
    order("flush");
    ASSERT_TRUE(run_until([&] { return hv1().logged("it is left out for 10 min"); }, 120s)) << hv1().log();
    pass(20s);
    machine("hv2").start_libvirtd();
    ASSERT_TRUE(until_word("flushed", 600s)) << hv1().log();
    for (const auto& id : {u1, u2, u3}) {
        EXPECT_EQ(place_of(id), "start hv2 hv1");
    }
    EXPECT_TRUE(hv1().logged("no virtual machine runs here any more")) << hv1().log();
}

// What a libvirt answers is about the machine.
TEST_F(flush_targets, machines_that_are_refused_keep_no_other_from_its_place) {
    for (const auto& id : {u1, u2, u3, u4}) {
        machine_on(id, "hv1", "start", {}, {{"/migration_method", "live"}});
    }
    add_ready("hv1", 1000);
    add_ready("hv2", 8000);
    settle();
    machine("hv2").refuses = {u1, u2};
    order("flush");
    ASSERT_TRUE(until_word("flushed", 600s)) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_EQ(place_of(u2), "start hv1 ");
    EXPECT_EQ(place_of(u3), "start hv2 hv1");
    EXPECT_EQ(place_of(u4), "start hv2 hv1");
    EXPECT_EQ(moves_to("hv2", jobs()), 4U) << "who was refused is not tried there again";
}

// A node that comes to be ready just then: what is written rests on what every node says of itself.
TEST_F(flush_targets, a_node_that_becomes_ready_in_the_last_moment_is_seen) {
    machine_on(u1, "hv1");
    add_ready("hv1", 1000);
    add_ready("hv2", 8000, "flushed");
    settle();
    int looks = 0;
    hv1().connector.link().on_request = [&](const zookeeper::request& what) {
        if (what.path == key_of(u1, "/node_limit") && ++looks == 3) {
            order("ready", "hv2");  // the rules are read before the nodes: one look later
        }
        return sim::verdict::answer;
    };
    order("flush");
    ASSERT_TRUE(until_word("flushed", 300s)) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv2 hv1") << looks;
}

TEST_F(flush_targets, one_failure_shuts_nothing_down) {
    dead_target({u1}, false);
    order("flush");
    ASSERT_TRUE(until_word("flushed", 600s)) << hv1().log();
    EXPECT_GE(moves_to("hv2", jobs()), 3U);
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_TRUE(hv1().logged("flush: it could not be moved, it stays here"));
}

TEST_F(flush_targets, the_next_flush_tries_the_node_again) {
    dead_target({u1, u2, u3}, true);
    order("flush");
    ASSERT_TRUE(until_word("flushed", 600s)) << hv1().log();
    machine("hv2").start_libvirtd();
    pass(30s);
    order("unflush");
    ASSERT_TRUE(until_word("ready", 600s)) << hv1().log();
    mark();
    order("flush");
    ASSERT_TRUE(until_word("flushed", 600s)) << hv1().log();
    EXPECT_EQ(moves_to("hv2", jobs()), 3U);
}

TEST_F(flush_targets, what_arrives_on_a_flushed_node_goes_on) {
    flushed_before_it_comes();
    ASSERT_TRUE(run_until([&] { return place_of(u1) == "start hv2 "; }, 300s)) << hv1().log() << place_of(u1);
    EXPECT_EQ(jobs().back(), "U1 state=migrate node=hv2 lastnode=");
    EXPECT_TRUE(hv1().logged("flush: it came by a move that began before, it goes on"));
    EXPECT_EQ(word(), "flushed");
    EXPECT_TRUE(run_until([&] { return running().empty(); }, 10s));
}

TEST_F(flush_targets, what_arrived_late_goes_on_in_the_next_session) {
    flushed_before_it_comes();
    ASSERT_TRUE(run_until([&] { return hv1().logged("flush: it came by a move that began before"); }, 300s))
        << hv1().log();
    hv1().connector.link().expire_sessions();
    ASSERT_TRUE(run_until([&] { return place_of(u1) == "start hv2 "; }, 300s)) << hv1().log() << place_of(u1);
}

TEST_F(flush_targets, what_a_client_moves_there_afterwards_stays) {
    machine_on(u1, "hv2", "start");
    add_ready("hv1", 1000);
    add_ready("hv2", 8000);
    settle();
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    move_to("hv1");
    ASSERT_TRUE(run_until([&] { return place_of(u1) == "start hv1 hv2"; }, 60s)) << hv1().log();
    pass(60s);
    EXPECT_EQ(place_of(u1), "start hv1 hv2");
}

TEST_F(flush_targets, what_arrived_while_the_node_was_ready_is_no_late_arrival) {
    machine_on(u1, "hv2", "start", {}, {{"/migration_method", "live"}});
    add_ready("hv1", 1000);
    add_ready("hv2", 8000, "flushed");
    settle();
    move_to("hv1");
    ASSERT_TRUE(run_until([&] { return place_of(u1) == "start hv1 hv2"; }, 60s)) << hv1().log();
    pass(1s);
    order("flushed");
    pass(60s);
    EXPECT_EQ(place_of(u1), "start hv1 hv2") << "nobody ordered anything";
}

TEST_F(flush_targets, a_late_arrival_goes_on_when_the_node_is_made_ready_no_more) {
    flushed_before_it_comes();
    order("ready");
    pass(60s);
    EXPECT_EQ(place_of(u1), "start hv1 hv2");
}

}  // namespace
}  // namespace pvc::node
