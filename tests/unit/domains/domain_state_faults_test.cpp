// Flush and unflush while others write, while the session breaks, and around kills and stops: node-lifecycle.md 8,
// cases AC21, AC25.
#include "domain_state_fixture.hpp"

namespace pvc::node {
namespace {

using texts = std::vector<std::string>;

class domain_state_faults : public domain_state_fixture {};

// --- conflicts and locks ---

TEST_F(domain_state_faults, what_a_client_holds_is_waited_for) {
    three_nodes_two_machines();
    const auto held = hold_lock(u1);
    order("flush");
    pass(20s);
    EXPECT_TRUE(jobs().empty());
    leave(held);
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
}

TEST_F(domain_state_faults, a_lock_that_is_never_released_ends_after_four_attempts) {
    three_nodes_two_machines();
    const auto held = hold_lock(u1);
    const time_point from = loop.clock().now();
    order("flush");
    ASSERT_TRUE(until_word("flushed", 300s)) << hv1().log();
    EXPECT_NEAR(seconds_since(from), 121.0, 2.0);
    EXPECT_EQ(jobs(), (texts{"U2 state=migrate node=hv2 lastnode=hv1", "runningdomains=U1 domainstate=flushed"}));
    EXPECT_TRUE(hv1().logged("flush: its keys could not be written, it is left as it is"));
    leave(held);
}

TEST_F(domain_state_faults, a_change_between_reading_and_writing_is_noticed) {
    three_nodes_two_machines();
    int changes = 0;
    ensemble.observe([&](const recorded_change& change) {
        const bool is_lock =
            change.what == recorded_kind::create && change.owner == 1 && change.path.starts_with(key_of(u1, "/state/"));
        if (is_lock && changes < 2) {
            // After the keys were read (some hundred microseconds from now) and before the write.
            ++changes;
            hv1().connector.link().answer_delay = 50ms;
            plans.after(600ms, [this] { ensemble.put(key_of(u1, "/node_limit"), "hv4"); });
        }
    });
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    hv1().connector.link().answer_delay = 0ms;
    EXPECT_EQ(place_of(u1), "start hv4 hv1") << "decided again";
    EXPECT_GT(ensemble.counters().refused_writes, 0U);
    EXPECT_FALSE(was_written(key("/node"), "hv2"));
}

TEST_F(domain_state_faults, a_machine_whose_keys_change_all_the_time_is_left) {
    three_nodes_two_machines();
    std::uint64_t number = 0;
    bool goes_on = true;
    std::function<void()> change = [&] {
        ensemble.put(key_of(u1, "/node_limit"), "hv2,hv4," + std::to_string(++number));
        if (goes_on) {
            plans.after(1ms, change);
        }
    };
    change();
    order("flush");
    ASSERT_TRUE(until_word("flushed", 300s)) << hv1().log();
    goes_on = false;
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_EQ(jobs().back(), "runningdomains=U1 domainstate=flushed");
    plans.clear();
}

TEST_F(domain_state_faults, a_target_that_is_taken_out_meanwhile_is_chosen_again) {
    three_nodes_two_machines();
    const auto done = std::make_shared<bool>(false);
    ensemble.observe([this, done](const recorded_change& change) {
        if (!*done && change.what == recorded_kind::create && change.owner == 1 &&
            change.path.starts_with(key_of(u1, "/state/"))) {
            *done = true;
            hv1().connector.link().answer_delay = 50ms;
            plans.after(800ms, [this] {
                order("flush", "hv2");
                hv1().connector.link().answer_delay = 0ms;
            });
        }
    });
    order("flush");
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_NE(value(key("/node")), "hv1");
    pass(60s);
    EXPECT_EQ(place_of(u1), "start hv4 hv1") << hv1().log();
    EXPECT_EQ(place_of(u2), "start hv4 hv1");
}

TEST_F(domain_state_faults, a_machine_removed_in_the_middle_is_no_trouble) {
    three_nodes_two_machines();
    const auto held = hold_lock(u1);
    order("flush");
    pass(5s);
    ensemble.put(key("/state"), "stop");
    pass(5s);
    ensemble.remove_tree(key());
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U2 state=migrate node=hv2 lastnode=hv1", "runningdomains= domainstate=flushed"}));
}

// --- sessions, kills, stops ---

TEST_F(domain_state_faults, ac25_an_order_that_came_while_the_session_was_lost_is_begun_once) {
    three_nodes_two_machines();
    auto& link = hv1().connector.link();
    link.cut();
    pass(15s);  // the session has expired
    order("flush");
    pass(1s);
    EXPECT_TRUE(jobs().empty());
    link.mend();
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(jobs(), (texts{"U1 state=migrate node=hv2 lastnode=hv1", "U2 state=migrate node=hv2 lastnode=hv1",
                             "runningdomains= domainstate=flushed"}));
    EXPECT_EQ(hv1().times_logged("are to leave this node"), 1U);
}

TEST_F(domain_state_faults, a_flush_goes_on_in_the_next_session) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 5;
    order("flush");
    ASSERT_TRUE(until_copying());
    ensemble.expire_session(hv1().connector.link().session_id());
    ASSERT_TRUE(until_word("flushed", 300s)) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(place_of(u2), "start hv2 hv1");
    EXPECT_EQ(running(), "");
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_state_faults, a_connection_away_for_a_moment_costs_nothing) {
    three_nodes_two_machines();
    order("flush");
    pass(5ms);
    hv1().connector.link().cut();
    pass(4s);
    hv1().connector.link().mend();
    ASSERT_TRUE(until_word("flushed")) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(place_of(u2), "start hv2 hv1");
    EXPECT_EQ(running(), "");
}

TEST_F(domain_state_faults, a_daemon_killed_in_mid_flush_goes_on_after_its_start) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 5;
    order("flush");
    ASSERT_TRUE(until_copying());
    hv1().kill();
    pass(20s);
    EXPECT_EQ(word(), "flush");
    hv1().start();
    ASSERT_TRUE(until_word("flushed", 300s)) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(place_of(u2), "start hv2 hv1");
    EXPECT_EQ(running(), "");
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_state_faults, killed_at_any_moment_of_a_flush_it_ends_flushed_and_nothing_is_lost) {
    for (int at = 0; at < 60; at += 3) {
        SCOPED_TRACE(at);
        if (nodes.empty()) {
            three_nodes_two_machines();
        } else {
            order("unflush");
            ASSERT_TRUE(until_word("ready", 300s));
        }
        order("flush");
        pass(std::chrono::milliseconds(at * 25));
        hv1().kill();
        pass(1s);
        hv1().start();
        ASSERT_TRUE(until_word("flushed", 400s)) << hv1().log();
        pass(3s);
        EXPECT_EQ(place_of(u1), "start hv2 hv1");
        EXPECT_EQ(place_of(u2), "start hv2 hv1");
        EXPECT_EQ(running(), "");
    }
}

