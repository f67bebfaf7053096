// A break of a lock that began in time is carried out, also where its host slept in the midst of it; none begins later.
#include "sim/subjects/domains/guest_rules.hpp"
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/fencing/fence_rules.hpp"
#include "sim/subjects/fencing/fencing.hpp"

#include <gtest/gtest.h>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

class break_rules : public ::testing::Test {
protected:
    break_rules() : world(settings()), of(world) {
        world.ensemble.put("/nodes/hv2/daemonstate", "fenced");
        of.state<fences_seen>().lock["0000000001"] = fencer().number;
    }
    static cluster_settings settings() {
        cluster_settings wanted;
        wanted.boards = true;
        for (const std::string name : {"hv1", "hv2"}) {
            node_settings node;
            node.name = name;
            node.coordinators = {"hv1"};
            node.hypervisor = true;
            node.storage_address = "10.254.0." + name.substr(2) + "/24";
            wanted.nodes.push_back(std::move(node));
        }
        return wanted;
    }
    [[nodiscard]] member& fencer() const { return *world.members.front(); }
    void begins() { world.hardware.rbd.on_break_begun("hv1", image, lock); }
    [[nodiscard]] bool may_end() {
        world.hardware.rbd.on_break("hv1", image, lock);
        return of.state<machines_seen>().foreign_break.empty();
    }
    void loses_lock() { of.state<fences_seen>().lock.clear(); }

    cluster world;
    judge of;
    const std::string image = guest_image(1);
    const storage::rbd_lock lock{"auto 1", "client.2", "10.254.0.2:0/1"};
};

}  // namespace

TEST_F(break_rules, what_began_in_time_ends_after_a_sleep) {
    begins();
    loses_lock();
    fencer().node.clock.suspend(40s);
    EXPECT_TRUE(may_end());
}

TEST_F(break_rules, without_a_sleep_the_lock_is_needed_until_the_end) {
    begins();
    loses_lock();
    EXPECT_FALSE(may_end());
}

TEST_F(break_rules, nothing_begins_after_a_sleep) {
    loses_lock();
    fencer().node.clock.suspend(40s);
    begins();
    EXPECT_FALSE(may_end());
}

TEST_F(break_rules, what_began_without_the_lock_is_not_excused_by_a_sleep) {
    loses_lock();
    begins();
    fencer().node.clock.suspend(40s);
    EXPECT_FALSE(may_end());
}

// By a client, or with its whole entry: the look that it rests on is two seconds old at most.
TEST_F(break_rules, what_began_before_the_node_was_removed_ends) {
    const auto removed = [&](duration ago) {
        of.state<fences_seen>().was_dead["hv2"] = world.now() - ago;
        begins();
        return may_end();
    };
    world.ensemble.remove_tree("/nodes/hv2");
    EXPECT_TRUE(removed(2s));
    EXPECT_FALSE(removed(4s));
}

// Whoever began later has never seen which board was where, and no probe tells.
TEST_F(break_rules, boards_that_were_exchanged_before_a_daemon_began_are_excused_for_that_one) {
    const auto orders = [&](duration began_ago) {
        of.state<fences_seen>().beat["hv2"] = world.now() - 12s;
        of.of(fencer()).started = world.now() - began_ago;
        for (const auto& told : powers_of(world).on_command) {
            told("hv1", "hv2", "off");
        }
        return of.broken() ? of.broken()->invariant : "";
    };
    ASSERT_TRUE(world.perform(*parse_action("exchange-boards hv1 hv2")));
    const time_point end = world.now() + 900s;
    world.later.after(900s, [] {});
    while (world.now() < end && world.step()) {
    }
    EXPECT_EQ(orders(600s), "");
    EXPECT_EQ(orders(1000s), "living_not_fenced") << "it has seen them before, and probed since";
}

}  // namespace pvc::sim
