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

TEST_F(address_rules_test, one_without_power_has_none) {
    perform("power-off hv1");
    pass(1s);
    EXPECT_EQ(hv1.role_addresses(), "172.17.0.1/16 on docker0");  // somebody else's
}

// A reference node that has said `run`, and is told to take the role and to give it away before it beats: ours does not
// hear it, and waits (rule C1).
TEST(hand_over_rule, asks_nothing_of_who_does_not_hear_the_giver) {
    cluster_settings settings;
    settings.nodes.push_back({.name = "hv1", .coordinators = {"hv1", "ref1"}, .networking = true});
    settings.foreign = {"ref1"};
    settings.foreign_first_beat = 19s;
    cluster world(std::move(settings));
    judge watch(world);
    const auto until = [&](std::string_view path, std::string_view value) {
        const time_point end = world.now() + 60s;
        while (world.now() < end && world.ensemble.get(path) != value && world.step()) {
            watch.look();
        }
        ASSERT_EQ(world.ensemble.get(path), value);
    };
    ASSERT_TRUE(world.perform(*parse_action("start hv1")));
    until("/nodes/hv1/routerstate", "primary");
    world.later.after(46s, [] {});  // it is calm
    const time_point calm = world.now() + 46s;
    while (world.now() < calm && world.step()) {
        watch.look();
    }
    ASSERT_TRUE(world.perform(*parse_action("start ref1")));
    until("/nodes/ref1/daemonstate", "run");
    ASSERT_TRUE(world.perform(*parse_action("make-primary ref1")));
    until("/nodes/ref1/routerstate", "primary");
    ASSERT_TRUE(world.perform(*parse_action("make-primary hv1")));
    until("/nodes/hv1/routerstate", "primary");
    EXPECT_FALSE(watch.broken()) << watch.broken()->what;
}

}  // namespace pvc::sim
