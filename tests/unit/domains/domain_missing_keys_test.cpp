// Missing keys of a machine that exists count as their defaults, and a write creates them; a read that failed is a
// failure (README ruling 27).
#include "domain_state_fixture.hpp"

namespace pvc::node {
namespace {

class domain_missing_keys : public domain_state_fixture {
protected:
    void drop(const std::string& suffix, const uuid& id = u1) { ensemble.remove(key_of(id, suffix)); }
    // A live-only move to a node whose libvirt cannot be reached.
    void cannot_move() {
        hv1_runs_it({{"/migration_method", "live"}});
        add_reference("hv2");
        pass(1s);
        hardware.centre.cut("hv1", "hv2");
        forget();
        place("migrate", "hv2", "hv1");
    }
};

TEST_F(domain_missing_keys, a_rollback_creates_lastnode) {
    cannot_move();
    drop("/lastnode");
    ASSERT_TRUE(until_state("start", 120s)) << story() << hv1().log();
    EXPECT_EQ(value(key("/node")), "hv1");
    EXPECT_TRUE(ensemble.exists(key("/lastnode")));
    EXPECT_EQ(value(key("/lastnode")), "");
    pass(10s);
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_missing_keys, a_migration_makes_the_key_of_its_hand_shake) {
    two_of_ours();
    drop("/migrate_sync_lock");
    place("migrate", "hv2", "hv1");
    ASSERT_TRUE(run_until([&] { return executes("hv2") && state() == "start"; }, 60s)) << story() << hv1().log();
    pass(5s);
    EXPECT_TRUE(ensemble.exists(key("/migrate_sync_lock")));
    EXPECT_EQ(locks_left(), 0U);
}

TEST_F(domain_missing_keys, it_goes_at_any_moment_of_the_move) {
    cannot_move();
    for (const auto late : {100ms, 2000ms, 6000ms, 11000ms, 15000ms, 16000ms}) {
        plans.after(late, [this] {
            if (state() == "migrate" && ensemble.exists(key("/lastnode"))) {
                drop("/lastnode");
            }
        });
    }
    ASSERT_TRUE(until_state("start", 120s)) << story() << hv1().log();
    EXPECT_EQ(value(key("/node")), "hv1");
}

TEST_F(domain_missing_keys, a_flush_moves_a_machine_without_node_autostart) {
    three_nodes_two_machines();
    drop("/node_autostart");
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
    EXPECT_EQ(place_of(u2), "start hv2 hv1");
    EXPECT_FALSE(ensemble.exists(key("/node_autostart"))) << "nothing of it was written";
}

TEST_F(domain_missing_keys, a_flush_moves_a_machine_without_lastnode) {
    three_nodes_two_machines();
    drop("/lastnode");
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_EQ(place_of(u1), "start hv2 hv1");
}

TEST_F(domain_missing_keys, where_nobody_can_take_it_the_flush_creates_node_autostart) {
    machine_on(u1, "hv1");
    add_ready("hv1", 1000);
    settle();
    drop("/node_autostart");
    drop("/lastnode");
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_EQ(state_of(u1), "stop");
    EXPECT_EQ(value(key("/node_autostart")), "True");
    order("unflush");
    ASSERT_TRUE(until_word("ready"));
    ASSERT_TRUE(run_until([&] { return guest().executes(); }));
    EXPECT_EQ(place_of(u1), "start hv1 ");
    EXPECT_EQ(value(key("/node_autostart")), "False");
}

TEST_F(domain_missing_keys, a_flush_says_what_it_leaves_for_want_of_its_node) {
    three_nodes_two_machines();
    drop("/node");
    order("flush");
    ASSERT_TRUE(until_word("flushed"));
    EXPECT_TRUE(nodes.front().logged("/node is missing")) << nodes.front().log();
    EXPECT_TRUE(executes("hv1"));
}

TEST_F(domain_missing_keys, a_guest_without_node_is_looked_at_from_the_beginning) {
    define("start", "hv1");
    drop("/node");
    machine().put_running(u1, "web", xml(u1));
    sim_node& node = add_running_host();
    pass(5s);
    EXPECT_TRUE(node.logged("its key `node` is missing or empty")) << node.log();
    EXPECT_TRUE(executes("hv1"));
    set("stop");
    ASSERT_TRUE(run_until([&] { return !guest().is_there(); }, 10s)) << "it must be off everywhere";
}

TEST_F(domain_missing_keys, a_running_guest_without_state_is_left_alone_and_said) {
    define("start", "hv1");
    machine().put_running(u1, "web", xml(u1));
    sim_node& node = add_running_host();
    pass(5s);
    drop("/state");
    pass(5s);
    EXPECT_TRUE(node.logged("its key `state` is missing or empty: left alone")) << node.log();
    EXPECT_TRUE(executes("hv1"));
}

TEST_F(domain_missing_keys, and_is_adopted_when_the_key_comes_back) {
    define("start", "hv1");
    drop("/node");
    machine().put_running(u1, "web", xml(u1));
    add_running_host();
    pass(5s);
    ensemble.put(key("/node"), "hv1");
    ASSERT_TRUE(run_until([&] { return running() == to_text(u1); }, 10s));
    EXPECT_TRUE(calls().empty());
}

}  // namespace
}  // namespace pvc::node
