// Migrations with somebody in between: clients that change their mind when a side is dead, requests that follow each
// other at once, a hypervisor that is away for a while (vm-domains.md 8.3 to 8.6).
#include "domain_send_fixture.hpp"

#include <array>

namespace pvc::node {
namespace {

class domain_hand_over : public send_fixture {
protected:
    // hv2 moves it through a shutdown, up to the moment before its `stop`. All of a sender's locks, as they were taken.
    auto move_up_to_the_stop() {
        place("migrate", "hv1", "hv2");
        const auto of_node = contend("/node");
        const auto of_state = contend("/state", of_node.session);
        const auto of_sync = contend("/migrate_sync_lock", of_node.session);
        pass(3s);
        guest("hv2").power_off();
        EXPECT_TRUE(run_until([&] { return !guest("hv2").is_there(); }));
        ensemble.put("/nodes/hv2/runningdomains", "");
        return std::array{of_node, of_state, of_sync};
    }
};

// The sender's locks go with its session, and the client that waited for one of them writes: that `stop` is no
// hand-over.
TEST_F(domain_hand_over, a_stop_of_a_client_after_the_sender_died) {
    hv2_runs_it();
    auto& peer = add_reference("hv2");
    pass(1s);
    guest("hv2").set_kind(guest_kind::dirty);
    client();
    place("migrate", "hv1", "hv2");
    ASSERT_TRUE(until_copying("hv2", "hv1")) << story();
    client().set_state(to_text(u1), "stop");
    pass(1s);
    EXPECT_EQ(state(), "migrate");
    peer.kill();
    ASSERT_TRUE(until_state("stop")) << story();
    forget();
    pass(30s);
    EXPECT_EQ(state(), "stop") << story() << hv1().log();
    EXPECT_FALSE(was("state=start")) << story();
    EXPECT_FALSE(executes("hv1"));
    EXPECT_EQ(value(key("/migrate_sync_lock")), "");
    EXPECT_EQ(locks_left(), 0U) << story();
}

TEST_F(domain_hand_over, a_stop_of_a_client_before_anybody_sent_it) {
    hv2_runs_it();
    client();
    place("migrate", "hv1", "hv2");
    const auto sender = contend("/migrate_sync_lock");
    pass(3s);
    leave(sender);
    pass(1s);
    set("stop");
    pass(20s);
    EXPECT_EQ(state(), "stop") << story() << hv1().log();
    EXPECT_EQ(locks_left(), 0U) << story();
}

// A sender has the locks of `node` and `state` too: what was written beside the hand-shake alone is a client's.
TEST_F(domain_hand_over, a_stop_beside_the_hand_shake_alone) {
    hv2_runs_it();
    place("migrate", "hv1", "hv2");
    const auto sender = contend("/migrate_sync_lock");
    pass(3s);
    guest("hv2").power_off();
    ASSERT_TRUE(run_until([&] { return !guest("hv2").is_there(); }));
    ensemble.put("/nodes/hv2/runningdomains", "");
    set("stop");
    leave(sender);
    pass(20s);
    EXPECT_EQ(state(), "stop") << story() << hv1().log();
    EXPECT_FALSE(executes("hv1"));
    EXPECT_EQ(value(key("/migrate_sync_lock")), "");
}

// The same with all of a sender's locks: it handed over, whether they are still there or not.
TEST_F(domain_hand_over, a_stop_of_a_sender_that_says_nothing) {
    for (const bool leaves_first : {false, true}) {
        if (nodes.empty()) {
            hv2_runs_it();
        }
        const auto locks = move_up_to_the_stop();
        set("stop");
        pass(leaves_first ? 0s : 1s);
        for (const auto& one : locks) {
            leave(one);
        }
        ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 20s)) << story() << hv1().log();
        pass(3s);
        EXPECT_TRUE(settled_on("hv1")) << story();
        set("stop");
        ASSERT_TRUE(run_until([&] { return !guest().is_there(); }));
        place("start", "hv2", "");
        machine("hv2").put_running(u1, "web", xml(u1));
        ensemble.put("/nodes/hv2/runningdomains", to_text(u1));
        pass(3s);
    }
}

