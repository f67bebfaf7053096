// The acceptance cases 1 to 19 of config.md section 9 that concern loading, by number.
#include "config_test_support.hpp"

namespace pvc::config::test {
namespace {

// What B gives with `value` for the upstream address.
loaded with_upstream_address(std::string_view value) {
    return load(base_with("          address: None\n", "          address: " + std::string(value) + "\n"));
}

TEST(config, case_01_variable_unset) {
    for (const auto& variable : {std::optional<std::string>(), std::optional<std::string>("")}) {
        const auto got = load_file({variable, "pvchv1"});
        EXPECT_FALSE(got.config);
        EXPECT_TRUE(got.missing_variable);
        EXPECT_EQ(messages(got), lines{"PVCD_CONFIG_FILE: not set; expected the path of the configuration file in this "
                                       "environment variable"});
    }
}

TEST(config, case_02_missing_file) {
    const auto got = load_file({"/nonexistent/pvcnoded.yaml", "pvchv1"});
    EXPECT_FALSE(got.config);
    EXPECT_FALSE(got.missing_variable);
    EXPECT_EQ(messages(got), lines{"/nonexistent/pvcnoded.yaml: cannot be read; expected a readable file, got: No such "
                                   "file or directory"});
}

TEST(config, case_03_newer_manual_loads) {
    const auto got = load(base());
    EXPECT_EQ(messages(got), lines{});
    auto values = settings(got);
    EXPECT_EQ(values["keepalive_interval"], "5");
    EXPECT_EQ(values["fence_intervals"], "6");
    EXPECT_EQ(values["suicide_intervals"], "0");
    EXPECT_EQ(values["cluster_address"], "10.255.0.1/24");
    EXPECT_EQ(values["storage_address"], "10.254.0.1/24");
    EXPECT_EQ(values["upstream_address"], "none");
    EXPECT_EQ(values["ceph_config_file"], "/etc/ceph/ceph.conf");
    EXPECT_EQ(values["mode"], "coordinator");
}

TEST(config, case_04_intervals_in_the_other_place) {
    const auto text = base_with(
        "    fencing:\n      intervals:\n        keepalive_interval: 5\n        fence_intervals: 6\n"
        "        suicide_intervals: 0\n",
        "    intervals:\n      keepalive_interval: 5\n      fence_intervals: 6\n"
        "      suicide_intervals: 0\n    fencing:\n");
    const auto got = load(text);
    EXPECT_EQ(messages(got), lines{});
    EXPECT_EQ(settings(got), settings(load(base())));
}

TEST(config, case_05_intervals_in_both_places) {
    const auto got = load(base_with("  system:\n", "  system:\n    intervals:\n      keepalive_interval: 10\n"));
    EXPECT_EQ(messages(got),
              lines{"warning: f:45: pvc.system.intervals.keepalive_interval: differs from "
                    "pvc.system.fencing.intervals.keepalive_interval (line 48); expected one value, got 10 and 5, "
                    "using 10"});
    EXPECT_EQ(settings(got)["keepalive_interval"], "10");
    // Equal values in both places are legal and silent.
    const auto equal = load(base_with("  system:\n", "  system:\n    intervals:\n      keepalive_interval: 5\n"));
    EXPECT_EQ(messages(equal), lines{});
}

TEST(config, case_06_singular_suicide_interval) {
    const auto got = load(base_with("suicide_intervals: 0", "suicide_interval: 3"));
    EXPECT_EQ(messages(got), lines{"warning: f:48: pvc.system.fencing.intervals.suicide_interval: another name of "
                                   "suicide_intervals; expected suicide_intervals, got suicide_interval"});
    EXPECT_EQ(settings(got)["suicide_intervals"], "3");
}

TEST(config, case_06_the_canonical_key_wins) {
    const auto got = load(base_with("suicide_intervals: 0", "suicide_intervals: 2\n        suicide_interval: 3"));
    EXPECT_EQ(messages(got), lines{"warning: f:49: pvc.system.fencing.intervals.suicide_interval: another name of "
                                   "suicide_intervals, ignored; expected suicide_intervals, got suicide_interval"});
    EXPECT_EQ(settings(got)["suicide_intervals"], "2");
}

TEST(config, case_07_suicide_intervals) {
    const auto got = load(base_with("suicide_intervals: 0", "suicide_intervals: 3"));
    EXPECT_EQ(messages(got), lines{});
    EXPECT_EQ(settings(got)["suicide_intervals"], "3");
}

TEST(config, case_08_keepalive_detail_switches) {
    auto values = settings(load(base()));
    EXPECT_EQ(values["log_keepalive_plugin_details"], "true");
    EXPECT_EQ(values["log_keepalive_storage_details"], "false");

    const auto older = load(base_with("log_keepalive_plugin_details", "log_keepalive_storage_details"));
    EXPECT_EQ(messages(older), lines{});
    values = settings(older);
    EXPECT_EQ(values["log_keepalive_plugin_details"], "false");
    EXPECT_EQ(values["log_keepalive_storage_details"], "true");

    const auto neither = load(base_with("        log_keepalive_plugin_details: True\n", ""));
    EXPECT_EQ(messages(neither),
              lines{"warning: f:64: pvc.system.configuration.logging.log_keepalive_plugin_details: missing; expected a "
                    "boolean here or for log_keepalive_storage_details, using false for both"});
    values = settings(neither);
    EXPECT_EQ(values["log_keepalive_plugin_details"], "false");
    EXPECT_EQ(values["log_keepalive_storage_details"], "false");
}

TEST(config, case_09_target_selector) {
    EXPECT_EQ(settings(load(base_with("target_selector: mem", "target_selector: memprov")))["target_selector"],
              "memprov");
    EXPECT_EQ(settings(load(base_with("target_selector: mem", "target_selector: VMS")))["target_selector"], "vms");
    const auto bad = load(base_with("target_selector: mem", "target_selector: cpu"));
    EXPECT_FALSE(bad.config);
    EXPECT_EQ(messages(bad),
              lines{"f:57: pvc.system.migration.target_selector: not a known value; expected one of mem, "
                    "memprov, vcpus, load, vms, got cpu (string)"});
}

TEST(config, case_10_full_host_name) {
    const auto got = load(base_for("rack1-pvchv2"), "rack1-pvchv2.example.org");
    EXPECT_EQ(messages(got),
              lines{"warning: f:16: pvc.cluster.networks.upstream.domain: differs from the domain of the "
                    "host name; expected example.org, got mydomain.net (string)"});
    auto values = settings(got);
    EXPECT_EQ(values["node_id"], "2");
    EXPECT_EQ(values["node"], "rack1-pvchv2");
    EXPECT_EQ(values["cluster_address"], "10.255.0.2/24");
    EXPECT_EQ(values["domain"], "example.org");
    EXPECT_EQ(values["mode"], "hypervisor");
}

TEST(config, case_11_configured_for_another_node) {
    const auto got = load(base(), "pvchv2");
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got), lines{"f:2: pvc.node: configured for another node; expected pvchv2, got pvchv1 (string)"});
}

