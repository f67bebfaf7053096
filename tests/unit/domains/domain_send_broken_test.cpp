// Sending a machine (vm-domains.md B.5): what comes between, and what breaks.
#include "domain_send_fixture.hpp"

namespace pvc::node {
namespace {

using domain_send_broken = send_fixture;

// What libvirt says while it still clears an earlier job away is no reason to shut the guest down.
TEST_F(domain_send_broken, a_job_that_is_still_going_is_waited_for) {
    two_of_ours();
    for (int i = 0; i < 8; ++i) {
        guest().fail_migration(migration_step::prepare,
                               {call_error::wrong_state, "another migration job is already running for domain 'web'"});
    }
    place("migrate", "hv2", "hv1");
    ASSERT_TRUE(run_until([&] { return value(key("/state")) == "start" && executes("hv2"); }, 60s)) << hv1().log();
    EXPECT_FALSE(was("hv1: shutdown U1")) << story();
    EXPECT_EQ(count("hv1: migrate U1 hv2.pvc.local tcp://hv2.pvc.local"), 9U);
}

// The abort of the old session's call takes as long as libvirt hangs; the heartbeat does not.
TEST_F(domain_send_broken, a_new_session_does_not_wait_for_an_abort) {
    two_of_ours();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 60;
    place("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_copying()) << story();
    machine("hv1").stop_libvirtd();
    const auto beat = value("/nodes/hv1/keepalive");
    hv1().connector.link().expire_sessions();
    EXPECT_TRUE(run_until([&] { return value("/nodes/hv1/keepalive") != beat; }, 3s)) << hv1().log();
    pass(3s);
    machine("hv1").continue_libvirtd();
    ASSERT_TRUE(run_until(
        [&] { return value(key("/state")) == "start" && running().size() + running("hv2").size() > 0; }, 120s))
        << hv1().log();
    pass(30s);
    EXPECT_EQ(hardware.centre.machine("hv1").executes(u1) + hardware.centre.machine("hv2").executes(u1), 1);
}

TEST_F(domain_send_broken, D61_somebody_decides_otherwise_during_the_call) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    flush_places();
    ASSERT_TRUE(until_copying()) << story();
    peers.front().kill();
    forget();
    place("start", "hv3", "hv1");
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); })) << story();
    EXPECT_TRUE(in_order({"state=start", abort_call, "hv1: destroy U1"})) << story();
    pass(15s);
    EXPECT_EQ(placement(), "start hv3 hv1");
    EXPECT_EQ(writes(), (std::vector<std::string>{"lastnode=hv1", "node=hv3", "state=start"})) << "only the test's own";
    EXPECT_FALSE(machine("hv2").guest(u1).is_there());
    EXPECT_EQ(locks_left(), 0U);
    EXPECT_EQ(running(), "");
}

