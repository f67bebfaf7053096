#include "adapter/filter_messages.hpp"

#include "adapter/filter_rules.hpp"
#include "pvcnoded/netlink/filter_replies.hpp"

#include <endian.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

// Before the kernel's own headers, which define what is in these again where they do not know of them.
#include <net/if.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <cstring>
#include <memory>

namespace pvc::netlink {

namespace {

// Any one message fits: see the limits of filter_rules.cpp and filter_sets.cpp.
constexpr std::size_t message_max = 64UL * 1024;

struct free_parts {
    void operator()(const nftnl_table* one) const { nftnl_table_free(one); }
    void operator()(const nftnl_chain* one) const { nftnl_chain_free(one); }
};
using kernel_table = std::unique_ptr<nftnl_table, free_parts>;
using kernel_chain = std::unique_ptr<nftnl_chain, free_parts>;

const std::string table_name(filter_table);

kernel_table own_table() {
    kernel_table made(nftnl_table_alloc());
    nftnl_table_set_str(made.get(), NFTNL_TABLE_NAME, table_name.c_str());
    return made;
}

kernel_chain own_chain(const std::string& name) {
    kernel_chain made(nftnl_chain_alloc());
    nftnl_chain_set_str(made.get(), NFTNL_CHAIN_TABLE, table_name.c_str());
    nftnl_chain_set_str(made.get(), NFTNL_CHAIN_NAME, name.c_str());
    return made;
}

// The messages one behind the other, each made in the same piece of memory.
class writer {
public:
    writer() : scratch_(message_max) {}

    template <class Body>
    void message(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, Body body) {
        nlmsghdr* const head = nftnl_nlmsg_build_hdr(scratch_.data(), type, NFPROTO_INET, flags, sequence);
        body(head);
        append(head);
    }
    void begin(std::optional<std::uint32_t> generation) {
        nlmsghdr* const head = nftnl_batch_begin(scratch_.data(), batch_sequence);
        if (generation) {
            mnl_attr_put_u32(head, NFNL_BATCH_GENID, htobe32(*generation));
        }
        append(head);
    }
    void end(std::uint32_t sequence) { append(nftnl_batch_end(scratch_.data(), sequence)); }
    // Asks for an answer to the message that was written last.
    void ask_for_answer() {
        nlmsghdr head{};
        std::memcpy(&head, text_.data() + last_, sizeof head);
        head.nlmsg_flags |= NLM_F_ACK;
        std::memcpy(text_.data() + last_, &head, sizeof head);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    void append(const nlmsghdr* head) {
        last_ = text_.size();
        text_.append(scratch_.data(), head->nlmsg_len);
        text_.resize(last_ + MNL_ALIGN(head->nlmsg_len));
    }

    std::vector<char> scratch_;
    std::string text_;
    std::size_t last_ = 0;
};

class change_writer {
public:
    explicit change_writer(writer& to) : to_(to) {}
    std::uint32_t sequence = first_change_sequence;

