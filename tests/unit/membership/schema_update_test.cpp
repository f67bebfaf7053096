// The hot update to another schema version: zookeeper-schema.md 8.4 and 14.
#include "unit/membership/schema_fixture.hpp"

namespace pvc::node {
namespace {

class schema_update_test : public schema_fixture {};

TEST_F(schema_update_test, zk42_an_update_by_a_peer_keeps_session_state_and_heartbeat) {
    at(10);
    put_peer("hv2", "coordinator", "run", "primary");
    ensemble.put("/config/primary_node", "hv2");
    auto& hv1 = add_running();
    run_with_beats(12s, {"hv2"});
    const auto session = hv1.connector.link().session_id();
    hv1.configuration = "not a configuration";
    const auto peer = lock_version();  // the reference, migrating
    ensemble.put(version_key, "11");
    const auto from = loop.clock().now();
    run_with_beats(20s, {"hv2"});
    EXPECT_EQ(value("/nodes/hv1/activeschema"), "10");  // it waits for the primary
    ensemble.close_session(peer);
    ASSERT_TRUE(run_until_active(11, 2s));
    run_with_beats(20s, {"hv2"});
    EXPECT_EQ(hv1.connector.link().session_id(), session);
    EXPECT_EQ(hv1.configuration_reads, 1);
    EXPECT_LE(beat_gaps("hv1", from).front(), 10.0);
    EXPECT_TRUE(times("/nodes/hv1/daemonstate", from).empty());
    EXPECT_EQ(state_of(hv1), "run");
    EXPECT_EQ(value("/nodes/hv1/latestschema"), "11");
    EXPECT_TRUE(ensemble.exists("/faults"));
    EXPECT_TRUE(hv1.services.calls().size() <= 2U);  // zookeeper.service only: api is off
    EXPECT_EQ(hv1.times_logged("schema version 11 is in use"), 1U);
}

TEST_F(schema_update_test, zk42_the_workers_are_restarted_where_they_run) {
    at(10);
    auto& hv1 = add_primary({.api = true});
    auto& hv2 = add_running({.name = "hv2", .api = true});
    loop.run_for(6s);
    ensemble.put(version_key, "11");
    ASSERT_TRUE(run_until_active(11));
    loop.run_for(1s);
    EXPECT_EQ(hv1.services.times("restart", "pvcworkerd.service").size(), 1U);
    EXPECT_EQ(hv1.services.times("restart", "pvcapid.service").size(), 1U);
    EXPECT_EQ(hv2.services.times("restart", "pvcworkerd.service").size(), 1U);
    EXPECT_TRUE(hv2.services.times("restart", "pvcapid.service").empty());
}

TEST_F(schema_update_test, zk43_a_foreign_lock_for_ten_minutes_delays_and_does_not_stop) {
    for (const bool is_primary : {false, true}) {
        at(10);
        put_peer("hv2", "coordinator", "run", "secondary");
        ensemble.put("/config/primary_node", is_primary ? "none" : "hv2");
        auto& hv1 = add_running();
        run_with_beats(12s, {"hv2"});
        const auto peer = lock_version();
        ensemble.put(version_key, "11");
        const auto from = loop.clock().now();
        while (value("/nodes/hv1/activeschema") != "11" && loop.clock().now() - from < 100s) {
            run_with_beats(1s, {"hv2"});
        }
        const double after = std::chrono::duration<double>(loop.clock().now() - from).count();
        EXPECT_GE(after, 60.0);
        EXPECT_LE(after, 90.0);
        run_with_beats(600s - (loop.clock().now() - from), {"hv2"});
        EXPECT_LE(beat_gaps("hv1", from).front(), 5.1);
        EXPECT_EQ(state_of(hv1), "run");
        EXPECT_TRUE(hv1.logged("warning: schema - "));
        EXPECT_TRUE(ensemble.exists("/faults"));
        ensemble.close_session(peer);
        hv1.stop();
        nodes.pop_back();
        ensemble.remove_tree("/nodes");
        ensemble.remove_tree("/faults");
    }
}

TEST_F(schema_update_test, changes_during_an_update_are_caught_up_with) {
    at(10);
    auto& hv1 = add_primary();
    auto& hv2 = add_running({.name = "hv2"});
    loop.run_for(6s);
    for (const auto* version : {"11", "12", "13", "11", "12"}) {
        ensemble.put(version_key, version);
        loop.run_for(7ms);  // in the middle of the last one
    }
    ASSERT_TRUE(run_until_active(12));
    loop.run_for(10s);
    for (auto* node : {&hv1, &hv2}) {
        EXPECT_EQ(value("/nodes/" + node->settings.name + "/activeschema"), "12");
        EXPECT_EQ(value("/nodes/" + node->settings.name + "/latestschema"), "12");
        EXPECT_TRUE(ensemble.exists("/nodes/" + node->settings.name + "/network_stats"));
        EXPECT_EQ(state_of(*node), "run");
    }
    EXPECT_TRUE(lock_children(version_key).empty());
}

TEST_F(schema_update_test, rollback_deletes_the_base_keys_of_the_newer_version_with_their_content) {
    at(11);
    ensemble.put("/faults/ABC/status", "new");
    auto& hv1 = add_primary();
    auto& hv2 = add_running({.name = "hv2"});
    loop.run_for(6s);
    ensemble.put(version_key, "10");
    ASSERT_TRUE(run_until_active(10));
    loop.run_for(10s);
    EXPECT_FALSE(ensemble.exists("/faults"));
    EXPECT_EQ(value("/nodes/hv1/pvcversion"), "0.9.82");
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_EQ(state_of(hv2), "run");
    ensemble.put(version_key, "8");  // and further down: /cmd comes back, /ceph/health goes
    ASSERT_TRUE(run_until_active(8));
    loop.run_for(10s);
    EXPECT_TRUE(ensemble.exists("/cmd/domains"));
    EXPECT_FALSE(ensemble.exists("/ceph/health"));
    EXPECT_EQ(value("/nodes/hv2/latestschema"), "10");
}

TEST_F(schema_update_test, when_nobody_is_primary_whoever_gets_the_lock_leads) {
    for (const auto* primary : {"none", "", "hv3", "hv9"}) {
        at(11);
        put_peer("hv3", "coordinator", "dead", "secondary");
        auto& hv1 = add_running();
        auto& hv2 = add_running({.name = "hv2"});
        loop.run_for(6s);
        zookeeper::transaction update;
        update.overwrite("/config/primary_node", primary);
        update.overwrite(version_key, "10");
        ensemble.commit(update).value();
        ASSERT_TRUE(run_until_active(10)) << primary;
        loop.run_for(2s);
        EXPECT_FALSE(ensemble.exists("/faults")) << primary;
        EXPECT_EQ(state_of(hv1), "run");
        EXPECT_EQ(state_of(hv2), "run");
        hv1.stop();
        hv2.stop();
        nodes.clear();
        ensemble.remove_tree("/nodes");
    }
}

TEST_F(schema_update_test, a_connection_that_breaks_at_any_request_of_an_update_costs_nothing_of_it) {
    for (const auto what : {sim::verdict::drop_before, sim::verdict::drop_after}) {
        bool reached = true;
        for (int number = 0; reached; number += 3) {
            ASSERT_LT(number, 400);
            at(11);
            auto& hv1 = add_primary();
            loop.run_for(6s);
            int count = 0;
            hv1.connector.link().on_request = [&](const zookeeper::request&) {
                return count++ == number ? what : sim::verdict::answer;
            };
            ensemble.put(version_key, "10");
            ASSERT_TRUE(run_until_active(10, 20s)) << number << '\n' << hv1.log();
            loop.run_for(15s);
            reached = count > number && number < 60;
            EXPECT_FALSE(ensemble.exists("/faults")) << number << '\n' << hv1.log();
            EXPECT_EQ(role_of(hv1), "primary") << number;
            EXPECT_EQ(state_of(hv1), "run") << number;
            EXPECT_TRUE(lock_children(version_key).empty()) << number;
            hv1.connector.link().on_request = nullptr;
            hv1.stop();
            nodes.clear();
            ensemble.remove_tree("/nodes");
        }
    }
}

TEST_F(schema_update_test, an_expiry_at_any_request_of_an_update_leads_to_the_new_version) {
    bool reached = true;
    for (int number = 0; reached; number += 3) {
        ASSERT_LT(number, 400);
        at(11);
        auto& hv1 = add_primary();
        loop.run_for(6s);
        int count = 0;
        hv1.connector.link().on_request = [&](const zookeeper::request&) {
            if (count++ == number) {
                hv1.connector.link().expire_sessions();
            }
            return sim::verdict::answer;
        };
        ensemble.put(version_key, "10");
        ASSERT_TRUE(run_until_active(10, 20s)) << number << '\n' << hv1.log();
        loop.run_for(10s);
        reached = count > number && number < 60;
        EXPECT_FALSE(ensemble.exists("/faults")) << number << '\n' << hv1.log();
        EXPECT_EQ(state_of(hv1), "run") << number;
        EXPECT_EQ(hv1.configuration_reads, 1) << number;
        EXPECT_TRUE(lock_children(version_key).empty()) << number;
        hv1.connector.link().on_request = nullptr;
        hv1.stop();
        nodes.clear();
        ensemble.remove_tree("/nodes");
    }
}

}  // namespace
}  // namespace pvc::node