TEST_F(domain_send_broken, D61a_the_receiver_is_faster_than_the_answer) {
    two_of_ours();
    hardware.centre.times.reply = 200ms;
    flush_places();
    ASSERT_TRUE(until_state("start")) << story();
    EXPECT_TRUE(guest().is_there()) << "the call has not returned";
    pass(2s);
    EXPECT_FALSE(was(abort_call));
    EXPECT_FALSE(was("hv1: destroy U1"));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D62_error_but_the_target_runs_it) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, {call_error::other, "End of file"}, source_copy::incoming);
    flush_places();
    ASSERT_TRUE(until_state("start")) << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({live_call, "hv1: destroy U1", "hv1 list=", "hv1 -sync", "state=start"})) << story();
    EXPECT_EQ(count(live_call), 1U);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D63_error_and_the_target_does_not_have_it) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, {call_error::other, "End of file"}, source_copy::incoming);
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    machine("hv2").guest(u1).vanish();
    ASSERT_TRUE(run_until([&] { return was("hv1: resume U1"); })) << story();
    ASSERT_TRUE(until_state("start")) << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({live_call, "hv1: resume U1", live_call, "hv1 list=", "state=start"})) << story();
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D63a_error_and_both_run_it) {
    allowed_double_runs = 1;  // given, not made
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, {call_error::other, "End of file"}, source_copy::running);
    flush_places();
    ASSERT_TRUE(run_until([&] { return hardware.centre.running_copies(u1) == 2; }));
    // Two equal answers, at least a second apart.
    EXPECT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 2s)) << story();
    ASSERT_TRUE(until_state("start")) << hv1().log();
    pass(3s);
    EXPECT_FALSE(was("hv1: resume U1"));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D64_error_and_the_target_is_out_of_reach) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, {call_error::other, "End of file"}, source_copy::incoming);
    flush_places();
    hardware.centre.times.reply = 300ms;
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    pass(299ms);
    hardware.centre.cut("hv1", "hv2");
    pass(500ms);
    forget();
    machine().clear_calls();
    pass(14s);
    EXPECT_TRUE(writes().empty()) << story();
    // The locks are given back, and the receiver, which has it, says so.
    pass(46s);
    EXPECT_EQ(locks_left(), 0U) << story();
    EXPECT_EQ(state(), "start");
    EXPECT_EQ(value(key("/node")), "hv2");
    EXPECT_TRUE(calls().empty()) << pvc::join(calls(), ", ");
    EXPECT_TRUE(guest().is_there());
    const auto asked = machine().count("ask hv2.pvc.local U1");
    EXPECT_TRUE(asked >= 5 && asked <= 13) << asked;
    hardware.centre.join("hv1", "hv2");
    pass(15s);
    EXPECT_FALSE(was("hv1: resume U1"));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D65_the_session_expires_during_the_call) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    flush_places();
    ASSERT_TRUE(until_copying());
    forget();
    hv1().connector.link().expire_sessions();
    ASSERT_TRUE(run_until([&] { return was(abort_call); }, 5s)) << story();
    EXPECT_TRUE(executes("hv1"));
    peers.front().kill();  // it went on from phase C into nothing
    ASSERT_TRUE(run_until([&] { return was("hv1 +state"); }, 10s)) << story();
    add_reference("hv2");
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({abort_call, "hv1 +node", "hv1 +state", live_call, "state=start"})) << story();
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D66_the_daemon_is_told_to_stop_during_the_call) {
    a_busy_guest_is_copied();
    forget();
    const time_point told = loop.clock().now();
    hv1().terminate();
    ASSERT_TRUE(run_until([&] { return hv1().exit_status.has_value(); }, 20s)) << hv1().log();
    EXPECT_LE(seconds_since(told), 15.0);
    EXPECT_TRUE(in_order({abort_call, "state=start"})) << story();
    EXPECT_EQ(placement(), "start hv1 ");
    EXPECT_TRUE(executes("hv1"));
    EXPECT_FALSE(machine("hv2").guest(u1).is_there());
    pass(1s);
    EXPECT_EQ(locks_left(), 0U) << story();
}

TEST_F(domain_send_broken, D67_forced_to_the_home_node) {
    hv1_runs_it({}, "hv2");
    add_reference("hv2");
    pass(1s);
    flush_places("migrate", "hv2");
    ASSERT_TRUE(until_state("start")) << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({"hv1 +state", "lastnode=", live_call, "state=start"})) << story();
    EXPECT_EQ(placement(), "start hv2 ");
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D68_a_contender_of_an_earlier_migration_is_removed) {
    hv1_runs_it();
    const auto leaked = contend("/migrate_sync_lock");
    set("start");  // the present value is younger than the contender
    pass(1s);
    add_reference("hv2");
    pass(1s);
    flush_places();
    ASSERT_TRUE(until_state("start", 20s)) << story() << hv1().log();
    pass(3s);
    EXPECT_FALSE(ensemble.exists(leaked.path).has_value());
    EXPECT_TRUE(ensemble.has_session(leaked.session));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D68a_a_contender_is_left_alone_by_a_daemon_that_saw_no_placement) {
    put_hosts({"hv2", "hv3"});
    define("start", "hv1");
    machine().put_running(u1, "web", xml(u1));
    const auto leaked = contend("/migrate_sync_lock");
    set("start");
    place("migrate", "hv2", "hv1");
    add_our_host();
    ASSERT_TRUE(until_state("start", 60s)) << story();
    EXPECT_TRUE(ensemble.exists(leaked.path).has_value());
    EXPECT_EQ(placement(), "start hv1 ") << "its turn never came";
    pass(1s);
    EXPECT_EQ(locks_left(), 1U) << "but this one";
    leave(leaked);
}

