// The rules about the addresses of the primary see what they are about, and nothing else.
#include "sim/world/judged_cluster.hpp"

namespace pvc::sim {

using namespace std::chrono_literals;

class address_rules_test : public judged_cluster {
protected:
    address_rules_test() : judged_cluster(two_nodes({.networking = true})) {}

    void SetUp() override {
        perform("start hv1");
        pass(10s);
        perform("start hv2");
        pass(60s);
        ASSERT_EQ(world.ensemble.get("/config/primary_node"), "hv1");
        assert_calm();
    }

    sim_node& hv1 = world.members[0]->node;
    sim_node& hv2 = world.members[1]->node;
};

// One that nobody hears may keep them for its isolation limit of 55 s, and not for longer.
TEST_F(address_rules_test, two_that_answer_on_one_address) {
    perform("cut hv2");
    hv2.addresses.cut = true;  // else it takes it away at once
    hv2.kernel.add("brupstream", hv2.settings.upstream_floating_ip);
    pass(58s);
    EXPECT_EQ(broken(), "");
    EXPECT_FALSE(watch.missing().empty());
    pass(6s);
    EXPECT_EQ(broken(), "one_holder");
}

TEST_F(address_rules_test, a_secondary_that_has_one) {
    hv2.addresses.cut = true;                    // else it takes it away at once
    hv2.kernel.add("lo", "169.254.169.254/32");  // nobody else can see it
    pass(2s);
    EXPECT_EQ(broken(), "secondary_without_addresses");
}

TEST_F(address_rules_test, a_primary_that_has_not_all) {
    hv1.kernel.remove("brcluster", *parse_host_address(hv1.settings.cluster_floating_ip));
    EXPECT_EQ(watch.missing().size(), 1U);
    pass(40s);  // it looks by itself
    EXPECT_TRUE(watch.missing().empty());
}

// Nobody can take from it what it has; when it comes back it does that itself.
TEST_F(address_rules_test, a_dead_daemon_is_no_breach) {
    perform("kill hv1");
    pass(20s);
    perform("make-primary hv2");
    pass(200s);
    EXPECT_EQ(broken(), "");
    const auto upstream = parse_host_address(hv1.settings.upstream_floating_ip)->address;
    EXPECT_TRUE(hv1.kernel.answers(upstream));
    EXPECT_TRUE(hv2.kernel.answers(upstream));
    perform("start hv1");
    pass(30s);
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(hv1.role_addresses(), "172.17.0.1/16 on docker0");  // somebody else's
    EXPECT_TRUE(watch.missing().empty()) << watch.missing().front();
}

// After a minute in which all was right, and nothing was asked again.
TEST_F(address_rules_test, a_neighbour_who_was_not_told_of_another_hardware_address) {
    hv1.addresses.cut = true;  // else it announces it
    ASSERT_TRUE(hv1.kernel.apply(model::set_hardware{"brcluster", {0x0a, 0, 0, 0, 0, 1}}));
    pass(5s);
    EXPECT_EQ(broken(), "neighbours_know");
}

TEST_F(address_rules_test, a_bridge_that_has_another_hardware_address) {
    ASSERT_TRUE(hv2.kernel.apply(model::set_hardware{"brcluster", {0x0a, 0, 0, 0, 0, 1}}));
    pass(12s);
    EXPECT_EQ(broken(), "bridges_keep_theirs");
}

TEST_F(address_rules_test, one_without_power_has_none) {
    perform("power-off hv1");
    pass(1s);
    EXPECT_EQ(hv1.role_addresses(), "172.17.0.1/16 on docker0");  // somebody else's
}

// A reference node gives the role to hv1.
class hand_over_rule : public ::testing::Test {
protected:
    explicit hand_over_rule(duration first_beat = {}) : world(settings(first_beat)) {
        perform("start hv1");
        until("/nodes/hv1/routerstate", "primary");
        perform("start hv2");
        pass(46s);  // they are calm
        perform("start ref1");
        until("/nodes/ref1/daemonstate", "run");
    }
    static cluster_settings settings(duration first_beat) {
        cluster_settings wanted;
        for (const auto* name : {"hv1", "hv2"}) {
            wanted.nodes.push_back({.name = name, .coordinators = {"hv1", "hv2", "ref1"}, .networking = true});
        }
        wanted.foreign = {"ref1"};
        wanted.foreign_first_beat = first_beat;
        return wanted;
    }
    void perform(std::string_view line) { ASSERT_TRUE(world.perform(*parse_action(line))) << line; }
    void pass(duration time) {
        world.later.after(time, [] {});
        for (const time_point end = world.now() + time; world.now() < end && world.step();) {
            watch.look();
        }
    }
    void until(std::string_view path, std::string_view value) {
        const time_point end = world.now() + 60s;
        while (world.now() < end && world.ensemble.get(path) != value && world.step()) {
            watch.look();
        }
        ASSERT_EQ(world.ensemble.get(path), value);
    }
    // Somebody contends for the role before hv1 is named.
    void hand_over_beside(const std::string& holder) {
        perform("make-primary ref1");
        until("/nodes/ref1/routerstate", "primary");
        pass(46s);
        const auto made =
            world.ensemble.create("/config/primary_node/6f892bb59b4541c699e870a841d1568b__lock__", holder,
                                  zookeeper::create_mode::ephemeral_sequential, world.ensemble.open_session());
        ASSERT_TRUE(made);
        perform("make-primary hv1");
        until("/nodes/ref1/routerstate", "relinquish");
        pass(6s);
    }
    [[nodiscard]] std::string broken() const { return watch.broken() ? watch.broken()->invariant : ""; }

    cluster world;
    judge watch{world};
};

TEST_F(hand_over_rule, asks_for_the_addresses_in_time) {
    hand_over_beside("hv2:1000:coordinator:contend for the primary role");
    EXPECT_EQ(broken(), "handed_over_in_time");
}

TEST_F(hand_over_rule, waits_for_a_contender_who_hears_late_that_he_has_the_lock) {
    perform("answer-delay hv2 5s for 200s");
    hand_over_beside("hv2:1000:coordinator:contend for the primary role");
    EXPECT_EQ(broken(), "");
}

class hand_over_rule_at_the_start : public hand_over_rule {
protected:
    hand_over_rule_at_the_start() : hand_over_rule(19s) {}
};

// It has said `run`, and is told to take the role and to give it away before it beats: ours does not hear it, and waits
// (rule C1).
TEST_F(hand_over_rule_at_the_start, asks_nothing_of_who_does_not_hear_the_giver) {
    perform("make-primary ref1");
    until("/nodes/ref1/routerstate", "primary");
    perform("make-primary hv1");
    until("/nodes/hv1/routerstate", "primary");
    EXPECT_EQ(broken(), "");
}

}  // namespace pvc::sim
