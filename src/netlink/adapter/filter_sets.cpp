#include "adapter/filter_sets.hpp"

#include "pvcnoded/netlink/filter_replies.hpp"

#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <libnftnl/udata.h>

// Before the kernel's own headers, which define what is in these again where they do not know of them.
#include <net/if.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>

namespace pvc::netlink {

namespace {

using model::set_kind;

// Elements in one message: the attribute that holds them has a length of 16 bits, each takes at most 40 bytes.
constexpr std::size_t elements_max = 1000;

// The kernel keeps the type for nft, whose numbers these are; also in which order of bytes nft shows its values.
struct kind_facts {
    set_kind kind;
    std::uint32_t type;
    std::uint32_t size;
    bool is_of_machine;
};
constexpr std::array kinds{
    kind_facts{set_kind::ip4_address, 7, 4, false},     kind_facts{set_kind::ip6_address, 8, 16, false},
    kind_facts{set_kind::ether_address, 9, 6, false},   kind_facts{set_kind::protocol_number, 12, 1, false},
    kind_facts{set_kind::port, 13, 2, false},           kind_facts{set_kind::icmp_type, 14, 1, false},
    kind_facts{set_kind::icmp6_type, 29, 1, false},     kind_facts{set_kind::mark, 19, 4, true},
    kind_facts{set_kind::interface_name, 41, 16, true}, kind_facts{set_kind::netfilter_protocol, 2, 1, true},
    kind_facts{set_kind::ct_state, 26, 4, true},
};

const kind_facts& facts_of(set_kind kind) {
    return *std::ranges::find(kinds, kind, &kind_facts::kind);
}

// One more, as packets count; false: there is no greater value.
bool step(std::string& value) {
    for (auto at = value.rbegin(); at != value.rend(); ++at) {
        *at = static_cast<char>(static_cast<unsigned char>(*at) + 1);
        if (*at != 0) {
            return true;
        }
    }
    return false;
}

struct key {
    std::string value;
    bool is_end = false;  // what is from here on is not in the set
};

// An interval is told by its first value and by the one behind its last. Neighbours are one, as nft tells them, and
// what is below the first of all is told too.
std::vector<key> interval_keys(const std::vector<model::set_element>& elements) {
    std::vector<key> keys;
    for (const auto& one : elements) {
        if (!keys.empty() && keys.back().is_end && keys.back().value == one.first) {
            keys.pop_back();
        } else {
            if (keys.empty() && one.first.find_first_not_of('\0') != std::string::npos) {
                keys.push_back({std::string(one.first.size(), '\0'), true});
            }
            keys.push_back({one.first});
        }
        std::string behind = one.last;
        if (step(behind)) {
            keys.push_back({std::move(behind), true});
        }
    }
    return keys;
}

std::vector<key> single_keys(const std::vector<model::set_element>& elements) {
    std::vector<key> keys;
    keys.reserve(elements.size());
    for (const auto& one : elements) {
        keys.push_back({one.first});
    }
    return keys;
}

kernel_set named_set(std::uint32_t number) {
    kernel_set made(nftnl_set_alloc());
    nftnl_set_set_str(made.get(), NFTNL_SET_TABLE, std::string(filter_table).c_str());
    nftnl_set_set_str(made.get(), NFTNL_SET_NAME, anonymous_set);
    nftnl_set_set_u32(made.get(), NFTNL_SET_ID, number);
    nftnl_set_set_u32(made.get(), NFTNL_SET_FAMILY, NFPROTO_INET);
    return made;
}

// As nft writes it beside its own sets: which order of bytes the values have (1: of the machine, 2: of packets).
void tell_order(nftnl_set* set, bool is_of_machine) {
    struct nftnl_udata_buf* const entries = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);
    nftnl_udata_put_u32(entries, NFTNL_UDATA_SET_KEYBYTEORDER, is_of_machine ? 1 : 2);
    nftnl_set_set_data(set, NFTNL_SET_USERDATA, nftnl_udata_buf_data(entries), nftnl_udata_buf_len(entries));
    nftnl_udata_buf_free(entries);
}

}  // namespace

void free_nftnl::operator()(const nftnl_set* one) const {
    nftnl_set_free(one);
}

std::size_t key_size(set_kind kind) {
    return facts_of(kind).size;
}

bool is_interval(const model::in_set& set) {
    return set.is_interval || std::ranges::any_of(set.elements, [](const auto& one) { return one.first != one.last; });
}

rule_set set_of(model::in_set set, std::uint32_t number) {
    const auto& facts = facts_of(set.kind);
    for (auto& one : set.elements) {  // names of interfaces end with zeros
        one.first.resize(facts.size);
        one.last.resize(facts.size);
    }
    const bool has_intervals = is_interval(set);
    const auto keys = has_intervals ? interval_keys(set.elements) : single_keys(set.elements);
    rule_set parts;
    parts.made = named_set(number);
    nftnl_set_set_u32(parts.made.get(), NFTNL_SET_FLAGS,
                      NFT_SET_ANONYMOUS | NFT_SET_CONSTANT | (has_intervals ? NFT_SET_INTERVAL : 0U));
    nftnl_set_set_u32(parts.made.get(), NFTNL_SET_KEY_TYPE, facts.type);
    nftnl_set_set_u32(parts.made.get(), NFTNL_SET_KEY_LEN, facts.size);
    nftnl_set_set_u32(parts.made.get(), NFTNL_SET_DESC_SIZE, static_cast<std::uint32_t>(keys.size()));
    tell_order(parts.made.get(), facts.is_of_machine);
    for (std::size_t at = 0; at < keys.size(); ++at) {
        if (at % elements_max == 0) {
            parts.elements.push_back(named_set(number));
        }
        nftnl_set_elem* const made = nftnl_set_elem_alloc();
        nftnl_set_elem_set(made, NFTNL_SET_ELEM_KEY, keys[at].value.data(),
                           static_cast<std::uint32_t>(keys[at].value.size()));
        if (keys[at].is_end) {
            nftnl_set_elem_set_u32(made, NFTNL_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
        }
        nftnl_set_elem_add(parts.elements.back().get(), made);  // owns it from now on
    }
    return parts;
}

}  // namespace pvc::netlink
