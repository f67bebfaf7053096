// Whose word the newest `stop`, or the newest `node`, of a machine on its way is: what a client wrote is not taken for
// the sender's hand-over, what a sender handed over is finished by whoever comes back, and nobody decides for a node
// that is not its own target (vm-domains.md 8.3 to 8.6; README rulings 26, 27).
#include "domain_send_fixture.hpp"

namespace pvc::node {
namespace {

using sim::verdict;

class domain_last_word : public send_fixture {
protected:
    // Off, `stop`, nothing left behind, and so for a minute.
    void expect_stopped() {
        ASSERT_TRUE(run_until([&] { return !guest("hv1").is_there() && !guest("hv2").is_there(); }, 60s)) << story();
        forget();
        pass(60s);
        EXPECT_EQ(state(), "stop") << story() << hv1().log() << nodes.back().log();
        EXPECT_FALSE(was("state=start")) << story();
        EXPECT_FALSE(guest("hv1").is_there());
        EXPECT_FALSE(guest("hv2").is_there());
        EXPECT_EQ(value(key("/migrate_sync_lock")), "");
        EXPECT_EQ(locks_left(), 0U) << story();
        EXPECT_EQ(running("hv1"), "");
        EXPECT_EQ(running("hv2"), "");
    }
    sim_node& hv2() { return nodes.back(); }
    static bool sets(const zookeeper::request& what, const std::string& path, const std::string& data) {
        return std::ranges::any_of(what.operations, [&](const zookeeper::operation& one) {
            return one.what == zookeeper::operation::kind::set && one.path == path && one.data == data;
        });
    }
};

TEST_F(domain_last_word, a_hand_over_says_so_in_its_own_transaction) {
    two_of_ours({{"/migration_method", "shutdown"}});
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); })) << story();
    pass(3s);
    EXPECT_TRUE(in_order({"state=stop", "sync=" + to_text(u1) + " handed over", "state=start", "sync="})) << story();
    const auto all = changes(key("/"));
    const auto of = [&](const std::string& suffix, const std::string& data) {
        return std::ranges::find_if(
            all, [&](const recorded_change& one) { return one.path == key(suffix) && one.data == data; });
    };
    const auto stop = of("/state", "stop");
    const auto mark = of("/migrate_sync_lock", to_text(u1) + " handed over");
    ASSERT_TRUE(stop != all.end() && mark != all.end());
    EXPECT_EQ(stop->zxid, mark->zxid);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_last_word, a_stop_before_the_senders_turn) {
    two_of_ours();
    const auto other = contend("/state");
    flush_places();
    ASSERT_TRUE(run_until([&] { return was("hv1 +state"); })) << story();
    pass(100ms);
    set("stop");
    pass(100ms);
    leave(other);
    expect_stopped();
}

TEST_F(domain_last_word, a_stop_without_the_lock_during_the_copy) {
    two_of_ours();
    guest().set_kind(guest_kind::dirty);
    flush_places();
    ASSERT_TRUE(until_copying()) << story();
    pass(1s);
    set("stop");
    expect_stopped();
}

TEST_F(domain_last_word, a_stop_without_the_lock_during_a_shutdown) {
    two_of_ours({{"/migration_method", "shutdown"}});
    guest().set_kind(guest_kind::hang);
    flush_places();
    ASSERT_TRUE(run_until([&] { return was("hv1: shutdown U1"); })) << story();
    pass(1s);
    set("stop");
    expect_stopped();
}

// Written again by a client, it is his.
TEST_F(domain_last_word, a_stop_that_is_written_again) {
    two_of_ours({{"/migration_method", "shutdown"}});
    flush_places();
    ASSERT_TRUE(until_state("stop")) << story();
    set("stop");
    expect_stopped();
}

TEST_F(domain_last_word, a_stop_during_the_copy_of_the_reference) {
    hv2_runs_it();
    add_reference("hv2");
    pass(1s);
    guest("hv2").set_kind(guest_kind::dirty);
    place("migrate", "hv1", "hv2");
    ASSERT_TRUE(until_copying("hv2", "hv1")) << story();
    set("stop");
    forget();
    pass(20s);
    EXPECT_EQ(state(), "stop") << story() << hv1().log();
    EXPECT_FALSE(was("state=start")) << story();
}

// A reference node says nothing when it hands over.
TEST_F(domain_last_word, the_reference_hands_over) {
    hv2_runs_it({{"/migration_method", "shutdown"}});
    add_reference("hv2");
    pass(1s);
    place("migrate", "hv1", "hv2");
    ASSERT_TRUE(run_until([&] { return executes("hv1"); }, 60s)) << story() << hv1().log();
    pass(3s);
    EXPECT_TRUE(settled_on("hv1")) << story();
}

