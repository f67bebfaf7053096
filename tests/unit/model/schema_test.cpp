#include "pvcnoded/model/schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace pvc::model {
namespace {

schema schema_at(int version) {
    return *schema::of(version);
}

std::vector<std::string> base_paths(int version) {
    std::vector<std::string> paths;
    for (const auto* key : schema_at(version).keys(key_group::base)) {
        paths.emplace_back(key->suffix);
    }
    std::ranges::sort(paths);
    return paths;
}

TEST(schema, only_versions_0_to_15_exist) {
    for (int version = 0; version <= 15; ++version) {
        EXPECT_EQ(schema::of(version)->version(), version);
    }
    for (const int version : {-1, 16, 1000}) {
        ASSERT_FALSE(schema::of(version)) << version;
        EXPECT_EQ(schema::of(version).error().code(), errc::invalid);
    }
}

TEST(schema, ids_are_unique_and_parents_come_first) {
    std::set<std::string_view> ids;
    std::map<key_group, std::set<std::string_view>> seen;
    for (const auto& key : schema_table()) {
        EXPECT_TRUE(ids.insert(key.id).second) << key.id;
        const auto parent = key.suffix.rfind('/') == 0 ? std::string_view() : parent_path(key.suffix);
        if (!key.suffix.empty() && key.suffix != "/") {
            const bool known = seen[key.group].contains(parent) || (key.group == key_group::base && parent.empty());
            EXPECT_TRUE(known) << key.id;
        }
        EXPECT_TRUE(seen[key.group].insert(key.suffix).second) << key.id;
    }
}

TEST(schema, version_0_has_exactly_the_keys_of_a_fresh_cluster) {
    std::vector<std::string> expected = {"/",
                                         "/schema",
                                         "/schema/version",
                                         "/config",
                                         "/config/maintenance",
                                         "/config/primary_node",
                                         "/config/primary_node/sync_lock",
                                         "/config/upstream_ip",
                                         "/config/migration_target_selector",
                                         "/cmd",
                                         "/cmd/nodes",
                                         "/cmd/domains",
                                         "/cmd/ceph",
                                         "/nodes",
                                         "/domains",
                                         "/networks",
                                         "/ceph",
                                         "/ceph/util",
                                         "/ceph/osds",
                                         "/ceph/pools",
                                         "/ceph/volumes",
                                         "/ceph/snapshots"};
    std::ranges::sort(expected);
    EXPECT_EQ(base_paths(0), expected);
}

TEST(schema, keys_that_came_and_went_with_each_version) {
    struct row {
        int version;
        std::set<std::string> added;
        std::set<std::string> removed;
    };
    const std::vector<row> rows = {
        {2, {"node.data.pvc_version"}, {}},
        {3, {"domain.meta.tags", "tag.name", "tag.type", "tag.protected"}, {}},
        {4, {"base.logs", "logs.node", "logs.messages"}, {}},
        {5, {"osd.db_device"}, {}},
        {6, {"network.mtu"}, {}},
        {7, {"pool.tier"}, {}},
        {8, {"osd.fsid", "osd.ofsid", "osd.cfsid", "osd.lvm", "osd.vg", "osd.lv"}, {}},
        {9,
         {"base.storage.health", "node.monitoring.plugins", "node.monitoring.data", "node.monitoring.health",
          "monitoring_plugin.name", "monitoring_plugin.last_run", "monitoring_plugin.health_delta",
          "monitoring_plugin.message", "monitoring_plugin.data", "monitoring_plugin.runtime"},
         {}},
        {10, {"osd.is_split"}, {"base.cmd", "base.cmd.node", "base.cmd.domain", "base.cmd.ceph"}},
        {11,
         {"base.faults", "faults.id", "faults.first_time", "faults.last_time", "faults.ack_time", "faults.status",
          "faults.delta", "faults.message"},
         {}},
        {12, {"node.network.stats"}, {}},
        {13, {"domain.meta.migrate_max_downtime"}, {}},
        {14,
         {"domain.snapshots", "domain_snapshot.name", "domain_snapshot.timestamp", "domain_snapshot.xml",
          "domain_snapshot.rbd_snapshots"},
         {}},
        {15, {"base.config.fence_lock"}, {}},
    };
    for (const auto& row : rows) {
        std::set<std::string> added;
        std::set<std::string> removed;
        for (const auto& key : schema_table()) {
            if (key.in_table_of(row.version) && !key.in_table_of(row.version - 1)) {
                added.emplace(key.id);
            }
            if (!key.in_table_of(row.version) && key.in_table_of(row.version - 1)) {
                removed.emplace(key.id);
            }
        }
        EXPECT_EQ(added, row.added) << row.version;
        EXPECT_EQ(removed, row.removed) << row.version;
    }
    EXPECT_FALSE(schema_at(0).has("sriov_vf.config.trust"));
    EXPECT_TRUE(schema_at(1).has("sriov_vf.config.trust"));
}

TEST(schema, paths_of_every_group) {
    const auto s = schema_at(15);
    EXPECT_EQ(s.path("base.config.maintenance"), "/config/maintenance");
    EXPECT_EQ(s.path("node.name", "hv1"), "/nodes/hv1");
    EXPECT_EQ(s.path("node.state.daemon", "hv1"), "/nodes/hv1/daemonstate");
    EXPECT_EQ(s.path("monitoring_plugin.last_run", "hv1", "disk"), "/nodes/hv1/monitoring_data/disk/last_run");
    EXPECT_EQ(s.path("sriov_pf.mtu", "hv1", "ens1"), "/nodes/hv1/sriov/pf/ens1/mtu");
    EXPECT_EQ(s.path("sriov_vf.config.vlan_id", "hv1", "ens1v0"), "/nodes/hv1/sriov/vf/ens1v0/config/vlan_id");
    EXPECT_EQ(s.path("domain.migrate.sync_lock", "u1"), "/domains/u1/migrate_sync_lock");
    EXPECT_EQ(s.path("tag.protected", "u1", "web"), "/domains/u1/tags/web/protected");
    EXPECT_EQ(s.path("domain_snapshot.rbd_snapshots", "u1", "s"), "/domains/u1/snapshots/s/rbdsnaplist");
    EXPECT_EQ(s.path("network.ip4.gateway", "100"), "/networks/100/ip4_gateway");
    EXPECT_EQ(s.path("rule.order", "100", "in", "ssh"), "/networks/100/firewall_rules/in/ssh/order");
    EXPECT_EQ(s.path("reservation.ip", "100", "52:54:00:00:00:01"),
              "/networks/100/dhcp4_reservations/52:54:00:00:00:01/ipaddr");
    EXPECT_EQ(s.path("lease.client_id", "100", "m"), "/networks/100/dhcp4_leases/m/clientid");
    EXPECT_EQ(s.path("osd.cfsid", "3"), "/ceph/osds/3/fsid/cluster");
    EXPECT_EQ(s.path("pool.tier", "vms"), "/ceph/pools/vms/tier");
    EXPECT_EQ(s.path("volume.stats", "vms", "web"), "/ceph/volumes/vms/web/stats");
    EXPECT_EQ(s.path("snapshot.stats", "vms", "web", "s1"), "/ceph/snapshots/vms/web/s1/stats");
    EXPECT_EQ(s.path("logs.messages", "hv1"), "/logs/hv1/messages");
    EXPECT_EQ(s.path("faults.delta", "X"), "/faults/X/delta");
    EXPECT_EQ(node_path("hv1", "/keepalive"), "/nodes/hv1/keepalive");
}

TEST(schema, a_key_outside_the_version_has_no_path) {
    EXPECT_EQ(schema_at(9).path("osd.is_split", "3"), std::nullopt);
    EXPECT_EQ(schema_at(10).path("base.cmd.ceph"), std::nullopt);
    EXPECT_EQ(schema_at(3).path("logs.messages", "hv1"), std::nullopt);
    EXPECT_FALSE(schema_at(15).has("no.such.key"));
}

TEST(schema, zk46_fence_lock_and_selfreset_are_usable_at_every_version) {
    for (int version = 0; version <= 15; ++version) {
        EXPECT_EQ(schema_at(version).path("base.config.fence_lock"), "/config/fence_lock") << version;
        EXPECT_EQ(schema_at(version).path("node.selfreset", "hv1"), "/nodes/hv1/selfreset") << version;
        for (const auto* key : schema_at(version).keys(key_group::node)) {
            EXPECT_NE(key->id, "node.selfreset") << "apply does not create it";
        }
    }
}

TEST(schema, zk02_base_keys_that_a_version_lacks_are_listed_for_deletion_children_first) {
    const std::vector<std::string> at_10 = {"/cmd/ceph", "/cmd/domains", "/cmd/nodes", "/cmd", "/faults"};
    EXPECT_EQ(schema_at(10).foreign_base_paths(), at_10);
    const std::vector<std::string> at_15 = {"/cmd/ceph", "/cmd/domains", "/cmd/nodes", "/cmd"};
    EXPECT_EQ(schema_at(15).foreign_base_paths(), at_15);
    const std::vector<std::string> at_3 = {"/ceph/health", "/faults", "/logs"};
    EXPECT_EQ(schema_at(3).foreign_base_paths(), at_3);
}

TEST(schema, paths_are_joined_and_cut) {
    EXPECT_EQ(child_path("/", "a"), "/a");
    EXPECT_EQ(child_path("/a", "b"), "/a/b");
    EXPECT_EQ(parent_path("/a/b"), "/a");
    EXPECT_EQ(parent_path("/a"), "/");
    EXPECT_EQ(parent_path("/"), "/");
}

}  // namespace
}  // namespace pvc::model