TEST_F(domain_send_broken, D68b_it_died_before_it_was_to_move) {
    hv1_runs_it();
    machine().guest(u1).fail_always("create", {call_error::being_removed, "it is still being removed"});
    guest().crash();
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }));
    pass(500ms);
    EXPECT_EQ(state(), "start");
    machine().clear_calls();
    flush_places();
    ASSERT_TRUE(until_state("stop", 5s)) << story() << hv1().log();
    const time_point handed = loop.clock().now();
    ASSERT_TRUE(until_state("start", 15s)) << story();
    EXPECT_NEAR(seconds_since(handed), 10.0, 0.5);
    EXPECT_EQ(placement(), "start hv2 hv1");
    pass(2s);
    EXPECT_TRUE(calls().empty()) << pvc::join(calls(), ", ");
    EXPECT_EQ(running(), "");
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_send_broken, D68b_and_the_reference_takes_it) {
    hv1_runs_it();
    machine().guest(u1).fail_always("create", {call_error::being_removed, "it is still being removed"});
    add_reference("hv2");
    guest().crash();
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }));
    pass(500ms);
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 30s)) << story() << hv1().log();
    pass(2s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D69_a_client_waits_with_a_stop) {
    two_of_ours();
    hardware.centre.times.bandwidth_bytes_per_second = 16.0 * 1024 * 1024;
    client();
    flush_places();
    ASSERT_TRUE(until_copying());
    client().set_state(to_text(u1), "stop");
    ASSERT_TRUE(until_state("stop")) << story();
    EXPECT_TRUE(in_order({"client +state", "state=start", "hv1 -state", "state=stop"})) << story();
    ASSERT_TRUE(run_until([&] { return hardware.centre.running_copies(u1) == 0; }));
    pass(5s);
    EXPECT_TRUE(in_order({"state=stop", "hv2: destroy U1", "hv2 list="})) << story();
    EXPECT_EQ(placement(), "stop hv2 hv1");
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_send_broken, D70_found_in_the_middle_by_a_new_daemon) {
    put_hosts({"hv2", "hv3"});
    define("migrate", "hv2", "hv1");
    machine().put_running(u1, "web", xml(u1));
    add_reference("hv2");
    add_our_host();
    ASSERT_TRUE(until_state("start")) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(in_order({"hv1 +node", "hv1 +state", live_call, "state=start"})) << story();
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D115_no_progress) {
    a_busy_guest_is_copied();
    pass(1s);
    const time_point stalled = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return was(abort_call); }, 400s)) << hv1().log();
    EXPECT_NEAR(seconds_since(stalled), 300.0, 3.0);
    EXPECT_TRUE(hv1().logged("does not converge"));
    ASSERT_TRUE(run_until([&] { return executes("hv2"); })) << story();
    pass(2s);
    EXPECT_TRUE(in_order({live_call, abort_call, "hv1: shutdown U1", "hv1: destroy U1", "state=stop", "state=start"}));
    EXPECT_EQ(count(live_call), 1U) << "no other try";
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D115_no_progress_and_only_live) {
    a_busy_guest_is_copied({{"/migration_method", "live"}});
    ASSERT_TRUE(until_state("start", 400s));
    pass(3s);
    EXPECT_EQ(count(live_call), 1U);
    EXPECT_FALSE(was("hv1: shutdown U1"));
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_send_broken, the_same_word_once_more_gives_no_other_300_s) {
    a_busy_guest_is_copied({{"/migration_method", "live"}});
    pass(200s);
    place("migrate", "hv2", "hv1");
    const time_point said_again = loop.clock().now();
    ASSERT_TRUE(until_state("start", 400s)) << story();
    EXPECT_LT(seconds_since(said_again), 130.0);
    pass(3s);
    EXPECT_EQ(count(live_call), 1U);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_send_broken, D115_no_progress_and_a_client_waits) {
    hv1_runs_it();
    add_reference("hv2");
    client();
    pass(1s);
    guest().set_kind(guest_kind::dirty);
    flush_places();
    ASSERT_TRUE(until_copying());
    client().set_state(to_text(u1), "restart");
    const time_point waits = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return was(abort_call); }, 60s));
    EXPECT_NEAR(seconds_since(waits), 30.0, 3.0);
    ASSERT_TRUE(until_state("restart")) << story();
    EXPECT_TRUE(in_order({abort_call, "state=start", "hv1 -state", "state=restart"})) << story();
    EXPECT_EQ(count(live_call), 1U);
    EXPECT_FALSE(was("hv1: shutdown U1") && !was("state=restart"));
    EXPECT_EQ(placement(), "restart hv1 ");
    ASSERT_TRUE(until_state("start", 60s));
    pass(3s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_send_broken, D116_the_target_is_still_making_it) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    refuse(1);
    flush_places();
    ASSERT_TRUE(until_copying());
    ASSERT_TRUE(run_until([&] { return !guest().is_migrating(); }));
    machine("hv2").guest(u1).appear("web", xml(u1), {model::run_state::paused, model::pause_cause::starting_up});
    const time_point failed = loop.clock().now();
    plans.after(3s, [this] { machine("hv2").guest(u1).vanish(); });
    ASSERT_TRUE(run_until([&] { return count(live_call) == 2; })) << story();
    EXPECT_GE(seconds_since(failed), 3.0);
    EXPECT_EQ(calls().size(), 2U) << "the copy here was not touched: " << pvc::join(calls(), ", ");
    ASSERT_TRUE(until_state("start"));
    pass(3s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send_broken, D117_the_target_was_fenced_and_had_the_disks) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.2:0/7");
    hv1_runs_it({{"/rbdlist", "vms/web_sda"}});
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, {call_error::other, "End of file"}, source_copy::incoming);
    hardware.centre.times.reply = 300ms;
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    peers.front().kill();
    stop_beating("hv2");
    machine("hv2").lose_power();
    ensemble.put("/nodes/hv2/daemonstate", "fenced");
    ASSERT_TRUE(until_state("stop", 40s)) << story() << hv1().log();
    const time_point off = loop.clock().now();
    EXPECT_TRUE(in_order({"hv1: destroy U1", "hv1 list=", "state=stop"})) << story();
    EXPECT_FALSE(was("hv1: resume U1"));
    ASSERT_TRUE(until_state("start"));
    EXPECT_NEAR(seconds_since(off), 10.0, 0.5);
    EXPECT_EQ(placement(), "start hv2 hv1");
    pass(15s);
    EXPECT_EQ(locks_left(), 0U) << story();
    EXPECT_EQ(hardware.centre.running_copies(u1), 0U) << "left to the recovery";
}

