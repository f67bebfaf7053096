// Schema versions: start, raising, the hot update and the repair of the tree. zookeeper-schema.md 8, 9, 14.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

const std::string version_key = "/schema/version";
const std::string domain = "/domains/6f892bb5-9b45-41c6-99e8-70a841d1568b";

class schema_test : public node_test {
protected:
    // The cluster at a version, with one domain that lacks nothing but what later versions add.
    void at(int version) {
        sim::initialise(ensemble, version);
        ensemble.put("/config/primary_node", "none");
        ensemble.put(domain, "vm1");
    }
    // A peer locks /schema/version.
    std::int64_t lock_version(const std::string& tag = "__lock__") {
        const auto session = ensemble.open_session();
        EXPECT_TRUE(ensemble.create(version_key + "/6f892bb59b4541c699e870a841d1568b" + tag, "kazoo",
                                    zookeeper::create_mode::ephemeral_sequential, session));
        return session;
    }
    bool run_until_active(int version, duration limit = 95s) {
        return run_until(
            [&] {
                return std::ranges::all_of(nodes, [&](const sim_node& node) {
                    return value("/nodes/" + node.settings.name + "/activeschema") == std::to_string(version);
                });
            },
            limit);
    }
};

TEST_F(schema_test, zk07_garbage_or_a_missing_version_changes_nothing) {
    at(11);
    auto& hv1 = add_primary();
    loop.run_for(10s);
    for (const bool missing : {false, true}) {
        ensemble.clear_trace();
        if (missing) {
            ensemble.remove_tree(version_key);
        } else {
            ensemble.put(version_key, "abc");
        }
        loop.run_for(60s);
        EXPECT_EQ(hv1.times_logged("warning: schema - /schema/version is"), missing ? 2U : 1U);
        ensemble.put(version_key, "11");
        loop.run_for(20s);
        EXPECT_TRUE(ensemble.exists("/faults"));
        for (const auto& change : changes("/")) {
            EXPECT_TRUE(change.path == version_key || change.path.ends_with("/keepalive") ||
                        change.path.ends_with("/selfreset"))
                << change.text();
        }
    }
    EXPECT_EQ(value("/nodes/hv1/activeschema"), "11");
    EXPECT_EQ(hv1.configuration_reads, 1);
    EXPECT_FALSE(hv1.logged("schema update"));
}

TEST_F(schema_test, zk08_a_node_that_cannot_follow_blocks_the_raise_until_it_can) {
    at(9);
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/nodes/hv2/latestschema", "9");
    auto& hv1 = add_running();
    loop.run_for(20s);
    EXPECT_EQ(value(version_key), "9");
    ensemble.put("/nodes/hv2/latestschema", "10");
    loop.run_for(60s);
    EXPECT_EQ(value(version_key), "9");  // looked at when a node starts
    hv1.stop();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    ASSERT_TRUE(run_until_active(10));
    EXPECT_EQ(value(version_key), "10");
    EXPECT_FALSE(ensemble.exists("/cmd"));
}

TEST_F(schema_test, zk09_without_a_limit_nobody_goes_beyond_10) {
    at(10);
    for (const auto* name : {"hv1", "hv2", "hv3"}) {
        add_running({.name = name});
    }
    loop.run_for(30s);
    EXPECT_EQ(value(version_key), "10");
    EXPECT_EQ(value("/nodes/hv2/latestschema"), "10");
}

TEST_F(schema_test, zk09_with_a_limit_on_all_nodes_the_last_one_raises) {
    at(10);
    for (const auto* name : {"hv1", "hv2", "hv3", "hv4"}) {
        add_running({.name = name, .schema_limit = "15"});
        loop.run_for(3s);
        if (std::string(name) != "hv4") {
            put_peer("hv4", "hypervisor", "stop", "client");  // known, and not started yet
        }
    }
    const auto from = loop.clock().now();
    ASSERT_TRUE(run_until_active(15));
    loop.run_for(20s);
    EXPECT_EQ(value(version_key), "15");
    EXPECT_TRUE(ensemble.exists("/faults"));
    EXPECT_TRUE(ensemble.exists("/config/fence_lock"));
    EXPECT_EQ(value(domain + "/migration_max_downtime"), "300");
    EXPECT_FALSE(ensemble.exists("/migration_max_downtime") || ensemble.exists("/snapshots"));
    EXPECT_TRUE(lock_children(version_key).empty());
    for (auto& node : nodes) {
        const auto& name = node.settings.name;
        EXPECT_EQ(value("/nodes/" + name + "/pvcversion"), "1.0.3");
        EXPECT_EQ(state_of(node), "run");
        EXPECT_LE(beat_gaps(name, from).front(), 10.0);
        EXPECT_EQ(node.configuration_reads, 1);
        EXPECT_EQ(node.notifier.count("READY=1"), 1U);
    }
}

