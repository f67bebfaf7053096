// A node that is declared fenced, and is alive: what was taken over ends before it says `run` (AC28), and nothing is
// created while its machines are being moved (AC112), whenever that begins.
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class domain_fence : public migration_fixture {
protected:
    // U1 and U2 run on hv1, which is ours.
    void two_run() {
        put_hosts({"hv2"});
        define("start", "hv1");
        define("start", "hv1", {}, {}, u2, "db");
        machine().put_running(u1, "web", xml(u1));
        machine().put_running(u2, "db", xml(u2, "db"));
        add_our_host();
        pass(6s);
        forget();
        machine().clear_calls();
        began = ensemble.zxid();
    }
    [[nodiscard]] std::string daemon() const { return value("/nodes/hv1/daemonstate"); }
    void fence(const std::string& domain_state = {}) {
        std::map<std::string, std::string> keys{{"/nodes/hv1/daemonstate", "fenced"}};
        if (!domain_state.empty()) {
            keys["/nodes/hv1/domainstate"] = domain_state;
        }
        ensemble.put(keys);
    }
    bool until_run(duration limit = 30s) {
        return run_until([&] { return daemon() == "run"; }, limit);
    }
    [[nodiscard]] std::size_t beats() const {
        return static_cast<std::size_t>(std::ranges::count_if(ensemble.trace(), [this](const auto& change) {
            return change.zxid > began && change.what == recorded_kind::set && change.path == "/nodes/hv1/keepalive";
        }));
    }
    std::int64_t began = 0;
};

TEST_F(domain_fence, AC28_what_was_taken_over_ends_before_it_says_run) {
    two_run();
    guest().destroy_time = 12s;
    ensemble.put({{key("/node"), "hv2"}, {"/nodes/hv1/daemonstate", "fenced"}});
    pass(11s);
    EXPECT_EQ(daemon(), "fenced") << hv1().log();
    EXPECT_TRUE(guest().is_there());
    EXPECT_GE(beats(), 2U) << "the heartbeat goes on";
    ASSERT_TRUE(until_run()) << hv1().log();
    EXPECT_FALSE(guest().is_there());
    EXPECT_TRUE(machine().executes(u2));
    EXPECT_EQ(machine().count("destroy U2"), 0U);
    const auto& trace = ensemble.trace();
    const auto run = std::ranges::find_if(trace, [this](const auto& change) {
        return change.zxid > began && change.path == "/nodes/hv1/daemonstate" && change.data == "run";
    });
    ASSERT_NE(run, trace.end());
    EXPECT_TRUE(std::ranges::any_of(trace, [&](const auto& change) {
        return change.zxid == run->zxid && change.path == "/nodes/hv1/keepalive";
    })) << "with the heartbeat";
}

// A clean-up counts for the fence that it answered, and for no other.
TEST_F(domain_fence, AC28_a_second_fence_is_cleaned_up_after_before_it_says_run) {
    two_run();
    ensemble.put({{key("/node"), "hv2"}, {"/nodes/hv1/daemonstate", "fenced"}});
    ASSERT_TRUE(until_run()) << hv1().log();
    ASSERT_FALSE(guest().is_there());
    machine().guest(u2).destroy_time = 12s;
    ensemble.put({{"/domains/" + to_text(u2) + "/node", "hv2"}, {"/nodes/hv1/daemonstate", "fenced"}});
    pass(8s);
    EXPECT_EQ(daemon(), "fenced") << hv1().log();
    EXPECT_TRUE(machine().guest(u2).is_there());
    ASSERT_TRUE(until_run()) << hv1().log();
    EXPECT_FALSE(machine().guest(u2).is_there());
}

TEST_F(domain_fence, AC28_nothing_was_taken_over) {
    two_run();
    fence();
    ASSERT_TRUE(until_run(2s)) << hv1().log();
    EXPECT_TRUE(calls().empty());
}

