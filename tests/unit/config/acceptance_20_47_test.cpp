// The acceptance cases 20 to 47 of config.md section 9 that concern loading, by number.
#include "config_test_support.hpp"

#include <chrono>

namespace pvc::config::test {
namespace {

const std::string suicide_path = "pvc.system.fencing.intervals.suicide_intervals";

loaded with_keepalive_interval(std::string_view value) {
    return load(base_with("keepalive_interval: 5\n", "keepalive_interval: " + std::string(value) + "\n"));
}

TEST(config, case_20_quoted_boolean) {
    const auto got = load(base_with("enable_storage: True", "enable_storage: \"False\""));
    EXPECT_EQ(messages(got),
              lines{"warning: f:7: pvc.functions.enable_storage: a boolean in quotes; expected a boolean, "
                    "got \"False\" (string)"});
    EXPECT_EQ(settings(got)["enable_storage"], "false");
}

TEST(config, case_21_not_a_boolean) {
    const auto got = load(base_with("debug: False", "debug: maybe"));
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got), lines{"f:3: pvc.debug: not a boolean; expected a boolean, got \"maybe\" (string)"});
}

TEST(config, case_22_integers) {
    EXPECT_EQ(settings(with_keepalive_interval("\"5\""))["keepalive_interval"], "5");
    EXPECT_EQ(settings(with_keepalive_interval("5.0"))["keepalive_interval"], "5");
    const std::string start = "f:46: pvc.system.fencing.intervals.keepalive_interval: ";
    const std::string expected = "; expected an integer from 1 to 3600, got ";
    const std::vector<std::pair<std::string, std::string>> bad{
        {"2.5", "not an integer" + expected + "2.5 (float)"},
        {"0", "out of range" + expected + "0 (integer)"},
        {"010", "not a decimal integer" + expected + "010 (integer)"},
        {"1:30", "not a decimal integer" + expected + "1:30 (integer)"},
    };
    for (const auto& [value, message] : bad) {
        const auto got = with_keepalive_interval(value);
        EXPECT_FALSE(got.config);
        EXPECT_EQ(messages(got), lines{start + message});
    }
}

TEST(config, case_23_password_keeps_its_text) {
    const auto got = load(base_with("        pass: Passw0rd\n", "        pass: 0123\n"));
    EXPECT_EQ(messages(got), lines{});
    ASSERT_TRUE(got.config);
    EXPECT_EQ(got.config->ipmi.pass.reveal(), "0123");
    EXPECT_EQ(settings(got)["ipmi_pass"], "********");
}

TEST(config, case_24_all_problems_at_once) {
    auto text = base_with(
        "  functions:\n    enable_hypervisor: True\n    enable_networking: True\n"
        "    enable_storage: True\n    enable_api: True\n",
        "");
    text = edited(text, "        log_directory: \"/var/log/pvc\"\n", "");
    const auto got = load(text);
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got),
              (lines{"f:1: pvc.functions: missing; expected a mapping",
                     "f:54: pvc.system.configuration.directories.log_directory: missing; expected an absolute path"}));
}

TEST(config, case_25_unknown_key) {
    const auto got = load(base_with("        keepalive_interval: 5\n",
                                    "        keepalive_interval: 5\n        keepalive_intervall: 7\n"));
    EXPECT_EQ(messages(got), lines{"warning: f:47: pvc.system.fencing.intervals.keepalive_intervall: unknown key, "
                                   "ignored; expected a known key, the nearest is keepalive_interval"});
    EXPECT_EQ(settings(got)["keepalive_interval"], "5");
}

// It takes the user and the password of the BMC away: more than a key that nobody knows.
TEST(config, a_slip_in_the_name_of_a_section_is_an_error) {
    const auto got = load(base_with("    fencing:\n", "    fenncing:\n"));
    EXPECT_TRUE(got.config);
    ASSERT_FALSE(got.diagnostics.empty());
    EXPECT_EQ(got.diagnostics.back().level, severity::error);
    EXPECT_EQ(messages(got).back(),
              "warning: f:44: pvc.system.fenncing: unknown section, all of it is ignored; expected "
              "fencing, which is missing: each of its settings has its default");
}