TEST_F(schema_test, zk25_zk27_missing_keys_are_created_with_their_defaults) {
    at(13);
    ensemble.put({{"/networks/100", "managed"},
                  {"/ceph/osds/0", ""},
                  {"/ceph/pools/vms", "3,2"},
                  {"/ceph/volumes/vms/disk0", ""},
                  {"/ceph/snapshots/vms/disk0/s1", ""}});
    auto& hv1 = add_running();
    EXPECT_EQ(value("/networks/100/dhcp4_reservations"), "");
    EXPECT_EQ(value("/networks/100/mtu"), "");
    EXPECT_EQ(value("/ceph/osds/0/is_split"), "False");
    EXPECT_EQ(value("/ceph/pools/vms/tier"), "default");
    EXPECT_EQ(value(domain + "/migration_max_downtime"), "300");
    EXPECT_EQ(value(domain + "/node_autostart"), "False");
    EXPECT_EQ(value("/ceph/volumes/vms/disk0/stats"), "");
    EXPECT_EQ(value("/ceph/snapshots/vms/disk0/s1/stats"), "");
    EXPECT_EQ(value(domain), "vm1");
    EXPECT_EQ(hv1.exit_status, std::nullopt);
}

TEST_F(schema_test, zk42_an_update_by_a_peer_keeps_session_state_and_heartbeat) {
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

TEST_F(schema_test, zk42_the_workers_are_restarted_where_they_run) {
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

TEST_F(schema_test, zk43_a_foreign_lock_for_ten_minutes_delays_and_does_not_stop) {
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

TEST_F(schema_test, zk47_one_warning_an_object_with_the_count) {
    at(10);
    ensemble.remove_tree(domain);
    std::map<std::string, std::string> keys;
    const auto table = *model::schema::of(10);
    for (int i = 0; i < 300; ++i) {
        const std::string path = fmt::format("/domains/6f892bb5-9b45-41c6-99e8-70a841d{:05}", i);
        keys[path] = "vm";
        for (const auto& key : model::missing_keys(table, model::key_group::domain, path, {})) {
            keys[key.path] = key.value;
        }
        for (const auto* lost : {"/state", "/xml", "/profile"}) {
            ASSERT_EQ(keys.erase(path + lost), 1U);
        }
    }
    ensemble.put(keys);
    auto& hv1 = add_running();
    EXPECT_EQ(hv1.times_logged("warning: schema - domain "), 300U);
    EXPECT_EQ(hv1.times_logged(": 3 missing keys created"), 300U) << hv1.log().substr(0, 600);
}

TEST_F(schema_test, changes_during_an_update_are_caught_up_with) {
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

TEST_F(schema_test, rollback_deletes_the_base_keys_of_the_newer_version_with_their_content) {
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

TEST_F(schema_test, when_nobody_is_primary_whoever_gets_the_lock_leads) {
    for (const auto* primary : {"none", "", "hv3", "hv9"}) {
        at(11);
        put_peer("hv3", "coordinator", "dead", "secondary");
        auto& hv1 = add_running();
        auto& hv2 = add_running({.name = "hv2"});
        loop.run_for(6s);
        ensemble.commit(zookeeper::transaction().overwrite("/config/primary_node", primary).overwrite(version_key, "10"))
            .value();
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

TEST_F(schema_test, a_connection_that_breaks_at_any_request_of_an_update_costs_nothing_of_it) {
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

TEST_F(schema_test, an_expiry_at_any_request_of_an_update_leads_to_the_new_version) {
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
