// networking.md 7.3, 7.4: texts of ACLs, and what is said of those that are refused (cases 45, 47 to 49, 52). That they
// mean the same to the nft program is checked in tests/contract/filter.
#include "pvcnoded/policy/networks/acl.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace model;
using expressions = std::vector<filter_expression>;

std::string bytes(std::initializer_list<int> all) {
    std::string text;
    for (const int one : all) {
        text += static_cast<char>(one);
    }
    return text;
}

compare equal(std::string with) {
    return {comparison::equal, std::move(with)};
}

std::string of_machine(std::uint32_t number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string name16(std::string name) {
    name.resize(16, '\0');
    return name;
}

expressions body_of(const std::string& text) {
    const auto parsed = parse_acl(text);
    EXPECT_EQ(parsed.problem, "") << text;
    EXPECT_TRUE(parsed.ahead.empty()) << text;
    return parsed.body;
}

std::string problem_of(const std::string& text) {
    const auto parsed = parse_acl(text);
    EXPECT_TRUE(parsed.ahead.empty() && parsed.body.empty()) << text;
    EXPECT_LE(parsed.problem.size(), 300U);
    return parsed.problem;
}

const load_meta family{meta_key::protocol};
const load_meta protocol{meta_key::l4_protocol};
const give_verdict accept{filter_verdict::accept, ""};

TEST(acl, case_47_new_connections_to_a_port) {
    EXPECT_EQ(
        body_of("tcp dport 22 ct state new accept"),
        (expressions{protocol, equal(bytes({6})), load_payload{header::transport, 2, 2}, equal(bytes({0, 22})),
                     load_ct_state{}, mask_bits{of_machine(8)}, compare{comparison::unequal, of_machine(0)}, accept}));
    EXPECT_EQ(body_of("drop"), (expressions{give_verdict{filter_verdict::drop, ""}}));
    EXPECT_EQ(body_of(""), expressions{});
    EXPECT_EQ(body_of("   "), expressions{});
}

TEST(acl, case_52_sets_limits_and_resets) {
    in_set addresses{false, set_kind::ip4_address, true, {}};
    addresses.elements = {{bytes({10, 0, 0, 1}), bytes({10, 0, 0, 1})}, {bytes({10, 0, 1, 0}), bytes({10, 0, 1, 255})}};
    in_set ports{false, set_kind::port, false, {}};
    ports.elements = {{bytes({0, 80}), bytes({0, 80})}, {bytes({1, 187}), bytes({1, 187})}};
    EXPECT_EQ(body_of("ip saddr { 10.0.0.1, 10.0.1.0/24 } tcp dport { 80, 443 } accept"),
              (expressions{family, equal(bytes({2})), load_payload{header::network, 12, 4}, addresses, protocol,
                           equal(bytes({6})), load_payload{header::transport, 2, 2}, ports, accept}));
    EXPECT_EQ(
        body_of("icmp type echo-request limit rate 5/second accept"),
        (expressions{family, equal(bytes({2})), protocol, equal(bytes({1})), load_payload{header::transport, 0, 1},
                     equal(bytes({8})), limit_rate{5, 1, 5, false}, accept}));
    const auto reset = parse_acl("reject with tcp reset");
    EXPECT_EQ(reset.ahead, (expressions{protocol, equal(bytes({6}))}));  // the counter stands behind it
    EXPECT_EQ(reset.body, (expressions{reject_packet{1, 0}}));
}

TEST(acl, a_protocol_is_asked_for_once) {
    EXPECT_EQ(
        body_of("ip saddr 10.0.0.1 ip protocol tcp tcp dport 1 tcp flags syn"),
        (expressions{family, equal(bytes({2})), load_payload{header::network, 12, 4}, equal(bytes({10, 0, 0, 1})),
                     load_payload{header::network, 9, 1}, equal(bytes({6})), load_payload{header::transport, 2, 2},
                     equal(bytes({0, 1})), load_payload{header::transport, 13, 1}, mask_bits{bytes({2})},
                     compare{comparison::unequal, bytes({0})}}));
    EXPECT_EQ(problem_of("ip protocol { tcp, udp } tcp dport 22"),
              "at 30: tcp conflicts with a choice of several, which is asked for before");
    EXPECT_EQ(problem_of("tcp dport 22 ip protocol udp udp dport 5"),
              "at 34: udp conflicts with tcp, which is asked for before");
    EXPECT_EQ(problem_of("tcp dport 1 udp dport 1"), "at 17: udp conflicts with tcp, which is asked for before");
}

TEST(acl, networks_ranges_and_names_of_interfaces) {
    EXPECT_EQ(body_of("ip daddr != 10.1.0.0/23"),
              (expressions{family, equal(bytes({2})), load_payload{header::network, 16, 4},
                           mask_bits{bytes({255, 255, 254, 0})}, compare{comparison::unequal, bytes({10, 1, 0, 0})}}));
    // As nft: whole bytes need no mask, and all of them none either.
    EXPECT_EQ(body_of("ip daddr 10.1.2.3/16")[2], (filter_expression{load_payload{header::network, 16, 2}}));
    EXPECT_EQ(body_of("ip daddr 10.1.2.3/32")[2], (filter_expression{load_payload{header::network, 16, 4}}));
    EXPECT_EQ(body_of("ip6 saddr ::1-::2"),
              (expressions{family, equal(bytes({10})), load_payload{header::network, 8, 16},
                           compare{comparison::at_least, std::string(15, '\0') + "\x01"},
                           compare{comparison::at_most, std::string(15, '\0') + "\x02"}}));
    EXPECT_EQ(body_of("th sport != 5-6"),
              (expressions{load_payload{header::transport, 0, 2}, in_range{true, bytes({0, 5}), bytes({0, 6})}}));
    EXPECT_EQ(body_of("iifname \"vmbr*\" oifname != eth0"),
              (expressions{load_meta{meta_key::in_name}, equal("vmbr"), load_meta{meta_key::out_name},
                           compare{comparison::unequal, name16("eth0")}}));
}

TEST(acl, sets_are_sorted_and_do_not_overlap) {
    const auto elements_of = [](const std::string& set) {
        const auto body = body_of("tcp dport " + set);
        const auto* const found = std::get_if<in_set>(&body.back());
        std::string text;
        for (const auto& one : found == nullptr ? std::vector<set_element>() : found->elements) {
            const auto port = [](const std::string& two) {
                return std::to_string(static_cast<unsigned char>(two[0]) * 256 + static_cast<unsigned char>(two[1]));
            };
            text += (text.empty() ? "" : " ") + port(one.first) + (one.first == one.last ? "" : "-" + port(one.last));
        }
        return (found != nullptr && found->is_interval ? "intervals " : "") + text;
    };
    EXPECT_EQ(elements_of("{ 443, 80, 443 }"), "80 443");
    EXPECT_EQ(elements_of("{ 2, 1 }"), "1 2");
    EXPECT_EQ(elements_of("{ 10-20, 1, 15-30 }"), "intervals 1 10-30");
    EXPECT_EQ(elements_of("{ 6-8, 1-5, 9 }"), "intervals 1-9");
    EXPECT_EQ(elements_of("{ 0-65535, 5 }"), "intervals 0-65535");
    EXPECT_EQ(elements_of("{ 65535, 0-1 }"), "intervals 0-1 65535");
}

TEST(acl, what_is_less_or_more) {
    const auto compared = [](const std::string& text) { return std::get<compare>(body_of(text).back()); };
    EXPECT_EQ(compared("tcp dport < 100"), (compare{comparison::less, bytes({0, 100})}));
    EXPECT_EQ(compared("tcp dport lt 100"), (compare{comparison::less, bytes({0, 100})}));
    EXPECT_EQ(compared("tcp dport <= 100"), (compare{comparison::at_most, bytes({0, 100})}));
    EXPECT_EQ(compared("tcp dport > 256"), (compare{comparison::more, bytes({1, 0})}));
    EXPECT_EQ(compared("tcp dport >= 256"), (compare{comparison::at_least, bytes({1, 0})}));
    EXPECT_EQ(compared("ip saddr > 10.0.0.1"), (compare{comparison::more, bytes({10, 0, 0, 1})}));
    EXPECT_EQ(problem_of("tcp dport > 65535"), "at 13: expected less than the largest value, got \"65535\"");
    EXPECT_EQ(problem_of("ip saddr < 0.0.0.0"), "at 12: expected more than the least value, got \"0.0.0.0\"");
}

TEST(acl, case_48_what_is_wrong_is_said_with_its_place) {
    EXPECT_EQ(problem_of("tcp dport nosuch accept"), "at 11: expected a port or the name of a service, got \"nosuch\"");
    EXPECT_EQ(problem_of("tcp dport"), "at 10: expected a port or the name of a service, got the end");
    EXPECT_EQ(problem_of("ip saddr 10.0.0.0/33"), "at 10: expected an IPv4 address or network, got \"10.0.0.0/33\"");
    EXPECT_EQ(problem_of("ip saddr localhost"), "at 10: expected an IPv4 address or network, got \"localhost\"");
    EXPECT_EQ(problem_of("tcp dport { 22, 80-22 }"),
              "at 17: expected a range that begins with its lower end, got \"80-22\"");
    EXPECT_EQ(problem_of("tcp dport 022"), "at 11: expected a port or the name of a service, got \"022\"");
    EXPECT_EQ(problem_of("accept drop"), "at 8: expected nothing behind the verdict but a comment, got \"drop\"");
    EXPECT_EQ(problem_of("tcp dport { 22 80 }"), "at 16: expected \",\" or \"}\", got \"80\"");
    EXPECT_EQ(problem_of("tcp dport < 0"), "at 13: expected more than the least value, got \"0\"");
    EXPECT_EQ(problem_of("log level loud"),
              "at 11: expected emerg, alert, crit, err, warn, notice, info or debug, got \"loud\"");
    EXPECT_EQ(problem_of("limit rate 0/second"), "at 12: expected a rate such as 5/second, got \"0/second\"");
    EXPECT_EQ(problem_of("jump vxlan1001-in"), "at 6: expected a chain of a file in static/, got \"vxlan1001-in\"");
    EXPECT_EQ(problem_of("tcp dport 22 goto input"), "at 19: expected a chain of a file in static/, got \"input\"");
    EXPECT_EQ(problem_of("jump { 1 }"), "at 6: expected a chain of a file in static/, got \"{\"");
    const auto mine = parse_acl("tcp dport vmap { 22 : jump mine, 80 : goto other }");
    EXPECT_TRUE(mine.is_beyond);
    EXPECT_EQ(mine.chains, (std::vector<std::string>{"mine", "other"}));
    EXPECT_EQ(parse_acl("ip ttl vmap { 5:jump a, 6 :goto b }").chains, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(problem_of("ip ttl vmap { 5:goto vxlan1-in }"),
              "at 22: expected a chain of a file in static/, got \"vxlan1-in\"");
    EXPECT_EQ(problem_of("iifname tcp"), "at 9: expected the name of an interface, got \"tcp\"");
}

TEST(acl, case_49_nothing_but_a_rule) {
    EXPECT_EQ(problem_of("accept; add table ip evil"), "at 7: \";\" outside of quotes is not allowed");
    EXPECT_EQ(problem_of("accept\nadd table ip evil"), "at 7: a control character is not allowed");
    EXPECT_EQ(problem_of("include \"x\""), "at 1: \"include\" is a command, not a part of a rule");
    for (const std::string command : {"define", "add", "insert", "create", "delete", "flush", "table", "chain"}) {
        EXPECT_EQ(problem_of(command + " x"), "at 1: \"" + command + "\" is a command, not a part of a rule");
    }
    EXPECT_EQ(problem_of("ip saddr $evil"), "at 10: \"$\" is not allowed");
    EXPECT_EQ(problem_of("log prefix \"$evil\""), "at 13: \"$\" is not allowed");
    EXPECT_EQ(problem_of("log prefix \"a\\b\""), "at 14: \"\\\" is not allowed");
    EXPECT_EQ(problem_of("ip saddr @evil"), "at 10: \"@\" outside of quotes is not allowed");
    EXPECT_EQ(problem_of("accept # no"), "at 8: \"#\" outside of quotes is not allowed");
    EXPECT_EQ(problem_of("log prefix \"a"), "the quotes are not closed");
    EXPECT_EQ(problem_of("tcp dport { 22"), "at 11: \"{\" is not closed");
    EXPECT_EQ(problem_of("tcp dport 22 }"), "at 14: \"}\" without \"{\"");
    EXPECT_EQ(problem_of("tcp dport { { 22 }"), "at 11: \"{\" is not closed");
    EXPECT_EQ(problem_of(std::string("accept\0", 7)), "at 7: a control character is not allowed");
    EXPECT_EQ(problem_of("\xff"), "at 1: expected UTF-8");
    EXPECT_EQ(problem_of("tcp dport 22 \xc3\xa4"), "at 14: expected a word, got \"??\"");
    EXPECT_EQ(problem_of(std::string(1025, ' ')), "expected at most 1024 bytes, got more");
    EXPECT_TRUE(parse_acl(std::string(1024, ' ')).is_accepted());
    // nft copies it into a place of 128 bytes, and ends by its own fault from some length on.
    EXPECT_EQ(problem_of("log prefix \"" + std::string(129, 'p') + "\" accept"),
              "at 12: expected at most 128 bytes in one word or text, got 129");
    for (const auto& [ahead, behind] : {std::pair<std::string, std::string>{"log prefix \"", "\" accept"},
                                        {"log prefix ", " flags all"},
                                        {"ip ttl 5 jump ", ""},
                                        {"ct helper \"", "\""},
                                        {"ip ttl 5 comment \"", "\""}}) {
        EXPECT_FALSE(parse_acl(ahead + std::string(129, 'p') + behind).is_beyond) << ahead;
        EXPECT_NE(problem_of(ahead + std::string(129, 'p') + behind), "") << ahead;
    }
    EXPECT_TRUE(parse_acl("ip ttl 5 comment \"" + std::string(128, 'p') + "\"").is_beyond);
    EXPECT_TRUE(parse_acl("log prefix \"" + std::string(127, 'p') + "\"").is_accepted());
    EXPECT_EQ(body_of("log prefix \"a;b#c@d\""), (expressions{log_packet{"a;b#c@d", std::nullopt}}));
}

TEST(acl, what_nft_may_know_is_told_apart) {
    for (const std::string beyond :
         {"ip ttl 5", "meta skuid 0", "ct mark 1", "queue num 1", "ether type ip", "icmp code 1",
          "limit rate 10 mbytes/second", "log group 5", "meta mark 1-5", "meta mark & 1 == 1",
          "iifname { \"a*\", \"b\" }", "tcp flags { syn, ack }", "counter packets 1 bytes 1",
          // behind a word that is known here
          "tcp dport vmap { 22 : accept }", "ip protocol vmap { tcp : accept }", "ip saddr vmap { 10.0.0.1 : drop }",
          "icmp type vmap { echo-request : accept }", "ct state vmap { established : accept }",
          "iifname vmap { \"a\" : accept }", "tcp flags vmap { syn : accept }",
          "ip saddr . tcp dport { 10.0.0.1 . 22 }", "meta l4proto . th dport { tcp . 22 }",
          "ether saddr . ip saddr { 00:11:22:33:44:55 . 10.0.0.1 }", "iifname . oifname { \"a\" . \"b\" }",
          "ct state . meta mark { new . 5 }", "meta mark set 7", "mark set 7", "meta mark and 1 == 1",
          "meta mark ^ 1 == 1", "tcp dport set 80", "ip saddr and 255.0.0.0 == 10.0.0.0", "log level audit",
          "tcp dport { 22 : accept }", "tcp dport { 22 comment \"a\" }", "tcp dport { { 22, 23 }, 24 }",
          "tcp dport 022", "tcp dport 22accept", "tcp dport > 65535", "ip saddr 010.0.0.1", "ip saddr 167772161",
          "ip saddr 0x0a000001", "ip saddr 10.0.0.1 - 10.0.0", "tcp flags & syn|ack == syn", "ct state new|related,new",
          "limit rate 05/second", "limit rate 5/second burst 5 kbytes", "reject with icmp 3", "reject with nonsense",
          "meta nfproto 3", "icmp type nosuch", "comment add", "iifname 5", "comment tcp", "tcp dport { 22, tcp }",
          "tcp dport { 22,, 80 }", "ip6 nexthdr 8 udp dport 5", "tcp dport 1 udp dport 1"}) {
        EXPECT_TRUE(parse_acl(beyond).is_beyond) << beyond;
        EXPECT_NE(problem_of(beyond), "") << beyond;
    }
    for (const std::string wrong :
         {"tcp dport nosuch", "accept;", "include", "jump vxlan1-in", "accept drop",
          // names that files of a node or a resolver know
          "ip saddr localhost", "ip saddr \"localhost\"", "ip saddr beef.cafe", "ip6 saddr cafe", "ip6 saddr fe80::x",
          "ip saddr 0xa.cafe", "ip6 saddr \"a:b.cafe\"", "ip6 saddr \"b.cafe:1\"", "ip saddr { 10.0.0.1, a.example }",
          "ip saddr 10.0.0.1-a.example", "ip saddr 10.0.0.1 - a.example", "ip saddr 10.0.0.1.example",
          "tcp dport { ssh, nosuch }", "tcp dport 22-nosuch", "tcp dport 22 - nosuch", "ip protocol nosuch",
          "meta mark nosuch",
          // whatever nft says, or what it could be made to read beside a rule
          "tcp dport", "tcp dport {", "tcp dport vmap { 22 : accept", "tcp dport vmap { 22 : accept } }",
          "tcp dport vmap { 22 : accept; }", "tcp dport vmap { 22 : jump input }",
          "tcp dport vmap { 22:goto vxlan1-out }", "tcp dport vmap { 22 : jump { accept } }", "ip ttl 5jump input",
          "ip6 saddr fe80::ajump forward", "meta mark set 7 # no", "meta mark set $x", "ip saddr vmap @x",
          "ip protocol { udp, tcp } tcp dport 1", "limit rate 0/second", "tcp dport 80-22", "tcp dport < { 1, 2 }",
          "comment \"a\" accept", "reject with", "tcp dport { }", "log level"}) {
        EXPECT_FALSE(parse_acl(wrong).is_beyond) << wrong;
        EXPECT_NE(problem_of(wrong), "") << wrong;
    }
    EXPECT_EQ(parse_acl("ip ttl vmap { 1 . 5jump mine }").chains, (std::vector<std::string>{"mine"}));
    EXPECT_TRUE(parse_acl("iifname eth-jump accept").is_accepted());
}

}  // namespace
}  // namespace pvc::policy