TEST(config, case_26_failed_fence) {
    const auto load_with = [](std::string_view suicide_intervals) {
        return load(edited(base_with("failed_fence: None", "failed_fence: migrate"), "suicide_intervals: 0",
                           "suicide_intervals: " + std::string(suicide_intervals)));
    };
    const auto error = [](std::string_view got) {
        return "warning: f:51: pvc.system.fencing.actions.failed_fence: migrate is not safe without self-reset, "
               "treated "
               "as None; expected " +
               suicide_path + " (line 48) to be from 1 to fence_intervals (6), got " + std::string(got);
    };
    const auto zero = load_with("0");
    EXPECT_EQ(messages(zero), lines{error("0")});
    EXPECT_EQ(zero.diagnostics[0].level, severity::error);
    EXPECT_EQ(settings(zero)["failed_fence"], "none");

    const auto seven = load_with("7");
    EXPECT_EQ(messages(seven), (lines{"warning: f:48: " + suicide_path +
                                          ": greater than pvc.system.fencing.intervals.fence_intervals (line 47); "
                                          "expected at most 6, got 7",
                                      error("7")}));
    EXPECT_EQ(seven.diagnostics[1].level, severity::error);
    EXPECT_EQ(settings(seven)["failed_fence"], "none");

    const auto six = load_with("6");
    EXPECT_EQ(messages(six), lines{});
    EXPECT_EQ(settings(six)["failed_fence"], "migrate");
}

TEST(config, case_27_successful_fence_missing) {
    const auto got = load(base_with("        successful_fence: migrate\n", ""));
    EXPECT_EQ(messages(got),
              lines{"warning: f:49: pvc.system.fencing.actions.successful_fence: missing; expected one of "
                    "migrate, None, using migrate"});
    EXPECT_EQ(settings(got)["successful_fence"], "migrate");
}

TEST(config, case_28_one_device_one_bridge) {
    auto values = settings(load(base()));
    EXPECT_EQ(values["cluster_bridge"], "brcluster");
    EXPECT_EQ(values["storage_bridge"], "brcluster");
    EXPECT_EQ(values["upstream_bridge"], "brcluster");
}

TEST(config, case_29_bridge_mtu_of_a_shared_device) {
    const auto got = load(edited(base_with("        bridge_mtu: 1500\n", ""),
                                 "        cluster:\n          device: ens4\n          mtu: 1500\n",
                                 "        cluster:\n          device: ens4\n          mtu: 9000\n"));
    EXPECT_EQ(settings(got)["bridge_mtu"], "9000");
    EXPECT_FALSE(got.config->bridges.mtu_is_configured);
}

TEST(config, case_30_without_networking) {
    auto text = base_with("enable_networking: True", "enable_networking: False");
    const auto cut = [&text](std::string_view from, std::string_view to) {
        const auto start = text.find(from);
        const auto end = to.empty() ? text.size() : text.find(to, start);
        ASSERT_NE(start, std::string::npos);
        ASSERT_NE(end, std::string::npos);
        text.erase(start, end - start);
    };
    cut("    networks:\n", "  coordinator:\n");
    cut("  coordinator:\n", "  system:\n");
    cut("      networking:\n", "");
    const auto got = load(text);
    EXPECT_EQ(messages(got), lines{});
    auto values = settings(got);
    EXPECT_EQ(values["mode"], "coordinator");
    for (const auto& [name, value] : values) {
        for (const auto* word : {"cluster_", "storage_", "upstream_", "bridge_", "sriov_", "database_"}) {
            EXPECT_FALSE(name.starts_with(word)) << name;
        }
    }
}

