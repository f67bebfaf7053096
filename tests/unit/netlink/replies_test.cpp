// What the kernel says, read: whole answers, and every way in which bytes are none.
#include "pvcnoded/netlink/replies.hpp"
#include "unit/netlink/reply_bytes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace pvc::netlink {
namespace {

using namespace reply_bytes;

std::string message(std::uint16_t type, std::uint16_t flags, const std::string& body, std::uint32_t sequence = 7,
                    std::uint32_t port = 42) {
    return padded(raw<std::uint32_t>(static_cast<std::uint32_t>(16 + body.size())) + raw(type) + raw(flags) +
                  raw(sequence) + raw(port) + body);
}

constexpr std::uint16_t error_type = 2;
constexpr std::uint16_t done_type = 3;
constexpr std::uint16_t new_link = 16;
constexpr std::uint16_t multi = 2;
constexpr std::uint16_t interrupted = 0x10;
constexpr std::uint16_t capped = 0x100;
constexpr std::uint16_t with_attributes = 0x200;

std::string acknowledgement(int code, std::uint16_t flags = 0, const std::string& rest = {}) {
    return message(error_type, flags, raw(code) + std::string(16, '\0') + rest);
}

// ---- datagrams
// -------------------------------------------------------------------------------------------------------

TEST(reply_datagram, acknowledgements_and_refusals) {
    const auto done = read_datagram(acknowledgement(0), 7, 42);
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->is_over);
    EXPECT_EQ(done->error, 0);
    const auto refused = read_datagram(acknowledgement(-17), 7, 42);
    ASSERT_TRUE(refused);
    EXPECT_TRUE(refused->is_over);
    EXPECT_EQ(refused->error, 17);
    EXPECT_EQ(refused->sentence, "");
}

TEST(reply_datagram, the_sentence_of_the_kernel) {
    const auto said = attribute(2, raw<std::uint32_t>(16)) + text(1, "MTU too large");
    const auto short_one = read_datagram(acknowledgement(-22, capped | with_attributes, said), 7, 42);
    ASSERT_TRUE(short_one);
    EXPECT_EQ(short_one->sentence, "MTU too large");
    EXPECT_EQ(short_one->error, 22);
    // Without the cap the request follows, and then what is said.
    const auto request = raw<std::uint32_t>(16 + 6) + std::string(12, '\0') + padded("abcdef");
    const auto whole = read_datagram(message(error_type, with_attributes, raw(-22) + request + said), 7, 42);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->sentence, "MTU too large");
    const auto unmarked = read_datagram(acknowledgement(-22, capped, said), 7, 42);
    EXPECT_TRUE(unmarked && unmarked->sentence.empty());
}

TEST(reply_datagram, only_what_answers_the_request) {
    const auto others = message(new_link, 0, "aaaa", 6) + message(new_link, 0, "bbbb", 7, 41) +
                        message(error_type, 0, raw(-1) + std::string(16, '\0'), 6);
    const auto datagram = others + message(new_link, multi, "cccc") + acknowledgement(0);
    const auto read = read_datagram(datagram, 7, 42);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->messages.size(), 1U);
    EXPECT_EQ(read->messages[0].type, new_link);
    EXPECT_EQ(read->messages[0].body, "cccc");
    EXPECT_TRUE(read->is_over);
    EXPECT_EQ(read->error, 0);
    const auto none = read_datagram(others, 7, 42);
    EXPECT_TRUE(none && none->messages.empty() && !none->is_over);
}

TEST(reply_datagram, a_dump_that_was_interrupted) {
    const auto whole = read_datagram(message(new_link, multi, "aaaa") + message(done_type, multi, raw(0)), 7, 42);
    EXPECT_TRUE(whole && whole->is_over && !whole->is_interrupted && whole->messages.size() == 1);
    const auto torn = read_datagram(message(new_link, multi | interrupted, "aaaa"), 7, 42);
    EXPECT_TRUE(torn && !torn->is_over && torn->is_interrupted);
    const auto at_end = read_datagram(message(done_type, multi | interrupted, raw(0)), 7, 42);
    EXPECT_TRUE(at_end && at_end->is_over && at_end->is_interrupted);
    const auto failed = read_datagram(message(done_type, multi, raw(-19)), 7, 42);
    EXPECT_TRUE(failed && failed->error == 19);
}

