// networking.md 5.1, 5.2: what clients store below /networks/<vni>, and what becomes of it (cases 22 to 24, 28, 92).
#include "pvcnoded/model/client_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::model {
namespace {

using keys = std::map<std::string, std::string, std::less<>>;

keys managed_keys() {
    return {{"", "office"},
            {"/nettype", "managed"},
            {"/mtu", "1400"},
            {"/domain", "Office.Local"},
            {"/name_servers", "ns1.example.org,ns2.example.org"},
            {"/ip4_network", "10.1.1.0/24"},
            {"/ip4_gateway", "10.1.1.1"},
            {"/dhcp4_flag", "True"},
            {"/dhcp4_start", "10.1.1.10"},
            {"/dhcp4_end", "10.1.1.99"},
            {"/ip6_network", "2001:db8::/64"},
            {"/ip6_gateway", "2001:db8::1"},
            {"/dhcp6_flag", "True"}};
}

parsed_network with(const std::string& key, const std::string& value) {
    auto all = managed_keys();
    all[key] = value;
    return parse_client_network("7", all);
}

std::string only_remark(const parsed_network& parsed) {
    return parsed.remarks.size() == 1 ? parsed.remarks.front() : std::to_string(parsed.remarks.size()) + " remarks";
}

TEST(client_network, all_keys_of_a_managed_one) {
    const auto parsed = parse_client_network("1001", managed_keys());
    ASSERT_TRUE(parsed.network);
    EXPECT_TRUE(parsed.remarks.empty());
    const auto& network = *parsed.network;
    EXPECT_EQ(network.bridge() + " " + network.base(), "vmbr1001 vxlan1001");
    EXPECT_EQ(network.description, "office");
    EXPECT_EQ(network.mtu, 1400);
    EXPECT_TRUE(network.has_mtu_text);
    EXPECT_EQ(network.domain, "office.local");
    EXPECT_EQ(network.name_servers, (std::vector<std::string>{"ns1.example.org", "ns2.example.org"}));
    EXPECT_EQ(network.ip4.gateway_address()->text(), "10.1.1.1/24");
    EXPECT_EQ(network.ip6.gateway_address()->text(), "2001:db8::1/64");
    EXPECT_TRUE(network.ip4.has_dhcp && network.ip6.has_dhcp);
    EXPECT_EQ(network.ip4.dhcp_start->to_string() + " " + network.ip4.dhcp_end->to_string(), "10.1.1.10 10.1.1.99");
}

TEST(client_network, unset_is_missing_empty_or_none) {
    for (const std::string unset : {"", "None", "missing"}) {
        auto all = managed_keys();
        for (auto& [key, value] : all) {
            value = key.empty() || key == "/nettype" ? value : unset;
        }
        if (unset == "missing") {
            all = {{"/nettype", "managed"}};
        }
        const auto parsed = parse_client_network("7", all);
        ASSERT_TRUE(parsed.network) << unset;
        EXPECT_TRUE(parsed.remarks.empty()) << parsed.remarks.front();
        client_network bare;
        bare.vni = 7;
        bare.description = all.contains("") ? "office" : "";
        EXPECT_EQ(*parsed.network, bare) << unset;
    }
}

TEST(client_network, a_bridged_one_has_a_number_and_an_mtu) {
    auto all = managed_keys();
    all["/nettype"] = "bridged";
    all["/ip4_gateway"] = "nonsense";  // its guests have addresses from elsewhere: nobody reads it
    const auto parsed = parse_client_network("200", all);
    ASSERT_TRUE(parsed.network);
    EXPECT_TRUE(parsed.remarks.empty());
    EXPECT_EQ(parsed.network->base(), "vlan200");
    EXPECT_FALSE(parsed.network->ip4.gateway_address());
    EXPECT_EQ(parsed.network->mtu, 1400);
}

TEST(client_network, case_28_numbers_that_cannot_be) {
    const auto refusal = [](const std::string& name, const std::string& type) {
        const auto parsed = parse_client_network(name, {{"/nettype", type}});
        EXPECT_FALSE(parsed.network) << name;
        return only_remark(parsed);
    };
    EXPECT_EQ(refusal("5000", "bridged"), "/networks/5000: expected a number from 1 to 4094, got \"5000\"");
    EXPECT_EQ(refusal("../x", "managed"), "/networks/../x: expected a number from 1 to 16777215, got \"../x\"");
    EXPECT_EQ(refusal("0", "managed"), "/networks/0: expected a number from 1 to 16777215, got \"0\"");
    EXPECT_EQ(refusal("7", "routed"), "/networks/7/nettype: expected managed or bridged, got \"routed\"");
    EXPECT_EQ(refusal("7", "None"), "/networks/7/nettype: expected managed or bridged, got \"\"");
    EXPECT_TRUE(parse_client_network("4094", {{"/nettype", "bridged"}}).network);
    EXPECT_TRUE(parse_client_network("16777215", {{"/nettype", "managed"}}).network);
}

TEST(client_network, numbers_of_names) {
    EXPECT_EQ(vni_of("vmbr1001", "vmbr"), 1001U);
    EXPECT_EQ(vni_of("16777215", ""), 16777215U);
    for (const auto* wrong : {"vmbr", "vmbr0", "vmbr01", "vmbr1x", "vmbr 1", "vmbr+1", "vmbr-1", "vmbr16777216",
                              "vmbr99999999999999999999", "xvmbr1", "VMBR1"}) {
        EXPECT_FALSE(vni_of(wrong, "vmbr")) << wrong;
    }
}

TEST(client_network, cases_23_and_24_mtu) {
    EXPECT_EQ(with("/mtu", "9000").network->mtu, 9000);
    EXPECT_EQ(with("/mtu", "68").network->mtu, 68);
    EXPECT_EQ(with("/mtu", "99999999999").network->mtu, 99999999999);
    for (const std::string wrong : {"abc", "67", "-1", "0", "1500.0", "99999999999999999999", "0x5dc"}) {
        const auto parsed = with("/mtu", wrong);
        EXPECT_FALSE(parsed.network->mtu) << wrong;
        EXPECT_TRUE(parsed.network->has_mtu_text) << wrong;  // it is not ours to overwrite
        EXPECT_EQ(only_remark(parsed), "/networks/7/mtu: expected a number from 68 up, got \"" + wrong + "\"");
    }
    EXPECT_FALSE(with("/mtu", "").network->has_mtu_text);
    EXPECT_FALSE(with("/mtu", "None").network->has_mtu_text);
}

TEST(client_network, networks_are_normalised_and_gateways_are_inside) {
    EXPECT_EQ(with("/ip4_network", "10.1.1.77/24").network->ip4.network->text(), "10.1.1.0/24");
    EXPECT_EQ(with("/ip6_network", "2001:db8::7/64").network->ip6.network->text(), "2001:db8::/64");
    const auto outside = with("/ip4_gateway", "10.9.9.9");
    EXPECT_FALSE(outside.network->ip4.gateway);
    EXPECT_EQ(only_remark(outside),
              "/networks/7/ip4_gateway: expected an address of a host in 10.1.1.0/24, got \"10.9.9.9\"");
    EXPECT_FALSE(with("/ip4_gateway", "2001:db8::1").network->ip4.gateway);
    EXPECT_FALSE(with("/ip6_gateway", "10.1.1.1").network->ip6.gateway);
    EXPECT_FALSE(with("/ip4_gateway", "10.1.1.1/24").network->ip4.gateway);
    EXPECT_FALSE(with("/dhcp4_end", "10.1.2.1").network->ip4.dhcp_end);
    // As a gateway on a bridge it would be a way to everything.
    EXPECT_FALSE(with("/ip4_network", "0.0.0.0/0").network->ip4.gateway_address());
    EXPECT_FALSE(with("/ip6_network", "::/0").network->ip6.gateway_address());
}

TEST(client_network, what_no_host_can_have_is_no_gateway) {
    for (const auto* wrong : {"10.1.1.0", "10.1.1.255"}) {
        EXPECT_FALSE(with("/ip4_gateway", wrong).network->ip4.gateway) << wrong;
    }
    for (const auto* wrong : {"127.0.0.0/8", "169.254.0.0/16", "169.254.7.0/24", "224.0.0.0/24"}) {
        EXPECT_FALSE(with("/ip4_network", wrong).network->ip4.network) << wrong;
    }
    for (const auto* wrong : {"fe80::/64", "ff02::/64", "::1/128"}) {
        EXPECT_FALSE(with("/ip6_network", wrong).network->ip6.network) << wrong;
    }
}

TEST(client_network, gateways_of_ipv6) {
    struct row {
        std::string network;
        std::string gateway;
        std::string expected;
    };
    const row rows[] = {
        {"2001:db8::/64", "2001:db8::1", "2001:db8::1/64"},
        {"2001:db8::/64", "2001:db8::", ""},
        {"2001:db8::/126", "2001:db8::", ""},
        {"2001:db8::/127", "2001:db8::", "2001:db8::/127"},
        {"2001:db8::/127", "2001:db8::1", "2001:db8::1/127"},
        {"2001:db8::/127", "2001:db8::2", ""},
        {"2001:db8::7/128", "2001:db8::7", "2001:db8::7/128"},
        {"2001:db8::/64", "fe80::1", "fe80::1/64"},
        {"2001:db8::/127", "fe80::1", "fe80::1/64"},
        {"2001:db8::/64", "fe80::1%eth0", ""},
        {"2001:db8::/64", "2001:db9::1", ""},
        {"2001:db8::/64", "ff02::1", ""},
    };
    for (const auto& one : rows) {
        auto all = managed_keys();
        all["/ip6_network"] = one.network;
        all["/ip6_gateway"] = one.gateway;
        const auto read = parse_client_network("7", all).network->ip6.gateway_address();
        EXPECT_EQ(read ? read->text() : "", one.expected) << one.network << " " << one.gateway;
    }
    EXPECT_FALSE(with("/ip4_gateway", "fe80::1").network->ip4.gateway);
}

TEST(client_network, without_a_network_there_is_no_gateway) {
    auto all = managed_keys();
    all["/ip4_network"] = "10.1.1.0";
    const auto parsed = parse_client_network("7", all);
    EXPECT_FALSE(parsed.network->ip4.network || parsed.network->ip4.gateway || parsed.network->ip4.dhcp_start);
    ASSERT_EQ(parsed.remarks.size(), 4U);
    EXPECT_EQ(parsed.remarks[0], "/networks/7/ip4_network: expected an IPv4 network (10.1.1.0/24), got \"10.1.1.0\"");
    EXPECT_EQ(parsed.remarks[1], "/networks/7/ip4_gateway: expected nothing without a network, got \"10.1.1.1\"");
    EXPECT_TRUE(parsed.network->ip6.gateway);
}

TEST(client_network, flags_are_true_or_not) {
    EXPECT_FALSE(with("/dhcp4_flag", "False").network->ip4.has_dhcp);
    EXPECT_TRUE(with("/dhcp4_flag", "False").remarks.empty());
    const auto odd = with("/dhcp4_flag", "true");
    EXPECT_FALSE(odd.network->ip4.has_dhcp);
    EXPECT_EQ(only_remark(odd), "/networks/7/dhcp4_flag: expected True or False, got \"true\"");
}

TEST(client_network, domains) {
    EXPECT_EQ(with("/domain", "a-b.C").network->domain, "a-b.c");
    // As clients make it of a description.
    EXPECT_EQ(with("/domain", "My_Lab.local").network->domain, "my_lab.local");
    EXPECT_EQ(with("/domain", "_.local").network->domain, "_.local");
    EXPECT_EQ(with("/domain", "lab.example.").network->domain, "lab.example");
    EXPECT_TRUE(with("/domain", "my_lab.local.").remarks.empty());
    for (const std::string wrong : {"-a.b", "a.b..", ".", "a b", "x;y", "a\nb", "\xc3\xa4.b"}) {
        EXPECT_EQ(with("/domain", wrong).network->domain, "") << wrong;
        EXPECT_EQ(with("/domain", wrong).remarks.size(), 1U) << wrong;
    }
    EXPECT_EQ(with("/domain", std::string(253, 'a')).network->domain.size(), 253U);
    EXPECT_EQ(with("/domain", std::string(254, 'a')).network->domain, "");
}

TEST(client_network, case_92_name_servers_as_the_api_explodes_them) {
    const auto exploded = with("/name_servers", "n,s,1,.,x");
    EXPECT_TRUE(exploded.network->name_servers.empty());
    EXPECT_EQ(only_remark(exploded),
              "/networks/7/name_servers: expected names with a dot, separated by commas, got \"n,s,1,.,x\"");
    const auto some = with("/name_servers", " ns1.x.org ,,nodot,ns2.x.org,");
    EXPECT_EQ(some.network->name_servers, (std::vector<std::string>{"ns1.x.org", "ns2.x.org"}));
    EXPECT_EQ(some.remarks.size(), 1U);
    EXPECT_EQ(with("/name_servers", "ns_1.x.org.,.").network->name_servers, std::vector<std::string>{"ns_1.x.org"});
    std::string many;
    for (int i = 0; i < 40; ++i) {
        many += "ns" + std::to_string(i) + ".x,";
    }
    EXPECT_EQ(with("/name_servers", many).network->name_servers.size(), 32U);
    EXPECT_EQ(with("/name_servers", many).remarks.size(), 1U);
}

// "first 1, second 2": names with their rules, in order.
std::string acls_of(const std::vector<network_acl>& acls) {
    std::string text;
    for (const auto& one : acls) {
        text += (text.empty() ? "" : ", ") + one.name + " " + one.rule;
    }
    return text;
}

keys with_acls(const keys& acls) {
    auto all = managed_keys();
    for (const auto& [key, value] : acls) {
        all["/firewall_rules/" + key] = value;
    }
    return all;
}

TEST(client_network, case_45_zk34_acls_have_the_order_of_numbers) {
    const auto parsed = parse_client_network("7", with_acls({{"in/a/order", "2"},
                                                             {"in/a/rule", "two"},
                                                             {"in/b/order", "10"},
                                                             {"in/b/rule", "ten"},
                                                             {"in/c/order", " 1 "},
                                                             {"in/c/rule", "one"},
                                                             {"out/a/order", "0"},
                                                             {"out/a/rule", ""}}));
    EXPECT_EQ(acls_of(parsed.network->acls_in), "c one, a two, b ten");
    EXPECT_EQ(acls_of(parsed.network->acls_out), "a ");  // an empty text is a rule: it counts
    EXPECT_TRUE(parsed.remarks.empty());
}

TEST(client_network, case_46_acls_of_one_order_go_by_name) {
    const auto parsed = parse_client_network(
        "7", with_acls({{"in/z/order", "0"}, {"in/z/rule", "1"}, {"in/b/order", "0"}, {"in/b/rule", "2"}}));
    EXPECT_EQ(acls_of(parsed.network->acls_in), "b 2, z 1");
}

TEST(client_network, acls_without_an_order_are_last_and_those_without_a_rule_are_none) {
    const auto parsed = parse_client_network("7", with_acls({{"in", ""},
                                                             {"in/a", ""},
                                                             {"in/a/order", "first"},
                                                             {"in/a/rule", "1"},
                                                             {"in/b/rule", "2"},
                                                             {"in/c/order", "9999999999"},
                                                             {"in/c/rule", "3"},
                                                             {"in/d/order", "0"},
                                                             {"in/description", ""},
                                                             {"in/e/order", "-1"},
                                                             {"in/e/rule/below", "x"},
                                                             {"in//rule", "x"}}));
    EXPECT_EQ(acls_of(parsed.network->acls_in), "c 3, a 1, b 2");
    EXPECT_EQ(parsed.remarks,
              (std::vector<std::string>{
                  "/networks/7/firewall_rules/in/a/order: expected a number from 0 up, got \"first\"; it is last",
                  "/networks/7/firewall_rules/in/e/order: expected a number from 0 up, got \"-1\"; it is last"}));
}

TEST(client_network, acls_are_many_and_long) {
    keys many;
    for (int i = 0; i < 5000; ++i) {
        many["out/" + std::to_string(i) + "/order"] = "x";
        many["out/" + std::to_string(i) + "/rule"] = std::string(2000, 'x');
    }
    const auto parsed = parse_client_network("7", with_acls(many));
    EXPECT_EQ(parsed.network->acls_out.size(), 4096U);
    EXPECT_EQ(parsed.network->acls_out.front().rule.size(), 1025U);
    EXPECT_EQ(parsed.remarks.size(), 6U);
    auto bridged = with_acls(many);
    bridged["/nettype"] = "bridged";
    EXPECT_TRUE(parse_client_network("7", bridged).network->acls_out.empty());
}

TEST(client_network, whatever_is_stored_gives_short_single_lines) {
    const std::string huge(400'000, 'x');
    std::string binary;
    for (int i = 0; i < 256; ++i) {
        binary += static_cast<char>(i);
    }
    for (const auto& value : {huge, binary, std::string(400'000, ','), std::string("\n\r\0", 3)}) {
        auto all = managed_keys();
        for (auto& [key, stored] : all) {
            stored = key == "/nettype" ? stored : value;
        }
        for (const auto& name : {std::string("7"), value}) {
            const auto parsed = parse_client_network(name, all);
            EXPECT_EQ(parsed.network.has_value(), name == "7");
            EXPECT_FALSE(parsed.remarks.empty());
            for (const auto& remark : parsed.remarks) {
                EXPECT_LT(remark.size(), 250U);
                EXPECT_TRUE(std::ranges::all_of(remark, [](char c) { return static_cast<unsigned char>(c) >= 0x20; }));
            }
            if (parsed.network) {
                EXPECT_LE(parsed.network->description.size(), 256U);
                EXPECT_EQ(parsed.network->description.find('\n'), std::string::npos);
            }
        }
    }
}

}  // namespace
}  // namespace pvc::model
