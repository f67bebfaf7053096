// What the adapter makes, in the words of nft (networking.md 7.1, 7.3).
#include "contract/netlink/real_filter.hpp"

namespace pvc::contract {
namespace {

using namespace model;

class filter_listing : public filter_suite<real_filter> {};

template <class T>
std::string of_machine(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string name16(std::string name) {
    name.resize(16);
    return name;
}
std::string ip6(std::string_view text) {
    const auto value = address(text).to_v6().to_bytes();
    return {value.begin(), value.end()};
}
compare unequal(std::string with) {
    return {comparison::unequal, std::move(with)};
}
give_verdict verdict(filter_verdict what) {
    return {what, {}};
}

const load_meta protocol{meta_key::protocol};
const load_meta l4{meta_key::l4_protocol};
const load_payload source4{header::network, 12, 4};
const load_payload target4{header::network, 16, 4};
const load_payload source6{header::network, 8, 16};
const load_payload target6{header::network, 24, 16};
const load_payload source_port{header::transport, 0, 2};
const load_payload target_port{header::transport, 2, 2};
const compare v4 = equal(bytes({2}));
const compare v6 = equal(bytes({10}));
const compare tcp = equal(bytes({6}));
const compare udp = equal(bytes({17}));
const std::string net10 = bytes({10, 0, 0, 0});
const std::string mac = bytes({0, 0x11, 0x22, 0x33, 0x44, 0x55});

struct shown {
    std::vector<filter_expression> expressions;
    std::string text;
};

const std::vector<shown>& table() {
    static const std::vector<shown> all{
        // Matches of one value, and what they need.
        {{protocol, v4, target4, equal(bytes({10, 0, 0, 1}))}, "ip daddr 10.0.0.1"},
        {{protocol, v4, source4, unequal(bytes({10, 0, 0, 1}))}, "ip saddr != 10.0.0.1"},
        {{protocol, v4, target4, mask_bits{bytes({255, 255, 240, 0})}, equal(bytes({10, 1, 16, 0}))},
         "ip daddr 10.1.16.0/20"},
        {{protocol, v6, target6, equal(ip6("fd00::1"))}, "ip6 daddr fd00::1"},
        {{protocol, v6, source6, mask_bits{ip6("ffff:ffff:ffff:fff0::")}, equal(ip6("fd00:1:2:10::"))},
         "ip6 saddr fd00:1:2:10::/60"},
        {{protocol, v4, load_payload{header::network, 9, 1}, equal(bytes({1}))}, "ip protocol icmp"},
        {{protocol, v6, load_payload{header::network, 6, 1}, equal(bytes({58}))}, "ip6 nexthdr ipv6-icmp"},
        {{l4, tcp, target_port, equal(bytes({0, 53}))}, "tcp dport 53"},
        {{l4, udp, source_port, unequal(bytes({0, 67}))}, "udp sport != 67"},
        {{l4, equal(bytes({132})), target_port, equal(bytes({0, 1}))}, "sctp dport 1"},
        {{l4, unequal(bytes({6}))}, "meta l4proto != tcp"},
        {{protocol, v6}, "meta nfproto ipv6"},
        {{load_meta{meta_key::mark}, equal(of_machine<std::uint32_t>(0x12345678))}, "meta mark 0x12345678"},
        {{load_meta{meta_key::in_name}, equal(name16("vmbr1001"))}, R"(iifname "vmbr1001")"},
        {{load_meta{meta_key::out_name}, unequal(name16("vmbr1001"))}, R"(oifname != "vmbr1001")"},
        {{load_meta{meta_key::in_name}, equal("vmbr")}, R"(iifname "vmbr*")"},
        {{load_meta{meta_key::in_type}, equal(of_machine<std::uint16_t>(1)), load_payload{header::link, 6, 6},
          equal(mac)},
         "ether saddr 00:11:22:33:44:55"},
        {{load_meta{meta_key::in_type}, equal(of_machine<std::uint16_t>(1)), load_payload{header::link, 0, 6},
          unequal(mac)},
         "ether daddr != 00:11:22:33:44:55"},
        {{protocol, v4, l4, equal(bytes({1})), load_payload{header::transport, 0, 1}, equal(bytes({8}))},
         "icmp type echo-request"},
        {{protocol, v6, l4, equal(bytes({58})), load_payload{header::transport, 0, 1}, equal(bytes({135}))},
         "icmpv6 type nd-neighbor-solicit"},
        {{load_ct_state{}, mask_bits{of_machine<std::uint32_t>(6)}, unequal(of_machine<std::uint32_t>(0))},
         "ct state established,related"},
        {{load_ct_state{}, equal(of_machine<std::uint32_t>(8))}, "ct state == new"},
        {{l4, tcp, load_payload{header::transport, 13, 1}, mask_bits{bytes({2})}, unequal(bytes({0}))},
         "tcp flags syn"},
        {{l4, tcp, load_payload{header::transport, 13, 1}, mask_bits{bytes({0x12})}, unequal(bytes({0}))},
         "tcp flags syn,ack"},
        // What is less or more.
        {{l4, tcp, target_port, compare{comparison::less, bytes({0, 100})}}, "tcp dport < 100"},
        {{l4, tcp, target_port, compare{comparison::at_most, bytes({0, 100})}}, "tcp dport <= 100"},
        {{protocol, v4, source4, compare{comparison::more, bytes({10, 0, 0, 1})}}, "ip saddr > 10.0.0.1"},
        {{load_meta{meta_key::mark}, compare{comparison::less, of_machine<std::uint32_t>(0x100)}},
         "meta mark < 0x00000100"},
        {{load_meta{meta_key::mark}, compare{comparison::more, of_machine<std::uint32_t>(5)}},
         "meta mark > 0x00000005"},
        // Ranges.
        {{l4, tcp, target_port, compare{comparison::at_least, bytes({0, 80})},
          compare{comparison::at_most, bytes({1, 0})}},
         "tcp dport 80-256"},
        {{l4, tcp, target_port, in_range{false, bytes({0, 80}), bytes({1, 0})}}, "tcp dport 80-256"},
        {{l4, udp, target_port, in_range{true, bytes({0, 80}), bytes({1, 0})}}, "udp dport != 80-256"},
        {{protocol, v4, source4, compare{comparison::at_least, bytes({10, 0, 0, 1})},
          compare{comparison::at_most, bytes({10, 0, 0, 9})}},
         "ip saddr 10.0.0.1-10.0.0.9"},
        {{protocol, v6, target6, in_range{true, ip6("fd00::1"), ip6("fd00::ffff")}}, "ip6 daddr != fd00::1-fd00::ffff"},
        {{load_meta{meta_key::mark}, compare{comparison::at_least, of_machine<std::uint32_t>(5)},
          compare{comparison::at_most, of_machine<std::uint32_t>(0x1234)}},
         "meta mark 0x00000005-0x00001234"},
        {{load_meta{meta_key::mark}, in_range{true, of_machine<std::uint32_t>(5), of_machine<std::uint32_t>(0x1234)}},
         "meta mark != 0x00000005-0x00001234"},
        // Sets of values.
        {{protocol, v4, source4,
          in_set{
              false, set_kind::ip4_address, false, {one_value(bytes({10, 0, 0, 1})), one_value(bytes({10, 0, 0, 3}))}}},
         "ip saddr { 10.0.0.1, 10.0.0.3 }"},
        {{protocol, v6, target6,
          in_set{true, set_kind::ip6_address, false, {one_value(ip6("fd00::1")), one_value(ip6("fd00::3"))}}},
         "ip6 daddr != { fd00::1, fd00::3 }"},
        {{load_meta{meta_key::in_type}, equal(of_machine<std::uint16_t>(1)), load_payload{header::link, 6, 6},
          in_set{false, set_kind::ether_address, false, {one_value(mac), one_value(bytes({2, 0, 0, 0, 0, 1}))}}},
         "ether saddr { 00:11:22:33:44:55, 02:00:00:00:00:01 }"},
        {{protocol, v4, load_payload{header::network, 9, 1},
          in_set{true, set_kind::protocol_number, false, {one_value(bytes({6})), one_value(bytes({17}))}}},
         "ip protocol != { tcp, udp }"},
        {{l4, in_set{false, set_kind::protocol_number, false, {one_value(bytes({6})), one_value(bytes({17}))}}},
         "meta l4proto { tcp, udp }"},
        {{l4, tcp, target_port,
          in_set{false,
                 set_kind::port,
                 false,
                 {one_value(bytes({0, 22})), one_value(bytes({0, 80})), one_value(bytes({1, 187}))}}},
         "tcp dport { 22, 80, 443 }"},
        {{protocol, v4, l4, equal(bytes({1})), load_payload{header::transport, 0, 1},
          in_set{false, set_kind::icmp_type, false, {one_value(bytes({0})), one_value(bytes({8}))}}},
         "icmp type { echo-reply, echo-request }"},
        {{protocol, v6, l4, equal(bytes({58})), load_payload{header::transport, 0, 1},
          in_set{false, set_kind::icmp6_type, false, {one_value(bytes({128})), one_value(bytes({135}))}}},
         "icmpv6 type { echo-request, nd-neighbor-solicit }"},
        {{load_meta{meta_key::mark},
          in_set{false,
                 set_kind::mark,
                 false,
                 {one_value(of_machine<std::uint32_t>(1)), one_value(of_machine<std::uint32_t>(0x100))}}},
         "meta mark { 0x00000001, 0x00000100 }"},
        {{load_meta{meta_key::in_name},
          in_set{false, set_kind::interface_name, false, {one_value(name16("br0")), one_value("br1")}}},
         R"(iifname { "br0", "br1" })"},
        {{protocol,
          in_set{false, set_kind::netfilter_protocol, false, {one_value(bytes({2})), one_value(bytes({10}))}}},
         "meta nfproto { ipv4, ipv6 }"},
        {{load_ct_state{}, in_set{false,
                                  set_kind::ct_state,
                                  false,
                                  {one_value(of_machine<std::uint32_t>(2)), one_value(of_machine<std::uint32_t>(8))}}},
         "ct state { established, new }"},
        // Sets with intervals.
        {{protocol, v4, source4,
          in_set{false,
                 set_kind::ip4_address,
                 true,
                 {{net10, bytes({10, 255, 255, 255})}, one_value(bytes({192, 168, 1, 1}))}}},
         "ip saddr { 10.0.0.0/8, 192.168.1.1 }"},
        {{protocol, v4, source4,
          in_set{true,
                 set_kind::ip4_address,
                 true,
                 {{bytes({0, 0, 0, 0}), bytes({0, 255, 255, 255})},
                  {bytes({240, 0, 0, 0}), bytes({255, 255, 255, 255})}}}},
         "ip saddr != { 0.0.0.0/8, 240.0.0.0/4 }"},
        {{protocol, v6, target6,
          in_set{false,
                 set_kind::ip6_address,
                 true,
                 {{ip6("fd00::"), ip6("fd00::ffff:ffff:ffff:ffff")}, one_value(ip6("fe80::1"))}}},
         "ip6 daddr { fd00::/64, fe80::1 }"},
        {{l4, tcp, target_port,
          in_set{false,
                 set_kind::port,
                 true,
                 {one_value(bytes({0, 22})), {bytes({0, 80}), bytes({0, 90})}, {bytes({255, 0}), bytes({255, 255})}}}},
         "tcp dport { 22, 80-90, 65280-65535 }"},
        {{l4, tcp, target_port,
          in_set{false,
                 set_kind::port,
                 true,
                 {one_value(bytes({0, 22})),
                  one_value(bytes({0, 23})),
                  {bytes({0, 24}), bytes({0, 30})},
                  one_value(bytes({0, 80}))}}},
         "tcp dport { 22-30, 80 }"},
        {{load_meta{meta_key::mark}, in_set{false,
                                            set_kind::mark,
                                            true,
                                            {one_value(of_machine<std::uint32_t>(1)),
                                             {of_machine<std::uint32_t>(5), of_machine<std::uint32_t>(0x1234)}}}},
         "meta mark { 0x00000001, 0x00000005-0x00001234 }"},
        // What is done.
        {{count_packet{}}, "counter packets 0 bytes 0"},
        {{limit_rate{10, 60, 7, true}, verdict(filter_verdict::drop)},
         "limit rate over 10/minute burst 7 packets drop"},
        {{limit_rate{400, 1, 5, false}}, "limit rate 400/second"},
        {{limit_rate{3, 3600, 5, false}}, "limit rate 3/hour"},
        {{log_packet{}}, "log"},
        {{log_packet{"in: ", 6}}, R"(log prefix "in: " level info)"},
        {{log_packet{"", 3}}, "log level err"},
        {{reject_packet{}}, "reject"},
        {{reject_packet{2, 3}}, "reject with icmpx admin-prohibited"},
        {{l4, tcp, reject_packet{1, 0}}, "meta l4proto tcp reject with tcp reset"},
        {{protocol, v4, reject_packet{0, 1}}, "reject with icmp host-unreachable"},
        {{protocol, v6, reject_packet{0, 1}}, "reject with icmpv6 admin-prohibited"},
        {{give_verdict{}}, "accept"},
        {{verdict(filter_verdict::return_to)}, "return"},
        {{give_verdict{filter_verdict::jump, "vxlan7-in"}}, "jump vxlan7-in"},
        {{give_verdict{filter_verdict::go_to, "vxlan7-in"}}, "goto vxlan7-in"},
        {{load_meta{meta_key::in_name}, equal(name16("vmbr7")), count_packet{}, verdict(filter_verdict::drop)},
         R"(iifname "vmbr7" counter packets 0 bytes 0 drop)"},
        {{protocol, v6, load_payload{header::network, 6, 1}, equal(bytes({17})), l4, udp, target_port,
          equal(bytes({2, 35})), load_meta{meta_key::in_name}, equal(name16("vmbr7")), count_packet{}, give_verdict{}},
         R"(ip6 nexthdr udp udp dport 547 iifname "vmbr7" counter packets 0 bytes 0 accept)"},
    };
    return all;
}

std::vector<std::string> lines_of(const std::string& listing) {
    std::vector<std::string> lines;
    std::istringstream text(listing);
    for (std::string line; std::getline(text, line);) {
        lines.push_back(line.substr(std::min(line.find_first_not_of('\t'), line.size())));
    }
    return lines;
}

TEST_F(filter_listing, every_expression_as_nft_writes_it) {
    bench.run([this]() -> awaitable<void> {
        // In a chain of its own and in one with a hook: rejections are allowed there alone.
        filter_batch batch{make_table{}, make_chain{"vxlan7-in"}, make_chain{"input", filter_hook::input}};
        for (const auto& each : table()) {
            batch.emplace_back(add_rule{"input", {each.expressions, "a tag"}});
        }
        co_await done(batch);
        const auto lines = lines_of(nft_output("list chain inet filter input"));
        ASSERT_CO_TRUE(lines.size() == table().size() + 5);
        EXPECT_EQ(lines[2], "type filter hook input priority filter; policy accept;");
        for (std::size_t number = 0; number < table().size(); ++number) {
            EXPECT_EQ(lines[number + 3], table()[number].text);
        }
        // nft understands what it wrote, and makes the same of it.
        const auto listing = nft_output("list ruleset");
        nft_command("flush ruleset\n" + listing);
        EXPECT_EQ(nft_output("list ruleset"), listing);
    });
}

// What nft lists is the same either way, what the kernel compares is not.
TEST_F(filter_listing, numbers_of_this_machine_are_turned_round_before_they_are_ordered) {
    bench.run([this]() -> awaitable<void> {
        const auto low = of_machine<std::uint32_t>(5);
        const auto high = of_machine<std::uint32_t>(0x100);
        const auto is_turned = [&](filter_expression compared) -> awaitable<bool> {
            co_await done({make_table{}, make_chain{"one"}, flush_chain{"one"},
                           add_rule{"one", {{load_meta{meta_key::mark}, std::move(compared)}, "tag"}}});
            const auto listing = nft_output("--debug=netlink list chain inet filter one");
            co_return listing.find("[ byteorder reg 1 = hton(reg 1, 4, 4) ]") != std::string::npos;
        };
        for (const auto how : {comparison::less, comparison::at_most, comparison::at_least, comparison::more}) {
            const bool turned = co_await is_turned(compare{how, high});
            EXPECT_TRUE(turned) << static_cast<int>(how);
        }
        const bool range = co_await is_turned(in_range{false, low, high});
        EXPECT_TRUE(range);
        const bool interval = co_await is_turned(in_set{false, set_kind::mark, true, {{low, high}}});
        EXPECT_TRUE(interval);
        for (const auto how : {comparison::equal, comparison::unequal}) {
            const bool turned = co_await is_turned(compare{how, high});
            EXPECT_FALSE(turned) << static_cast<int>(how);
        }
    });
}

// As networking.md 7.1 has them.
TEST_F(filter_listing, chains_as_nft_writes_them) {
    bench.run([this]() -> awaitable<void> {
        co_await done({make_table{}, make_chain{"forward", filter_hook::forward}, make_chain{"vxlan1001-out"},
                       append("vxlan1001-out", "tag"), add_rule{"forward", jumping("vxlan1001-out", "tag")}});
        EXPECT_EQ(nft_output("list ruleset"),
                  "table inet filter {\n"
                  "\tchain forward {\n"
                  "\t\ttype filter hook forward priority filter; policy accept;\n"
                  "\t\tcounter packets 0 bytes 0 jump vxlan1001-out\n"
                  "\t}\n\n"
                  "\tchain vxlan1001-out {\n"
                  "\t\tcounter packets 0 bytes 0\n"
                  "\t}\n"
                  "}\n");
    });
}

}  // namespace
}  // namespace pvc::contract