TEST_F(domain_state_faults, ac21_a_stop_waits_for_the_flush) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 15;  // 30 s for both
    order("flush");
    ASSERT_TRUE(until_copying());
    ensemble.clear_trace();
    hv1().terminate();
    ASSERT_TRUE(run_until([&] { return hv1().exit_status.has_value(); }, 300s)) << hv1().log();
    EXPECT_EQ(hv1().exit_status, 0);
    EXPECT_EQ(word(), "flushed");
    EXPECT_EQ(running(), "");
    EXPECT_EQ(values_written("/nodes/hv1/daemonstate"), (texts{"shutdown", "stop"}));
    EXPECT_GT(changes("/nodes/hv1/daemonstate").back().zxid, changes("/nodes/hv1/domainstate").back().zxid);
    EXPECT_EQ(place_of(u2), "start hv2 hv1");
    EXPECT_TRUE(hv1().logged("stopping: waiting for the node's own order `flush` to be done"));
}

TEST_F(domain_state_faults, ac21_a_stop_waits_no_longer_than_240_s) {
    for (const auto& id : {u1, u2, u3, u4}) {
        machine_on(id, "hv1", "start", {}, {{"/migration_method", "live"}});
        machine().guest(id).set_kind(guest_kind::dirty);
    }
    add_ready("hv1", 1000);
    add_ready("hv2", 8000);
    settle();
    order("flush");
    ASSERT_TRUE(until_copying());
    const time_point from = loop.clock().now();
    hv1().terminate();
    ASSERT_TRUE(run_until([&] { return hv1().exit_status.has_value(); }, 400s)) << hv1().log();
    EXPECT_GE(seconds_since(from), 240.0);
    EXPECT_LE(seconds_since(from), 262.0);
    EXPECT_EQ(hv1().exit_status, 0);
    EXPECT_EQ(word(), "flush") << "it goes on at the next start";
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "stop");
    EXPECT_TRUE(hv1().logged("is not done yet, it goes on when this node is started again"));
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_state_faults, a_stopping_node_begins_no_other_order) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 15;
    order("flush");
    ASSERT_TRUE(until_copying());
    hv1().terminate();
    pass(1s);
    order("unflush");
    ASSERT_TRUE(run_until([&] { return hv1().exit_status.has_value(); }, 300s)) << hv1().log();
    EXPECT_EQ(word(), "unflush");
    hv1().start();
    ASSERT_TRUE(until_word("ready", 300s)) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_EQ(place_of(u2), "start hv1 ");
}

TEST_F(domain_state_faults, a_flush_goes_on_through_a_hot_schema_update) {
    three_nodes_two_machines();
    hardware.centre.times.bandwidth_bytes_per_second = 64.0 * 1024 * 1024 / 15;
    order("flush");
    ASSERT_TRUE(until_copying());
    ensemble.put("/schema/version", "9");
    ASSERT_TRUE(until_word("flushed", 300s)) << hv1().log();
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(place_of(u2), "start hv2 hv1");
    EXPECT_EQ(hv1().times_logged("are to leave this node"), 1U) << "the job is not begun anew";
}

}  // namespace
}  // namespace pvc::node