    void operator()(const model::make_table& /*one*/) { table(NFT_MSG_NEWTABLE, NLM_F_CREATE); }
    void operator()(const model::delete_table& /*one*/) { table(NFT_MSG_DELTABLE, 0); }
    void operator()(const model::make_chain& one) {
        const auto made = own_chain(one.name);
        if (one.hook != model::filter_hook::none) {
            const bool is_input = one.hook == model::filter_hook::input;
            nftnl_chain_set_str(made.get(), NFTNL_CHAIN_TYPE, "filter");
            nftnl_chain_set_u32(made.get(), NFTNL_CHAIN_HOOKNUM, is_input ? NF_INET_LOCAL_IN : NF_INET_FORWARD);
            nftnl_chain_set_s32(made.get(), NFTNL_CHAIN_PRIO, 0);
            nftnl_chain_set_u32(made.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
        }
        chain(NFT_MSG_NEWCHAIN, NLM_F_CREATE, made);
    }
    void operator()(const model::flush_chain& one) { delete_rules(one.name, 0); }
    void operator()(const model::delete_chain& one) { chain(NFT_MSG_DELCHAIN, 0, own_chain(one.name)); }
    void operator()(const model::add_rule& one) {
        const auto parts = parts_of(one.rule, next_set_);
        for (const auto& set : parts.sets) {
            to_.message(NFT_MSG_NEWSET, NLM_F_CREATE, sequence,
                        [&](nlmsghdr* head) { nftnl_set_nlmsg_build_payload(head, set.made.get()); });
            for (const auto& elements : set.elements) {
                to_.message(NFT_MSG_NEWSETELEM, NLM_F_CREATE, sequence,
                            [&](nlmsghdr* head) { nftnl_set_elems_nlmsg_build_payload(head, elements.get()); });
            }
        }
        nftnl_rule_set_str(parts.rule.get(), NFTNL_RULE_CHAIN, one.chain.c_str());
        if (one.behind != 0) {
            nftnl_rule_set_u64(parts.rule.get(), NFTNL_RULE_POSITION, one.behind);
        }
        const bool is_behind = one.behind != 0 || !one.is_first;
        to_.message(NFT_MSG_NEWRULE, NLM_F_CREATE | (is_behind ? NLM_F_APPEND : 0), sequence,
                    [&](nlmsghdr* head) { nftnl_rule_nlmsg_build_payload(head, parts.rule.get()); });
    }
    void operator()(const model::delete_rule& one) { delete_rules(one.chain, one.handle); }

private:
    void table(std::uint16_t type, int flags) {
        const auto made = own_table();
        to_.message(type, static_cast<std::uint16_t>(flags), sequence,
                    [&](nlmsghdr* head) { nftnl_table_nlmsg_build_payload(head, made.get()); });
    }
    void chain(std::uint16_t type, int flags, const kernel_chain& made) {
        to_.message(type, static_cast<std::uint16_t>(flags), sequence,
                    [&](nlmsghdr* head) { nftnl_chain_nlmsg_build_payload(head, made.get()); });
    }
    // Handle 0: all of the chain.
    void delete_rules(const std::string& chain, std::uint64_t handle) {
        const kernel_rule made(nftnl_rule_alloc());
        nftnl_rule_set_str(made.get(), NFTNL_RULE_TABLE, table_name.c_str());
        nftnl_rule_set_str(made.get(), NFTNL_RULE_CHAIN, chain.c_str());
        if (handle != 0) {
            nftnl_rule_set_u64(made.get(), NFTNL_RULE_HANDLE, handle);
        }
        to_.message(NFT_MSG_DELRULE, 0, sequence,
                    [&](nlmsghdr* head) { nftnl_rule_nlmsg_build_payload(head, made.get()); });
    }

    writer& to_;
    std::uint32_t next_set_ = 0;
};

template <class Body>
std::string question(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, Body body) {
    writer to;
    to.message(type, flags, sequence, body);
    return to.take();
}

}  // namespace

std::string batch_message(const std::vector<model::filter_change>& changes, std::optional<std::uint32_t> generation) {
    writer to;
    to.begin(generation);
    change_writer each(to);
    for (const auto& one : changes) {
        std::visit(each, one);
        ++each.sequence;
    }
    to.ask_for_answer();
    to.end(each.sequence);
    return to.take();
}

std::string empty_batch_message() {
    writer to;
    to.begin(std::nullopt);
    to.end(first_change_sequence);
    return to.take();
}

std::string get_generation_message(std::uint32_t sequence) {
    return question(NFT_MSG_GETGEN, NLM_F_ACK, sequence, [](nlmsghdr* /*head*/) {});
}

std::string get_table_message(std::uint32_t sequence) {
    return question(NFT_MSG_GETTABLE, NLM_F_ACK, sequence,
                    [](nlmsghdr* head) { nftnl_table_nlmsg_build_payload(head, own_table().get()); });
}

std::string dump_chains_message(std::uint32_t sequence) {
    return question(NFT_MSG_GETCHAIN, NLM_F_DUMP, sequence, [](nlmsghdr* /*head*/) {});
}

std::string dump_all_rules_message(std::uint32_t sequence) {
    return question(NFT_MSG_GETRULE, NLM_F_DUMP, sequence, [](nlmsghdr* head) {
        static_cast<nfgenmsg*>(mnl_nlmsg_get_payload(head))->nfgen_family = NFPROTO_UNSPEC;
    });
}

std::string dump_rules_message(std::uint32_t sequence) {
    return question(NFT_MSG_GETRULE, NLM_F_DUMP, sequence,
                    [](nlmsghdr* head) { mnl_attr_put_strz(head, NFTA_RULE_TABLE, table_name.c_str()); });
}

}  // namespace pvc::netlink
