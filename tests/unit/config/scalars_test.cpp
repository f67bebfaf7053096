// The scalar rules of config.md 3 and the presence codes of 5, as tables over real keys.
#include "config_test_support.hpp"

#include <algorithm>
#include <array>

namespace pvc::config::test {
namespace {

const std::string configuration = "pvc.system.configuration.";

TEST(scalars, booleans) {
    const auto debug = [](const std::string& text) { return load(base_with("debug: False", "debug: " + text)); };
    for (const auto* text : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "1"}) {
        EXPECT_EQ(messages(debug(text)), lines{}) << text;
        EXPECT_TRUE(debug(text).config->debug) << text;
    }
    for (const auto* text : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N", "0"}) {
        EXPECT_EQ(messages(debug(text)), lines{}) << text;
        EXPECT_FALSE(debug(text).config->debug) << text;
    }
    for (const auto* text : {"'yes'", "\"1\"", "!!str on"}) {
        EXPECT_TRUE(debug(text).config->debug) << text;
        EXPECT_EQ(debug(text).diagnostics.size(), 1U) << text;
    }
    const std::string start = "f:3: pvc.debug: not a boolean; expected a boolean, got ";
    const std::vector<std::pair<std::string, std::string>> bad{
        {"tRUE", "\"tRUE\" (string)"}, {"2", "2 (integer)"},
        {"1.0", "1.0 (float)"},        {"", "null (null)"},
        {"~", "null (null)"},          {"None", "\"None\" (string)"},
        {"''", "\"\" (string)"},       {"[]", "[...] (sequence)"},
        {"{}", "{...} (mapping)"},     {"' true'", "\" true\" (string)"},
    };
    for (const auto& [text, got] : bad) {
        EXPECT_EQ(messages(debug(text)), lines{start + got}) << text;
    }
}

TEST(scalars, integers) {
    const auto fence = [](const std::string& text) {
        return load(base_with("fence_intervals: 6", "fence_intervals: " + text));
    };
    for (const auto* text : {"7", "\"7\"", "'7'", "+7", "7.0", "7.000", "!!str 7", "\"7.0\""}) {
        EXPECT_EQ(messages(fence(text)), lines{}) << text;
        EXPECT_EQ(fence(text).config->fence_intervals, 7) << text;
    }
    const std::string start = "f:47: pvc.system.fencing.intervals.fence_intervals: ";
    const std::string expected = "; expected an integer from 0 to 1000, got ";
    const std::vector<std::pair<std::string, std::string>> bad{
        {"0x10", "not a decimal integer" + expected + "0x10 (integer)"},
        {"1_000", "not a decimal integer" + expected + "1_000 (integer)"},
        {"1:30", "not a decimal integer" + expected + "1:30 (integer)"},
        {"007", "not a decimal integer" + expected + "007 (integer)"},
        {"99999999999999999999", "not a decimal integer" + expected + "99999999999999999999 (integer)"},
        {"2.5", "not an integer" + expected + "2.5 (float)"},
        {"7.", "not an integer" + expected + "7. (float)"},
        {"1e3", "not an integer" + expected + "\"1e3\" (string)"},
        {"yes", "not an integer" + expected + "yes (boolean)"},
        {"None", "not an integer" + expected + "\"None\" (string)"},
        {"null", "not an integer" + expected + "null (null)"},
        {"", "not an integer" + expected + "null (null)"},
        {"\"\"", "not an integer" + expected + "\"\" (string)"},
        {"six", "not an integer" + expected + "\"six\" (string)"},
        {"[6]", "not an integer" + expected + "[...] (sequence)"},
        {"-1", "out of range" + expected + "-1 (integer)"},
        {"1001", "out of range" + expected + "1001 (integer)"},
        {"\"1001\"", "out of range" + expected + "\"1001\" (string)"},
    };
    for (const auto& [text, message] : bad) {
        EXPECT_EQ(messages(fence(text)), lines{start + message}) << text;
    }
}

TEST(scalars, the_group_of_the_local_socket) {
    const auto with = [](const std::string& text) {
        return load(base_with("      logging:\n", "      control:\n        group: " + text + "\n      logging:\n"));
    };
    EXPECT_EQ(settings(load(base()))["control_group"], "none");
    EXPECT_EQ(messages(with("adm")), lines{});
    EXPECT_EQ(settings(with("adm"))["control_group"], "adm");
    EXPECT_EQ(with("''").config.has_value(), false);
    EXPECT_EQ(with("[adm]").config.has_value(), false);
}

TEST(scalars, strings_keep_the_source_text) {
    const auto user = [](const std::string& text) {
        return load(base_with("        user: admin", "        user: " + text));
    };
    const std::vector<std::pair<std::string, std::string>> table{
        {"0123", "0123"}, {"yes", "yes"}, {"1e3", "1e3"},     {"12.50", "12.50"},  {"None", "None"}, {"null", "null"},
        {"~", "~"},       {"", ""},       {"\"a b\"", "a b"}, {"'it''s'", "it's"}, {"#x", ""},       {"1:30", "1:30"},
    };
    for (const auto& [text, value] : table) {
        const auto got = user(text);
        EXPECT_EQ(messages(got), lines{}) << text;
        EXPECT_EQ(got.config->ipmi.user, value) << text;
    }
    EXPECT_EQ(messages(user("[a]")),
              lines{"f:54: pvc.system.fencing.ipmi.user: not a string; expected a string, got [...] (sequence)"});
    EXPECT_EQ(messages(user("\"a\\0b\"")),
              lines{"f:54: pvc.system.fencing.ipmi.user: contains a NUL character; expected "
                    "a string, got \"a\\x00b\" (string)"});
}

TEST(scalars, paths) {
    const auto log = [](const std::string& text) { return load(base_with("\"/var/log/pvc\"", text)); };
    const std::vector<std::pair<std::string, std::string>> table{
        {"/a/b", "/a/b"}, {"/a/b/", "/a/b"}, {"//a///b//", "/a/b"}, {"/a/./b/.", "/a/b"}, {"/a/../b", "/a/../b"},
    };
    for (const auto& [text, value] : table) {
        EXPECT_EQ(messages(log(text)), lines{}) << text;
        EXPECT_EQ(log(text).config->directories.log, value) << text;
    }
    const std::string start = "f:62: " + configuration + "directories.log_directory: ";
    EXPECT_EQ(messages(log("var/log")),
              lines{start + "not an absolute path; expected an absolute path, got var/log (string)"});
    EXPECT_EQ(messages(log("~")), lines{start + "not an absolute path; expected an absolute path, got null (null)"});
    for (const std::string shared : {"/", "/tmp", "/var/./log/", "/run", "/root/../tmp"}) {
        const std::string shown = shared == "/var/./log/" ? "/var/log" : shared;
        EXPECT_EQ(
            messages(log(shared)),
            lines{start + "a directory of the system; expected one of the daemon's own, such as /var/log/pvc, got \"" +
                  shown + "\""});
    }
    EXPECT_EQ(messages(log("''")), lines{start + "empty; expected an absolute path, got \"\" (string)"});
    EXPECT_EQ(messages(log("\"/a\\nb\"")),
              lines{start + "not an absolute path; expected an absolute path, got /a\\x0ab (string)"});
}

TEST(scalars, devices) {
    const auto device = [](const std::string& text) {
        return load(base_with("bridge_device: ens4", "bridge_device: " + text));
    };
    for (const auto* text : {"ens4", "bond0.1000", "a23456789012345", "brcluster2"}) {
        EXPECT_EQ(messages(device(text)), lines{}) << text;
        EXPECT_EQ(device(text).config->bridges.device, text);
    }
    for (const auto* text :
         {"a234567890123456", "a/b", "a b", "a\tb", ".", "..", "brcluster", "brstorage", "brupstream"}) {
        const auto got = device("\"" + std::string(text) + "\"");
        ASSERT_EQ(got.diagnostics.size(), 1U) << text;
        EXPECT_TRUE(
            messages(got)[0].starts_with("f:74: " + configuration +
                                         "networking.bridge_device: not a device name; expected a network device "
                                         "name of 1 to 15 characters, got "))
            << text;
    }
}

// 3.2: every key that admits NONE, with a spelling that YAML knows and one that it does not.
TEST(scalars, keys_that_admit_none) {
    struct row {
        std::string old_part;
        std::string new_part;  // followed by the value
        std::size_t warnings;
    };
    const std::vector<row> table{
        {"domain: \"pvc.local\"", "domain: ", 0},
        {"gateway: \"1.1.1.1\"", "gateway: ", 0},
        {"successful_fence: migrate", "successful_fence: ", 0},
        {"failed_fence: None", "failed_fence: ", 0},
        {"bridge_device: ens4", "bridge_device: ", 1},
        {"bridge_mtu: 1500", "bridge_mtu: ", 0},
        {"            mtu: 9000", "            mtu: ", 0},
        {"        cluster:\n          device: ens4\n          mtu: 1500\n          address: by-id",
         "        cluster:\n          device: ens4\n          mtu: 1500\n          address: ", 1},
        {"        storage:\n          device: ens4\n          mtu: 1500\n          address: by-id",
         "        storage:\n          device: ens4\n          mtu: 1500\n          address: ", 1},
    };
    for (const auto& row : table) {
        for (const auto* none : {"", "~", "null", "None", "none", "NONE", "''"}) {
            const auto got = load(base_with(row.old_part, row.new_part + none));
            EXPECT_TRUE(got.config) << row.new_part << none;
            EXPECT_EQ(got.diagnostics.size(), row.warnings) << row.new_part << none;
        }
    }
}

// R and D keys of B: a line removed, what is said, and whether the file still loads.
TEST(scalars, presence) {
    struct row {
        std::string line;
        std::string message;
    };
    const std::vector<row> table{
        {"  node: pvchv1\n", "warning: f:1: pvc.node: missing; expected a non-empty string, using pvchv1"},
        {"  debug: False\n", "warning: f:1: pvc.debug: missing; expected a boolean, using false"},
        {"    enable_hypervisor: True\n", "f:4: pvc.functions.enable_hypervisor: missing; expected a boolean"},
        {"    enable_networking: True\n", "f:4: pvc.functions.enable_networking: missing; expected a boolean"},
        {"    enable_storage: True\n", "f:4: pvc.functions.enable_storage: missing; expected a boolean"},
        {"    enable_api: True\n", ""},
        {"        domain: \"pvc.local\"\n",
         "f:20: pvc.cluster.networks.cluster.domain: missing; expected a DNS domain or None"},
        {"        network: \"10.254.0.0/24\"\n",
         "f:24: pvc.cluster.networks.storage.network: missing; expected an IPv4 network such as 10.0.0.0/24"},
        {"        floating_ip: \"1.1.1.10/24\"\n",
         "f:15: pvc.cluster.networks.upstream.floating_ip: missing; expected an IPv4 address such as 10.0.0.254/24"},
        {"        gateway: \"1.1.1.1\"\n", ""},
        {"        name: pvcdns\n", "f:30: pvc.coordinator.dns.database.name: missing; expected a non-empty string"},
        {"        pass: pvcapiPassw0rd\n",
         "f:37: pvc.coordinator.metadata.database.pass: missing; expected a non-empty string"},
        {"        fence_intervals: 6\n",
         "warning: f:45: pvc.system.fencing.intervals.fence_intervals: missing; expected an integer from 0 to 1000, "
         "using 6"},
        {"        failed_fence: None\n",
         "warning: f:49: pvc.system.fencing.actions.failed_fence: missing; expected one of migrate, None, using none"},
        {"        host: pvchv1-lom\n",
         "warning: f:52: pvc.system.fencing.ipmi.host: missing; expected a non-empty string, using pvchv1-lom"},
        {"        user: admin\n",
         "warning: f:52: pvc.system.fencing.ipmi.user: missing; expected a string, using null"},
        {"        pass: Passw0rd\n",
         "warning: f:52: pvc.system.fencing.ipmi.pass: missing; expected a string, using null"},
        {"      target_selector: mem\n",
         "warning: f:56: pvc.system.migration.target_selector: missing; expected one of mem, memprov, vcpus, load, "
         "vms, using mem"},
        {"    migration:\n      target_selector: mem\n",
         "warning: f:43: pvc.system.migration.target_selector: missing; expected one of mem, memprov, vcpus, load, "
         "vms, "
         "using mem"},
        {"        plugin_directory: \"/usr/share/pvc/plugins\"\n", ""},
        {"        dynamic_directory: \"/run/pvc\"\n",
         "f:59: pvc.system.configuration.directories.dynamic_directory: missing; expected an absolute path"},
        {"        console_log_directory: \"/var/log/libvirt\"\n",
         "f:59: pvc.system.configuration.directories.console_log_directory: missing; expected an absolute path"},
        {"        log_dates: True\n",
         "warning: f:64: pvc.system.configuration.logging.log_dates: missing; expected a boolean, using false"},
        {"        console_log_lines: 1000\n",
         "warning: f:64: pvc.system.configuration.logging.console_log_lines: missing; expected an integer from 0 to "
         "100000, using 1000"},
        {"        bridge_device: ens4\n",
         "warning: f:73: pvc.system.configuration.networking.bridge_device: missing, bridged networks cannot be "
         "created; "
         "expected a network device name of 1 to 15 characters"},
        {"        bridge_mtu: 1500\n", ""},
        {"        sriov_enable: True\n", ""},
        {"            mtu: 9000\n", ""},
    };
    for (const auto& row : table) {
        auto got = load(base_with(row.line, ""));
        EXPECT_EQ(messages(got), row.message.empty() ? lines{} : lines{row.message}) << row.line;
        EXPECT_EQ(got.config.has_value(), row.message.empty() || row.message.starts_with("warning: ")) << row.line;
    }
}

TEST(scalars, required_sections_are_missed_once) {
    const auto cut = [](std::string_view from, std::string_view to) {
        auto text = base();
        const auto start = text.find(from);
        return text.erase(start, (to.empty() ? text.size() : text.find(to, start)) - start);
    };
    EXPECT_EQ(messages(load(cut("  cluster:\n", "  coordinator:\n"))),
              lines{"f:1: pvc.cluster: missing; expected a mapping"});
    EXPECT_EQ(messages(load(cut("    networks:\n", "  coordinator:\n"))),
              lines{"f:9: pvc.cluster.networks: missing; expected a mapping"});
    EXPECT_EQ(messages(load(cut("      storage:\n        domain", "  coordinator:\n"))),
              lines{"f:14: pvc.cluster.networks.storage: missing; expected a mapping"});
    EXPECT_EQ(messages(load(cut("      networking:\n", ""))),
              lines{"f:58: pvc.system.configuration.networking: missing; expected a mapping"});
    EXPECT_EQ(messages(load(base_with("  coordinator:\n    dns:\n", "  coordinator: 5\n  other:\n    dns:\n"))),
              (lines{"f:28: pvc.coordinator: not a mapping; expected a mapping, got 5 (integer)",
                     "warning: f:29: pvc.other: unknown key, ignored; expected a known key, the nearest is node"}));
}

// What templates leave where a list or a mapping has nothing in it.
TEST(scalars, empty_lists_and_mappings) {
    const std::string cards =
        "        sriov_device:\n          - phy: ens1f0\n            mtu: 9000\n            vfcount: 7\n";
    for (const std::string& nothing : {"", " ~", " null", " \"\"", " ''", " {}", " []"}) {
        auto off = edited(base_with(cards, "        sriov_device:" + nothing + "\n"), "sriov_enable: True",
                          "sriov_enable: False");
        EXPECT_EQ(messages(load(off)), lines{}) << nothing;
        EXPECT_TRUE(load(off).config) << nothing;
        EXPECT_EQ(messages(load(base_with(cards, "        sriov_device:" + nothing + "\n"))),
                  lines{"warning: f:76: " + networking +
                        "sriov_enable: no devices in sriov_device; expected at least one, got True (boolean)"})
            << nothing;
        const auto health =
            load(base() + "      health:\n        extra_directories:" + nothing + "\n        disabled:" + nothing +
                 "\n        checks:" + nothing + "\n        exit_status_delta:" + nothing + "\n");
        EXPECT_EQ(messages(health), lines{}) << nothing;
        ASSERT_TRUE(health.config) << nothing;
        EXPECT_EQ(health.config->health.exit_status_delta, (std::array<int, 4>{0, 10, 50, 10})) << nothing;
        EXPECT_EQ(messages(load(base() + "      health:\n        checks:\n          disk:" + nothing + "\n")), lines{})
            << nothing;
        EXPECT_EQ(messages(load(base() + "      health:" + nothing + "\n      metrics:" + nothing + "\n")), lines{})
            << nothing;
        // A required one is missing.
        const auto list = messages(load(with_coordinators(nothing.empty() ? "~" : nothing.substr(1))));
        ASSERT_FALSE(list.empty()) << nothing;
        EXPECT_FALSE(load(with_coordinators(nothing.empty() ? "~" : nothing.substr(1))).config) << nothing;
        if (nothing != " []") {
            EXPECT_TRUE(list[0].starts_with("f:10: pvc.cluster.coordinators: missing; expected a list, got "))
                << list[0];
        }
    }
    EXPECT_EQ(messages(load(base_with("  functions:\n", "  functions: ~\n  others:\n")))[0],
              "f:4: pvc.functions: missing; expected a mapping, got null (null)");
    // Other words are none of these.
    for (const std::string& other : {"None", "no", "0", "x"}) {
        const auto got = load(base_with(cards, "        sriov_device: " + other + "\n"));
        EXPECT_FALSE(got.config) << other;
    }
}

// As PVC's deployment tool writes it for a node without such cards.
TEST(scalars, a_file_of_the_deployment_tool) {
    const auto got = load(file_text(data_path("deployed.yaml")));
    EXPECT_EQ(messages(got), lines{});
    ASSERT_TRUE(got.config);
    EXPECT_FALSE(got.config->sriov.enable);
    EXPECT_TRUE(got.config->sriov.devices.empty());
}

TEST(scalars, root) {
    const std::vector<std::pair<std::string, lines>> table{
        {"just text", {"f:1: not a mapping; expected a mapping with the key pvc, got \"just text\" (string)"}},
        {"- a\n", {"f:1: not a mapping; expected a mapping with the key pvc, got [...] (sequence)"}},
        {"{}", {"f:1: pvc: missing; expected a mapping"}},
        {"\nfoo: 1\n",
         {"f:2: pvc: missing; expected a mapping", "warning: f:2: foo: unknown key, ignored; expected only pvc here"}},
        // Two of the three keys of a 1.0 file are none.
        {"path: 1\ncluster: 2\n",
         {"f:1: pvc: missing; expected a mapping", "warning: f:1: path: unknown key, ignored; expected only pvc here",
          "warning: f:2: cluster: unknown key, ignored; expected only pvc here"}},
        {"pvc:\n", {"f:1: pvc: missing; expected a mapping, got null (null)"}},
        {"pvc: []\n", {"f:1: pvc: missing; expected a mapping, got [...] (sequence)"}},
        {"pvc: 5\n", {"f:1: pvc: not a mapping; expected a mapping, got 5 (integer)"}},
    };
    for (const auto& [text, expected] : table) {
        auto got = messages(load(text));
        std::ranges::sort(got);
        EXPECT_EQ(got, expected) << text;
        EXPECT_FALSE(load(text).config);
    }
    EXPECT_EQ(messages(load("x-common: &c 1\n" + base())),
              lines{"warning: f:1: x-common: unknown key, ignored; expected only pvc here"});
}

}  // namespace
}  // namespace pvc::config::test
