// What a session leaves behind on the servers must not be taken for a later one's own.
#include "domain_migration_fixture.hpp"

#include <set>

namespace pvc::node {
namespace {

class session_locks_test : public node_test {
protected:
    // Ids of the lock children that this node's sessions created, with repetitions.
    [[nodiscard]] std::vector<std::string> ids() const {
        std::vector<std::string> all;
        for (const auto& change : ensemble.trace()) {
            const auto at = change.path.find("lock__");
            if (change.what == recorded_kind::create && at != std::string::npos) {
                const std::string name = change.path.substr(change.path.rfind('/') + 1);
                all.push_back(name.substr(0, 32));
            }
        }
        return all;
    }
    void lose_the_session(sim_node& node) {
        node.connector.link().expire_sessions();
        loop.run_for(12s);
    }
};

TEST_F(session_locks_test, the_ids_of_locks_are_new_in_each_session) {
    sim::initialise(ensemble, 11);
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/config/primary_node", "hv2");
    auto& hv1 = add_running({.zookeeper_logging = true});
    for (int i = 0; i < 4; ++i) {
        ensemble.put("/config/primary_node", "none");
        run_with_beats(6s, {"hv2"});
        ASSERT_EQ(value("/config/primary_node"), "hv1");
        ensemble.put("/config/primary_node", "hv2");
        run_with_beats(6s, {"hv2"});
        ASSERT_EQ(role_of(hv1), "secondary");
        lose_the_session(hv1);
    }
    const auto all = ids();
    EXPECT_GE(all.size(), 12U);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

// ZK_15 with whole daemons, and each lock that one of them takes: killed at the step at which its child appears.
class killed_holder : public migration_fixture {
protected:
    // The peer's contender behind ours is first within the session's 10 s and 1 s more.
    void expect_free_after_kill(sim_node& holder, const std::string& path) {
        ASSERT_TRUE(run_until([&] { return !lock_children(path).empty(); }, 60s)) << path;
        const auto ours = lock_children(path);
        const auto session = ensemble.open_session();
        ASSERT_TRUE(ensemble.create(path + "/6f892bb59b4541c699e870a841d1568b__lock__", "kazoo",
                                    zookeeper::create_mode::ephemeral_sequential, session));
        holder.kill();
        const auto from = loop.clock().now();
        ASSERT_TRUE(run_until([&] { return lock_children(path).size() == 1; }, 30s)) << path;
        EXPECT_LE(loop.clock().now() - from, 11s) << path;
        EXPECT_GE(ours.size(), 1U);
        ensemble.expire_session(session);
        holder.start();
        EXPECT_TRUE(holder.run_until_ready());
    }
};

TEST_F(killed_holder, ZK_15_of_the_primary_key) {
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/config/primary_node", "hv2");
    auto& hv1 = add_running();
    run_with_beats(6s, {"hv2"});
    ensemble.put("/config/primary_node", "none");
    expect_free_after_kill(hv1, "/config/primary_node");
}

TEST_F(killed_holder, ZK_15_of_the_schema_version_and_of_the_log) {
    sim::initialise(ensemble, 11);
    auto& hv1 = add_primary({.zookeeper_logging = true});
    hv1.daemon().context().log.info("a line to ship");
    expect_free_after_kill(hv1, "/logs/hv1/messages");
    ASSERT_TRUE(run_until([&] { return role_of(hv1) == "primary"; }));
    ensemble.put("/schema/version", "12");
    expect_free_after_kill(hv1, "/schema/version");
}

TEST_F(killed_holder, ZK_15_of_a_machine_on_its_way) {
    two_of_ours({{"/migration_method", "live"}});
    place("migrate", "hv2", "hv1");
    ASSERT_TRUE(until_copying());
    const auto from = loop.clock().now();
    hv1().kill();
    const auto is_free = [&](const std::string& lock) { return lock_children(key(lock)).empty(); };
    ASSERT_TRUE(run_until([&] { return is_free("/node") && is_free("/state"); }, 30s));
    EXPECT_LE(loop.clock().now() - from, 11s);
    pass(60s);
    EXPECT_EQ(hardware.centre.running_copies(u1), 1U);
}

}  // namespace
}  // namespace pvc::node
