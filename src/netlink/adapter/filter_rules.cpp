#include "adapter/filter_rules.hpp"

#include "adapter/filter_sets.hpp"
#include "pvcnoded/netlink/filter_replies.hpp"

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

// Before the kernel's own headers, which define what is in these again where they do not know of them.
#include <net/if.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <bit>

namespace pvc::netlink {

namespace {

// ---- expressions -------------------------------------------------------------------------------------------------

std::uint32_t number_of(model::meta_key key) {
    switch (key) {
        case model::meta_key::protocol: return NFT_META_NFPROTO;
        case model::meta_key::l4_protocol: return NFT_META_L4PROTO;
        case model::meta_key::mark: return NFT_META_MARK;
        case model::meta_key::in_name: return NFT_META_IIFNAME;
        case model::meta_key::out_name: return NFT_META_OIFNAME;
        case model::meta_key::in_type: return NFT_META_IIFTYPE;
    }
    return NFT_META_NFPROTO;
}

std::uint32_t number_of(model::header of) {
    switch (of) {
        case model::header::link: return NFT_PAYLOAD_LL_HEADER;
        case model::header::network: return NFT_PAYLOAD_NETWORK_HEADER;
        case model::header::transport: return NFT_PAYLOAD_TRANSPORT_HEADER;
    }
    return NFT_PAYLOAD_NETWORK_HEADER;
}

std::uint32_t number_of(model::comparison how) {
    switch (how) {
        case model::comparison::equal: return NFT_CMP_EQ;
        case model::comparison::unequal: return NFT_CMP_NEQ;
        case model::comparison::at_least: return NFT_CMP_GTE;
        case model::comparison::at_most: return NFT_CMP_LTE;
        case model::comparison::less: return NFT_CMP_LT;
        case model::comparison::more: return NFT_CMP_GT;
    }
    return NFT_CMP_EQ;
}

std::uint32_t number_of(model::filter_verdict what) {
    switch (what) {
        case model::filter_verdict::accept: return NF_ACCEPT;
        case model::filter_verdict::drop: return NF_DROP;
        case model::filter_verdict::return_to: return static_cast<std::uint32_t>(NFT_RETURN);
        case model::filter_verdict::jump: return static_cast<std::uint32_t>(NFT_JUMP);
        case model::filter_verdict::go_to: return static_cast<std::uint32_t>(NFT_GOTO);
    }
    return NF_DROP;
}

// Appends the expressions of one rule. What is greater the kernel tells by bytes, the first of them first: numbers of
// this machine are turned round in the register before they are compared so, and what follows in the rule with them.
class rule_writer {
public:
    rule_writer(rule_parts& to, std::uint32_t& next_set) : to_(to), next_set_(next_set) {}

