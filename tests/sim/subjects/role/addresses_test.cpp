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

}  // namespace pvc::sim