TEST(config, case_31_bad_coordinators) {
    const auto empty = load(with_coordinators("[]"));
    EXPECT_FALSE(empty.config);
    EXPECT_EQ(messages(empty),
              lines{"f:10: pvc.cluster.coordinators: no servers; expected at least one coordinator, got []"});
    const auto scalar = load(with_coordinators("pvchv1"));
    EXPECT_FALSE(scalar.config);
    EXPECT_EQ(messages(scalar),
              lines{"f:10: pvc.cluster.coordinators: not a list; expected a list, got \"pvchv1\" (string)"});
}

TEST(config, case_32_connect_string) {
    const auto got = load(with_coordinators("[hv1:2182, 10.0.0.2, /pvc]"));
    EXPECT_EQ(settings(got)["zookeeper_hosts"], "hv1:2182,10.0.0.2:2181/pvc");
    EXPECT_EQ(got.config->zookeeper_chroot, "/pvc");
    EXPECT_EQ(got.config->coordinators, (lines{"hv1", "10.0.0.2"}));
}

TEST(config, case_34_pvc_1_0_file) {
    const auto got = load(file_text(data_path("pvc-1.0.conf")));
    EXPECT_FALSE(got.config);
    EXPECT_EQ(messages(got), lines{"f:4: this is a PVC 1.0 file (pvc.conf); expected a pvcnoded.yaml with the key pvc, "
                                   "got path, subsystem and cluster"});
}

TEST(config, case_37_self_reset_without_proof) {
    const auto six = base_with("suicide_intervals: 0", "suicide_intervals: 6");
    const auto without_device = load(six, "pvchv1", false);
    EXPECT_EQ(messages(without_device),
              lines{"warning: f:48: " + suicide_path +
                    ": self-reset cannot be proven to other nodes; expected a kernel watchdog device, got none"});
    EXPECT_EQ(without_device.diagnostics[0].level, severity::error);
    EXPECT_EQ(settings(without_device)["selfreset"], "off");

    const auto eleven = load(base_with("suicide_intervals: 0", "suicide_intervals: 11"));
    EXPECT_EQ(
        messages(eleven),
        (lines{"warning: f:48: " + suicide_path +
                   ": greater than pvc.system.fencing.intervals.fence_intervals (line 47); expected at most 6, got "
                   "11",
               "warning: f:48: " + suicide_path +
                   ": self-reset comes too late to be waited for; expected a lease of at most 60 s "
                   "(keepalive_interval times (fence_intervals + 6)), got 65 s"}));
    EXPECT_EQ(eleven.diagnostics[1].level, severity::error);
    EXPECT_EQ(settings(eleven)["selfreset"], "off");

    const auto armed = load(six);
    EXPECT_EQ(messages(armed), lines{});
    EXPECT_EQ(settings(armed)["selfreset"], "armed 40");
}

TEST(config, case_41_keys_of_the_older_manual) {
    // The older manual's key names are those of the newer one, except for these.
    auto text = base_with("log_keepalive_plugin_details", "log_keepalive_storage_details");
    text = edited(text, "        plugin_directory: \"/usr/share/pvc/plugins\"\n", "");
    text = edited(text, "        bridge_mtu: 1500\n", "");
    const auto got = load(text);
    EXPECT_EQ(messages(got), lines{});
    EXPECT_EQ(settings(got)["plugin_directory"], "/usr/share/pvc/plugins");
}

TEST(config, case_42_vfcount_missing) {
    const auto got = load(base_with("            vfcount: 7\n", ""));
    EXPECT_EQ(messages(got),
              lines{"warning: f:78: " + networking_path +
                    ".sriov_device[0].vfcount: missing; expected an integer from 0 to 1024, using the VFs "
                    "as they are"});
    ASSERT_TRUE(got.config);
    ASSERT_EQ(got.config->sriov.devices.size(), 1U);
    EXPECT_FALSE(got.config->sriov.devices[0].vf_count);
}

