// Receiving a machine (vm-domains.md B.6): from the scripted reference, and when nobody sends it.
#include "domain_migration_fixture.hpp"

namespace pvc::node {
namespace {

class domain_receive : public migration_fixture {
protected:
    void flush_places(const std::string& state = "migrate") {
        forget();
        began = loop.clock().now();
        place(state, "hv1", "hv2");
    }
    void reference_runs_it(const sim::foreign_migration_times& times = {},
                           const std::map<std::string, std::string>& keys = {}) {
        hv2_runs_it(keys);
        add_reference("hv2", times);
        pass(1s);
        EXPECT_EQ(running("hv2"), to_text(u1));
    }
    time_point began{};
};

TEST_F(domain_receive, D71_from_the_reference) {
    reference_runs_it();
    client();
    forget();
    client_places("migrate", "hv1", "hv2");
    ASSERT_TRUE(until_state("migrate"));
    ASSERT_TRUE(until_state("start")) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({"state=migrate", "sync=U1", "hv1 +sync", "hv2 +sync", "hv1 -sync", "hv1 +sync", "hv1 list=U1",
                          "state=start", "vnc=127.0.0.1:5900", "hv1 -sync", "sync="}))
        << story();
    EXPECT_TRUE(calls().empty()) << pvc::join(calls(), ", ");
    EXPECT_TRUE(settled_on("hv1")) << story();
    EXPECT_EQ(value(key("/lastnode")), "hv2");
}

TEST_F(domain_receive, D71_it_is_started_by_the_arrival_not_by_the_release) {
    sim::foreign_migration_times times;
    times.before_release = 5s;
    reference_runs_it(times);
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }));
    EXPECT_TRUE(run_until([&] { return state() == "start"; }, 500ms)) << story();
    EXPECT_FALSE(was("hv2 -sync"));
    pass(10s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D72_the_sender_queues_first) {
    sim::foreign_migration_times times;
    times.notice = 0s;
    times.pause = 0s;
    reference_runs_it(times);
    hv1().connector.link().watch_delay = 300ms;
    flush_places();
    ASSERT_TRUE(until_state("start", 20s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({"hv2 +sync", "hv1 +sync", "hv1 list=U1", "state=start", "hv1 -sync", "sync="})) << story();
    EXPECT_LT(seconds_since(began), 10.0);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D73_through_a_shutdown) {
    reference_runs_it({}, {{"/migration_method", "shutdown"}});
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 60s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({"hv2 list=", "state=stop", "state=start", "hv1 list=U1", "hv1: create U1"})) << story();
    EXPECT_EQ(calls(), std::vector<std::string>{"create U1"});
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D74_the_sender_rolls_back_and_leaks) {
    reference_runs_it({}, {{"/migration_method", "live"}});
    for (int i = 0; i < 3; ++i) {
        guest("hv2").fail_migration(migration_step::copy, {call_error::other, "refused"});
    }
    flush_places();
    ASSERT_TRUE(until_state("start")) << story();
    const auto own = count("hv1 +sync");
    EXPECT_TRUE(run_until([&] { return count("hv1 -sync") == own; }, 1s)) << story();
    pass(1s);
    EXPECT_EQ(value(key("/migrate_sync_lock")), "");
    EXPECT_EQ(locks_left(), 1U) << "the reference's";
    EXPECT_TRUE(executes("hv2"));
    EXPECT_EQ(value(key("/node")), "hv2");
    pass(10s);
    ensemble.put(key("/migration_method"), "none");
    flush_places();
    ASSERT_TRUE(until_state("start", 30s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D75_not_finished_when_the_lock_is_granted) {
    reference_runs_it();
    hardware.centre.times.bandwidth_bytes_per_second = 16.0 * 1024 * 1024;
    flush_places();
    ASSERT_TRUE(until_copying("hv2", "hv1"));
    peers.front().link().expire_sessions();  // the call goes on
    pass(1s);
    EXPECT_TRUE(guest().is_there());
    EXPECT_FALSE(executes("hv1"));
    EXPECT_EQ(state(), "migrate");
    ASSERT_TRUE(until_state("start", 10s)) << story();
    EXPECT_FALSE(was("state=fail"));
    pass(5s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D76_recovered_here_during_the_wait) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.1:0/3");
    hv2_runs_it({{"/rbdlist", "vms/web_sda"}});
    flush_places();
    pass(2s);
    machine("hv2").lose_power();
    stop_beating("hv2");
    ensemble.put({{"/nodes/hv2/daemonstate", "fenced"}, {"/nodes/hv2/runningdomains", ""}});
    hardware.rbd.clear_calls();
    place("start", "hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 10s)) << story() << hv1().log();
    EXPECT_EQ(hardware.rbd.calls().at(0), "blocklisted") << "whether a monitor answers";
    EXPECT_EQ(hardware.rbd.calls().at(1), "list vms/web_sda");
    pass(3s);
    EXPECT_TRUE(in_order({"state=start", "hv1 list=U1", "hv1: create U1"})) << story();
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D77_it_runs_nowhere) {
    hv2_runs_it();
    machine("hv2").guest(u1).vanish();
    ensemble.put("/nodes/hv2/runningdomains", "");
    flush_places();
    pass(55s);
    EXPECT_EQ(state(), "migrate");
    EXPECT_TRUE(calls().empty());
    ASSERT_TRUE(until_state("start", 20s)) << hv1().log();
    EXPECT_GE(seconds_since(began), 60.0);
    EXPECT_LE(seconds_since(began), 71.0);
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 5s));
    pass(2s);
    EXPECT_TRUE(in_order({"state=start", "hv1 list=U1", "hv1: create U1"})) << story();
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D77a_it_was_off) {
    hv2_runs_it({}, "stop");
    flush_places();
    ASSERT_TRUE(until_state("stop", 15s)) << hv1().log();
    pass(5s);
    EXPECT_EQ(value(key("/node")), "hv1");
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(locks_left(), 0U);
    EXPECT_EQ(value(key("/migrate_sync_lock")), "");
}

TEST_F(domain_receive, D78_the_sender_is_late) {
    hv2_runs_it();
    flush_places();
    pass(100s);
    EXPECT_EQ(state(), "migrate");
    EXPECT_TRUE(calls().empty());
    EXPECT_TRUE(hv1().logged("has not come yet: another node still has it"));
    stop_beating("hv2");
    add_our_host("hv2");
    ASSERT_TRUE(until_state("start")) << story();
    pass(3s);
    EXPECT_TRUE(in_order({"hv2: migrate U1 hv1.pvc.local tcp://hv1.pvc.local", "state=start"})) << story();
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D79_it_arrives_paused) {
    hv2_runs_it();
    guest("hv2").pause_by_io_error("sda");
    flush_places();
    const auto peer = ensemble.open_session();
    ASSERT_TRUE(run_until([&] { return was("hv1 +sync"); }));
    const auto sync = contend("/migrate_sync_lock", peer);
    pass(1s);
    const auto driver = hardware.centre.migrate(u1, "hv2", "hv1");
    ASSERT_TRUE(until_state("start", 5s)) << story() << hv1().log();
    leave(sync);
    ensemble.put("/nodes/hv2/runningdomains", "");
    pass(2s);
    EXPECT_TRUE(hv1().logged("paused"));
    EXPECT_EQ(guest().what(), guest_class::paused);
    EXPECT_TRUE(calls().empty()) << pvc::join(calls(), ", ");
    EXPECT_EQ(running(), to_text(u1));
    EXPECT_EQ(locks_left(), 0U);
}

// What libvirt left half made never executes: it has not arrived, and nothing is sent beside it, however long it stays.
TEST_F(domain_receive, a_copy_that_was_never_finished_is_no_arrival) {
    hv2_runs_it();
    machine().guest(u1).appear("web", xml(u1), {model::run_state::paused, model::pause_cause::starting_up});
    flush_places();
    pass(100s);
    EXPECT_EQ(state(), "migrate") << story();
    EXPECT_FALSE(was("state=start")) << story();
    EXPECT_FALSE(was("hv1 +sync")) << "the sender is not told to begin";
    EXPECT_TRUE(executes("hv2"));
    EXPECT_TRUE(hv1().logged("it did not finish to set up")) << hv1().log();
    EXPECT_EQ(running("hv1"), "");
    guest().vanish();
    ASSERT_TRUE(run_until([&] { return was("hv1 +sync"); }, 10s)) << story();
}

// The same beside a sender of ours: it gives up, and its guest goes on.
TEST_F(domain_receive, no_room_beside_a_copy_that_was_never_finished) {
    two_of_ours();
    machine("hv2").guest(u1).appear("web", xml(u1), {model::run_state::paused, model::pause_cause::starting_up});
    client_places("migrate", "hv2", "hv1");
    pass(100s);
    EXPECT_TRUE(executes("hv1")) << story();
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/node")), "hv1") << story();
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_receive, D80_deleted_during_the_wait) {
    hv2_runs_it();
    flush_places();
    pass(3s);
    EXPECT_TRUE(was("hv1 +sync"));
    ensemble.remove_tree(key());
    pass(30s);
    EXPECT_FALSE(ensemble.exists(key()).has_value());
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(running(), "");
    EXPECT_FALSE(hv1().logged("went wrong"));
    EXPECT_FALSE(hv1().host.read_file(journal).has_value());
}

TEST_F(domain_receive, D81_a_client_stops_it_after_its_arrival) {
    reference_runs_it();
    flush_places();
    ASSERT_TRUE(until_state("start"));
    client().set_state(to_text(u1), "stop");
    ASSERT_TRUE(until_state("stop"));
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 5s)) << story();
    pass(10s);
    EXPECT_EQ(state(), "stop");
    EXPECT_TRUE(in_order({"state=start", "state=stop", "hv1: destroy U1", "hv1 list="})) << story();
    EXPECT_EQ(locks_left(), 0U);
    EXPECT_EQ(value(key("/migrate_sync_lock")), "");
}

