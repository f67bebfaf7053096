#include "acl_bits.hpp"

#include "acl_names.hpp"
#include "acl_values.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::policy {

using namespace model;

namespace {

struct bit_kind {
    filter_expression what;
    std::optional<std::uint32_t> (*find)(std::string_view name) = nullptr;
    std::string_view expected;
    std::uint32_t most = 0;
    std::string (*bytes)(std::uint32_t number) = nullptr;
    bool has_sets = false;   // in_set knows its kind
    bool has_slash = false;  // "syn / syn,ack": these of those
};

// Bits as a list is written: the operator that joins them.
struct bit_list {
    std::uint32_t bits = 0;
    std::string_view joined_by;  // empty: one
    bool is_in_parentheses = false;
};

class bit_reader {
public:
    bit_reader(acl_cursor& in, acl_rule& rule, const bit_kind& kind) : in_(in), rule_(rule), kind_(kind) {}

    // new · == new · != new,established · ! new · { new, related } · & (syn|ack) == syn · syn / syn,ack
    bool read() {
        if (in_.take_symbol("&")) {
            return read_masked();
        }
        bit_list list;
        if (in_.take_symbol("!")) {
            if (!read_list(list)) {
                return false;
            }
            rule_.add_bits(kind_.what, kind_.bytes(list.bits), comparison::equal, kind_.bytes(0));
            return true;
        }
        const auto begin = in_.next();
        const auto how = read_operator(in_);
        if (how != acl_operator::none && how != acl_operator::equal && how != acl_operator::unequal) {
            return in_.fail_beyond_at(begin, "\"==\", \"!=\", \"!\" or \"&\"");
        }
        if (in_.next().is_symbol("{")) {
            return read_set(how);
        }
        if (!read_list(list)) {
            return false;
        }
        if (kind_.has_slash && in_.is_word() && in_.next().text.starts_with('/')) {
            return read_slash(list, how);
        }
        add(list.bits, how);
        return true;
    }

private:
    void add(std::uint32_t bits, acl_operator how) {
        if (how == acl_operator::none) {
            rule_.add_bits(kind_.what, kind_.bytes(bits), comparison::unequal, kind_.bytes(0));
            return;
        }
        rule_.add(kind_.what);
        rule_.add(compare{how == acl_operator::equal ? comparison::equal : comparison::unequal, kind_.bytes(bits)});
    }

    bool read_bit(std::uint32_t& bits) {
        const auto token = in_.next();
        if (token.is != acl_token::kind::word && token.is != acl_token::kind::quoted) {
            return in_.fail_missing(kind_.expected);
        }
        std::optional<std::uint64_t> number = kind_.find(token.text);
        number = number ? number : number_of(token.text, kind_.most);
        if (!number) {
            return in_.fail_missing(kind_.expected);
        }
        in_.take();
        bits |= static_cast<std::uint32_t>(*number);
        return true;
    }

    bool read_list(bit_list& list) {
        list.is_in_parentheses = in_.take_symbol("(");
        if (!read_bit(list.bits)) {
            return false;
        }
        list.joined_by = in_.next().is_symbol("|")                              ? "|"
                         : in_.next().is_symbol(",") && !list.is_in_parentheses ? ","
                                                                                : "";
        while (!list.joined_by.empty() && in_.take_symbol(list.joined_by)) {
            if (!read_bit(list.bits)) {
                return false;
            }
        }
        if (in_.next().is_symbol("|") || in_.next().is_symbol(",")) {
            return in_.fail_beyond("one way to join them");
        }
        return !list.is_in_parentheses || in_.take_symbol(")") || in_.fail_missing("\")\"");
    }

    bool read_masked() {
        const auto begin = in_.next();
        bit_list mask;
        if (!read_list(mask)) {
            return false;
        }
        // Without parentheses nft takes "a & b | c" as "(a & b) | c".
        if (!mask.is_in_parentheses && !mask.joined_by.empty()) {
            return in_.fail_beyond_at(begin, "parentheses around what follows \"&\"");
        }
        const auto how = read_operator(in_);
        if (how != acl_operator::equal && how != acl_operator::unequal) {
            return in_.fail_beyond("\"==\" or \"!=\"");
        }
        if (in_.next().is_symbol("{")) {
            return in_.fail_beyond(kind_.expected);
        }
        bit_list list;
        if (!read_list(list)) {
            return false;
        }
        rule_.add_bits(kind_.what, kind_.bytes(mask.bits),
                       how == acl_operator::equal ? comparison::equal : comparison::unequal, kind_.bytes(list.bits));
        return true;
    }

    bool read_slash(const bit_list& list, acl_operator how) {
        const auto slash = in_.take();
        bit_list mask;
        if (slash.text != "/" || !read_list(mask) || mask.joined_by != "," || list.joined_by == "|" ||
            list.is_in_parentheses) {
            return in_.fail_beyond_at(slash, "two lists with commas around \" / \"");
        }
        rule_.add_bits(kind_.what, kind_.bytes(mask.bits),
                       how == acl_operator::unequal ? comparison::unequal : comparison::equal, kind_.bytes(list.bits));
        return true;
    }

    bool read_set(acl_operator how) {
        const auto begin = in_.take();
        acl_values values;
        do {
            std::uint32_t bits = 0;
            if (!read_bit(bits)) {
                return false;
            }
            acl_value value;
            value.first = value.last = kind_.bytes(bits);
            values.all.push_back(value);
            last_ = bits;
            if (in_.take_symbol("}")) {
                break;
            }
            if (!in_.take_symbol(",")) {
                return in_.fail_missing("\",\" or \"}\"");
            }
        } while (!in_.take_symbol("}"));
        if (values.all.size() == 1) {
            add(last_, how);
            return true;
        }
        if (!kind_.has_sets) {
            return in_.fail_beyond_at(begin, "a list without braces");
        }
        rule_.add(kind_.what);
        value_kind kind;
        kind.set = set_kind::ct_state;
        rule_.add(set_of(kind, values, how == acl_operator::unequal));
        return true;
    }

    acl_cursor& in_;
    acl_rule& rule_;
    const bit_kind& kind_;
    std::uint32_t last_ = 0;
};

std::string one_byte(std::uint32_t number) {
    return network_bytes(number, 1);
}

}  // namespace

bool read_ct_state(acl_cursor& in, acl_rule& rule) {
    constexpr std::uint32_t most = 0xFFFFFFFF;
    const bit_kind kind{
        load_ct_state{}, ct_state_of, "new, established, related, invalid or untracked", most, host_bytes, true, false};
    return bit_reader(in, rule, kind).read();
}

bool read_tcp_flags(acl_cursor& in, acl_rule& rule, const load_payload& field) {
    constexpr std::uint32_t most = 0xFF;
    const bit_kind kind{field, tcp_flag_of, "fin, syn, rst, psh, ack, urg, ecn or cwr", most, one_byte, false, true};
    return bit_reader(in, rule, kind).read();
}

}  // namespace pvc::policy