TEST(config, case_43_alias_merge_and_duplicate) {
    auto text = base_with(
        "  coordinator:\n    dns:\n      database:\n        host: localhost\n        port: 5432\n        name: "
        "pvcdns\n",
        "  coordinator:\n    dns:\n      database: &db\n        host: &host db.local\n        port: 5433\n"
        "        name: pvcdns\n");
    text = edited(text, "        host: localhost\n        port: 5432\n        name: pvcapi\n",
                  "        <<: *db\n        name: pvcapi\n");
    text = edited(text, "        host: pvchv1-lom\n", "        host: *host\n");
    text = edited(text, "  debug: False\n", "  debug: False\n  debug: True\n");
    const auto got = load(text);
    EXPECT_EQ(messages(got), lines{"warning: f:4: pvc.debug: duplicate key; expected it once, got it in lines 3 and 4, "
                                   "the last one wins"});
    auto values = settings(got);
    EXPECT_EQ(values["metadata_database_host"], "db.local");
    EXPECT_EQ(values["metadata_database_port"], "5433");
    EXPECT_EQ(values["metadata_database_name"], "pvcapi");
    EXPECT_EQ(values["ipmi_host"], "db.local");
    EXPECT_EQ(values["debug"], "true");
}

TEST(config, case_46_fencing_off) {
    const auto got = load(base_with("fence_intervals: 6", "fence_intervals: 0"));
    EXPECT_EQ(messages(got), lines{});
    EXPECT_EQ(got.config->fence_intervals, 0);
}

TEST(config, case_47_health) {
    const auto load_with = [](std::string_view health) {
        return load(base_with("    configuration:\n", "    configuration:\n      health:\n" + std::string(health)));
    };
    const std::string path = "pvc.system.configuration.health.";
    EXPECT_EQ(messages(load_with("        mode: sometimes\n")),
              lines{"f:60: " + path +
                    "mode: not a known value; expected one of auto, builtin, external, got sometimes "
                    "(string)"});
    EXPECT_EQ(
        messages(load_with("        failure_delta: 101\n")),
        lines{"f:60: " + path + "failure_delta: out of range; expected an integer from 0 to 100, got 101 (integer)"});
    const auto all = load_with(R"(        mode: Builtin
        prefer_builtin: never
        failure_delta: 25
        extra_directories: [/opt/checks/, /srv/checks]
        disabled: [dpkg, edac]
        checks:
          disk:
            timeout: 600
            interval: 86400
            args: [-v, "two words"]
            max_delta: 20
          nics:
            expected_speed: {eth0: 10000, bond0: 1}
        exit_status_delta: [1, 2, 3, 4]
)");
    EXPECT_EQ(messages(all), lines{});
    ASSERT_TRUE(all.config);
    const auto& health = all.config->health;
    EXPECT_EQ(health.mode, health_mode::builtin);
    EXPECT_EQ(health.prefer_builtin, builtin_preference::never);
    EXPECT_EQ(health.failure_delta, 25);
    EXPECT_EQ(health.extra_directories, (lines{"/opt/checks", "/srv/checks"}));
    EXPECT_EQ(health.disabled, (lines{"dpkg", "edac"}));
    EXPECT_EQ(health.checks.at("disk").timeout, std::chrono::seconds(600));
    EXPECT_EQ(health.checks.at("disk").interval, std::chrono::seconds(86400));
    EXPECT_EQ(health.checks.at("disk").args, (lines{"-v", "two words"}));
    EXPECT_EQ(health.checks.at("disk").max_delta, 20);
    EXPECT_EQ(health.checks.at("nics").max_delta, 100);
    EXPECT_EQ(health.nic_speeds_mbit, (std::map<std::string, int>{{"bond0", 1}, {"eth0", 10000}}));
    EXPECT_EQ(health.exit_status_delta, (std::array<int, 4>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace pvc::config::test
