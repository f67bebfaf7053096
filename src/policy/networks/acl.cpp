#include "pvcnoded/policy/networks/acl.hpp"

#include "acl_bits.hpp"
#include "acl_cursor.hpp"
#include "acl_names.hpp"
#include "acl_rule.hpp"
#include "acl_statements.hpp"
#include "acl_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::policy {

using namespace model;

namespace {

constexpr load_payload network_field(std::uint32_t offset, std::uint32_t length) {
    return {header::network, offset, length};
}

constexpr load_payload transport_field(std::uint32_t offset, std::uint32_t length) {
    return {header::transport, offset, length};
}

class acl_reader {
public:
    explicit acl_reader(acl_cursor& in) : in_(in) {}

    bool read() {
        while (!in_.is_end()) {
            if (is_decided_ && !in_.next().is_word("comment")) {
                return in_.fail("nothing behind the verdict but a comment");
            }
            if (!read_item()) {
                return false;
            }
        }
        return true;
    }

    acl_rule rule;

private:
    bool read_item() {
        if (in_.take_word("comment")) {
            return read_comment(in_);
        }
        if (in_.take_word("ip")) {
            return read_ip(false);
        }
        if (in_.take_word("ip6")) {
            return read_ip(true);
        }
        if (in_.take_word("icmp")) {
            return read_icmp(false);
        }
        if (in_.take_word("icmpv6")) {
            return read_icmp(true);
        }
        if (in_.take_word("ether")) {
            return read_ether();
        }
        if (in_.take_word("ct")) {
            return read_ct();
        }
        if (in_.take_word("meta")) {
            return read_meta();
        }
        for (const auto* without_meta : {"iifname", "oifname", "mark"}) {
            if (in_.next().is_word(without_meta)) {
                return read_meta();
            }
        }
        struct transport {
            std::string_view name;
            std::optional<std::uint8_t> protocol;
        };
        constexpr std::array<transport, 4> transports{
            {{"tcp", protocol_tcp}, {"udp", protocol_udp}, {"sctp", protocol_sctp}, {"th", std::nullopt}}};
        for (const auto& one : transports) {
            if (in_.take_word(one.name)) {
                return read_transport(one.protocol);
            }
        }
        switch (read_statement(in_, rule)) {
            case statement_outcome::read: return true;
            case statement_outcome::decided: is_decided_ = true; return true;
            case statement_outcome::failed: return false;
            case statement_outcome::unknown: break;
        }
        return in_.fail_beyond("a match, a statement or a verdict");
    }

    // [op] values; the match is added.
    bool read_match(filter_expression what, const value_kind& kind, acl_values& values, acl_operator& how) {
        how = read_operator(in_);
        if (in_.next().is_symbol("&") || in_.next().is_symbol("!")) {
            return in_.fail_beyond(kind.expected);
        }
        const auto begin = in_.next();
        return read_values(in_, kind, values) && rule.add_match(in_, begin, std::move(what), how, kind, values);
    }
    bool read_match(filter_expression what, const value_kind& kind) {
        acl_values values;
        auto how = acl_operator::none;
        return read_match(std::move(what), kind, values, how);
    }

    // Of a byte that says which protocol it is: what comes behind may need it.
    bool read_known_match(filter_expression what, const value_kind& kind) {
        acl_values values;
        auto how = acl_operator::none;
        if (!read_match(std::move(what), kind, values, how)) {
            return false;
        }
        if (how != acl_operator::none && how != acl_operator::equal) {
            return true;
        }
        std::optional<std::uint8_t> one;
        if (values.all.size() == 1) {
            if (!values.all.front().is_single()) {
                return true;
            }
            one = static_cast<std::uint8_t>(values.all.front().first.front());
        }
        if (kind.set == set_kind::netfilter_protocol) {
            rule.know_family(one);
        } else {
            rule.know_protocol(one);
        }
        return true;
    }

    bool read_ip(bool is_v6) {
        const auto begin = in_.next();
        constexpr std::uint32_t length_v4 = 4;
        constexpr std::uint32_t length_v6 = 16;
        const auto length = is_v6 ? length_v6 : length_v4;
        const bool is_source = in_.take_word("saddr");
        if (is_source || in_.take_word("daddr")) {
            const std::uint32_t first = is_v6 ? 8 : 12;
            return rule.need_family(is_v6 ? family_ip6 : family_ip4).is_none_at(in_, begin) &&
                   read_match(network_field(is_source ? first : first + length, length),
                              is_v6 ? ip6_addresses : ip4_addresses);
        }
        if (in_.take_word(is_v6 ? "nexthdr" : "protocol")) {
            return rule.need_family(is_v6 ? family_ip6 : family_ip4).is_none_at(in_, begin) &&
                   read_known_match(network_field(is_v6 ? 6 : 9, 1), protocols);
        }
        return in_.fail_beyond(is_v6 ? "saddr, daddr or nexthdr" : "saddr, daddr or protocol");
    }

