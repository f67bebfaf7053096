// Foreign nodes beside ours: hand-overs in both directions, contention, stops. Ours has its networking function off, so
// its side of a hand-over is empty: no phase locks (specification, README ruling 11).
#include "sim/foreign/foreign_fixture.hpp"

namespace pvc::sim {
namespace {

using names = std::vector<std::string>;

class foreign_peers : public foreign_test {
protected:
    void expect_no_locks() {
        EXPECT_EQ(lock_children("/config/primary_node"), 0U);
        EXPECT_EQ(lock_children("/config/primary_node/sync_lock"), 0U);
    }
    [[nodiscard]] std::string role_of(const std::string& node) const {
        return value("/nodes/" + node + "/routerstate");
    }
    [[nodiscard]] int primaries(const names& nodes) const {
        return static_cast<int>(
            std::ranges::count_if(nodes, [&](const auto& one) { return role_of(one) == "primary"; }));
    }
};

TEST_F(foreign_peers, a_foreign_primary_hands_over_to_ours) {
    auto& hv2 = add_running({.name = "hv2"});
    ASSERT_TRUE(run_until_role("hv2", "primary"));
    add_ours({.name = "hv1"});
    loop.run_for(8s);
    ASSERT_EQ(role_of("hv1"), "secondary");
    ensemble.clear_trace();
    client.set_primary("hv1");
    EXPECT_TRUE(run_until_role("hv1", "primary", 10s));
    EXPECT_TRUE(run_until_role("hv2", "secondary", 30s));  // it walks its phases alone
    EXPECT_EQ(values_written("/nodes/hv2/routerstate"), (names{"relinquish", "secondary"}));
    loop.run_for(20s);
    EXPECT_EQ(role_of("hv1"), "primary");
    EXPECT_EQ(value("/config/primary_node"), "hv1");
    expect_no_locks();
    EXPECT_TRUE(hv2.is_running());
}

TEST_F(foreign_peers, ours_hands_over_to_a_foreign_node) {
    auto& hv1 = add_ours({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    add_running({.name = "hv2"});
    loop.run_for(8s);
    ensemble.clear_trace();
    client.set_primary("hv2");
    EXPECT_TRUE(run_until_role("hv1", "secondary", 10s));
    EXPECT_TRUE(run_until_role("hv2", "primary", 30s));
    EXPECT_EQ(values_written("/nodes/hv2/routerstate"), (names{"takeover", "primary"}));
    loop.run_for(20s);
    EXPECT_EQ(primaries({"hv1", "hv2"}), 1);
    EXPECT_EQ(value("/config/primary_node"), "hv2");
    expect_no_locks();
    EXPECT_TRUE(hv1.is_running());
}

TEST_F(foreign_peers, ours_sees_the_heartbeat_of_a_foreign_node) {
    add_ours({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    add_running({.name = "hv2"});
    loop.run_for(60s);
    EXPECT_EQ(value("/nodes/hv2/daemonstate"), "run");
    EXPECT_EQ(values_written("/nodes/hv2/daemonstate"), (names{"init", "run"}));
}

TEST_F(foreign_peers, the_vacant_role_ends_with_one_of_them) {
    auto& hv2 = add_running({.name = "hv2"});
    ASSERT_TRUE(run_until_role("hv2", "primary"));
    add_ours({.name = "hv1"});
    add_running({.name = "hv3", .seed = 3});
    loop.run_for(8s);
    for (int i = 0; i < 6; ++i) {
        const std::string before = value("/config/primary_node");
        client.set_secondary(before);
        loop.run_for(40s);
        EXPECT_EQ(primaries({"hv1", "hv2", "hv3"}), 1) << i;
        const std::string after = value("/config/primary_node");
        EXPECT_EQ(role_of(after), "primary") << i;
        EXPECT_NE(after, before) << i;
        expect_no_locks();
    }
    EXPECT_TRUE(hv2.is_running());
}

TEST_F(foreign_peers, the_role_goes_round_between_two_foreign_nodes_and_ours) {
    add_running({.name = "hv2"});
    ASSERT_TRUE(run_until_role("hv2", "primary"));
    add_ours({.name = "hv1"});
    add_running({.name = "hv3", .seed = 3});
    loop.run_for(8s);
    for (const auto* name : {"hv3", "hv1", "hv2", "hv1", "hv3", "hv2"}) {
        // Not in a tick of a foreign primary, which would write its own name back.
        client.set_primary(name);
        EXPECT_TRUE(run_until_role(name, "primary", 30s)) << name;
        loop.run_for(10s);
        EXPECT_EQ(primaries({"hv1", "hv2", "hv3"}), 1) << name;
        EXPECT_EQ(value("/config/primary_node"), name);
        expect_no_locks();
    }
}

TEST_F(foreign_peers, a_foreign_primary_that_stops_leaves_the_role_to_ours) {
    auto& hv2 = add_running({.name = "hv2"});
    ASSERT_TRUE(run_until_role("hv2", "primary"));
    add_ours({.name = "hv1"});
    loop.run_for(8s);
    ensemble.clear_trace();
    hv2.terminate();
    EXPECT_TRUE(run_until([&] { return !hv2.is_running(); }));
    EXPECT_EQ(role_of("hv1"), "primary");
    EXPECT_EQ(role_of("hv2"), "secondary");
    EXPECT_EQ(values_written("/config/primary_node"), (names{"none", "hv1"}));
}

TEST_F(foreign_peers, ours_that_stops_as_primary_leaves_the_role_to_a_foreign_node) {
    auto& hv1 = add_ours({.name = "hv1"});
    ASSERT_TRUE(run_until_role("hv1", "primary"));
    add_running({.name = "hv2"});
    loop.run_for(8s);
    hv1.stop();
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_TRUE(run_until_role("hv2", "primary"));
    EXPECT_EQ(role_of("hv1"), "secondary");
    expect_no_locks();
}

TEST_F(foreign_peers, ours_takes_the_role_of_a_killed_foreign_primary_when_it_is_named) {
    auto& hv2 = add_running({.name = "hv2"});
    ASSERT_TRUE(run_until_role("hv2", "primary"));
    add_ours({.name = "hv1"});
    loop.run_for(8s);
    hv2.kill();
    client.set_primary("hv1");
    EXPECT_TRUE(run_until_role("hv1", "primary", 90s));
    // It comes back as a secondary.
    hv2.start();
    loop.run_for(40s);
    EXPECT_EQ(role_of("hv2"), "secondary");
    EXPECT_EQ(role_of("hv1"), "primary");
}

TEST_F(foreign_peers, the_same_seed_gives_the_same_writes) {
    names first;
    for (int run = 0; run < 2; ++run) {
        sim_loop own_loop;
        memory_ensemble own(own_loop.clock());
        initialise(own, 10);
        scripted_client own_client(own_loop, own);
        foreign_node hv1(own_loop, own, {.name = "hv1"});
        foreign_node hv2(own_loop, own, {.name = "hv2", .seed = 2});
        hv1.start();
        hv2.start();
        own_loop.run_for(40s);
        own_client.set_primary("hv2");
        own_loop.run_for(20s);
        names all;
        for (const auto& change : own.trace()) {
            all.push_back(std::to_string(change.when.time_since_epoch().count()) + " " + change.text());
        }
        if (run == 0) {
            first = all;
        }
        EXPECT_EQ(all, first);
        EXPECT_GT(all.size(), 100U);
    }
}

}  // namespace
}  // namespace pvc::sim