TEST_F(domain_last_word, both_sessions_end_right_after_the_hand_over) {
    two_of_ours({{"/migration_method", "shutdown"}});
    flush_places();
    ASSERT_TRUE(until_state("stop")) << story();
    hv1().connector.link().expire_sessions();
    hv2().connector.link().expire_sessions();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 30s)) << story() << hv1().log() << hv2().log();
    pass(12s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

TEST_F(domain_last_word, both_daemons_die_right_after_the_hand_over) {
    two_of_ours({{"/migration_method", "shutdown"}});
    flush_places();
    ASSERT_TRUE(until_state("stop")) << story();
    hv1().kill();
    hv2().kill();
    pass(15s);
    EXPECT_EQ(state(), "stop") << story();
    hv2().start();
    ASSERT_TRUE(run_until([&] { return executes("hv2"); }, 60s)) << story() << hv2().log();
    hv1().start();
    pass(20s);
    EXPECT_TRUE(settled_on("hv2")) << story();
}

// Of a receiver that never comes back: the sender sees to it, as if it had never been away.
TEST_F(domain_last_word, only_the_sender_comes_back) {
    two_of_ours({{"/migration_method", "shutdown"}});
    flush_places();
    ASSERT_TRUE(until_state("stop")) << story();
    hv2().kill();
    hv1().connector.link().expire_sessions();
    ASSERT_TRUE(until_state("start", 40s)) << story() << hv1().log();
    EXPECT_EQ(value(key("/node")), "hv2");
    EXPECT_EQ(value(key("/migrate_sync_lock")), "");
}

TEST_F(domain_last_word, only_the_daemon_of_the_sender_comes_back) {
    two_of_ours({{"/migration_method", "shutdown"}});
    flush_places();
    ASSERT_TRUE(until_state("stop")) << story();
    hv2().kill();
    hv1().kill();
    pass(15s);
    hv1().start();
    ASSERT_TRUE(until_state("start", 60s)) << story() << hv1().log();
    EXPECT_EQ(value(key("/node")), "hv2");
}

// `node` alone is written when the guest has arrived and its receiver has not said so yet.
TEST_F(domain_last_word, another_node_while_the_receiver_is_awaited) {
    hv1_runs_it();
    sim::foreign_migration_times times;
    times.look = 20s;
    add_reference("hv2", times);
    pass(1s);
    flush_places();
    ASSERT_TRUE(run_until([&] { return executes("hv2") && was("hv1 list="); })) << story();
    ensemble.put(key("/node"), "hv3");
    pass(15s);
    EXPECT_FALSE(was("state=start")) << story() << hv1().log();
    EXPECT_EQ(state(), "migrate");
}

TEST_F(domain_last_word, a_method_that_cannot_be_read_is_not_none) {
    hv1_runs_it({{"/migration_method", "live"}});
    add_reference("hv2");
    pass(1s);
    refuse(3);
    auto& link = hv1().connector.link();
    bool is_first = true;
    link.on_request = [&](const zookeeper::request& what) {
        if (what.path == key("/migration_method") && std::exchange(is_first, false)) {
            link.silence();
            plans.after(6s, [&link] { link.end_silence(); });
        }
        return verdict::answer;
    };
    flush_places();
    ASSERT_TRUE(until_state("start")) << story() << hv1().log();
    link.on_request = {};
    EXPECT_FALSE(is_first);
    EXPECT_FALSE(was("hv1: shutdown U1")) << story();
    EXPECT_TRUE(executes("hv1"));
    EXPECT_EQ(placement(), "start hv1 ");
}

TEST_F(domain_last_word, the_connection_breaks_at_the_last_write) {
    two_of_ours();
    auto& link = hv2().connector.link();
    bool is_first = true;
    link.on_request = [&](const zookeeper::request& what) {
        const bool is_last_write = sets(what, key("/migrate_sync_lock"), "");
        return is_last_write && std::exchange(is_first, false) ? verdict::drop_before : verdict::answer;
    };
    flush_places();
    ASSERT_TRUE(run_until([&] { return state() == "start" && !is_first; })) << story();
    pass(5s);
    link.on_request = {};
    EXPECT_TRUE(settled_on("hv2")) << story() << hv2().log();
}

// What the receiver left is cleared by the rollback, or by whoever sees to the guest after it.
TEST_F(domain_last_word, the_connection_breaks_when_a_sender_clears_up) {
    hv1_runs_it({{"/migration_method", "live"}});
    hardware.centre.cut("hv1", "hv2");
    auto& link = hv1().connector.link();
    bool is_first = true;
    link.on_request = [&](const zookeeper::request& what) {
        const bool is_clearing = sets(what, key("/migrate_sync_lock"), "");
        return is_clearing && std::exchange(is_first, false) ? verdict::drop_before : verdict::answer;
    };
    flush_places();
    pass(1s);
    ensemble.put(key("/migrate_sync_lock"), to_text(u1));  // of a receiver that loses its power then
    ASSERT_TRUE(until_state("start", 120s)) << story() << hv1().log();
    pass(10s);
    link.on_request = {};
    EXPECT_FALSE(is_first);
    EXPECT_EQ(value(key("/migrate_sync_lock")), "");
    EXPECT_TRUE(settled_on("hv1")) << story();
}

// Neither side waits for its disk while somebody could want something of the machine.
TEST_F(domain_last_word, disks_that_hang) {
    two_of_ours();
    hv1().host.disk_time = 60s;
    hv2().host.disk_time = 60s;
    flush_places();
    const time_point asked = loop.clock().now();
    ASSERT_TRUE(until_state("start")) << story();
    EXPECT_LE(seconds_since(asked), 2.0);
    pass(200ms);
    set("stop");
    const time_point stopped = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return !guest("hv2").is_there(); }, 30s)) << story() << hv2().log();
    EXPECT_LE(seconds_since(stopped), 2.0);
}

}  // namespace
}  // namespace pvc::node
