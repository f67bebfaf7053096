#include "pvcnoded/model/schema_apply.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::model {
namespace {

schema schema_of_version(int version) {
    return *schema::of(version);
}

// All keys of an object as a set, but for those left out.
path_set complete(const schema& table, key_group group, const std::string& object,
                  const std::vector<std::string>& without = {}) {
    path_set paths;
    for (const auto& key : missing_keys(table, group, object, {})) {
        if (std::ranges::find(without, key.path) == without.end()) {
            paths.insert(key.path);
        }
    }
    return paths;
}

using key_values = std::vector<key_value>;

TEST(schema_apply, containers_that_must_be_listed) {
    using paths = std::vector<std::string>;
    EXPECT_EQ(containers_to_list(schema_of_version(10), key_group::node, "/nodes/hv1"),
              (paths{"/nodes/hv1", "/nodes/hv1/sriov"}));
    EXPECT_EQ(containers_to_list(schema_of_version(0), key_group::node, "/nodes/hv1"), (paths{"/nodes/hv1"}));
    EXPECT_EQ(containers_to_list(schema_of_version(10), key_group::network, "/networks/100"),
              (paths{"/networks/100", "/networks/100/firewall_rules"}));
    EXPECT_EQ(containers_to_list(schema_of_version(10), key_group::osd, "/ceph/osds/3"),
              (paths{"/ceph/osds/3", "/ceph/osds/3/fsid", "/ceph/osds/3/lvm"}));
    EXPECT_EQ(containers_to_list(schema_of_version(10), key_group::volume, "/ceph/volumes/vms/web"),
              (paths{"/ceph/volumes/vms/web"}));
    EXPECT_EQ(containers_to_list(schema_of_version(9), key_group::base, "/"),
              (paths{"/", "/schema", "/config", "/config/primary_node", "/ceph", "/cmd"}));
}

TEST(schema_apply, zk02_version_10_on_a_tree_of_version_0_adds_logs_and_health_only) {
    const auto existing = complete(schema_of_version(0), key_group::base, "/");
    EXPECT_EQ(missing_keys(schema_of_version(10), key_group::base, "/", existing),
              (key_values{{"/logs", ""}, {"/ceph/health", ""}}));
}

TEST(schema_apply, an_empty_ensemble_gets_the_version_that_is_applied) {
    const auto missing = missing_keys(schema_of_version(10), key_group::base, "/", {});
    ASSERT_FALSE(missing.empty());
    EXPECT_EQ(missing[0], (key_value{"/schema", ""}));
    EXPECT_EQ(missing[1], (key_value{"/schema/version", "10"}));
    EXPECT_TRUE(std::ranges::none_of(missing, [](const auto& key) { return key.path.starts_with("/cmd"); }));
    const auto at_15 = missing_keys(schema_of_version(15), key_group::base, "/",
                                    complete(schema_of_version(10), key_group::base, "/"));
    EXPECT_EQ(at_15, (key_values{{"/config/fence_lock", ""}, {"/faults", ""}}));
}

TEST(schema_apply, zk25_a_network_without_reservations_and_mtu_gets_both_empty) {
    const auto existing = complete(schema_of_version(10), key_group::network, "/networks/100",
                                   {"/networks/100/dhcp4_reservations", "/networks/100/mtu"});
    EXPECT_EQ(missing_keys(schema_of_version(10), key_group::network, "/networks/100", existing),
              (key_values{{"/networks/100/mtu", ""}, {"/networks/100/dhcp4_reservations", ""}}));
}

TEST(schema_apply, zk26_nothing_is_missing_on_a_complete_tree) {
    for (int version = 0; version <= 15; ++version) {
        for (const auto& source : checked_objects()) {
            const std::string object = std::string(source.container) + "/x";
            const auto existing = complete(schema_of_version(version), source.group, object);
            EXPECT_TRUE(missing_keys(schema_of_version(version), source.group, object, existing).empty());
        }
    }
}

TEST(schema_apply, zk27_defaults_of_the_newest_keys) {
    const auto one = [](int version, key_group group, const std::string& object, const std::string& suffix) {
        const auto existing = complete(schema_of_version(version), group, object, {object + suffix});
        return missing_keys(schema_of_version(version), group, object, existing);
    };
    EXPECT_EQ(one(10, key_group::osd, "/ceph/osds/3", "/is_split"), (key_values{{"/ceph/osds/3/is_split", "False"}}));
    EXPECT_EQ(one(10, key_group::pool, "/ceph/pools/vms", "/tier"), (key_values{{"/ceph/pools/vms/tier", "default"}}));
    EXPECT_EQ(one(13, key_group::domain, "/domains/u1", "/migration_max_downtime"),
              (key_values{{"/domains/u1/migration_max_downtime", "300"}}));
    EXPECT_EQ(one(10, key_group::domain, "/domains/u1", "/node_autostart"),
              (key_values{{"/domains/u1/node_autostart", "False"}}));
    EXPECT_EQ(one(10, key_group::domain, "/domains/u1", "/migration_method"),
              (key_values{{"/domains/u1/migration_method", "none"}}));
    EXPECT_EQ(one(10, key_group::domain, "/domains/u1", "/node_selector"),
              (key_values{{"/domains/u1/node_selector", "none"}}));
}

TEST(schema_apply, entries_get_their_path_suffixes_and_not_their_ids) {
    const std::string reservation = "/networks/100/dhcp4_reservations/m";
    EXPECT_EQ(missing_keys(schema_of_version(10), key_group::reservation, reservation, {}),
              (key_values{{reservation + "/ipaddr", ""}, {reservation + "/hostname", ""}}));
    const std::string rule = "/networks/100/firewall_rules/in/ssh";
    EXPECT_EQ(missing_keys(schema_of_version(10), key_group::rule, rule, {}),
              (key_values{{rule + "/rule", ""}, {rule + "/order", ""}}));
    EXPECT_EQ(missing_keys(schema_of_version(10), key_group::volume, "/ceph/volumes/vms/web", {}),
              (key_values{{"/ceph/volumes/vms/web/stats", ""}}));
    EXPECT_EQ(missing_keys(schema_of_version(10), key_group::snapshot, "/ceph/snapshots/vms/web/s1", {}),
              (key_values{{"/ceph/snapshots/vms/web/s1/stats", ""}}));
}

TEST(schema_apply, parents_come_before_children) {
    const auto missing = missing_keys(schema_of_version(15), key_group::node, "/nodes/hv1", {});
    const auto index = [&missing](std::string_view path) {
        return std::ranges::find(missing, path, &key_value::path) - missing.begin();
    };
    EXPECT_LT(index("/nodes/hv1/sriov"), index("/nodes/hv1/sriov/pf"));
    EXPECT_EQ(index("/nodes/hv1/selfreset"), std::ssize(missing));
}

TEST(schema_apply, listings_are_noted_as_paths) {
    path_set existing;
    add_children(existing, "/", {"nodes", "zookeeper"});
    add_children(existing, "/nodes/hv1", {"keepalive"});
    EXPECT_EQ(existing, (path_set{"/nodes", "/zookeeper", "/nodes/hv1/keepalive"}));
}

TEST(schema_apply, zk47_one_warning_names_the_object_and_the_count) {
    EXPECT_EQ(missing_keys_text(key_group::domain, "/domains/u1", 3), "domain u1: 3 missing keys created");
    EXPECT_EQ(missing_keys_text(key_group::volume, "/ceph/volumes/vms/web", 1),
              "volume vms/web: 1 missing key created");
    EXPECT_EQ(missing_keys_text(key_group::base, "/", 2), "cluster: 2 missing keys created");
}

}  // namespace
}  // namespace pvc::model