TEST_F(domain_fence, AC28_while_its_machines_are_being_moved_all_end_and_none_is_created) {
    two_run();
    fence("fence-flush");
    ASSERT_TRUE(until_run()) << hv1().log();
    EXPECT_FALSE(guest().is_there());
    EXPECT_FALSE(machine().guest(u2).is_there());
    pass(30s);
    EXPECT_EQ(machine().count("create U1") + machine().count("create U2"), 0U) << hv1().log();
    EXPECT_EQ(
        hv1().times_logged("the domain state of this node is fence-flush: whoever fenced it moves its machines, "
                           "or a client wrote that; none is started here until that is over, or nothing was moved "
                           "for 180 s [fenced-holds]"),
        1U)
        << hv1().log();
    ensemble.put({{key("/node"), "hv2"}, {key("/lastnode"), "hv1"}, {key("/state"), "start"}});
    ensemble.put("/nodes/hv1/domainstate", "flushed");
    ASSERT_TRUE(run_until([&] { return machine().executes(u2); }, 10s)) << hv1().log();
    pass(5s);
    EXPECT_FALSE(guest().is_there());
}

TEST_F(domain_fence, AC28_in_a_new_session) {
    two_run();
    hv1().connector.link().cut();
    pass(12s);
    fence();
    ensemble.put(key("/node"), "hv2");
    hv1().connector.link().mend();
    ASSERT_TRUE(until_run()) << hv1().log();
    EXPECT_FALSE(guest().is_there());
    EXPECT_TRUE(machine().executes(u2));
}

TEST_F(domain_fence, AC28_libvirt_is_away) {
    two_run();
    machine().kill_libvirtd();
    pass(1s);
    fence();
    pass(20s);
    EXPECT_EQ(daemon(), "fenced") << "nobody knows what runs here";
    machine().start_libvirtd();
    EXPECT_TRUE(until_run()) << hv1().log();
}

TEST_F(domain_fence, AC28_a_stranger_is_left_alone) {
    two_run();
    ensemble.remove_tree(key());
    pass(5s);
    fence("fence-flush");
    ASSERT_TRUE(until_run()) << hv1().log();
    EXPECT_TRUE(executes("hv1"));
    EXPECT_FALSE(machine().executes(u2));
}

TEST_F(domain_fence, AC28_declared_twice) {
    two_run();
    fence();
    ASSERT_TRUE(until_run());
    pass(10s);
    ensemble.put({{key("/node"), "hv2"}, {"/nodes/hv1/daemonstate", "fenced"}});
    ASSERT_TRUE(until_run()) << hv1().log();
    EXPECT_FALSE(guest().is_there());
}

TEST_F(domain_fence, AC112_the_hold_begins_whenever_the_domain_state_says_so) {
    two_run();
    ensemble.put("/nodes/hv1/domainstate", "fence-flush");
    pass(1s);
    guest().crash();
    pass(30s);
    EXPECT_FALSE(guest().is_there());
    EXPECT_EQ(machine().count("create U1"), 0U) << hv1().log();
    ensemble.put("/nodes/hv1/domainstate", "flushed");
    EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 10s)) << hv1().log();
}

TEST_F(domain_fence, AC112_and_again_in_the_same_session) {
    two_run();
    for (int i = 0; i < 2; ++i) {
        ensemble.put("/nodes/hv1/domainstate", "fence-flush");
        pass(1s);
        machine().clear_calls();
        guest().crash();
        pass(30s);
        EXPECT_EQ(machine().count("create U1"), 0U) << hv1().log();
        ensemble.put("/nodes/hv1/domainstate", "ready");
        EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 10s)) << hv1().log();
        pass(2s);
    }
}

TEST_F(domain_fence, AC112_a_creation_that_is_just_being_prepared_is_given_up) {
    put_hosts({"hv2"});
    hardware.rbd.add_image("vms/web_sda");
    hardware.rbd.list_time = 3s;
    define("stop", "hv1", {}, {{"/rbdlist", "vms/web_sda"}});
    add_our_host();
    pass(2s);
    set("start");
    pass(1s);
    ensemble.put("/nodes/hv1/domainstate", "fence-flush");
    pass(30s);
    EXPECT_EQ(machine().count("create U1"), 0U) << hv1().log();
    ensemble.put("/nodes/hv1/domainstate", "flushed");
    EXPECT_TRUE(run_until([&] { return executes("hv1"); }, 15s)) << hv1().log();
}

}  // namespace
}  // namespace pvc::node