TEST(reply_datagram, what_is_none) {
    const auto good = acknowledgement(0);
    for (std::size_t size = 1; size < good.size(); ++size) {
        EXPECT_FALSE(read_datagram(good.substr(0, size), 7, 42)) << size;
    }
    EXPECT_FALSE(read_datagram(message(error_type, 0, ""), 7, 42));
    std::string shorter_than_its_head = good;
    shorter_than_its_head[0] = 15;
    EXPECT_FALSE(read_datagram(shorter_than_its_head, 7, 42));
    EXPECT_TRUE(read_datagram("", 7, 42));
}

// ---- links
// -----------------------------------------------------------------------------------------------------------

std::string link_head(int index, std::uint32_t flags, std::uint16_t kind = 1, std::uint8_t family = 0) {
    return raw(family) + raw<std::uint8_t>(0) + raw(kind) + raw(index) + raw(flags) + raw<std::uint32_t>(0);
}

const std::string vxlan_data = attribute(1, raw<std::uint32_t>(1001)) + attribute(3, raw<std::uint32_t>(5)) +
                               attribute(7, std::string(1, '\1')) + attribute(15, std::string("\x12\xb5", 2));

TEST(reply_link, a_vxlan) {
    const auto body = link_head(9, 0x1 | 0x40) + text(3, "vxlan1001") + attribute(4, raw<std::uint32_t>(1450)) +
                      attribute(10, raw<std::uint32_t>(8)) + attribute(1, "\x02\x01\x02\x03\x04\x05") +
                      attribute(18, text(1, "vxlan") + attribute(0x8000 | 2, vxlan_data));
    const auto read = parse_link(body);
    ASSERT_TRUE(read && *read);
    model::network_link expected;
    expected.index = 9;
    expected.name = "vxlan1001";
    expected.kind = "vxlan";
    expected.mtu = 1450;
    expected.is_up = true;
    expected.is_running = true;
    expected.master = 8;
    expected.lower = 5;
    expected.vxlan = model::vxlan_settings{1001, 4789, true, false, false};
    expected.hardware = {2, 1, 2, 3, 4, 5};
    EXPECT_EQ((*read)->link, expected);
    EXPECT_EQ((*read)->hardware, (hardware_address{2, 1, 2, 3, 4, 5}));
}

TEST(reply_link, a_vlan) {
    const auto details = attribute(18, text(1, "vlan") + attribute(2, attribute(1, raw<std::uint16_t>(200))));
    const auto body = link_head(9, 0) + text(3, "vlan200") + attribute(5, raw<std::uint32_t>(4)) + details;
    const auto read = parse_link(body);
    ASSERT_TRUE(read && *read);
    EXPECT_EQ((*read)->link.kind, "vlan");
    EXPECT_EQ((*read)->link.vlan_id, 200);
    EXPECT_EQ((*read)->link.lower, 4);
    EXPECT_FALSE((*read)->link.is_up);
    // The number of a link in another namespace is nothing to us.
    const auto elsewhere = parse_link(body + attribute(37, raw<std::uint32_t>(0)));
    ASSERT_TRUE(elsewhere && *elsewhere);
    EXPECT_EQ((*elsewhere)->link.lower, 0);
}