TEST_F(domain_receive, D119_the_sender_is_down_and_has_it) {
    hv2_runs_it();
    stop_beating("hv2");
    for (const auto* state_of_sender : {"init", "stop", "dead"}) {
        ensemble.put("/nodes/hv2/daemonstate", state_of_sender);
        flush_places();
        pass(100s);
        EXPECT_EQ(state(), "migrate") << state_of_sender;
        EXPECT_TRUE(calls().empty()) << state_of_sender;
    }
    EXPECT_TRUE(executes("hv2"));
    EXPECT_EQ(hardware.centre.running_copies(u1), 1U);
}

TEST_F(domain_receive, D120_a_node_that_is_off_says_nothing) {
    hv2_runs_it();
    machine("hv2").guest(u1).vanish();
    ensemble.put({{"/nodes/hv2/runningdomains", ""}, {"/nodes/hv3/daemonstate", "stop"}});
    machine("hv3").lose_power();
    stop_beating("hv3");
    flush_places();
    ASSERT_TRUE(until_state("start", 80s)) << hv1().log();
    EXPECT_GE(seconds_since(began), 60.0);
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 5s));
    pass(2s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D121_it_is_still_being_made_elsewhere) {
    hv2_runs_it();
    machine("hv2").guest(u1).vanish();
    ensemble.put("/nodes/hv2/runningdomains", "");
    machine("hv2").guest(u1).appear("web", xml(u1), {model::run_state::paused, model::pause_cause::starting_up});
    flush_places();
    pass(100s);
    EXPECT_EQ(state(), "migrate");
    EXPECT_TRUE(calls().empty());
}

