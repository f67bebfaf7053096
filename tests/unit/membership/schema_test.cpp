// Schema versions at the start of a node, raising, and the repair of the tree: zookeeper-schema.md 8, 9, 14.
#include "pvcnoded/model/schema_apply.hpp"
#include "unit/membership/schema_fixture.hpp"

namespace pvc::node {
namespace {

class schema_test : public schema_fixture {};

TEST_F(schema_test, zk07_garbage_or_a_missing_version_changes_nothing) {
    at(11);
    auto& hv1 = add_primary();
    loop.run_for(10s);
    for (const bool missing : {false, true}) {
        ensemble.clear_trace();
        if (missing) {
            ensemble.remove_tree(version_key);
        } else {
            for (int i = 0; i < 3; ++i) {
                ensemble.put(version_key, "abc");
                loop.run_for(5s);
            }
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

}  // namespace
}  // namespace pvc::node