// Of 802.1ad: its number is none that 802.1Q has.
TEST(reply_link, a_vlan_of_another_protocol) {
    for (const auto& [protocol, is_ours] :
         {std::pair<std::string, bool>{std::string("\x81\0", 2), true}, {"\x88\xa8", false}}) {
        for (const bool is_first : {true, false}) {
            const auto id = attribute(1, raw<std::uint16_t>(200));
            const auto of = attribute(5, protocol);
            const auto details = attribute(18, text(1, "vlan") + attribute(2, is_first ? of + id : id + of));
            const auto read =
                parse_link(link_head(9, 0) + text(3, "vlan200") + attribute(5, raw<std::uint32_t>(4)) + details);
            ASSERT_TRUE(read && *read);
            EXPECT_EQ((*read)->link.vlan_id.has_value(), is_ours);
        }
    }
}

TEST(reply_link, a_bridge) {
    const auto with = [](std::uint32_t state) {
        const auto data = attribute(1, raw<std::uint32_t>(1500)) + attribute(5, raw(state));
        return parse_link(link_head(9, 0) + text(3, "br0") + attribute(18, text(1, "bridge") + attribute(2, data)));
    };
    for (const std::uint32_t state : {0U, 1U, 2U}) {
        const auto read = with(state);
        ASSERT_TRUE(read && *read);
        EXPECT_EQ((*read)->link.kind, "bridge");
        EXPECT_EQ((*read)->link.has_stp, state != 0);
    }
    EXPECT_FALSE(parse_link(link_head(9, 0) + text(3, "br0") +
                            attribute(18, text(1, "bridge") + attribute(2, attribute(5, "ab")))));  // half a number
}

TEST(reply_link, of_details_that_come_twice_the_last_hold_alone) {
    const auto vlan = attribute(18, text(1, "vlan") + attribute(2, attribute(1, raw<std::uint16_t>(200))));
    const auto body = link_head(9, 0) + text(3, "twice");
    const auto as_bridge = parse_link(body + vlan + attribute(18, text(1, "bridge")));
    ASSERT_TRUE(as_bridge && *as_bridge);
    EXPECT_EQ((*as_bridge)->link.kind, "bridge");
    EXPECT_FALSE((*as_bridge)->link.vlan_id);
    const auto of_no_kind =
        parse_link(body + attribute(18, text(1, "vxlan") + attribute(2, vxlan_data)) + attribute(18, {}));
    ASSERT_TRUE(of_no_kind && *of_no_kind);
    EXPECT_EQ((*of_no_kind)->link.kind, "");
    EXPECT_FALSE((*of_no_kind)->link.vxlan);
}

TEST(reply_link, ends_of_a_pair_do_not_stand_on_each_other) {
    const auto read = parse_link(link_head(9, 0) + text(3, "eth0") + attribute(5, raw<std::uint32_t>(8)) +
                                 attribute(18, text(1, "veth")));
    ASSERT_TRUE(read && *read);
    EXPECT_EQ((*read)->link.kind, "veth");
    EXPECT_EQ((*read)->link.lower, 0);
}

TEST(reply_link, a_loopback_device_has_no_hardware_address) {
    const auto read = parse_link(link_head(1, 0x9, 772) + text(3, "lo") + attribute(1, std::string(6, '\0')));
    ASSERT_TRUE(read && *read);
    EXPECT_TRUE((*read)->link.is_loopback);
    EXPECT_FALSE((*read)->hardware);
    EXPECT_EQ((*read)->link.kind, "");
}

TEST(reply_link, what_is_none) {
    const auto bridge_port = parse_link(link_head(9, 0, 1, 7) + text(3, "eth0"));
    EXPECT_TRUE(bridge_port && !*bridge_port);
    EXPECT_FALSE(parse_link(link_head(9, 0)));                                            // no name
    EXPECT_FALSE(parse_link(link_head(0, 0) + text(3, "eth0")));                          // no index
    EXPECT_FALSE(parse_link(link_head(9, 0) + text(3, "eth0") + attribute(4, "ab")));     // half a number
    EXPECT_FALSE(parse_link(link_head(9, 0) + text(3, "eth0") + attribute(18, "abcd")));  // no attributes
    const auto good =
        link_head(9, 0) + text(3, "vxlan1001") + attribute(18, text(1, "vxlan") + attribute(2, vxlan_data));
    EXPECT_TRUE(parse_link(good));
    for (std::size_t size = 0; size < good.size(); ++size) {
        const auto read = parse_link(good.substr(0, size));
        EXPECT_TRUE(!read || !(*read)->link.vxlan) << size;
    }
}