TEST(config, case_12_host_name_without_number) {
    const auto got = load(base_for("alpha"), "alpha");
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got),
              (lines{"f:88: " + networking_path +
                         ".cluster.address: no usable node number in the hostname; expected a number from 1 to 254 in "
                         "the hostname for by-id in 10.255.0.0/24 (pvc.cluster.networks.cluster.network, line 22), got "
                         "alpha (id 0)",
                     "f:92: " + networking_path +
                         ".storage.address: no usable node number in the hostname; expected a number from 1 to 254 in "
                         "the hostname for by-id in 10.254.0.0/24 (pvc.cluster.networks.storage.network, line 26), got "
                         "alpha (id 0)"}));
}

TEST(config, case_13_number_beyond_the_network) {
    const auto got = load(base_for("hv300"), "hv300");
    EXPECT_FALSE(got.config);
    ASSERT_EQ(got.diagnostics.size(), 2U);
    EXPECT_EQ(messages(got)[0],
              "f:88: " + networking_path +
                  ".cluster.address: id 300 of the hostname is outside 1-254; expected a number from 1 to 254 in the "
                  "hostname for by-id in 10.255.0.0/24 (pvc.cluster.networks.cluster.network, line 22), got hv300 (id "
                  "300)");
}

TEST(config, case_14_address_equal_to_the_floating_ip) {
    const auto got = load(base_for("hv254"), "hv254");
    EXPECT_FALSE(got.config);
    ASSERT_EQ(got.diagnostics.size(), 2U);
    EXPECT_EQ(messages(got)[0],
              "f:88: " + networking_path +
                  ".cluster.address: equal to the floating IP (pvc.cluster.networks.cluster.floating_ip, line 23); "
                  "expected another address than 10.255.0.254, got by-id for hv254 (id 254)");
}

TEST(config, case_15_large_network) {
    auto text = edited(base_for("hv300"), "\"10.255.0.0/24\"", "\"10.0.0.0/16\"");
    text = edited(text, "\"10.255.0.254/24\"", "\"10.0.255.254/16\"");
    text = edited(text, "        storage:\n          device: ens4\n          mtu: 1500\n          address: by-id",
                  "        storage:\n          device: ens4\n          mtu: 1500\n          address: 10.254.0.7/24");
    const auto got = load(text, "hv300");
    EXPECT_EQ(messages(got), lines{});
    auto values = settings(got);
    EXPECT_EQ(values["cluster_address"], "10.0.1.44/16");
    EXPECT_EQ(values["storage_address"], "10.254.0.7/24");
}

TEST(config, case_16_spellings_of_none) {
    for (const auto* value : {"~", "null", "\"\"", "\"None\"", "none", "", "Null", "NULL", "'NONE'"}) {
        const auto got = with_upstream_address(value);
        EXPECT_EQ(messages(got), lines{}) << value;
        EXPECT_EQ(settings(got)["upstream_address"], "none") << value;
    }
}

TEST(config, case_17_address_without_prefix) {
    const auto got = with_upstream_address("1.1.1.5");
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got),
              lines{"f:84: " + networking_path +
                    ".upstream.address: not an address with a prefix length; expected an IPv4 address in "
                    "CIDR form such as 10.0.0.5/24, by-id or None, got 1.1.1.5 (string)"});
}

TEST(config, case_18_address_outside_the_network) {
    const auto got = with_upstream_address("2.1.1.5/24");
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got),
              lines{"f:84: " + networking_path +
                    ".upstream.address: not a usable host of 1.1.1.0/24 (pvc.cluster.networks.upstream.network, line "
                    "17); expected an address from 1.1.1.1 to 1.1.1.254, got 2.1.1.5/24 (string)"});
}

TEST(config, case_19_host_bits) {
    const auto got = load(base_with("\"1.1.1.0/24\"", "\"1.1.1.1/24\""));
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got),
              lines{"f:17: pvc.cluster.networks.upstream.network: host bits set; expected an IPv4 network "
                    "such as 1.1.1.0/24, got 1.1.1.1/24 (string)"});
}
}  // namespace
}  // namespace pvc::config::test
