// Sending a machine (vm-domains.md B.5): its course, against the scripted reference and by hand.
#include "domain_send_fixture.hpp"

namespace pvc::node {
namespace {

using domain_send = send_fixture;

TEST_F(domain_send, D50_to_the_reference) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    client();
    forget();
    client_places("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_state("migrate"));
    ASSERT_TRUE(until_state("start")) << story() << hv1().log();
    pass(2s);
    EXPECT_TRUE(
        in_order({"client +state", "state=migrate", "hv1 +node", "hv1 +state", "hv1 +sync", "hv2 -sync", "hv2 +sync",
                  live_call, "hv1 list=", "hv1 -sync", "hv2 list=U1", "state=start", "hv1 -state", "hv1 -node"}))
        << hv1().log();
    EXPECT_TRUE(in_order({"sync=U1", "hv2 +sync", "hv1 +sync"})) << "never before the receiver's contender";
    EXPECT_EQ(count(live_call), 1U);
    EXPECT_EQ(calls().size(), 1U);
    EXPECT_EQ(placement(), "start hv2 hv1");
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send, D51_maximum_downtime) {
    for (const bool fails : {false, true}) {
        if (fails) {
            guest().fail_next("set_maximum_downtime", {call_error::other, "argument unsupported"});
        }
        if (nodes.empty()) {
            hv1_runs_it({{"/migration_max_downtime", "500"}});
            add_reference("hv2");
            pass(1s);
        } else {
            machine("hv2").guest(u1).vanish();
            peers.clear();
            place("start", "hv1", "");
            machine().put_running(u1, "web", xml(u1));
            pass(12s);
            add_reference("hv2");
            pass(1s);
        }
        flush_places();
        ASSERT_TRUE(until_state("start")) << hv1().log();
        pass(2s);
        EXPECT_TRUE(in_order({"hv1: set_maximum_downtime U1 500", live_call, "state=start"}));
        EXPECT_EQ(placement(), "start hv2 hv1") << fails;
        EXPECT_EQ(locks_left(), 0U);
    }
}

TEST_F(domain_send, D52_the_receiver_never_queues) {
    hv1_runs_it();
    flush_places();
    pass(29s);
    EXPECT_EQ(state(), "migrate");
    ASSERT_TRUE(until_state("start", 3s)) << hv1().log();
    EXPECT_NEAR(seconds_since(began), 30.0, 0.5);
    pass(1s);
    EXPECT_EQ(placement(), "start hv1 ");
    EXPECT_TRUE(calls().empty());
    EXPECT_TRUE(settled_on("hv1"));
}

TEST_F(domain_send, D53_three_tries_then_through_a_shutdown) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    refuse(3);
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); })) << story() << hv1().log();
    pass(2s);
    EXPECT_TRUE(in_order({live_call, live_call, live_call, "hv1: shutdown U1", "hv1 list=", "state=stop", "hv1 -sync",
                          "state=start", "hv1 -state", "hv1 -node"}));
    EXPECT_EQ(count(live_call), 3U);
    EXPECT_EQ(count("hv1: shutdown U1"), 1U);
    EXPECT_FALSE(was("hv1: destroy U1"));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send, D54_three_tries_then_back) {
    for (const bool enforced : {false, true}) {
        if (nodes.empty()) {
            hv1_runs_it({{"/migration_method", "live"}});
        } else {
            ensemble.put(key("/migration_method"), "none");
            pass(12s);
        }
        add_reference("hv2");
        pass(1s);
        refuse(3);
        flush_places(enforced ? "migrate-live" : "migrate");
        ASSERT_TRUE(until_state("start")) << hv1().log();
        EXPECT_EQ(placement(), "start hv1 ");
        EXPECT_EQ(count(live_call), 3U);
        EXPECT_FALSE(was("hv1: shutdown U1"));
        EXPECT_TRUE(run_until([&] { return was("hv1 -sync"); }, 1s)) << story();
        pass(1s);
        EXPECT_TRUE(settled_on("hv1")) << story();
        peers.clear();
    }
}

TEST_F(domain_send, D55_the_method_shutdown) {
    hv1_runs_it({{"/migration_method", "shutdown"}});
    add_reference("hv2");
    pass(1s);
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); })) << story() << hv1().log();
    pass(2s);
    EXPECT_TRUE(in_order({"hv1 +sync", "hv1: shutdown U1", "hv1 list=", "state=stop", "hv1 -sync", "state=start"}));
    EXPECT_FALSE(was(live_call));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send, D56_live_is_enforced_and_the_method_is_shutdown) {
    hv1_runs_it({{"/migration_method", "shutdown"}});
    add_reference("hv2");
    pass(1s);
    flush_places("migrate-live");
    ASSERT_TRUE(until_state("start", 2s)) << hv1().log();
    EXPECT_EQ(placement(), "start hv1 ");
    EXPECT_TRUE(calls().empty());
    EXPECT_TRUE(executes("hv1"));
    pass(5s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_send, D57_the_guest_ignores_the_request_to_shut_down) {
    hv1_runs_it({{"/migration_method", "shutdown"}});
    guest().set_kind(guest_kind::hang);
    add_reference("hv2");
    pass(1s);
    flush_places();
    ASSERT_TRUE(run_until([&] { return was("hv1: shutdown U1"); }));
    const time_point asked = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return was("hv1: destroy U1"); }));
    EXPECT_NEAR(seconds_since(asked), 5.0, 0.1);
    EXPECT_FALSE(was("state=stop"));
    ASSERT_TRUE(until_state("stop"));
    EXPECT_FALSE(guest().is_there());
    ASSERT_TRUE(run_until([&] { return executes("hv2"); })) << story();
    pass(2s);
    EXPECT_TRUE(in_order({"hv1: destroy U1", "hv1 list=", "state=stop", "hv1 -sync", "state=start"}));
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send, D58_back_with_the_last_node_it_had) {
    hv1_runs_it({}, "hv2");
    flush_places("migrate", "");
    ASSERT_TRUE(until_state("start"));
    EXPECT_EQ(placement(), "start hv1 hv2");
    pass(1s);
    EXPECT_TRUE(settled_on("hv1"));
}

