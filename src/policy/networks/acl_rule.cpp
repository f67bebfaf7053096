#include "acl_rule.hpp"

#include <fmt/format.h>

namespace pvc::policy {

using namespace model;

namespace {

constexpr std::uint32_t ethernet = 1;  // ARPHRD_ETHER

std::string_view name_of(meta_key key, std::uint8_t value) {
    if (key == meta_key::protocol) {
        return value == family_ip4 ? "ip" : value == family_ip6 ? "ip6" : "another family";
    }
    switch (value) {
        case protocol_icmp: return "icmp";
        case protocol_tcp: return "tcp";
        case protocol_udp: return "udp";
        case protocol_icmp6: return "icmpv6";
        case protocol_sctp: return "sctp";
        default: return "another protocol";
    }
}

std::string one_byte(std::uint8_t value) {
    return std::string(1, static_cast<char>(value));
}

load_payload start_of(load_payload what, std::size_t length) {
    what.length = static_cast<std::uint32_t>(length);
    return what;
}

}  // namespace

acl_conflict acl_rule::need(known& what, meta_key key, std::uint8_t wanted, expressions& to) {
    const auto conflict = [&](std::string_view with) {
        return fmt::format("{} conflicts with {}, which is asked for before", name_of(key, wanted), with);
    };
    if (what.value == wanted && !what.other && !what.is_one_of_several) {
        return {};
    }
    if (what.value && (what.value != wanted || what.other)) {
        return {conflict(name_of(key, what.value != wanted ? *what.value : *what.other)), false};
    }
    if (what.is_one_of_several) {
        return {conflict("a choice of several"), !what.value};
    }
    to.emplace_back(load_meta{key});
    to.emplace_back(compare{comparison::equal, one_byte(wanted)});
    what.value = wanted;
    return {};
}

acl_conflict acl_rule::need_family(std::uint8_t family) {
    return need(family_, meta_key::protocol, family, body);
}

acl_conflict acl_rule::need_protocol(std::uint8_t protocol) {
    return need(protocol_, meta_key::l4_protocol, protocol, body);
}

acl_conflict acl_rule::need_icmp(bool is_v6) {
    const bool is_asked = protocol_.value || protocol_.is_one_of_several;
    if (!is_asked && !family_.value && !family_.is_one_of_several) {
        if (auto conflict = need_family(is_v6 ? family_ip6 : family_ip4); !conflict.why.empty()) {
            return conflict;
        }
    }
    return need_protocol(is_v6 ? protocol_icmp6 : protocol_icmp);
}

acl_conflict acl_rule::need_ahead(std::optional<std::uint8_t> family, std::optional<std::uint8_t> protocol) {
    if (family) {
        return need(family_, meta_key::protocol, *family, ahead);
    }
    return protocol ? need(protocol_, meta_key::l4_protocol, *protocol, ahead) : acl_conflict();
}

void acl_rule::know_protocol(std::optional<std::uint8_t> value) {
    if (protocol_.value && value && protocol_.value != value) {
        protocol_.other = protocol_.value;
    }
    protocol_.value = value;
    protocol_.is_one_of_several = protocol_.is_one_of_several || !value;
}

void acl_rule::need_ether() {
    if (!is_ether_) {
        const std::uint16_t type = ethernet;
        add(load_meta{meta_key::in_type});
        add(compare{comparison::equal, std::string(reinterpret_cast<const char*>(&type), sizeof type)});
        is_ether_ = true;
    }
}

void acl_rule::add_bits(loaded what, std::string mask, comparison how, std::string with) {
    add(std::move(what));
    add(mask_bits{std::move(mask)});
    add(compare{how, std::move(with)});
}

bool acl_rule::add_single(acl_cursor& in, const acl_token& begin, loaded what, acl_operator how,
                          const acl_value& value) {
    const bool is_unequal = how == acl_operator::unequal;
    const auto equality = is_unequal ? comparison::unequal : comparison::equal;
    if (value.is_range) {
        add(std::move(what));
        if (is_unequal) {
            add(in_range{true, value.first, value.last});
        } else {
            add(compare{comparison::at_least, value.first});
            add(compare{comparison::at_most, value.last});
        }
        return true;
    }
    if (!value.mask.empty()) {
        // As nft: of whole bytes that many are loaded.
        const auto bytes = value.mask.find_first_not_of('\xFF');
        auto* const payload = std::get_if<load_payload>(&what);
        if (payload != nullptr && bytes > 0 && value.mask.find_first_not_of('\0', bytes) == std::string::npos) {
            add(start_of(*payload, bytes));
            add(compare{equality, value.first.substr(0, bytes)});
        } else {
            add_bits(std::move(what), value.mask, equality, value.first);
        }
        return true;
    }
    auto comparing = equality;
    bool may_match = true;
    switch (how) {
        case acl_operator::less:
            comparing = comparison::less;
            may_match = value.first.find_first_not_of('\0') != std::string::npos;
            break;
        case acl_operator::at_most: comparing = comparison::at_most; break;
        case acl_operator::more:
            comparing = comparison::more;
            may_match = value.first.find_first_not_of('\xFF') != std::string::npos;
            break;
        case acl_operator::at_least: comparing = comparison::at_least; break;
        case acl_operator::none:
        case acl_operator::equal:
        case acl_operator::unequal: break;
    }
    if (!may_match) {
        return in.fail_beyond_at(
            begin, how == acl_operator::less ? "more than the least value" : "less than the largest value");
    }
    add(std::move(what));
    add(compare{comparing, value.first});
    return true;
}

bool acl_rule::add_match(acl_cursor& in, const acl_token& begin, loaded what, acl_operator how, const value_kind& kind,
                         const acl_values& values) {
    const bool has_one = values.all.size() == 1;
    const bool is_equality = how == acl_operator::none || how == acl_operator::equal || how == acl_operator::unequal;
    if (!is_equality && !kind.has_order) {
        return in.fail_beyond_at(begin, "\"==\" or \"!=\"");
    }
    if (!is_equality && (!has_one || !values.all.front().is_single())) {
        return in.fail_at(begin, "a single value behind \"<\" or \">\"");
    }
    if (has_one) {
        return add_single(in, begin, std::move(what), how, values.all.front());
    }
    for (const auto& one : values.all) {
        if (one.is_start) {
            return in.fail_beyond_at(begin, "whole names in a set");
        }
    }
    add(std::move(what));
    add(set_of(kind, values, how == acl_operator::unequal));
    return true;
}

}  // namespace pvc::policy
