// networking.md 7.1, 7.2, 7.4: what the table of the firewall shall hold, and its files (cases 41 to 46, 48, 49, 54).
#include "pvcnoded/policy/networks/firewall.hpp"
#include "pvcnoded/base/text.hpp"

#include "pvcnoded/policy/networks/acl.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <array>

#include <algorithm>
#include <set>

namespace pvc::policy {
namespace {

using texts = std::vector<std::string>;

model::network_family network_of(const std::string& network, const std::string& gateway) {
    model::network_family made;
    made.network = parse_host_address(network).value();
    if (!gateway.empty()) {
        made.gateway = parse_address(gateway).value();
    }
    return made;
}

model::client_network network_behind_rules(std::uint32_t vni) {
    model::client_network network;
    network.vni = vni;
    network.ip4 = network_of("10.1.1.0/24", "10.1.1.1");
    return network;
}

// Lines of a file, without what comments.
texts lines_of(const std::string& text, bool with_comments = false) {
    texts lines;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\n', at);
        const auto line = text.substr(at, end - at);
        if (with_comments || !line.starts_with('#')) {
            lines.push_back(line.starts_with("add rule inet filter ") ? line.substr(21) : line);
        }
        at = end + 1;
    }
    return lines;
}

// The rules of the wanted chain are what its lines in the files say.
void expect_files_say_the_same(const wanted_filter& wanted) {
    for (const auto& chain : wanted.chains) {
        texts lines;
        for (const auto& file : wanted.files) {
            for (const auto& line : lines_of(file.text)) {
                if (line.starts_with(chain.name + " ")) {
                    lines.push_back(line.substr(chain.name.size() + 1));
                }
            }
        }
        ASSERT_EQ(lines.size(), chain.rules.size()) << chain.name;
        for (std::size_t at = 0; at < lines.size(); ++at) {
            auto text = lines[at];
            std::string jump;
            if (const auto found = text.find(" jump "); found != std::string::npos) {
                jump = text.substr(found + 6);
                text.erase(found);
            }
            const auto parsed = parse_acl(text);
            auto expected = parsed.ahead;
            expected.insert(expected.end(), parsed.body.begin(), parsed.body.end());
            if (!jump.empty()) {
                expected.emplace_back(model::give_verdict{model::filter_verdict::jump, jump});
            }
            EXPECT_EQ(chain.rules[at].rule.expressions, expected) << lines[at];
        }
    }
}

wanted_filter only(const model::client_network& network, const refused_rules& refused = {}) {
    return firewall_of({&network, 1}, refused);
}

texts chain_names(const wanted_filter& wanted) {
    texts names;
    for (const auto& one : wanted.chains) {
        names.push_back(one.name);
    }
    return names;
}

TEST(firewall, case_41_without_networks_there_are_two_empty_chains) {
    const auto wanted = firewall_of({}, {});
    ASSERT_EQ(chain_names(wanted), (texts{"forward", "input"}));
    EXPECT_EQ(wanted.chains[0].hook, model::filter_hook::forward);
    EXPECT_EQ(wanted.chains[1].hook, model::filter_hook::input);
    EXPECT_TRUE(wanted.chains[0].rules.empty() && wanted.chains[1].rules.empty() && wanted.files.empty());
    EXPECT_EQ(lines_of(base_file("/run/pvc")),
              (texts{"add table inet filter", "delete table inet filter", "add table inet filter",
                     "add chain inet filter forward { type filter hook forward priority 0; }",
                     "add chain inet filter input { type filter hook input priority 0; }",
                     "include \"/run/pvc/nft/static/*\"", "include \"/run/pvc/nft/networks/*\""}));
}

const texts host_rules{R"(input ip protocol icmp iifname "vmbr1001" counter accept)",
                       R"(input ip6 nexthdr ipv6-icmp iifname "vmbr1001" counter accept)",
                       R"(input tcp dport 53 iifname "vmbr1001" counter accept)",
                       R"(input udp dport 53 iifname "vmbr1001" counter accept)",
                       R"(input udp dport 67 iifname "vmbr1001" counter accept)",
                       R"(input udp dport 123 iifname "vmbr1001" counter accept)",
                       R"(input ip6 nexthdr udp udp dport 547 iifname "vmbr1001" counter accept)",
                       R"(input tcp dport 80 iifname "vmbr1001" counter accept)",
                       R"(input iifname "vmbr1001" counter drop)"};

texts with_host_rules(const texts& rest) {
    texts all{"add chain inet filter vxlan1001-in", "add chain inet filter vxlan1001-out", "vxlan1001-in counter",
              "vxlan1001-out counter"};
    all.insert(all.end(), host_rules.begin(), host_rules.end());
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
}

TEST(firewall, case_42_a_network_of_ip4) {
    const auto wanted = only(network_behind_rules(1001));
    ASSERT_EQ(wanted.files.size(), 1U);
    EXPECT_EQ(wanted.files[0].name, "1001.nft");
    EXPECT_EQ(lines_of(wanted.files[0].text),
              with_host_rules({"forward ip daddr 10.1.1.0/24 counter jump vxlan1001-in",
                               "forward ip saddr 10.1.1.0/24 counter jump vxlan1001-out"}));
    EXPECT_EQ(chain_names(wanted), (texts{"forward", "input", "vxlan1001-in", "vxlan1001-out"}));
    expect_files_say_the_same(wanted);
}

TEST(firewall, case_43_a_network_of_ip6_alone_and_one_of_both) {
    auto network = network_behind_rules(1001);
    network.ip6 = network_of("fd00:1::/64", "fd00:1::1");
    const texts ways6{"forward ip6 daddr fd00:1::/64 counter jump vxlan1001-in",
                      "forward ip6 saddr fd00:1::/64 counter jump vxlan1001-out"};
    auto both = ways6;
    both.emplace_back("forward ip daddr 10.1.1.0/24 counter jump vxlan1001-in");
    both.emplace_back("forward ip saddr 10.1.1.0/24 counter jump vxlan1001-out");
    EXPECT_EQ(lines_of(only(network).files[0].text), with_host_rules(both));
    network.ip4 = {};
    EXPECT_EQ(lines_of(only(network).files[0].text), with_host_rules(ways6));
    expect_files_say_the_same(only(network));
    network.ip6 = network_of("fd00:1::/64", "");  // without a gateway nothing is routed
    EXPECT_EQ(lines_of(only(network).files[0].text), with_host_rules({}));
}

TEST(firewall, case_44_networks_have_the_order_of_their_files) {
    std::vector<model::client_network> networks{network_behind_rules(1001), network_behind_rules(10000),
                                                network_behind_rules(7), network_behind_rules(100)};
    networks.push_back(network_behind_rules(200));
    networks.back().type = model::network_type::bridged;
    networks.push_back(network_behind_rules(7));
    networks.back().acls_in = {{"other", "drop"}};  // one of a number that is taken
    const auto wanted = firewall_of(networks, {});
    texts names;
    for (const auto& one : wanted.files) {
        names.push_back(one.name);
    }
    EXPECT_EQ(names, (texts{"100.nft", "10000.nft", "1001.nft", "7.nft"}));
    EXPECT_TRUE(std::ranges::is_sorted(names));
    EXPECT_EQ(wanted.chains[0].rules.size(), 8U);
    EXPECT_EQ(wanted.chains[2].name, "vxlan100-in");
    expect_files_say_the_same(wanted);
}

TEST(firewall, cases_45_and_46_acls_stand_behind_their_counters_in_order) {
    auto network = network_behind_rules(1001);
    network.acls_in = {{"b", "tcp dport 1 accept"}, {"a", ""}, {"c", "drop"}};
    network.acls_out = {{"a", "reject with tcp reset"}};
    const auto wanted = only(network);
    EXPECT_EQ(lines_of(wanted.files[0].text),
              with_host_rules({"forward ip daddr 10.1.1.0/24 counter jump vxlan1001-in",
                               "forward ip saddr 10.1.1.0/24 counter jump vxlan1001-out",
                               "vxlan1001-in counter tcp dport 1 accept", "vxlan1001-in counter",
                               "vxlan1001-in counter drop", "vxlan1001-out counter reject with tcp reset"}));
    ASSERT_EQ(wanted.chains[2].rules.size(), 4U);
    EXPECT_FALSE(wanted.chains[2].rules[0].acl);
    EXPECT_EQ(wanted.chains[2].rules[1].acl, (acl_name{1001, acl_direction::in, "b"}));
    // What a reset needs is asked ahead of the counter, as nft does it.
    const auto& reset = wanted.chains[3].rules[1].rule.expressions;
    ASSERT_EQ(reset.size(), 4U);
    EXPECT_TRUE(std::holds_alternative<model::count_packet>(reset[2]));
    EXPECT_TRUE(wanted.refused.empty());
}

TEST(firewall, what_only_nft_knows_waits_for_its_verdict) {
    auto network = network_behind_rules(1001);
    network.acls_in = {
        {"good", "ip ttl 5 drop"}, {"bad", "ip ttl nosuch drop"}, {"to", "jump mine"}, {"to-none", "jump x"}};
    nft_knowledge nft;
    nft.static_chains = {"mine"};
    auto wanted = firewall_of(std::array{network}, {}, nft);
    EXPECT_EQ(wanted.unjudged, (texts{"ip ttl 5 drop", "ip ttl nosuch drop", "jump mine"}));
    EXPECT_FALSE(wanted.needs_nft);
    ASSERT_EQ(wanted.refused.size(), 1U);
    EXPECT_EQ(wanted.refused[0].text(),
              "network 1001: ACL in to-none is left out: at 1: \"jump\" leads to a chain of static files");
    nft.verdicts = {{"ip ttl 5 drop", ""}, {"ip ttl nosuch drop", "syntax error"}, {"jump mine", ""}};
    wanted = firewall_of(std::array{network}, {}, nft);
    EXPECT_TRUE(wanted.unjudged.empty());
    EXPECT_TRUE(wanted.needs_nft);
    ASSERT_EQ(wanted.refused.size(), 2U);
    EXPECT_NE(wanted.refused[0].text().find("nft says: syntax error"), std::string::npos);
    const std::array tables{std::string("inet extra")};
    const std::array files{static_file{"mine", "add chain inet filter mine", ""}};
    const auto text = nft_text(wanted, tables, files);
    EXPECT_TRUE(text.starts_with("delete table inet extra\nadd table inet filter\ndelete table inet filter\n")) << text;
    const auto at_static = text.find("add chain inet filter mine\n\n");
    const auto at_rule = text.find("add rule inet filter vxlan1001-in counter ip ttl 5 drop\n");
    EXPECT_LT(at_static, at_rule);
    EXPECT_NE(at_rule, std::string::npos);
    EXPECT_NE(text.find("add rule inet filter vxlan1001-in counter jump mine\n"), std::string::npos);
    EXPECT_EQ(text.find("add rule inet filter vxlan1001-in counter jump x"), std::string::npos);
    // The trial has all of that around the rule, and a packet that is forwarded comes to it.
    EXPECT_EQ(nft_trial(texts{"jump mine"}, tables, files),
              nft_text(tables, files) +
                  "add chain inet filter pvcnoded-trial\nadd rule inet filter forward counter jump pvcnoded-trial\n"
                  "add rule inet filter pvcnoded-trial counter jump mine\n");
}

TEST(firewall, the_acl_that_a_load_fails_for_is_the_one_of_the_line_that_nft_names) {
    auto network = network_behind_rules(1001);
    network.acls_in = {{"a", "ip ttl 5 drop"}, {"b", "masquerade"}, {"c", "tcp dport 22 accept"}};
    nft_knowledge nft;
    nft.verdicts = {{"ip ttl 5 drop", ""}, {"masquerade", ""}};
    const std::array tables{std::string("ip mine")};
    const std::array files{static_file{"one", "# a\nadd b", ""},
                           static_file{"two", "add rule inet filter vxlan1001-in counter masquerade\n", ""}};
    const auto text = nft_text(firewall_of(std::array{network}, {}, nft), tables, files);
    std::size_t number = 1;
    std::size_t guilty = 0;
    for (const auto one : split(text, '\n')) {
        const auto line = line_that_nft_refuses(
            fmt::format("# a warning\n/dev/stdin:{}:1-60: Error: Could not process rule: not supported", number),
            "/dev/stdin");
        ASSERT_EQ(line, number);
        const auto place = place_in_files(*line, tables, files);
        const bool is_of_file = one == "# a" || one == "add b" || place;
        const auto found = acl_in_line(text, *line, nft);
        if (one.starts_with("add rule inet filter vxlan1001-in counter masquerade") && !place) {
            ++guilty;
            EXPECT_EQ(found, "vxlan1001-in counter masquerade");
        } else if (one.ends_with(" counter ip ttl 5 drop")) {
            EXPECT_EQ(found, "vxlan1001-in counter ip ttl 5 drop");
        } else if (!is_of_file) {
            EXPECT_EQ(found, std::nullopt) << one;
        }
        if (one == "# a" || one == "add b") {
            EXPECT_EQ(place, (static_place{0, one == "# a" ? 1U : 2U}));
        }
        ++number;
    }
    EXPECT_EQ(guilty, 1U);
    for (const auto* said :
         {"", "/dev/stdin:", "/dev/stdin:x:1: Error: ", "/dev/stdin:0:1: Error: ", "/dev/stdin:1:1: warning",
          "/dev/stdin:99999999999999999999:1: Error: ", "Error: out of memory",
          "netlink: Error: cache initialization failed"}) {
        EXPECT_EQ(line_that_nft_refuses(said, "/dev/stdin"), std::nullopt) << said;
    }
    EXPECT_EQ(line_that_nft_refuses("/run/pvc/nft/loaded.nft:7:1-6: Error: x", "/run/pvc/nft/loaded.nft"), 7U);
    EXPECT_EQ(line_that_nft_refuses("/run/pvc/nft/other:7:1-6: Error: x", "/run/pvc/nft/loaded.nft"), std::nullopt);
    EXPECT_EQ(acl_in_line(text, 1000, nft), std::nullopt);
    EXPECT_EQ(place_in_files(1, tables, files), std::nullopt);
    EXPECT_EQ(place_in_files(1000, tables, files), std::nullopt);
    // For this chain alone, and in words that say who said it.
    nft.refused_rules = {{"vxlan1001-in counter masquerade", "not supported"}};
    network.acls_out = {{"d", "masquerade"}};
    const auto without = firewall_of(std::array{network}, {}, nft);
    ASSERT_EQ(without.refused.size(), 1U);
    EXPECT_EQ(without.refused[0].acl, (acl_name{1001, acl_direction::in, "b"}));
    EXPECT_NE(without.refused[0].text().find("nft says: not supported"), std::string::npos);
}

TEST(firewall, what_nft_must_have_made_at_least) {
    auto network = network_behind_rules(1001);
    network.acls_in = {{"a", "ip ttl 5 drop"}};
    nft_knowledge nft;
    nft.verdicts = {{"ip ttl 5 drop", ""}};
    const auto wanted = firewall_of(std::array{network}, {}, nft);
    model::filter_state seen;
    seen.has_table = true;
    for (const auto& chain : wanted.chains) {
        model::seen_chain made{chain.name, chain.hook, chain.hook != model::filter_hook::none, {}};
        for (std::size_t i = 0; i < chain.rules.size(); ++i) {
            made.rules.push_back({i + 1, ""});
        }
        seen.chains.push_back(std::move(made));
    }
    EXPECT_TRUE(has_at_least(wanted, seen));
    auto more = seen;
    more.chains[0].rules.push_back({101, ""});  // of a static file
    more.chains.push_back({"mine", model::filter_hook::none, false, {}});
    EXPECT_TRUE(has_at_least(wanted, more));
    for (std::size_t i = 0; i < seen.chains.size(); ++i) {
        auto less = seen;
        less.chains[i].rules.pop_back();
        EXPECT_FALSE(has_at_least(wanted, less)) << seen.chains[i].name;
        less.chains.erase(less.chains.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_FALSE(has_at_least(wanted, less)) << seen.chains[i].name;
    }
    seen.flags = model::dormant_table;
    EXPECT_FALSE(has_at_least(wanted, seen));
    EXPECT_FALSE(has_at_least(wanted, {}));
}

TEST(firewall, names_in_static_files) {
    const auto found = names_in(R"(# add table ip comment
table inet extra { chain own { type filter hook input priority 5; tcp dport 1 drop; } }
add table ip6 second
create table third; add chain inet filter mine { }
add rule inet filter input ip saddr 10.0.0.1 comment "table ip quoted" drop
table inet filter {
    chain nested { counter }
}
delete table ip gone
)");
    EXPECT_EQ(found.tables, (std::vector<std::string>{"inet extra", "ip6 second", "ip third"}));
    EXPECT_EQ(found.chains, (std::vector<std::string>{"mine", "nested"}));
    EXPECT_EQ(found.objection, "");
    EXPECT_TRUE(found.included.empty());
    EXPECT_EQ(names_in("# x\n include \"/etc/more\"\ninclude   \"b\"").included, (texts{"/etc/more", "b"}));
    EXPECT_EQ(names_in("define X = 5; include \"/a\"\ninclude \\\n\"/b\"").included, (texts{"/a", "/b"}));
    EXPECT_TRUE(names_in("# include \"/etc/more\"\n").included.empty());
    EXPECT_EQ(names_in("table ip x { }; flush  ruleset ip").objection,
              "\"flush ruleset\" would remove the tables of others");
    EXPECT_NE(names_in("flush \\\nruleset").objection, "");
    EXPECT_EQ(names_in("flush\nruleset").objection, "");
    EXPECT_EQ(names_in("flush table ip x\nadd rule ip x y comment \"flush ruleset\"").objection, "");
    for (const std::string bad : {"include x \"y\"", "include \"", "include", "include \"/etc/nftables.d/*.nft\"",
                                  "include \"./a\"", "include \"/etc/in?.nft\"", "include \"\""}) {
        const auto one = names_in("define a = 1\n" + bad);
        EXPECT_EQ(one.objection, "what it includes cannot be looked at: expected the path of one file in quotes")
            << bad;
        EXPECT_TRUE(one.included.empty()) << bad;
    }
    EXPECT_EQ(names_in("delete table inet filter").objection,
              "\"delete table inet filter\" takes away what the daemon makes");
    EXPECT_EQ(names_in("table ip x { }; flush chain inet filter input").objection,
              "\"flush chain inet filter\" takes away what the daemon makes");
    EXPECT_EQ(names_in("delete table inet filter2\nflush chain ip filter input").objection, "");
    EXPECT_EQ(names_in("table inet filter { flags dormant; }").objection, "it gives table inet filter flags");
    EXPECT_EQ(names_in("table inet filter { set a { type ipv4_addr; flags interval; }; }").objection, "");
    EXPECT_EQ(names_in("table inet mine { flags dormant; }").objection, "");
    EXPECT_TRUE(names_in("table").tables.empty());
    EXPECT_TRUE(names_in("table inet filter { chain").chains.empty());
    EXPECT_TRUE(names_in("} } table { \" # ").tables.empty());
}

TEST(firewall, cases_48_and_49_a_bad_acl_is_left_out_alone) {
    auto network = network_behind_rules(1001);
    network.acls_in = {{"first", "tcp dport 1 accept"},       {"bad\nadd table ip evil", "tcp dport nosuch accept"},
                       {"evil", "accept; add table ip evil"}, {"lines", "accept\nadd table ip evil"},
                       {"perhaps", "ip ttl 5 drop"},          {"last", "drop"}};
    nft_knowledge nft;
    nft.unusable = "nobody asks nft";
    const auto wanted = firewall_of(std::array{network}, {}, nft);
    const auto lines = lines_of(wanted.files[0].text, true);
    EXPECT_EQ(texts(lines.end() - 6, lines.end()),
              (texts{"vxlan1001-in counter tcp dport 1 accept",
                     "# left out: in bad?add table ip evil: at 11: expected a port or the name of a service, got "
                     "\"nosuch\"",
                     "# left out: in evil: at 7: \";\" outside of quotes is not allowed",
                     "# left out: in lines: at 7: a control character is not allowed",
                     "# left out: in perhaps: at 4: expected saddr, daddr or protocol, got \"ttl\"; nobody asks "
                     "nft",
                     "vxlan1001-in counter drop"}));
    ASSERT_EQ(wanted.refused.size(), 4U);
    EXPECT_EQ(
        wanted.refused[0].text(),
        "network 1001: ACL in bad?add table ip evil is left out: at 11: expected a port or the name of a service, "
        "got \"nosuch\"");
    EXPECT_FALSE(wanted.refused[0].is_beyond);
    EXPECT_TRUE(wanted.refused[3].is_beyond);
    expect_files_say_the_same(wanted);
}

TEST(firewall, case_54_what_the_kernel_refused_is_left_out_until_it_says_something_else) {
    auto network = network_behind_rules(1001);
    network.acls_in = {{"a", "tcp dport 1 accept"}, {"b", "drop"}};
    const auto before = only(network);
    const auto& rule = before.chains[2].rules[1].rule;
    EXPECT_EQ(acl_of(before, model::add_rule{"vxlan1001-in", rule, 0, false}),
              (acl_name{1001, acl_direction::in, "a"}));
    EXPECT_FALSE(acl_of(before, model::add_rule{"vxlan1001-in", before.chains[2].rules[0].rule, 0, false}));
    EXPECT_FALSE(acl_of(before, model::add_rule{"vxlan1001-out", rule, 0, false}));
    EXPECT_FALSE(acl_of(before, model::make_table{}));
    const refused_rules refused{{rule.tag, "Operation not supported"}};
    const auto after = only(network, refused);
    ASSERT_EQ(after.refused.size(), 1U);
    EXPECT_EQ(after.refused[0].text(),
              "network 1001: ACL in a is left out: the kernel refuses it: Operation not supported");
    EXPECT_EQ(after.chains[2].rules.size(), 2U);
    EXPECT_NE(after.files[0].text.find("# left out: in a: the kernel refuses it: Operation not supported\n"),
              std::string::npos);
    network.acls_in[0].rule = "tcp dport 2 accept";
    EXPECT_TRUE(only(network, refused).refused.empty());
}

TEST(firewall, tags_are_short_and_tell_all_rules_apart) {
    std::vector<model::client_network> networks{network_behind_rules(1001), network_behind_rules(16777215)};
    const std::string long_name(400, 'x');
    for (auto& network : networks) {
        network.ip6 = network_of("fd00:1::/64", "fd00:1::1");
        network.acls_in = {{"count-in", "counter"}, {long_name + "a", "drop"}, {long_name + "b", "drop"}, {"= x", ""}};
        network.acls_out = network.acls_in;
    }
    std::set<std::string> tags;
    std::size_t count = 0;
    const auto wanted = firewall_of(networks, {});
    for (const auto& chain : wanted.chains) {
        for (const auto& one : chain.rules) {
            EXPECT_LE(one.rule.tag.size(), 200U);
            EXPECT_TRUE(is_own_tag(one.rule.tag));
            tags.insert(one.rule.tag);
            ++count;
        }
    }
    EXPECT_EQ(tags.size(), count);
    EXPECT_EQ(firewall_of(networks, {}), wanted);
    EXPECT_FALSE(is_own_tag("") || is_own_tag("mine"));
}

TEST(firewall, a_tag_changes_with_what_its_rule_says) {
    std::set<std::string> tags;
    const texts rules{"drop",
                      "accept",
                      "ip saddr 10.0.0.1",
                      "ip saddr 10.0.0.2",
                      "ip daddr 10.0.0.1",
                      "ip saddr != 10.0.0.1",
                      "ip saddr { 10.0.0.1, 10.0.0.2 }",
                      "ip saddr != { 10.0.0.1, 10.0.0.2 }",
                      "ip saddr 10.0.0.1-10.0.0.2",
                      "ip saddr != 10.0.0.1-10.0.0.2",
                      "ip saddr 10.0.0.0/30",
                      "ip saddr 10.0.0.0/29",
                      "log",
                      "log level emerg",
                      "log prefix \"a\"",
                      "limit rate 1/second",
                      "limit rate 2/second",
                      "limit rate 1/minute",
                      "limit rate over 1/second",
                      "limit rate 1/second burst 6 packets",
                      "reject",
                      "reject with icmpx no-route",
                      "counter",
                      "",
                      "ct state new",
                      "iifname a",
                      "oifname a"};
    for (const auto& one : rules) {
        auto network = network_behind_rules(1);
        network.acls_in = {{"a", one}};
        tags.insert(only(network).chains[2].rules[1].rule.tag);
    }
    EXPECT_EQ(tags.size(), rules.size());
    // The same in other words is the same rule: nothing has to change.
    auto network = network_behind_rules(1);
    network.acls_in = {{"a", "  tcp dport   ssh"}};
    const auto tag = only(network).chains[2].rules[1].rule.tag;
    network.acls_in = {{"a", "tcp dport 22"}};
    EXPECT_EQ(only(network).chains[2].rules[1].rule.tag, tag);
}

}  // namespace
}  // namespace pvc::policy