TEST_F(domain_send, D59_a_client_holds_the_lock_of_the_state_longer_than_the_receiver_waits) {
    hv1_runs_it();
    add_reference("hv2");
    pass(1s);
    forget();
    const auto held = contend("/state");
    flush_places();
    pass(3s);
    EXPECT_TRUE(was("hv1 +sync")) << "queued in time, without the lock of `state`";
    EXPECT_FALSE(was(live_call));
    leave(held);
    ASSERT_TRUE(until_state("start"));
    pass(2s);
    EXPECT_TRUE(in_order({"hv1 +sync", "hv2 +sync", live_call, "hv1 -sync", "state=start", "hv1 -state"})) << story();
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_send, D59a_the_receiver_went_idle_alone) {
    hv1_runs_it();
    flush_places();
    ensemble.put(key("/migrate_sync_lock"), to_text(u1));
    ensemble.put(key("/migrate_sync_lock"), "");
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 10s)) << hv1().log();
    const time_point moved = loop.clock().now();
    ASSERT_TRUE(until_state("start")) << hv1().log();
    EXPECT_NEAR(seconds_since(moved), 10.0, 1.0);
    EXPECT_EQ(placement(), "start hv2 hv1");
    pass(1s);
    EXPECT_EQ(count(live_call), 1U);
    EXPECT_EQ(locks_left(), 0U);
    EXPECT_TRUE(in_order({live_call, "hv1 list=", "hv1 -sync", "state=start", "hv1 -state", "hv1 -node"})) << story();
}

TEST_F(domain_send, D59a_the_receiver_went_idle_and_the_live_call_fails) {
    hv1_runs_it();
    refuse(3);
    flush_places();
    ensemble.put(key("/migrate_sync_lock"), to_text(u1));
    ensemble.put(key("/migrate_sync_lock"), "");
    ASSERT_TRUE(until_state("start")) << hv1().log();
    pass(1s);
    EXPECT_EQ(placement(), "start hv1 ");
    EXPECT_FALSE(was("hv1: shutdown U1"));
    EXPECT_TRUE(settled_on("hv1"));
}

// Seen in its first phase, and gone before the lock is had.
TEST_F(domain_send, D59a_the_receiver_was_seen_and_does_not_queue_again) {
    hv1_runs_it();
    flush_places();
    const auto peer = contend("/migrate_sync_lock");
    ASSERT_TRUE(run_until([&] { return was("hv1 +sync"); }, 5s)) << story();
    leave(peer);
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 10s)) << hv1().log();
    ASSERT_TRUE(until_state("start", 15s)) << hv1().log();
    EXPECT_EQ(placement(), "start hv2 hv1");
    pass(1s);
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_send, D59a_the_receiver_went_idle_and_it_must_not_move_live) {
    hv1_runs_it({{"/migration_method", "shutdown"}});
    flush_places();
    ensemble.put(key("/migrate_sync_lock"), to_text(u1));
    ensemble.put(key("/migrate_sync_lock"), "");
    ASSERT_TRUE(until_state("start")) << hv1().log();
    EXPECT_EQ(placement(), "start hv1 ");
    EXPECT_FALSE(was("hv1: shutdown U1")) << story();
}

TEST_F(domain_send, D60_off_and_the_receiver_is_dead) {
    hv1_runs_it({{"/migration_method", "shutdown"}});
    auto& peer = add_reference("hv2");
    pass(1s);
    flush_places();
    ASSERT_TRUE(run_until([&] { return was("hv1: shutdown U1"); })) << story();
    peer.kill();
    ASSERT_TRUE(until_state("stop")) << story();
    const time_point off = loop.clock().now();
    ASSERT_TRUE(until_state("start")) << story();
    EXPECT_NEAR(seconds_since(off), 10.0, 0.5);
    EXPECT_EQ(placement(), "start hv2 hv1");
    pass(10s);
    EXPECT_EQ(locks_left(), 0U) << story();
    EXPECT_EQ(hardware.centre.running_copies(u1), 0U) << "left to hv2";
}

}  // namespace
}  // namespace pvc::node