// A sender that never gives the lock of the hand-shake back has had its time after 10 s.
TEST_F(domain_hand_over, a_lock_that_is_never_given_back_is_waited_for_10_s) {
    hv2_runs_it();
    const auto locks = move_up_to_the_stop();
    const time_point handed_over = loop.clock().now();
    set("stop");
    ASSERT_TRUE(run_until([&] { return state() == "start"; }, 60s)) << story() << hv1().log();
    EXPECT_NEAR(seconds_since(handed_over), 10.0, 1.5);
    for (auto one = locks.rbegin(); one != locks.rend(); ++one) {
        leave(*one);
    }
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 20s)) << story();
}

// The machine was recovered elsewhere while somebody kept the lock of its state: nobody waits for that lock.
TEST_F(domain_hand_over, decided_otherwise_before_the_locks_are_had) {
    hv1_runs_it();
    const auto other = contend("/state");
    flush_places();
    pass(5s);
    place("start", "hv3", "hv1");
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }, 1s)) << story() << hv1().log();
    pass(60s);
    EXPECT_EQ(placement(), "start hv3 hv1") << story();
    leave(other);
}

TEST_F(domain_hand_over, told_to_stop_before_the_locks_are_had) {
    hv1_runs_it();
    const auto other = contend("/state");
    flush_places();
    pass(5s);
    const time_point told = loop.clock().now();
    hv1().terminate();
    ASSERT_TRUE(run_until([&] { return hv1().exit_status.has_value(); }, 20s)) << hv1().log();
    EXPECT_LE(seconds_since(told), 15.0);
    EXPECT_EQ(placement(), "start hv1 ") << story();
    EXPECT_TRUE(executes("hv1"));
    leave(other);
    EXPECT_EQ(locks_left(), 0U) << story();
}

// 8.6: "target libvirt unreachable".
TEST_F(domain_hand_over, the_hypervisor_of_the_target_is_away) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    machine("hv2").kill_libvirtd();
    flush_places();
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    pass(3s);
    EXPECT_EQ(count(live_call), 3U) << story();
    EXPECT_FALSE(was("hv1: shutdown U1")) << story();
    EXPECT_EQ(placement(), "start hv1 ");
    machine("hv2").start_libvirtd();
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_hand_over, the_hypervisor_of_the_target_is_restarted) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    machine("hv2").kill_libvirtd();
    flush_places();
    ASSERT_TRUE(run_until([&] { return was(live_call); }, 60s)) << story();
    machine("hv2").start_libvirtd();
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

// A sender of the reference that still has the lock would drop a `start`, and with it the copy that it has not ended
// yet.
TEST_F(domain_hand_over, it_is_started_when_the_sender_has_given_its_lock_back) {
    two_of_ours({{"/migration_method", "shutdown"}});
    hv1().connector.link().latency = 200ms;
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 60s)) << story() << hv1().log();
    EXPECT_TRUE(in_order({"state=stop", "hv1 -sync", "state=start", "hv2: create U1"})) << story();
}

// The word in `migrate_sync_lock` that the last migration's receiver takes back belongs to that migration, although it
// is younger than the request for the next one.
TEST_F(domain_hand_over, back_at_once) {
    for (const auto& method : {"live", "shutdown"}) {
        if (nodes.empty()) {
            two_of_ours();
        }
        flush_places();
        ASSERT_TRUE(until_state("start")) << story();
        ensemble.put({{key("/state"), "migrate"},
                      {key("/node"), "hv1"},
                      {key("/lastnode"), ""},
                      {key("/migration_method"), method}});
        ASSERT_TRUE(until_state("start")) << story();
        ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 30s)) << story() << nodes.back().log();
        pass(12s);
        EXPECT_TRUE(settled_on("hv1")) << story();
        EXPECT_EQ(nodes.back().log().find("has gone on without it"), std::string::npos) << nodes.back().log();
        ensemble.put(key("/migration_method"), "none");
        pass(12s);
    }
}

TEST_F(domain_hand_over, back_at_once_to_a_slow_reference) {
    hv2_runs_it();
    auto& peer = add_reference("hv2");
    pass(1s);
    peer.part().times.notice = 150ms;
    place("migrate", "hv1", "hv2");
    ASSERT_TRUE(until_state("start", 30s)) << story();
    place("migrate", "hv2", "");
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(settled_on("hv2")) << story() << pvc::join(peer.part().deeds(), ", ");
    EXPECT_EQ(hv1().log().find("has gone on without it"), std::string::npos) << hv1().log();
}

