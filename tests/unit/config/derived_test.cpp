// Bridges and MTUs (config.md 6.6), SR-IOV, intervals and self-reset (5.5), logging (5.6).
#include "config_test_support.hpp"

namespace pvc::config::test {
namespace {

std::string with_devices(const std::string& cluster, const std::string& storage, const std::string& upstream,
                         const std::string& bridge) {
    auto text = base();
    const auto set = [&text](const std::string& name, const std::string& device_and_mtu) {
        text = edited(text, "        " + name + ":\n          device: ens4\n          mtu: 1500\n",
                      "        " + name + ":\n          " + device_and_mtu + "\n");
    };
    set("cluster", cluster);
    set("storage", storage);
    set("upstream", upstream);
    return edited(text, "        bridge_device: ens4\n        bridge_mtu: 1500\n", bridge);
}

TEST(bridges, owners_and_mtus) {
    struct row {
        std::string cluster, storage, upstream, bridge;
        std::map<std::string, std::string> expected;
        lines warnings;
    };
    const auto device = [](const std::string& name, int mtu) {
        return "device: " + name + "\n          mtu: " + std::to_string(mtu);
    };
    const auto bridge = [](const std::string& name, const std::string& mtu) {
        return "        bridge_device: " + name + "\n        bridge_mtu: " + mtu + "\n";
    };
    const std::vector<row> table{
        {device("a", 1500),
         device("b", 9000),
         device("c", 1400),
         bridge("d", "2000"),
         {{"cluster_bridge", "brcluster"},
          {"storage_bridge", "brstorage"},
          {"upstream_bridge", "brupstream"},
          {"device_mtu_a", "1500"},
          {"device_mtu_b", "9000"},
          {"device_mtu_c", "1400"},
          {"bridge_mtu", "2000"}},
         {}},
        {device("a", 1500),
         device("b", 9000),
         device("b", 9000),
         bridge("b", "None"),
         {{"storage_bridge", "brstorage"},
          {"upstream_bridge", "brstorage"},
          {"device_mtu_b", "9000"},
          {"bridge_mtu", "9000"}},
         {}},
        {device("a", 1500),
         device("b", 9000),
         device("a", 1500),
         bridge("a", "9216"),
         {{"upstream_bridge", "brcluster"}, {"device_mtu_a", "9216"}, {"bridge_mtu", "9216"}, {"cluster_mtu", "1500"}},
         {}},
        {device("a", 1500),
         device("b", 9000),
         device("a", 1500),
         bridge("a", "1400"),
         {{"device_mtu_a", "1500"}, {"bridge_mtu", "1400"}},
         {}},
        {device("a", 1500), device("b", 9000), device("c", 1500), bridge("d", "None"), {{"bridge_mtu", "live"}}, {}},
        {device("a", 1400),
         device("a", 9000),
         device("a", 9000),
         bridge("a", "None"),
         {{"device_mtu_a", "9000"}, {"bridge_mtu", "9000"}},
         {"warning: f:83: " + networking + "upstream.mtu: differs from " + networking +
              "cluster.mtu (line 87) on the same device a; expected 1400, got 9000 (integer)",
          "warning: f:91: " + networking + "storage.mtu: differs from " + networking +
              "cluster.mtu (line 87) on the same device a; expected 1400, got 9000 (integer)"}},
        {device("a", 1279),
         device("b", 9217),
         device("c", 1280),
         bridge("d", "9000"),
         {},
         {"warning: f:87: " + networking + "cluster.mtu: an unusual MTU; expected 1280 to 9216, got 1279 (integer)",
          "warning: f:91: " + networking + "storage.mtu: an unusual MTU; expected 1280 to 9216, got 9217 (integer)"}},
    };
    for (const auto& row : table) {
        const auto got = load(with_devices(row.cluster, row.storage, row.upstream, row.bridge));
        EXPECT_EQ(messages(got), row.warnings);
        auto values = settings(got);
        for (const auto& [name, value] : row.expected) {
            EXPECT_EQ(values[name], value) << name << " with " << row.bridge;
        }
    }
    // The bridge has its owner's MTU, whatever its device needs.
    const auto got = load(with_devices(device("a", 1400), device("a", 9000), device("b", 1500), bridge("b", "None")));
    ASSERT_TRUE(got.config);
    ASSERT_EQ(got.config->host_bridges.size(), 2U);
    EXPECT_EQ(got.config->host_bridges[0].name, "brcluster");
    EXPECT_EQ(got.config->host_bridges[0].mtu, 1400);
    EXPECT_EQ(got.config->host_bridges[0].owner, network_role::cluster);
    EXPECT_EQ(got.config->host_bridges[1].name, "brupstream");
    EXPECT_EQ(got.config->host_bridges[1].device, "b");
}

TEST(bridges, none) {
    const auto got =
        load(base_with("        bridge_device: ens4\n        bridge_mtu: 1500\n", "        bridge_device: ~\n"));
    EXPECT_EQ(messages(got), lines{"warning: f:74: " + networking +
                                   "bridge_device: no device, bridged networks cannot be created; expected a network "
                                   "device name of 1 to 15 characters"});
    EXPECT_EQ(settings(got)["bridge_device"], "none");
    EXPECT_EQ(settings(got)["bridge_mtu"], "none");
}

TEST(sriov, lists) {
    const std::string one = "          - phy: ens1f0\n            mtu: 9000\n            vfcount: 7\n";
    EXPECT_EQ(
        messages(load(base_with(one, one + one))),
        lines{"f:81: " + networking +
              "sriov_device[1].phy: duplicate device; expected each device once, got ens1f0 (string) again (first in "
              "line 78)"});
    EXPECT_EQ(messages(load(base_with("        sriov_device:\n" + one, "        sriov_device: []\n"))),
              lines{"warning: f:76: " + networking +
                    "sriov_enable: no devices in sriov_device; expected at least one, got True (boolean)"});
    EXPECT_EQ(
        messages(load(base_with("        sriov_device:\n" + one, "        sriov_device: [ens1f0]\n"))),
        (lines{"warning: f:76: " + networking +
                   "sriov_enable: no devices in sriov_device; expected at least one, got True (boolean)",
               "f:77: " + networking + "sriov_device[0]: not a mapping; expected a mapping, got \"ens1f0\" (string)"}));
    EXPECT_EQ(messages(load(base_with("phy: ens1f0", "fhy: ens1f0"))),
              (lines{"f:78: " + networking +
                         "sriov_device[0].phy: missing; expected a network device name of 1 to 15 characters",
                     "warning: f:78: " + networking +
                         "sriov_device[0].fhy: unknown key, ignored; expected a known key, the nearest is phy"}));
}

TEST(intervals, product_and_order) {
    EXPECT_EQ(
        messages(load(base_with("fence_intervals: 6", "fence_intervals: 1"))),
        lines{"warning: f:47: pvc.system.fencing.intervals.fence_intervals: a node counts as dead after 5 s; expected "
              "keepalive_interval times fence_intervals to be at least 10 s, got 5 "
              "(pvc.system.fencing.intervals.keepalive_interval, line 46) times 1"});
    EXPECT_EQ(messages(load(base_with("fence_intervals: 6", "fence_intervals: 2"))), lines{});
    // Each place may hold a part of the keys.
    const auto split =
        load(edited(base_with("        fence_intervals: 6\n", ""), "  system:\n",
                    "  system:\n    intervals:\n      fence_intervals: 7\n      vm_shutdown_timeout: 99\n"));
    EXPECT_EQ(messages(split), lines{});
    EXPECT_EQ(settings(split)["fence_intervals"], "7");
    EXPECT_EQ(settings(split)["keepalive_interval"], "5");
    EXPECT_EQ(settings(split)["vm_shutdown_timeout"], "99");
    EXPECT_EQ(settings(split)["monitoring_interval"], "60");
    EXPECT_EQ(settings(load(base()))["vm_shutdown_timeout"], "180");
}

TEST(intervals, lease_of_self_reset) {
    const auto lease = [](const std::string& keepalive, const std::string& suicide) {
        return settings(load(edited(base_with("keepalive_interval: 5", "keepalive_interval: " + keepalive),
                                    "suicide_intervals: 0", "suicide_intervals: " + suicide)))["selfreset"];
    };
    EXPECT_EQ(lease("5", "0"), "off");
    EXPECT_EQ(lease("5", "1"), "armed 40");  // not before 30 s
    EXPECT_EQ(lease("10", "6"), "armed 70");
    EXPECT_EQ(lease("5", "10"), "armed 60");  // as long as it may be
    EXPECT_EQ(lease("5", "11"), "off");
    EXPECT_EQ(lease("3", "6"), "off");  // 40 s, and at most 36
}

TEST(logging, details_need_keepalives) {
    const auto storage_too =
        base_with("log_keepalive_plugin_details: True\n",
                  "log_keepalive_plugin_details: True\n        log_keepalive_storage_details: True\n");
    EXPECT_EQ(settings(load(storage_too))["log_keepalive_storage_details"], "true");
    auto values = settings(load(edited(storage_too, "log_keepalives: True", "log_keepalives: False")));
    EXPECT_EQ(values["log_keepalive_storage_details"], "false");
    EXPECT_EQ(values["log_keepalive_cluster_details"], "false");
    EXPECT_EQ(values["log_keepalive_plugin_details"], "false");
    values = settings(load(base()));
    EXPECT_EQ(values["log_keepalive_cluster_details"], "true");
    EXPECT_EQ(values["node_log_lines"], "2000");
    EXPECT_EQ(values["zookeeper_logging"], "false");
}

TEST(effective_settings, sorted_and_unique) {
    const auto all = effective_settings(*load(base()).config);
    for (std::size_t i = 1; i < all.size(); ++i) {
        EXPECT_LT(all[i - 1].first, all[i].first);
    }
}

}  // namespace
}  // namespace pvc::config::test