TEST_F(domain_receive, D122_the_sender_hands_over_before_it_is_off) {
    reference_runs_it({}, {{"/migration_method", "shutdown"}});
    guest("hv2").set_kind(guest_kind::hang);
    flush_places();
    ASSERT_TRUE(until_state("stop", 30s)) << story();
    EXPECT_TRUE(guest("hv2").is_there());
    ASSERT_TRUE(until_state("start", 5s)) << story();
    pass(2s);
    EXPECT_FALSE(was("hv1: create U1"));
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 20s)) << story() << hv1().log();
    pass(2s);
    EXPECT_TRUE(in_order({"state=stop", "state=start", "hv2 list=", "hv1 list=U1", "hv1: create U1"})) << story();
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D123_left_between_two_nodes_with_the_state_start) {
    put_hosts({"hv2", "hv3"});
    define("start", "hv1");
    machine().guest(u1).appear("web", xml(u1), {model::run_state::paused, model::pause_cause::migration});
    add_our_host();
    pass(50s);
    EXPECT_TRUE(calls().empty()) << pvc::join(calls(), ", ");
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 30s)) << hv1().log();
    pass(2s);
    EXPECT_EQ(calls(), std::vector<std::string>{"resume U1"});
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_receive, D124_the_recovery_of_the_sender_takes_long) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.2:0/7");
    hv2_runs_it({{"/rbdlist", "vms/web_sda"}});
    flush_places();
    pass(5s);
    machine("hv2").lose_power();
    stop_beating("hv2");
    ensemble.put("/nodes/hv2/daemonstate", "fenced");
    pass(195s);
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(state(), "migrate");
    hardware.rbd.unlock("vms/web_sda");
    ensemble.put("/nodes/hv2/runningdomains", "");
    place("start", "hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 10s)) << story() << hv1().log();
    pass(2s);
    EXPECT_FALSE(was("state=fail"));
    EXPECT_TRUE(settled_on("hv1")) << story();
}

}  // namespace
}  // namespace pvc::node
