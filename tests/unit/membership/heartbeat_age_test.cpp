// What the age of the own heartbeat is counted from, and whose heartbeat the note on disk is about (node-lifecycle.md
// 3.1 rule 5, 4, zookeeper-schema.md 10).
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class heartbeat_age : public node_test {
protected:
    heartbeat_age() { sim::initialise(ensemble, 10); }

    // Until the next heartbeat is acknowledged.
    void next_acknowledgement(sim_node& node) {
        const auto before = node.daemon().context().heartbeat_sent;
        ASSERT_TRUE(run_until([&] { return node.daemon().context().heartbeat_sent != before; }, 20s));
    }
    static double seconds(duration time) { return std::chrono::duration<double>(time).count(); }
    static std::string note_of(sim_node& node) {
        const auto text = node.host.read_file("/run/pvc/heartbeat");
        return text ? *text : std::string();
    }
};

TEST_F(heartbeat_age, it_counts_from_the_sending_and_not_from_the_answer) {
    auto& hv1 = add_primary();
    loop.run_for(12s);
    hv1.connector.link().write_answer_delay = 1500ms;
    next_acknowledgement(hv1);
    next_acknowledgement(hv1);
    // The answer has just been read.
    EXPECT_NEAR(seconds(hv1.daemon().context().heartbeat_age()), 1.5, 0.1);
    // And so does the note that a daemon started after us reads.
    loop.run_for(100ms);
    const auto sent = hv1.daemon().context().heartbeat_sent->time_since_epoch().count();
    EXPECT_NE(note_of(hv1).find(" " + std::to_string(sent) + " "), std::string::npos) << note_of(hv1);
}

// Somebody deleted the key: what made it again was sent when it was sent.
TEST_F(heartbeat_age, it_counts_from_the_sending_of_what_makes_its_key_again) {
    auto& hv1 = add_primary();
    loop.run_for(12s);
    hv1.connector.link().write_answer_delay = 1200ms;
    next_acknowledgement(hv1);
    ensemble.remove_tree("/nodes/hv1/keepalive");
    next_acknowledgement(hv1);
    EXPECT_TRUE(ensemble.exists("/nodes/hv1/keepalive"));
    EXPECT_NEAR(seconds(hv1.daemon().context().heartbeat_age()), 1.2, 0.1);
}

TEST_F(heartbeat_age, ac26_an_isolated_primary_gives_up_by_the_time_of_the_sending) {
    auto& hv1 = add_primary();
    put_peer("hv2", "coordinator", "run", "secondary");
    loop.run_for(12s);
    hv1.connector.link().write_answer_delay = 1900ms;
    next_acknowledgement(hv1);
    next_acknowledgement(hv1);
    const auto answered = loop.clock().now();
    hv1.connector.link().cut();
    ASSERT_TRUE(run_until([&] { return hv1.daemon().context().role.now() != model::router_state::primary; }, 100s));
    // (FI + 6) x KI - KI = 55 s, 1.9 s of which had gone when the answer came.
    EXPECT_NEAR(seconds(loop.clock().now() - answered), 55.0 - 1.9, 0.6);
}

// Of this boot and about the heartbeat that is stored: nobody else beats under our name. Of another boot it proves
// nothing, the disk may have been copied with the machine.
TEST_F(heartbeat_age, a_note_of_another_boot_proves_nothing) {
    for (const bool is_other : {false, true}) {
        auto& node = add_running({.name = is_other ? "hv2" : "hv1"});
        loop.run_for(12s);
        node.kill();
        const std::string note = note_of(node);
        ASSERT_EQ(note.find(node.host.machine.boot_id), 0U) << note;
        if (is_other) {
            node.host.machine.boot_id = "another-boot";
        }
        ASSERT_EQ(note_of(node), note);
        node.start();
        ASSERT_TRUE(node.run_until_ready());
        EXPECT_EQ(node.times_logged("to be sure that no other host uses this name"), is_other ? 1U : 0U);
        node.stop();
    }
}

}  // namespace
}  // namespace pvc::node
