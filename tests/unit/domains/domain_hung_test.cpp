// A guest that is off while its process stays (class D) does not hold its machine up for ever (README ruling 23).
#include "domain_fixture.hpp"

namespace pvc::node {
namespace {

constexpr model::guest_status going{run_state::shutting_down, pause_cause::none};

class domain_hung : public domain_test {
protected:
    void hangs_at_its_end(const std::string& state = "start", const std::string& node = "hv1") {
        define_running();
        add_running_host();
        pass(2s);
        machine().clear_calls();
        guest().set_kind(sim::guest_kind::hang);
        guest().set_status(going);
        since = loop.clock().now();
        if (node != "hv1") {
            put_host(node);
            place(state, node, "hv1");
        } else if (state != "start") {
            set(state);
        }
    }
    // One whose own limit of a shutdown is far off.
    void patient_host() {
        sim_node& node = add_host();
        node.settings.vm_shutdown_timeout = 180;
        node.start();
        ASSERT_TRUE(node.run_until_ready());
        pass(2s);
        machine().clear_calls();
    }
    [[nodiscard]] double destroyed_after() {
        const auto times = machine().times("destroy U1");
        return times.empty() ? 0.0 : std::chrono::duration<double>(times.front() - since).count();
    }
    time_point since{};
};

TEST_F(domain_hung, in_start_it_is_destroyed_after_60_s_and_started_again) {
    hangs_at_its_end();
    pass(59s);
    EXPECT_TRUE(calls().empty()) << pvc::join(calls(), ", ");
    ASSERT_TRUE(run_until([&] { return guest().executes(); }, 10s)) << nodes.front().log();
    EXPECT_NEAR(destroyed_after(), 60.0, 0.5);
    EXPECT_EQ(state(), "start");
}

TEST_F(domain_hung, where_it_is_to_be_off_after_30_s) {
    for (const std::string state : {"stop", "disable", "delete"}) {
        SCOPED_TRACE(state);
        nodes.clear();
        guest().vanish();
        ensemble.remove_tree(key());
        hangs_at_its_end(state);
        pass(28s);
        EXPECT_EQ(machine().count("destroy U1"), 0U);
        ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 10s)) << nodes.front().log();
        EXPECT_NEAR(destroyed_after(), 30.0, 0.5);
        EXPECT_EQ(this->state(), state);
    }
}

TEST_F(domain_hung, of_another_node_after_60_s) {
    hangs_at_its_end("start", "hv2");
    pass(58s);
    EXPECT_EQ(machine().count("destroy U1"), 0U);
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 10s)) << nodes.front().log();
    EXPECT_NEAR(destroyed_after(), 60.0, 0.5);
}

TEST_F(domain_hung, in_the_middle_of_a_shutdown) {
    define_running();
    patient_host();
    guest().going_time = 3600s;
    set("shutdown");
    ASSERT_TRUE(run_until([&] { return guest().what() == guest_class::ending; }, 10s));
    since = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return state() == "stop"; }, 60s)) << nodes.front().log();
    EXPECT_NEAR(destroyed_after(), 30.0, 0.5);
}

// Its process still has the disks: whoever recovers this node must know (vm-domains.md 11.3).
TEST_F(domain_hung, it_is_in_the_running_list_until_it_is_gone) {
    hangs_at_its_end("stop");
    pass(10s);
    EXPECT_EQ(running(), to_text(u1)) << nodes.front().log();
    guest().vanish();
    ASSERT_TRUE(run_until([&] { return running().empty(); }, 5s));
}

TEST_F(domain_hung, a_new_daemon_lists_it_too) {
    define_running("stop");
    guest().set_kind(sim::guest_kind::hang);
    guest().set_status(going);
    add_running_host();
    pass(10s);
    EXPECT_EQ(running(), to_text(u1)) << nodes.front().log();
}

TEST_F(domain_hung, nobody_says_that_it_must_go) {
    hangs_at_its_end("frobnicate");
    pass(300s);
    EXPECT_EQ(machine().count("destroy U1"), 0U);
}

TEST_F(domain_hung, one_that_ends_in_time_is_not_destroyed) {
    define_running();
    patient_host();
    guest().going_time = 25s;
    set("shutdown");
    ASSERT_TRUE(run_until([&] { return state() == "stop"; }, 60s));
    EXPECT_EQ(machine().count("destroy U1"), 0U);
}

}  // namespace
}  // namespace pvc::node