    bool read_icmp(bool is_v6) {
        const auto begin = in_.next();
        if (!in_.take_word("type")) {
            return in_.fail_beyond("type");
        }
        return rule.need_icmp(is_v6).is_none_at(in_, begin) &&
               read_match(transport_field(0, 1), is_v6 ? icmp6_types : icmp_types);
    }

    bool read_ether() {
        constexpr std::uint32_t length = 6;
        const bool is_source = in_.take_word("saddr");
        if (!is_source && !in_.take_word("daddr")) {
            return in_.fail_beyond("saddr or daddr");
        }
        rule.need_ether();
        return read_match(load_payload{header::link, is_source ? length : 0, length}, ether_addresses);
    }

    bool read_ct() {
        if (!in_.take_word("state")) {
            return in_.fail_beyond("state");
        }
        return read_ct_state(in_, rule);
    }

    bool read_meta() {
        constexpr std::array<std::pair<std::string_view, meta_key>, 2> names{
            {{"iifname", meta_key::in_name}, {"oifname", meta_key::out_name}}};
        for (const auto& [word, key] : names) {
            if (in_.take_word(word)) {
                return read_match(load_meta{key}, interface_names);
            }
        }
        if (in_.take_word("mark")) {
            return read_match(load_meta{meta_key::mark}, marks);
        }
        if (in_.take_word("l4proto")) {
            return read_known_match(load_meta{meta_key::l4_protocol}, protocols);
        }
        if (in_.take_word("nfproto")) {
            return read_known_match(load_meta{meta_key::protocol}, netfilter_families);
        }
        return in_.fail_beyond("iifname, oifname, l4proto, nfproto or mark");
    }

    bool read_transport(std::optional<std::uint8_t> protocol) {
        const auto begin = in_.next();
        const auto conflict = [&] { return protocol ? rule.need_protocol(*protocol) : acl_conflict(); };
        const bool is_source = in_.take_word("sport");
        if (is_source || in_.take_word("dport")) {
            return conflict().is_none_at(in_, begin) && read_match(transport_field(is_source ? 0 : 2, 2), ports);
        }
        if (protocol == protocol_tcp && in_.take_word("flags")) {
            constexpr std::uint32_t flags_at = 13;
            return conflict().is_none_at(in_, begin) && read_tcp_flags(in_, rule, transport_field(flags_at, 1));
        }
        return in_.fail_beyond(protocol == protocol_tcp ? "sport, dport or flags" : "sport or dport");
    }

    acl_cursor& in_;
    bool is_decided_ = false;
};

// A loop through the chains of networks would make the kernel refuse a batch without naming a rule.
bool is_of_daemon(const acl_token& chain) {
    return chain.is != acl_token::kind::word || chain.text == "input" || chain.text == "forward" ||
           chain.text.starts_with("vxlan");
}

// Also behind what nft reads as a word of its own: "5:jump", "5jump". Only what begins as a name does is one word.
bool leads_on(const acl_token& token) {
    const auto& text = token.text;
    if (token.is != acl_token::kind::word || !(text.ends_with("jump") || text.ends_with("goto"))) {
        return false;
    }
    const bool is_name = is_letter(text.front()) && text.find_first_of(":*") == std::string_view::npos;
    return !is_name || text == "jump" || text == "goto";
}

// True: it leads to other chains, and that says all of it.
bool find_jumps(const std::vector<acl_token>& tokens, parsed_acl& parsed) {
    for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
        if (!leads_on(tokens[at])) {
            continue;
        }
        const auto& chain = tokens[at + 1];
        if (is_of_daemon(chain)) {
            parsed.problem = acl_problem(chain.at, "a chain of a file in static/", chain.text);
            parsed.is_beyond = false;
            return true;
        }
        parsed.chains.emplace_back(chain.text);
        if (parsed.problem.empty()) {
            parsed.problem =
                fmt::format("at {}: \"{}\" leads to a chain of static files", tokens[at].at, tokens[at].text);
            parsed.is_beyond = true;
        }
    }
    return !parsed.problem.empty();
}

}  // namespace

parsed_acl parse_acl(std::string_view text) {
    parsed_acl parsed;
    auto tokens = split_acl(text);
    if (!tokens.problem.empty()) {
        parsed.problem = std::move(tokens.problem);
        return parsed;
    }
    if (find_jumps(tokens.all, parsed)) {
        return parsed;
    }
    acl_cursor in(std::move(tokens.all));
    acl_reader reader(in);
    if (reader.read()) {
        parsed.ahead = std::move(reader.rule.ahead);
        parsed.body = std::move(reader.rule.body);
    } else {
        parsed.problem = in.problem();
        parsed.is_beyond = in.is_beyond();
    }
    return parsed;
}

}  // namespace pvc::policy
