// The static networks: subnets, addresses, gateways, domains (config.md 5.2, 6.4, 6.5).
#include "config_test_support.hpp"

namespace pvc::config::test {
namespace {

// The table of 6.5: the cluster network, the host name, and the address or what the message contains.
TEST(addresses, by_id) {
    struct row {
        std::string network, floating_ip, node, result;
    };
    const std::vector<row> table{
        {"10.255.0.0/24", "10.255.0.254/24", "pvchv1", "10.255.0.1/24"},
        {"10.255.0.0/24", "10.255.0.254/24", "rack1-hv12", "10.255.0.12/24"},
        {"10.255.0.0/24", "10.255.0.254", "hv007", "10.255.0.7/24"},
        {"10.0.0.128/25", "10.0.0.254/25", "hv1", "10.0.0.129/25"},
        {"10.0.0.0/16", "10.0.255.254/16", "hv300", "10.0.1.44/16"},
        {"10.0.0.0/31", "10.0.0.1/31", "hv1", "10.0.0.0/31"},
        {"10.0.0.0/31", "10.0.0.0/31", "hv2", "10.0.0.1/31"},
        {"10.255.0.0/24", "10.255.0.254/24", "hv253", "10.255.0.253/24"},
        {"0.0.0.0/1", "127.0.0.1", "hv2147483646", "127.255.255.254/1"},
        {"10.255.0.0/24", "10.255.0.254/24", "hv254", "equal to the floating IP"},
        {"10.0.0.4/32", "10.0.0.4/32", "hv1", "equal to the floating IP"},
        {"10.255.0.0/24", "10.255.0.254/24", "hv255",
         "id 255 of the hostname is outside 1-254; expected a number from 1 "
         "to 254 in"},
        {"10.0.0.0/30", "10.0.0.1/30", "hv3", "id 3 of the hostname is outside 1-2;"},
        {"10.0.0.0/31", "10.0.0.1/31", "hv3", "id 3 of the hostname is outside 1-2;"},
        {"10.0.0.0/32", "10.0.0.0", "hv2", "id 2 of the hostname is outside 1-1;"},
        {"10.255.0.0/24", "10.255.0.254/24", "alpha", "no usable node number in the hostname"},
        {"10.255.0.0/24", "10.255.0.254/24", "hv0", "no usable node number in the hostname"},
        {"10.255.0.0/24", "10.255.0.254/24", "hv99999999999999999999", "is outside 1-254"},
    };
    for (const auto& row : table) {
        // Of coordinators without numbers, whose addresses hang on no id.
        auto text = edited(base_for(row.node), "      - pvchv1\n      - pvchv2\n      - pvchv3\n",
                           "      - alpha\n      - beta\n      - gamma\n");
        text = edited(text, "\"10.255.0.0/24\"", row.network);
        text = edited(text, "\"10.255.0.254/24\"", row.floating_ip);
        text =
            edited(text, "        storage:\n          device: ens4\n          mtu: 1500\n          address: by-id",
                   "        storage:\n          device: ens4\n          mtu: 1500\n          address: 10.254.0.9/24");
        const auto got = load(text, row.node);
        if (got.config) {
            EXPECT_EQ(settings(got)["cluster_address"], row.result) << row.network << " " << row.node;
            EXPECT_EQ(messages(got), lines{});
            continue;
        }
        ASSERT_EQ(got.diagnostics.size(), 1U) << row.network << " " << row.node;
        EXPECT_TRUE(messages(got)[0].starts_with("f:88: " + networking + "cluster.address: "));
        EXPECT_NE(messages(got)[0].find(row.result), std::string::npos) << messages(got)[0];
        EXPECT_NE(messages(got)[0].find(row.node), std::string::npos) << messages(got)[0];
    }
}

loaded with_cluster_address(const std::string& address) {
    return load(
        base_with("        cluster:\n          device: ens4\n          mtu: 1500\n          address: by-id",
                  "        cluster:\n          device: ens4\n          mtu: 1500\n          address: " + address));
}

TEST(addresses, static_and_none) {
    EXPECT_EQ(settings(with_cluster_address("10.255.0.77/24"))["cluster_address"], "10.255.0.77/24");
    const auto other_prefix = with_cluster_address("10.255.0.77/16");
    EXPECT_EQ(settings(other_prefix)["cluster_address"], "10.255.0.77/16");
    EXPECT_EQ(messages(other_prefix),
              lines{"warning: f:88: " + networking +
                    "cluster.address: prefix length differs from 10.255.0.0/24 (pvc.cluster.networks.cluster.network, "
                    "line 22); expected /24, got 10.255.0.77/16 (string)"});
    for (const auto* address : {"10.255.0.0/24", "10.255.0.255/24", "10.255.1.1/24"}) {
        EXPECT_EQ(
            messages(with_cluster_address(address)),
            lines{"f:88: " + networking +
                  "cluster.address: not a usable host of 10.255.0.0/24 (pvc.cluster.networks.cluster.network, line "
                  "22); expected an address from 10.255.0.1 to 10.255.0.254, got " +
                  address + " (string)"});
    }
    EXPECT_FALSE(with_cluster_address("10.255.0.254/24").config);  // the floating IP
    for (const auto* address :
         {"By-Id", "10.255.0.5/33", "10.255.0.5/", "10.255.0/24", "fe80::1/64", "010.255.0.5/24"}) {
        const auto got = with_cluster_address(address);
        ASSERT_EQ(got.diagnostics.size(), 1U) << address;
        EXPECT_NE(messages(got)[0].find("not an address with a prefix length"), std::string::npos) << messages(got)[0];
    }
    EXPECT_EQ(messages(with_cluster_address("None")),
              lines{"warning: f:88: " + networking +
                    "cluster.address: no address on the cluster network; expected an address or by-id, got None "
                    "(string)"});
    const auto storage =
        load(base_with("        storage:\n          device: ens4\n          mtu: 1500\n          address: by-id",
                       "        storage:\n          device: ens4\n          mtu: 1500\n          address: ~"));
    EXPECT_EQ(messages(storage),
              lines{"warning: f:92: " + networking +
                    "storage.address: no address on the storage network, so RBD locks of this node count as foreign; "
                    "expected an address or by-id, got null (null)"});
    EXPECT_EQ(settings(storage)["storage_address"], "none");
}

TEST(networks, subnets) {
    const std::string path = "f:22: pvc.cluster.networks.cluster.network: ";
    const std::string expected = "; expected an IPv4 network such as 10.0.0.0/24, got ";
    const std::vector<std::pair<std::string, std::string>> table{
        {"10.255.0.0", path + "not an IPv4 network" + expected + "10.255.0.0 (string)"},
        {"fd00::/64", path + "not an IPv4 network" + expected + "fd00::/64 (string)"},
        {"10.255.0.0/33", path + "not an IPv4 network" + expected + "10.255.0.0/33 (string)"},
        {"\"\"", path + "empty" + expected + "\"\" (string)"},
        {"None", path + "not an IPv4 network" + expected + "None (string)"},
        {"0.0.0.0/0", path + "no prefix length; expected a prefix length from 1 to 32, got 0.0.0.0/0 (string)"},
        {"10.255.0.0/8",
         path + "host bits set; expected an IPv4 network such as 10.0.0.0/8, got 10.255.0.0/8 (string)"},
    };
    for (const auto& [network, message] : table) {
        EXPECT_EQ(messages(load(base_with("\"10.255.0.0/24\"", network))), lines{message}) << network;
    }
    auto same =
        edited(edited(base(), "\"10.254.0.0/24\"", "\"10.255.0.0/24\""), "\"10.254.0.254/24\"", "\"10.255.0.253/24\"");
    EXPECT_EQ(messages(load(same)), lines{});
    same = edited(same, "        storage:\n          device: ens4", "        storage:\n          device: ens5");
    EXPECT_EQ(
        messages(load(same)),
        lines{"warning: f:26: pvc.cluster.networks.storage.network: the same network as "
              "pvc.cluster.networks.cluster.network (line 22) on another device; expected different networks, got "
              "10.255.0.0/24 (string)"});
    EXPECT_EQ(
        messages(
            load(base_with("      upstream:\n        domain", "      public: {}\n      upstream:\n        domain"))),
        lines{"warning: f:15: pvc.cluster.networks.public: unknown key, ignored; expected a known key, the nearest is "
              "cluster"});
}

TEST(networks, floating_ip) {
    const auto with = [](const std::string& address) { return load(base_with("\"1.1.1.10/24\"", address)); };
    EXPECT_EQ(settings(with("1.1.1.10"))["upstream_floating_ip"], "1.1.1.10/24");
    EXPECT_EQ(with("1.1.1.10").config->upstream_floating_ip, "1.1.1.10");
    EXPECT_EQ(load(base()).config->upstream_floating_ip, "1.1.1.10/24");
    const auto other_prefix = with("1.1.1.10/32");
    EXPECT_EQ(settings(other_prefix)["upstream_floating_ip"], "1.1.1.10/32");
    EXPECT_EQ(messages(other_prefix),
              lines{"warning: f:18: pvc.cluster.networks.upstream.floating_ip: prefix length differs from 1.1.1.0/24 "
                    "(pvc.cluster.networks.upstream.network, line 17); expected /24, got 1.1.1.10/32 (string)"});
    EXPECT_EQ(
        messages(with("1.1.1.255/24")),
        lines{"f:18: pvc.cluster.networks.upstream.floating_ip: not a usable host of 1.1.1.0/24 "
              "(pvc.cluster.networks.upstream.network, line 17); expected an address from 1.1.1.1 to 1.1.1.254, got "
              "1.1.1.255/24 (string)"});
    EXPECT_EQ(
        messages(with("floating")),
        lines{"f:18: pvc.cluster.networks.upstream.floating_ip: not an IPv4 address; expected an IPv4 address such as "
              "10.0.0.254/24, got floating (string)"});
}

TEST(networks, gateway) {
    const auto with = [](const std::string& gateway) { return load(base_with("\"1.1.1.1\"", gateway)); };
    EXPECT_EQ(settings(load(base()))["upstream_gateway"], "1.1.1.1");
    EXPECT_EQ(settings(with("None"))["upstream_gateway"], "none");
    EXPECT_EQ(
        messages(with("2.1.1.1")),
        lines{"f:19: pvc.cluster.networks.upstream.gateway: not a usable host of 1.1.1.0/24 "
              "(pvc.cluster.networks.upstream.network, line 17); expected an address from 1.1.1.1 to 1.1.1.254, got "
              "2.1.1.1 (string)"});
    EXPECT_EQ(
        messages(with("1.1.1.10")),
        lines{"warning: f:19: pvc.cluster.networks.upstream.gateway: equal to the floating IP "
              "(pvc.cluster.networks.upstream.floating_ip, line 18); expected the address of a router, got 1.1.1.10 "
              "(string)"});
    EXPECT_EQ(messages(load(base_with("address: None", "address: by-id"))),
              lines{"warning: f:19: pvc.cluster.networks.upstream.gateway: equal to this node's address (" +
                    networking + "upstream.address, line 84); expected the address of a router, got 1.1.1.1 (string)"});
    EXPECT_EQ(
        messages(load(base_with("domain: \"pvc.local\"", "domain: \"pvc.local\"\n        gateway: nonsense"))),
        lines{"warning: f:22: pvc.cluster.networks.cluster.gateway: ignored; expected a gateway for upstream only, got "
              "nonsense (string)"});
    EXPECT_EQ(messages(load(base_with("domain: \"pvc.local\"", "domain: \"pvc.local\"\n        gateway: None"))),
              lines{});
}

TEST(networks, domains) {
    const auto with = [](const std::string& domain) { return load(base_with("\"pvc.local\"", domain)); };
    EXPECT_EQ(with("None").config->networks.cluster.domain, "");
    EXPECT_EQ(with("pvc.local").config->networks.cluster.domain, "pvc.local");
    for (const auto* domain : {"a..b", ".a", "under_score", "'with blank'"}) {
        const auto got = with(domain);
        EXPECT_TRUE(got.config);
        ASSERT_EQ(got.diagnostics.size(), 1U) << domain;
        EXPECT_TRUE(
            messages(got)[0].starts_with("warning: f:21: pvc.cluster.networks.cluster.domain: not a DNS name; "
                                         "expected at most 253 characters, labels of 1 to 63 letters, digits and "
                                         "-, got "));
    }
    EXPECT_EQ(with(std::string(63, 'a')).diagnostics.size(), 0U);
    EXPECT_EQ(with(std::string(64, 'a')).diagnostics.size(), 1U);
    // Migration needs it, with networking or without.
    auto text = base_with("enable_networking: True", "enable_networking: False");
    EXPECT_EQ(settings(load(text))["cluster_domain"], "pvc.local");
}

TEST(networks, unused_settings_are_still_checked) {
    auto text = base_with("enable_networking: True", "enable_networking: False");
    EXPECT_EQ(messages(load(edited(text, "bridge_mtu: 1500", "bridge_mtu: 67"))),
              lines{"f:75: " + networking +
                    "bridge_mtu: out of range; expected an integer from 68 to 65535 or None, got 67 (integer)"});
    EXPECT_EQ(
        messages(load(edited(text, "port: 5432\n        name: pvcapi", "port: 0\n        name: pvcapi"))),
        lines{"f:39: pvc.coordinator.metadata.database.port: out of range; expected an integer from 1 to 65535, got 0 "
              "(integer)"});
    // Addresses are not derived: a host without a number is no problem.
    EXPECT_EQ(messages(load(edited(text, "node: pvchv1\n", "node: alpha\n"), "alpha")), lines{});
}
}  // namespace
}  // namespace pvc::config::test