TEST_F(domain_send_broken, D117_the_target_was_fenced_and_the_disks_are_ours) {
    hardware.rbd.lock("vms/web_sda", "10.254.0.1:0/3");
    hv1_runs_it({{"/rbdlist", "vms/web_sda"}});
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, {call_error::other, "End of file"}, source_copy::incoming);
    hardware.centre.times.reply = 300ms;
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    peers.front().kill();
    stop_beating("hv2");
    machine("hv2").lose_power();
    ensemble.put("/nodes/hv2/daemonstate", "fenced");
    ASSERT_TRUE(until_state("start", 40s)) << story() << hv1().log();
    EXPECT_TRUE(in_order({live_call, "hv1: resume U1", "state=start"})) << story();
    EXPECT_FALSE(was("hv1: destroy U1"));
    EXPECT_EQ(placement(), "start hv1 ");
    pass(15s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_send_broken, D118_the_target_loses_its_power) {
    ensemble.put("/config/maintenance", "true");
    a_busy_guest_is_copied();
    peers.front().kill();
    stop_beating("hv2");
    machine("hv2").lose_power();
    const time_point off = loop.clock().now();
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    EXPECT_LE(seconds_since(off), 30.0);
    EXPECT_EQ(placement(), "start hv1 ");
    EXPECT_FALSE(was("hv1: shutdown U1"));
    pass(15s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

// 8.3: the job is ended at once, and nothing is tried once more or shut down for a node that is not there.
TEST_F(domain_send_broken, the_target_is_declared_dead_or_fenced_during_the_call) {
    for (const std::string declared : {"dead", "fenced"}) {
        SCOPED_TRACE(declared);
        nodes.clear();
        peers.clear();
        ensemble.remove_tree(key());
        guest().vanish();
        hv1_runs_it();
        add_reference("hv2");
        pass(1s);
        guest().set_kind(guest_kind::dirty);
        flush_places();
        ASSERT_TRUE(until_copying());
        pass(2s);
        const time_point since = loop.clock().now();
        ensemble.put("/nodes/hv2/daemonstate", declared);
        ASSERT_TRUE(run_until([&] { return was(abort_call); }, 5s)) << story() << hv1().log();
        EXPECT_LE(seconds_since(since), 0.1);
        ASSERT_TRUE(until_state("start", 20s)) << story() << hv1().log();
        EXPECT_EQ(placement(), "start hv1 ");
        EXPECT_EQ(count(live_call), 1U);
        EXPECT_FALSE(was("hv1: shutdown U1")) << story();
        EXPECT_TRUE(executes("hv1"));
    }
}

// 8.6: rollback in preference to a shutdown.
TEST_F(domain_send_broken, three_tries_to_a_node_that_runs_no_more) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    refuse(3);
    flush_places();
    ASSERT_TRUE(run_until([&] { return was(live_call); }, 20s)) << story();
    ensemble.put("/nodes/hv2/daemonstate", "stop");
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    EXPECT_EQ(count(live_call), 3U) << story();
    EXPECT_FALSE(was("hv1: shutdown U1")) << story();
    EXPECT_EQ(placement(), "start hv1 ");
    EXPECT_TRUE(executes("hv1"));
}

TEST_F(domain_send_broken, D125_it_was_recovered_elsewhere_before_the_call_returned) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().fail_migration(migration_step::reply, {call_error::other, "End of file"}, source_copy::incoming);
    hardware.centre.times.reply = 3s;
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }));
    peers.front().kill();
    stop_beating("hv2");
    set("start");
    pass(500ms);
    machine("hv2").lose_power();
    ensemble.put("/nodes/hv2/daemonstate", "fenced");
    pass(500ms);
    forget();
    place("start", "hv3", "hv2");
    machine("hv3").put_running(u1, "web", xml(u1));
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 30s)) << story() << hv1().log();
    pass(15s);
    EXPECT_FALSE(guest().is_there());
    EXPECT_FALSE(was("hv1: resume U1"));
    EXPECT_EQ(writes(), (std::vector<std::string>{"lastnode=hv2", "node=hv3", "state=start"})) << "only the test's own";
    EXPECT_EQ(locks_left(), 0U);
}

}  // namespace
}  // namespace pvc::node