// ---- counters
// --------------------------------------------------------------------------------------------------------

// In the order of the kernel: packets in and out, bytes in and out, and what else there is.
std::string counted(std::uint64_t rx_packets, std::uint64_t tx_packets, std::uint64_t rx_bytes,
                    std::uint64_t tx_bytes) {
    return raw(rx_packets) + raw(tx_packets) + raw(rx_bytes) + raw(tx_bytes);
}

TEST(reply_counters, of_a_card) {
    const auto body = link_head(4, 0x1) + text(3, "ens4") + attribute(16, std::string(1, '\6')) +
                      attribute(7, std::string(96, '\1')) +
                      attribute(23, counted(1, 2, 3, 1ULL << 40) + counted(5, 6, 7, 8));
    const auto read = parse_link_counters(body);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, (model::link_counters{4, "ens4", 3, 1ULL << 40, 1, 2, "up"}));
    for (const auto& [number, state] :
         {std::pair{'\0', "unknown"}, {'\2', "down"}, {'\3', "lowerlayerdown"}, {'\7', "unknown"}}) {
        const auto other = parse_link_counters(link_head(4, 0) + text(3, "ens4") + attribute(23, counted(0, 0, 0, 0)) +
                                               attribute(16, std::string(1, number)));
        ASSERT_TRUE(other);
        EXPECT_EQ(other->state, state);
    }
}

TEST(reply_counters, what_is_none) {
    const auto good = attribute(23, counted(1, 2, 3, 4));
    EXPECT_FALSE(parse_link_counters(link_head(4, 0) + text(3, "ens4")));                             // nothing counted
    EXPECT_FALSE(parse_link_counters(link_head(4, 0) + good));                                        // no name
    EXPECT_FALSE(parse_link_counters(link_head(0, 0) + text(3, "ens4") + good));                      // no index
    EXPECT_FALSE(parse_link_counters(link_head(4, 0) + text(3, "ens4") + attribute(16, "") + good));  // no state
    EXPECT_FALSE(parse_link_counters("abc"));
    for (std::size_t size = 0; size < 32; ++size) {
        EXPECT_FALSE(
            parse_link_counters(link_head(4, 0) + text(3, "ens4") + attribute(23, counted(1, 2, 3, 4).substr(0, size))))
            << size;
    }
}

// ---- virtual functions
// -----------------------------------------------------------------------------------------------

constexpr std::uint16_t function_list = 22;
constexpr std::uint32_t untold = 0xffffffff;

std::string numbers(std::initializer_list<std::uint32_t> all) {
    std::string bytes;
    for (const auto one : all) {
        bytes += raw(one);
    }
    return bytes;
}

std::string function_mac(std::uint32_t index) {
    return attribute(1, raw(index) + std::string("\x52\x54\0\0\0\xfe", 6) + std::string(26, '\0'));
}

std::string function_of(const std::string& inside) {
    return attribute(0x8000 | 1, inside);
}

