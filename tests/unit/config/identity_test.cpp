// Names, number and mode of this node, and ZooKeeper's servers (config.md 6.1 to 6.3).
#include "config_test_support.hpp"

namespace pvc::config::test {
namespace {

TEST(identity, names_and_numbers) {
    struct row {
        std::string hostname, node, domain;
        std::uint64_t id;
    };
    const std::vector<row> table{
        {"pvchv2.mydomain.net", "pvchv2", "mydomain.net", 2},
        {"rack1-hv12", "rack1-hv12", "", 12},
        {"hv2a", "hv2a", "", 2},
        {"hv007", "hv007", "", 7},
        {"alpha", "alpha", "", 0},
        {"alpha.net9", "alpha", "net9", 0},
        {"7", "7", "", 7},
        {"hv1.", "hv1", "", 1},
        {"hv18446744073709551615", "hv18446744073709551615", "", 18446744073709551615U},
        {"hv99999999999999999999", "hv99999999999999999999", "", 18446744073709551615U},
    };
    // Without networking no address is derived, so that any number loads.
    const auto text = base_with("enable_networking: True", "enable_networking: False");
    for (const auto& row : table) {
        const auto got = load(edited(text, "  node: pvchv1\n", "  node: \"" + row.node + "\"\n"), row.hostname);
        ASSERT_TRUE(got.config) << row.hostname;
        EXPECT_EQ(got.config->node, row.node);
        EXPECT_EQ(got.config->fqdn, row.hostname);
        EXPECT_EQ(got.config->domain, row.domain);
        EXPECT_EQ(got.config->node_id, row.id);
    }
}

TEST(identity, node_may_be_the_full_name) {
    const auto text = base_with("\"mydomain.net\"", "\"Example.ORG\"");
    EXPECT_EQ(messages(load(edited(text, "node: pvchv1\n", "node: pvchv1.example.org\n"), "pvchv1.example.org")),
              lines{});
    EXPECT_EQ(
        messages(load(base(), "")),
        (lines{"f:1: pvc.node: this host has no name; expected a host name, got \"\"",
               "f:2: pvc.node: configured for another node; expected , got pvchv1 (string)",
               "f:88: " + networking +
                   "cluster.address: no usable node number in the hostname; expected a number from 1 to 254 in the "
                   "hostname for by-id in 10.255.0.0/24 (pvc.cluster.networks.cluster.network, line 22), got  (id 0)",
               "f:92: " + networking +
                   "storage.address: no usable node number in the hostname; expected a number from 1 to 254 in the "
                   "hostname for by-id in 10.254.0.0/24 (pvc.cluster.networks.storage.network, line 26), got  (id "
                   "0)"}));
}

TEST(identity, default_ipmi_host) {
    const auto text = edited(base_with("        host: pvchv1-lom\n", ""), "mydomain.net", "example.org");
    EXPECT_EQ(load(text, "pvchv1.example.org").config->ipmi.host, "pvchv1-lom.example.org");
}

TEST(coordinators, connect_strings_and_mode) {
    struct row {
        std::string list, connect_string, mode;
    };
    const std::vector<row> table{
        {"[pvchv1, pvchv2, pvchv3]", "pvchv1:2181,pvchv2:2181,pvchv3:2181", "coordinator"},
        {"[hv1:2182, 10.0.0.2, hv3]", "hv1:2182,10.0.0.2:2181,hv3:2181", "hypervisor"},
        {"[hv1, /pvc]", "hv1:2181/pvc", "hypervisor"},
        {"[hv1, /]", "hv1:2181", "hypervisor"},
        {"[hv1, /a/b]", "hv1:2181/a/b", "hypervisor"},
        {"[PVCHV1:2182]", "PVCHV1:2182", "coordinator"},
        {"['[fe80::1]']", "[fe80::1]:2181", "hypervisor"},
        {"['[::1]:99']", "[::1]:99", "hypervisor"},
        {"[under_score]", "under_score:2181", "hypervisor"},
        {"[\"123\"]", "123:2181", "hypervisor"},
    };
    for (const auto& row : table) {
        const auto got = load(with_coordinators(row.list));
        EXPECT_EQ(messages(got), lines{}) << row.list;
        auto values = settings(got);
        EXPECT_EQ(values["zookeeper_hosts"], row.connect_string);
        EXPECT_EQ(values["mode"], row.mode) << row.list;
    }
    const auto got = load(with_coordinators("['[::1]:99', hv2, 10.0.0.3:65535]"));
    ASSERT_TRUE(got.config);
    EXPECT_EQ(got.config->coordinators, (lines{"[::1]", "hv2", "10.0.0.3"}));
    ASSERT_EQ(got.config->zookeeper_servers.size(), 3U);
    EXPECT_EQ(got.config->zookeeper_servers[0].host, "::1");
    EXPECT_EQ(got.config->zookeeper_servers[0].port, 99);
    EXPECT_EQ(got.config->zookeeper_servers[2].port, 65535);
}

TEST(coordinators, warnings) {
    const std::string path = "warning: f:10: pvc.cluster.coordinators";
    EXPECT_EQ(messages(load(with_coordinators("[hv1, hv2]"))),
              lines{path + ": an even number of coordinators; expected an odd number, got 2"});
    EXPECT_EQ(messages(load(with_coordinators("[hv1, HV1:2181]"))),
              lines{path + "[1]: duplicate, dropped; expected each server once, this one is in line 10, got HV1:2181 "
                           "(string)"});
    const auto fqdn = load(with_coordinators("[pvchv1.x.org]"));
    EXPECT_EQ(messages(fqdn),
              lines{path + "[0]: a full domain name; expected the short name pvchv1, got pvchv1.x.org (string)"});
    EXPECT_EQ(settings(fqdn)["mode"], "coordinator");
    EXPECT_EQ(settings(fqdn)["coordinators"], "pvchv1.x.org");
}

TEST(coordinators, refused_items) {
    for (const auto* item : {"''", "'hv1:'", "'hv1:x'", "'hv 1'", "'fe80::1'", "'[fe80::1'", "'[hv1]'", "'[::1]2181'",
                             "10.0.0.300", "a..b", "'hv1,hv2'", "'hv1/pvc'", "'hv1:02181'"}) {
        const auto got = load(with_coordinators("[pvchv1, " + std::string(item) + "]"));
        EXPECT_FALSE(got.config) << item;
        ASSERT_FALSE(got.diagnostics.empty()) << item;
        EXPECT_TRUE(
            messages(got)[0].starts_with("f:10: pvc.cluster.coordinators[1]: not a server; expected a host name, "
                                         "an IPv4 address or [IPv6], each optionally with :port, got "))
            << messages(got)[0];
    }
    for (const auto* item : {"'hv1:0'", "'hv1:65536'", "'10.0.0.1:99999'", "'[::1]:99999999999999999999'"}) {
        const auto got = load(with_coordinators("[pvchv1, " + std::string(item) + "]"));
        EXPECT_FALSE(got.config) << item;
        EXPECT_TRUE(
            messages(got)[0].starts_with("f:10: pvc.cluster.coordinators[1]: a port out of range; expected a port "
                                         "of 1 to 65535, got "))
            << messages(got)[0];
    }
    EXPECT_EQ(
        messages(load(with_coordinators("[/pvc, hv1]"))),
        lines{"f:10: pvc.cluster.coordinators[0]: a chroot before the last item; expected servers, and a chroot only "
              "as the last item, got /pvc (string)"});
    EXPECT_EQ(messages(load(with_coordinators("[/pvc]"))),
              lines{"f:10: pvc.cluster.coordinators: no servers; expected at least one coordinator, got []"});
    for (const auto* chroot : {"//", "/a/", "/a//b", "/.", "/a/..", "'/a,b'", "'/a b'"}) {
        const auto got = load(with_coordinators("[hv1, " + std::string(chroot) + "]"));
        EXPECT_FALSE(got.config) << chroot;
        EXPECT_EQ(got.diagnostics.size(), 1U) << chroot;
    }
}
}  // namespace
}  // namespace pvc::config::test