// A guest that ended just before it was to move, and a receiver that drops the event of its own `start`.
TEST_F(domain_hand_over, the_reference_drops_the_start_of_a_guest_that_had_ended) {
    hv1_runs_it();
    machine().guest(u1).fail_always("create", {call_error::being_removed, "it is still being removed"});
    sim::foreign_migration_times times;
    times.let_go = 500ms;
    add_reference("hv2", times);
    guest().crash();
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }));
    pass(500ms);
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 40s))
        << story() << pvc::join(peers.front().part().deeds(), ", ");
    pass(12s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

// A third node still has it in its list: the reference would start what it is handed beside it.
TEST_F(domain_hand_over, a_guest_that_had_ended_is_in_the_list_of_a_third_node) {
    hv1_runs_it();
    machine().guest(u1).fail_always("create", {call_error::being_removed, "it is still being removed"});
    add_reference("hv2");
    ensemble.put("/nodes/hv3/runningdomains", to_text(u1));
    machine("hv3").put_running(u1, "web", xml(u1));
    allowed_double_runs = 1;  // as it was found
    guest().crash();
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }));
    pass(500ms);
    flush_places();
    pass(60s);
    EXPECT_FALSE(was("state=stop")) << story();
    EXPECT_FALSE(executes("hv2")) << story();
    EXPECT_TRUE(hv1().logged("waiting: node hv3 still has it in its running list")) << hv1().log();
    guest("hv3").power_off();
    ensemble.put("/nodes/hv3/runningdomains", "");
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 40s)) << story() << hv1().log();
    pass(12s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

// It is shut down after live tries that failed for good: that it then ended while libvirt was away says enough.
TEST_F(domain_hand_over, the_guest_ends_while_libvirt_is_away) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    guest().shutdown_time = 2s;
    refuse(3);
    flush_places();
    ASSERT_TRUE(run_until([&] { return was("hv1: shutdown U1"); }, 60s)) << story();
    pass(500ms);
    machine().kill_libvirtd();
    pass(5s);
    machine().start_libvirtd();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 60s)) << story() << hv1().log();
    pass(12s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

// A creation that takes long outlives the session that it was begun in: what is not here yet has not ended.
TEST_F(domain_hand_over, a_creation_is_under_way_in_a_new_session) {
    put_hosts({"hv2", "hv3"});
    define("stop", "hv1");
    add_our_host();
    machine().delay_next("create", 25s);
    set("start");
    ASSERT_TRUE(run_until([&] { return machine().count("create U1") == 1; }));
    pass(2s);
    EXPECT_EQ(running(), to_text(u1));
    place("migrate", "hv2", "hv1");
    pass(500ms);
    forget();
    hv1().connector.link().expire_sessions();
    pass(15s);
    EXPECT_EQ(state(), "migrate") << story() << hv1().log();
    EXPECT_EQ(running(), to_text(u1));
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 30s)) << story() << hv1().log();
    EXPECT_FALSE(was("state=stop")) << story();
    EXPECT_FALSE(was("state=start")) << story();
}

// Kept while another node was to run it and failed, then given back by a client.
TEST_F(domain_hand_over, the_kept_copy_of_a_failed_domain_becomes_ours_again) {
    put_hosts({"hv2", "hv3"});
    define("fail", "hv2", "hv1");
    machine().put_running(u1, "web", xml(u1));
    add_our_host();
    pass(5s);
    place("fail", "hv1", "");
    pass(1s);
    set("start");
    ASSERT_TRUE(run_until([&] { return value(key("/vnc")) == "127.0.0.1:5900"; }, 10s)) << hv1().log();
    EXPECT_EQ(hv1().consoles.followers("/var/log/libvirt/web.log"), 1U);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

// The last seconds of a daemon: the receiver has the word of the hand-over, and still has to read it.
TEST_F(domain_hand_over, told_to_stop_when_it_has_handed_over) {
    hv1_runs_it({{"/migration_method", "shutdown"}});
    sim::foreign_migration_times times;
    times.look = 800ms;
    add_reference("hv2", times);
    pass(1s);
    flush_places();
    ASSERT_TRUE(until_state("stop", 60s)) << story();
    const time_point told = loop.clock().now();
    hv1().terminate();
    ASSERT_TRUE(run_until([&] { return hv1().exit_status.has_value(); }, 20s)) << hv1().log();
    EXPECT_LE(seconds_since(told), 15.0);
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 30s))
        << story() << pvc::join(peers.front().part().deeds(), ", ");
}

}  // namespace
}  // namespace pvc::node
