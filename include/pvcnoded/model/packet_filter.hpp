// What a table of the kernel's packet filter holds, as values: expressions as the kernel knows them, rules, chains, and
// the changes of one batch. Policy makes them (policy/networks), the port `netlink/packet_filter.hpp` carries them out,
// the simulated kernel keeps them. Numbers within texts of bytes are as packets have them (big endian), but those of
// `meta` and `ct` (of this machine). Specification: networking.md 7.1, 7.3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pvc::model {

// ---- expressions: what is loaded, what it is compared with, and what is done; all of them use one register
// --------------
enum class meta_key : std::uint8_t { protocol, l4_protocol, mark, in_name, out_name, in_type };
struct load_meta {
    meta_key key = meta_key::l4_protocol;  // protocol: of the table's family, NFPROTO_*; in_type: ARPHRD_*
    friend bool operator==(const load_meta&, const load_meta&) = default;
};
enum class header : std::uint8_t { link, network, transport };
struct load_payload {
    header of = header::network;
    std::uint32_t offset = 0;  // bytes
    std::uint32_t length = 0;
    friend bool operator==(const load_payload&, const load_payload&) = default;
};
struct load_ct_state {
    friend bool operator==(const load_ct_state&, const load_ct_state&) = default;
};
struct mask_bits {
    std::string mask;  // as long as what is loaded
    friend bool operator==(const mask_bits&, const mask_bits&) = default;
};
enum class comparison : std::uint8_t { equal, unequal, at_least, at_most, less, more };
struct compare {
    comparison how = comparison::equal;
    std::string with;
    friend bool operator==(const compare&, const compare&) = default;
};
struct in_range {
    bool is_inverted = false;
    std::string first;
    std::string last;
    friend bool operator==(const in_range&, const in_range&) = default;
};
// Of what its keys are: listings show them so.
enum class set_kind : std::uint8_t {
    ip4_address,
    ip6_address,
    ether_address,
    protocol_number,
    port,
    icmp_type,
    icmp6_type,
    mark,
    interface_name,
    netfilter_protocol,
    ct_state,
};
struct set_element {
    std::string first;
    std::string last;  // the same as first: one value
    friend auto operator<=>(const set_element&, const set_element&) = default;
};
// An anonymous set: it comes and goes with its rule.
struct in_set {
    bool is_inverted = false;
    set_kind kind = set_kind::ip4_address;
    bool is_interval = false;           // some element is more than one value
    std::vector<set_element> elements;  // sorted, without overlaps
    friend bool operator==(const in_set&, const in_set&) = default;
};
struct limit_rate {
    std::uint64_t rate = 0;  // packets in each unit
    std::uint64_t unit = 1;  // seconds
    std::uint32_t burst = 5;
    bool is_over = false;
    friend bool operator==(const limit_rate&, const limit_rate&) = default;
};
struct log_packet {
    std::string prefix;
    std::optional<std::uint32_t> level;  // as syslog counts them
    friend bool operator==(const log_packet&, const log_packet&) = default;
};
struct reject_packet {
    std::uint32_t type = 2;  // NFT_REJECT_*: 0 ICMP of the packet's family, 1 TCP reset, 2 ICMP of either family
    std::uint8_t code = 1;
    friend bool operator==(const reject_packet&, const reject_packet&) = default;
};
struct count_packet {
    friend bool operator==(const count_packet&, const count_packet&) = default;
};
enum class filter_verdict : std::uint8_t { accept, drop, return_to, jump, go_to };
struct give_verdict {
    filter_verdict what = filter_verdict::accept;
    std::string chain;  // of jump and go_to
    friend bool operator==(const give_verdict&, const give_verdict&) = default;
};
using filter_expression = std::variant<load_meta, load_payload, load_ct_state, mask_bits, compare, in_range, in_set,
                                       limit_rate, log_packet, reject_packet, count_packet, give_verdict>;

// ---- rules and chains
// -----------------------------------------------------------------------------------------------------
struct filter_rule {
    std::vector<filter_expression> expressions;
    // Ours, kept by the kernel beside the rule and not shown in listings (user data of a type of its own): tells which
    // rule this is, and changes with what it says. At most 200 bytes; empty: none.
    std::string tag;
    friend bool operator==(const filter_rule&, const filter_rule&) = default;
};
enum class filter_hook : std::uint8_t { none, forward, input };  // type filter, priority 0, policy accept

// ---- changes of one batch: all of them, or none
// --------------------------------------------------------------------------- Table `inet filter` everywhere: no other
// one is ever touched.
struct make_table {  // a success where it is there
    friend bool operator==(const make_table&, const make_table&) = default;
};
struct delete_table {
    friend bool operator==(const delete_table&, const delete_table&) = default;
};
struct make_chain {  // a success where it is there with that hook
    std::string name;
    filter_hook hook = filter_hook::none;
    friend bool operator==(const make_chain&, const make_chain&) = default;
};
struct flush_chain {
    std::string name;
    friend bool operator==(const flush_chain&, const flush_chain&) = default;
};
struct delete_chain {
    std::string name;
    friend bool operator==(const delete_chain&, const delete_chain&) = default;
};
struct add_rule {
    std::string chain;
    filter_rule rule;
    // Behind the rule with that handle; 0: at the end of the chain, or where `is_first`, at its beginning. Several
    // behind one handle stand in the opposite order of the batch, as the kernel puts each right behind it.
    std::uint64_t behind = 0;
    bool is_first = false;
    friend bool operator==(const add_rule&, const add_rule&) = default;
};
struct delete_rule {
    std::string chain;
    std::uint64_t handle = 0;
    friend bool operator==(const delete_rule&, const delete_rule&) = default;
};
using filter_change =
    std::variant<make_table, delete_table, make_chain, flush_chain, delete_chain, add_rule, delete_rule>;

// ---- what is there
// ----------------------------------------------------------------------------------------------------------
struct seen_rule {
    std::uint64_t handle = 0;
    std::string tag;  // empty: not one of ours
    // Of one that is not: changes with what it says, and not with what it counts.
    std::uint64_t digest = 0;
    friend bool operator==(const seen_rule&, const seen_rule&) = default;
};
struct seen_chain {
    std::string name;
    filter_hook hook = filter_hook::none;
    bool is_base = false;          // it has a hook, be it one of ours
    std::vector<seen_rule> rules;  // in order
    std::uint64_t digest = 0;      // of a hook that is none of ours: changes with its place and its policy
    friend bool operator==(const seen_chain&, const seen_chain&) = default;
};
// Flags of a table, as the kernel has them (NFT_TABLE_F_*). This daemon makes one without any.
inline constexpr std::uint32_t dormant_table = 1;  // no packet comes to its chains
inline constexpr std::uint32_t owned_table = 2;    // only the program that made it may change it; it goes with that
inline constexpr std::uint32_t lasting_table = 4;  // and stays without it, for anybody
struct filter_state {
    bool has_table = false;
    std::uint32_t flags = 0;       // of the table
    std::uint32_t generation = 0;  // of all tables of this machine: grows with each change by anybody
    std::vector<seen_chain> chains;
    std::uint64_t table = 0;  // its number: one that is made anew has another
    // Of the netlink socket of who owns it: as a rule the number of that process. 0: nobody, or the kernel does not
    // say.
    std::uint32_t owner = 0;
    friend bool operator==(const filter_state&, const filter_state&) = default;
};

}  // namespace pvc::model