TEST(reply_functions, with_all_that_a_driver_tells) {
    const auto vlans =
        attribute(12, attribute(1, numbers({1, 101, 3, 0x0081})) + attribute(1, numbers({1, 102, 0, 0x0081})));
    const auto second = function_mac(1) + attribute(2, numbers({1, 7, 7})) + vlans +
                        attribute(6, numbers({1, 100, 1000})) + attribute(4, numbers({1, 1})) +
                        attribute(5, numbers({1, 2})) + attribute(9, numbers({1, 1})) + attribute(7, numbers({1, 0}));
    const auto first = function_mac(0) + attribute(2, numbers({0, 5, 1})) + attribute(4, numbers({0, untold})) +
                       attribute(9, numbers({0, untold})) + attribute(7, numbers({0, untold})) +
                       attribute(5, numbers({0, 9})) + attribute(8, std::string(64, '\1'));
    const auto body = link_head(7, 0x1) + text(3, "ens1f1") + attribute(4, raw<std::uint32_t>(9000)) +
                      attribute(function_list, function_of(second) + function_of(first));
    const auto read = parse_functions(body);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->link, 7);
    EXPECT_EQ(read->name, "ens1f1");
    EXPECT_EQ(read->mtu, 9000);
    ASSERT_EQ(read->functions.size(), 2U);
    model::virtual_function silent;
    silent.mac = "52:54:00:00:00:fe";
    silent.vlan = model::function_vlan{5, 1};
    EXPECT_EQ(read->functions[0], silent);
    model::virtual_function full;
    full.index = 1;
    full.mac = silent.mac;
    full.vlan = model::function_vlan{101, 3};
    full.rate = model::function_rate{100, 1000};
    full.spoof_check = true;
    full.link_state = model::function_link::disable;
    full.trust = true;
    full.query_rss = false;
    EXPECT_EQ(read->functions[1], full);
}

TEST(reply_functions, of_a_card_without) {
    const auto read = parse_functions(link_head(7, 0x1) + text(3, "ens1f1") + attribute(4, raw<std::uint32_t>(1500)));
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->functions.empty());
    const auto empty = parse_functions(link_head(7, 0x1) + text(3, "ens1f1") + attribute(function_list, ""));
    EXPECT_TRUE(empty && empty->functions.empty());
}

TEST(reply_functions, told_twice_it_is_one) {
    const auto body = link_head(7, 0x1) + text(3, "ens1f1") +
                      attribute(function_list, function_of(function_mac(3)) + function_of(function_mac(3)));
    const auto read = parse_functions(body);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->functions.size(), 1U);
}

TEST(reply_functions, what_is_none) {
    const auto named = link_head(7, 0x1) + text(3, "ens1f1");
    EXPECT_FALSE(parse_functions(link_head(7, 0x1)));
    EXPECT_FALSE(parse_functions("abc"));
    EXPECT_FALSE(parse_functions(named + attribute(function_list, function_of(""))));  // of no function
    EXPECT_FALSE(parse_functions(named + attribute(function_list, "abcd")));
    EXPECT_FALSE(parse_functions(named + attribute(function_list, function_of(attribute(1, numbers({untold, 0}))))));
    const auto whole =
        function_of(function_mac(0) + attribute(2, numbers({0, 5, 1})) + attribute(6, numbers({0, 1, 2})));
    EXPECT_TRUE(parse_functions(named + attribute(function_list, whole)));
    for (std::size_t size = 1; size + 1 < whole.size(); ++size) {
        EXPECT_FALSE(parse_functions(named + attribute(function_list, whole.substr(0, size)))) << size;
    }
    for (const auto kind : {1, 2, 4, 5, 6, 7, 9}) {
        const auto half = function_of(function_mac(0) + attribute(static_cast<std::uint16_t>(kind), "abcdefg"));
        EXPECT_FALSE(parse_functions(named + attribute(function_list, half))) << kind;
    }
}

// ---- addresses
// -------------------------------------------------------------------------------------------------------

std::string address_head(std::uint8_t family, std::uint8_t prefix, std::uint8_t flags = 0x80, std::uint8_t scope = 0) {
    return raw(family) + raw(prefix) + raw(flags) + raw(scope) + raw<std::uint32_t>(4);
}