    void operator()(const model::load_meta& one) {
        const bool is_number = one.key == model::meta_key::mark || one.key == model::meta_key::in_type;
        loads(is_number ? (one.key == model::meta_key::mark ? 4U : 2U) : 0U);
        nftnl_expr* const made = add("meta");
        nftnl_expr_set_u32(made, NFTNL_EXPR_META_KEY, number_of(one.key));
        nftnl_expr_set_u32(made, NFTNL_EXPR_META_DREG, NFT_REG_1);
    }
    void operator()(const model::load_payload& one) {
        loads(0);
        nftnl_expr* const made = add("payload");
        nftnl_expr_set_u32(made, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
        nftnl_expr_set_u32(made, NFTNL_EXPR_PAYLOAD_BASE, number_of(one.of));
        nftnl_expr_set_u32(made, NFTNL_EXPR_PAYLOAD_OFFSET, one.offset);
        nftnl_expr_set_u32(made, NFTNL_EXPR_PAYLOAD_LEN, one.length);
    }
    void operator()(const model::load_ct_state& /*one*/) {
        loads(4);
        nftnl_expr* const made = add("ct");
        nftnl_expr_set_u32(made, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
        nftnl_expr_set_u32(made, NFTNL_EXPR_CT_DREG, NFT_REG_1);
    }
    void operator()(const model::mask_bits& one) {
        const std::string mask = as_in_register(one.mask);
        const std::string nothing(mask.size(), '\0');
        nftnl_expr* const made = add("bitwise");
        nftnl_expr_set_u32(made, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
        nftnl_expr_set_u32(made, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
        nftnl_expr_set_u32(made, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
        nftnl_expr_set_u32(made, NFTNL_EXPR_BITWISE_LEN, static_cast<std::uint32_t>(mask.size()));
        set_bytes(made, NFTNL_EXPR_BITWISE_MASK, mask);
        set_bytes(made, NFTNL_EXPR_BITWISE_XOR, nothing);
    }
    void operator()(const model::compare& one) {
        if (one.how != model::comparison::equal && one.how != model::comparison::unequal) {
            needs_order();
        }
        nftnl_expr* const made = add("cmp");
        nftnl_expr_set_u32(made, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
        nftnl_expr_set_u32(made, NFTNL_EXPR_CMP_OP, number_of(one.how));
        set_bytes(made, NFTNL_EXPR_CMP_DATA, as_in_register(one.with));
    }
    void operator()(const model::in_range& one) {
        needs_order();
        nftnl_expr* const made = add("range");
        nftnl_expr_set_u32(made, NFTNL_EXPR_RANGE_SREG, NFT_REG_1);
        nftnl_expr_set_u32(made, NFTNL_EXPR_RANGE_OP, one.is_inverted ? NFT_RANGE_NEQ : NFT_RANGE_EQ);
        set_bytes(made, NFTNL_EXPR_RANGE_FROM_DATA, as_in_register(one.first));
        set_bytes(made, NFTNL_EXPR_RANGE_TO_DATA, as_in_register(one.last));
    }
    void operator()(const model::in_set& one) {
        if (is_interval(one)) {
            needs_order();
        }
        model::in_set turned = one;
        for (auto& each : turned.elements) {
            each = {as_in_register(each.first), as_in_register(each.last)};
        }
        const std::uint32_t number = ++next_set_;
        to_.sets.push_back(set_of(std::move(turned), number));
        nftnl_expr* const made = add("lookup");
        nftnl_expr_set_u32(made, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
        nftnl_expr_set_str(made, NFTNL_EXPR_LOOKUP_SET, anonymous_set);
        nftnl_expr_set_u32(made, NFTNL_EXPR_LOOKUP_SET_ID, number);
        if (one.is_inverted) {
            nftnl_expr_set_u32(made, NFTNL_EXPR_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
        }
    }
    void operator()(const model::limit_rate& one) {
        nftnl_expr* const made = add("limit");
        nftnl_expr_set_u64(made, NFTNL_EXPR_LIMIT_RATE, one.rate);
        nftnl_expr_set_u64(made, NFTNL_EXPR_LIMIT_UNIT, one.unit);
        nftnl_expr_set_u32(made, NFTNL_EXPR_LIMIT_BURST, one.burst);
        nftnl_expr_set_u32(made, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
        nftnl_expr_set_u32(made, NFTNL_EXPR_LIMIT_FLAGS, one.is_over ? NFT_LIMIT_F_INV : 0);
    }
    void operator()(const model::log_packet& one) {
        nftnl_expr* const made = add("log");
        if (!one.prefix.empty()) {
            nftnl_expr_set_str(made, NFTNL_EXPR_LOG_PREFIX, one.prefix.c_str());
        }
        if (one.level) {
            nftnl_expr_set_u32(made, NFTNL_EXPR_LOG_LEVEL, *one.level);
        }
    }
    void operator()(const model::reject_packet& one) {
        nftnl_expr* const made = add("reject");
        nftnl_expr_set_u32(made, NFTNL_EXPR_REJECT_TYPE, one.type);
        nftnl_expr_set_u8(made, NFTNL_EXPR_REJECT_CODE, one.code);
    }
    void operator()(const model::count_packet& /*one*/) {
        nftnl_expr* const made = add("counter");
        nftnl_expr_set_u64(made, NFTNL_EXPR_CTR_PACKETS, 0);
        nftnl_expr_set_u64(made, NFTNL_EXPR_CTR_BYTES, 0);
    }
    void operator()(const model::give_verdict& one) {
        nftnl_expr* const made = add("immediate");
        nftnl_expr_set_u32(made, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
        nftnl_expr_set_u32(made, NFTNL_EXPR_IMM_VERDICT, number_of(one.what));
        if (one.what == model::filter_verdict::jump || one.what == model::filter_verdict::go_to) {
            nftnl_expr_set_str(made, NFTNL_EXPR_IMM_CHAIN, one.chain.c_str());
        }
    }

private:
    nftnl_expr* add(const char* name) {
        nftnl_expr* const made = nftnl_expr_alloc(name);
        nftnl_rule_add_expr(to_.rule.get(), made);  // owns it from now on
        return made;
    }
    static void set_bytes(nftnl_expr* to, std::uint16_t type, const std::string& bytes) {
        nftnl_expr_set(to, type, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
    }
    void loads(std::uint32_t number_size) {
        number_size_ = number_size;
        is_turned_ = false;
    }
    void needs_order() {
        if (number_size_ == 0 || is_turned_ || std::endian::native == std::endian::big) {
            return;
        }
        nftnl_expr* const made = add("byteorder");
        nftnl_expr_set_u32(made, NFTNL_EXPR_BYTEORDER_SREG, NFT_REG_1);
        nftnl_expr_set_u32(made, NFTNL_EXPR_BYTEORDER_DREG, NFT_REG_1);
        nftnl_expr_set_u32(made, NFTNL_EXPR_BYTEORDER_OP, NFT_BYTEORDER_HTON);
        nftnl_expr_set_u32(made, NFTNL_EXPR_BYTEORDER_LEN, number_size_);
        nftnl_expr_set_u32(made, NFTNL_EXPR_BYTEORDER_SIZE, number_size_);
        is_turned_ = true;
    }
    [[nodiscard]] std::string as_in_register(std::string bytes) const {
        if (is_turned_) {
            std::ranges::reverse(bytes);
        }
        return bytes;
    }

    rule_parts& to_;
    std::uint32_t& next_set_;
    std::uint32_t number_size_ = 0;  // of this machine's number in the register; 0: it is as packets have it
    bool is_turned_ = false;
};

}  // namespace

void free_nftnl::operator()(const nftnl_rule* one) const {
    nftnl_rule_free(one);
}

rule_parts parts_of(const model::filter_rule& rule, std::uint32_t& next_set) {
    rule_parts parts;
    parts.rule.reset(nftnl_rule_alloc());
    nftnl_rule_set_str(parts.rule.get(), NFTNL_RULE_TABLE, std::string(filter_table).c_str());
    nftnl_rule_set_u32(parts.rule.get(), NFTNL_RULE_FAMILY, NFPROTO_INET);
    const std::string kept = tag_entries(rule.tag);
    if (!kept.empty()) {
        nftnl_rule_set_data(parts.rule.get(), NFTNL_RULE_USERDATA, kept.data(),
                            static_cast<std::uint32_t>(kept.size()));
    }
    rule_writer writer(parts, next_set);
    for (const auto& one : rule.expressions) {
        std::visit(writer, one);
    }
    return parts;
}

}  // namespace pvc::netlink