TEST(reply_address, of_both_families) {
    const auto four = parse_link_address(address_head(2, 24) + attribute(1, ten_two) + attribute(2, ten_one));
    ASSERT_TRUE(four && *four);
    EXPECT_EQ(**four, (model::link_address{4, parse_host_address("10.0.0.1/24").value(), model::universe_scope, true,
                                           parse_address("10.0.0.2").value()}));
    const auto broad = parse_link_address(address_head(2, 24) + attribute(1, ten_one) + attribute(4, ten_two));
    EXPECT_TRUE(broad && *broad && (*broad)->settings.broadcast == parse_address("10.0.0.2").value());
    const auto of_six = parse_link_address(address_head(10, 64, 0x80, 253) + attribute(1, six) +
                                           attribute(8, raw<std::uint32_t>(0x100)));
    ASSERT_TRUE(of_six && *of_six);
    EXPECT_EQ(**of_six, (model::link_address{4,
                                             parse_host_address("fd00::1/64").value(),
                                             model::link_scope,
                                             false,
                                             std::nullopt,
                                             {},
                                             {.flags = model::manages_temporary}}));
    const auto given =
        parse_link_address(address_head(2, 24) + attribute(1, ten_one) + attribute(3, "eth0:1") +
                           attribute(9, raw<std::uint32_t>(600)) + attribute(8, raw<std::uint32_t>(0x280)));
    ASSERT_TRUE(given && *given);
    EXPECT_EQ((*given)->settings,
              (model::address_settings{.metric = 600, .flags = model::no_prefix_route, .label = "eth0:1"}));
    EXPECT_TRUE((*given)->is_permanent && !(*given)->settings.has_route());
}

TEST(reply_address, what_is_none) {
    const auto other = parse_link_address(address_head(5, 24));
    EXPECT_TRUE(other && !*other);
    EXPECT_FALSE(parse_link_address(address_head(2, 24)));
    EXPECT_FALSE(parse_link_address(address_head(2, 33) + attribute(2, ten_one)));
    EXPECT_FALSE(parse_link_address(address_head(10, 129) + attribute(1, six)));
    EXPECT_FALSE(parse_link_address(address_head(10, 64) + attribute(1, ten_one)));
    EXPECT_FALSE(parse_link_address("abc"));
}

TEST(reply_link, other_names) {
    const auto names = [](const std::string& inside) { return attribute(0x8000 | 52, inside); };
    const auto body = link_head(9, 0) + text(3, "eth0");
    const auto read =
        parse_link(body + names(text(53, "enp3s0") + attribute(77, "?") + text(53, "enp3s0np0-and-more")));
    ASSERT_TRUE(read && *read);
    EXPECT_EQ((*read)->link.alt_names, (std::vector<std::string>{"enp3s0", "enp3s0np0-and-more"}));
    const auto twice = parse_link(body + names(text(53, "a")) + names(text(53, "b")));
    ASSERT_TRUE(twice && *twice);
    EXPECT_EQ((*twice)->link.alt_names, std::vector<std::string>{"b"});
    EXPECT_FALSE(parse_link(body + names("abcd")));
}

TEST(reply_queue, whose_packets_are_looked_at) {
    const auto head = raw<std::uint32_t>(0) + raw<std::int32_t>(7) + std::string(12, '\0');
    for (const auto& [kind, link] : {std::pair("clsact", 7), {"ingress", 7}, {"noqueue", 0}, {"htb", 0}}) {
        EXPECT_EQ(parse_filtering_queue(head + text(1, kind)).value(), link) << kind;
    }
    EXPECT_EQ(parse_filtering_queue(head).value(), 0);
    EXPECT_FALSE(parse_filtering_queue("abc"));
    EXPECT_FALSE(parse_filtering_queue(head + "ab"));
}

TEST(reply_rule, that_names_devices) {
    const auto head = std::string{10, 0, 0, 0, 100} + std::string(7, '\0');
    const auto rule = parse_rule(head + text(3, "eth0") + text(17, "eth1") + attribute(6, raw<std::uint32_t>(77)));
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule->in + " " + rule->out + " " + rule->text, "eth0 eth1 ip -6 rule 77 (iif eth0, oif eth1, table 100)");
    EXPECT_FALSE(parse_rule("abc") || parse_rule(head + "ab"));
}

}  // namespace
}  // namespace pvc::netlink
