#include "pvcnoded/netlink/filter_replies.hpp"

#include "adapter/attributes.hpp"

#include <endian.h>

// Before the kernel's own headers, which define what is in these again where they do not know of them.
#include <net/if.h>
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::netlink {

namespace {

template <class T>
bool put_be32(T& field, std::string_view bytes) {
    std::uint32_t value = 0;
    const bool is_there = put<std::uint32_t>(value, bytes);
    field = static_cast<T>(be32toh(value));
    return is_there;
}

bool put_handle(std::uint64_t& field, std::string_view bytes) {
    std::uint64_t value = 0;
    const bool is_there = put<std::uint64_t>(value, bytes);
    field = be64toh(value);
    return is_there;
}

// FNV-1a.
void mix(std::uint64_t& digest, std::string_view bytes) {
    for (const char c : bytes) {
        digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    digest = (digest ^ bytes.size()) * 0x100000001b3U;
}

constexpr std::uint64_t digest_basis = 0xcbf29ce484222325U;

struct hook_parts {
    bool is_there = false;
    std::uint32_t number = 0;
    std::int32_t priority = 0;
    std::uint32_t policy = NF_ACCEPT;
    std::string type;
};

bool take_hook(hook_parts& to, std::string_view bytes) {
    to.is_there = true;
    return read_all(bytes, [&](const attribute& one) {
        switch (one.type) {
            case NFTA_HOOK_HOOKNUM: return put_be32(to.number, one.value);
            case NFTA_HOOK_PRIORITY: return put_be32(to.priority, one.value);
            default: return true;
        }
    });
}

std::uint64_t digest_of_hook(const hook_parts& parts) {
    std::uint64_t digest = digest_basis;
    mix(digest, parts.type);
    mix(digest, fmt::format("{} {} {}", parts.number, parts.priority, parts.policy));
    return digest;
}

model::filter_hook hook_of(const hook_parts& parts) {
    const bool may_be_ours =
        parts.is_there && parts.priority == 0 && parts.policy == NF_ACCEPT && parts.type == "filter";
    if (may_be_ours && parts.number == NF_INET_FORWARD) {
        return model::filter_hook::forward;
    }
    return may_be_ours && parts.number == NF_INET_LOCAL_IN ? model::filter_hook::input : model::filter_hook::none;
}

// The attributes behind the head; of another family there are none.
std::optional<std::string_view> inet_attributes(const nfgenmsg& head, std::string_view body) {
    if (head.nfgen_family != NFPROTO_INET) {
        return std::nullopt;
    }
    return body.substr(sizeof(nfgenmsg));
}

}  // namespace

std::string tag_entries(std::string_view tag) {
    const auto kept = tag.substr(0, tag_max);
    std::string entries;
    if (!kept.empty()) {
        entries = {static_cast<char>(tag_entry), static_cast<char>(kept.size())};
        entries += kept;
    }
    return entries;
}

std::string tag_in(std::string_view entries) {
    while (entries.size() >= 2) {
        const auto type = static_cast<std::uint8_t>(entries[0]);
        const auto size = static_cast<std::uint8_t>(entries[1]);
        if (entries.size() - 2 < size) {
            break;
        }
        if (type == tag_entry) {
            return size <= tag_max ? std::string(entries.substr(2, size)) : std::string();
        }
        entries.remove_prefix(2UL + size);
    }
    return {};
}

result<std::uint32_t> parse_generation(std::string_view body) {
    std::optional<std::uint32_t> generation;
    const bool is_well =
        body.size() >= sizeof(nfgenmsg) && read_all(body.substr(sizeof(nfgenmsg)), [&](const attribute& one) {
            return one.type != NFTA_GEN_ID || put_be32(generation.emplace(), one.value);
        });
    if (!is_well || !generation) {
        return malformed("a generation");
    }
    return *generation;
}

result<std::optional<told_table>> parse_filter_table(std::string_view body) {
    const auto head = read_as<nfgenmsg>(body);
    if (!head) {
        return malformed("a table");
    }
    const auto told = inet_attributes(*head, body);
    if (!told) {
        return std::nullopt;
    }
    std::string name;
    told_table table;
    const bool is_well = read_all(*told, [&](const attribute& one) {
        switch (one.type) {
            case NFTA_TABLE_NAME: return put_text(name, one.value);
            case NFTA_TABLE_FLAGS: return put_be32(table.flags, one.value);
            case NFTA_TABLE_HANDLE: return put_handle(table.number, one.value);
            case NFTA_TABLE_OWNER: return put_be32(table.owner, one.value);
            default: return true;
        }
    });
    if (!is_well || name.empty()) {
        return malformed("a table");
    }
    return name == filter_table ? std::optional(table) : std::nullopt;
}

result<std::optional<model::seen_chain>> parse_filter_chain(std::string_view body) {
    const auto head = read_as<nfgenmsg>(body);
    if (!head) {
        return malformed("a chain");
    }
    const auto told = inet_attributes(*head, body);
    if (!told) {
        return std::nullopt;
    }
    model::seen_chain chain;
    std::string table;
    hook_parts hook;
    const bool is_well = read_all(*told, [&](const attribute& one) {
        switch (one.type) {
            case NFTA_CHAIN_TABLE: return put_text(table, one.value);
            case NFTA_CHAIN_NAME: return put_text(chain.name, one.value);
            case NFTA_CHAIN_TYPE: return put_text(hook.type, one.value);
            case NFTA_CHAIN_POLICY: return put_be32(hook.policy, one.value);
            case NFTA_CHAIN_HOOK: return take_hook(hook, one.value);
            default: return true;
        }
    });
    if (!is_well || chain.name.empty()) {
        return malformed("a chain");
    }
    if (table != filter_table) {
        return std::nullopt;
    }
    chain.is_base = hook.is_there;
    chain.hook = hook_of(hook);
    if (chain.is_base && chain.hook == model::filter_hook::none) {
        chain.digest = digest_of_hook(hook);
    }
    return chain;
}

namespace {

// Of what an expression says, without what it has counted.
std::string_view without_counts(std::string_view name, std::string_view data, std::string& room) {
    constexpr std::uint32_t is_inverted = 1;  // NFT_QUOTA_F_INV; another bit says that it is used up
    if (name == "counter" || name == "last") {
        return {};
    }
    if (name != "quota") {
        return data;
    }
    std::uint32_t flags = 0;
    const bool is_well = read_all(data, [&](const attribute& one) {
        if (one.type == NFTA_QUOTA_BYTES) {
            room += one.value;
        }
        return one.type != NFTA_QUOTA_FLAGS || put_be32(flags, one.value);
    });
    room += (flags & is_inverted) != 0 ? "over" : "until";
    return is_well ? std::string_view(room) : data;
}

// Of all of it where it cannot be taken apart: that is no reason not to know the rule.
std::uint64_t digest_of(std::string_view expressions) {
    std::uint64_t digest = digest_basis;
    const bool is_well = read_all(expressions, [&](const attribute& element) {
        std::string name;
        std::string_view data;
        const bool is_whole = read_all(element.value, [&](const attribute& one) {
            switch (one.type) {
                case NFTA_EXPR_NAME: return put_text(name, one.value);
                case NFTA_EXPR_DATA: data = one.value; return true;
                default: return true;
            }
        });
        mix(digest, name);
        std::string room;
        mix(digest, without_counts(name, data, room));
        return is_whole;
    });
    if (!is_well) {
        digest = digest_basis;
        mix(digest, expressions);
    }
    return digest;
}

}  // namespace

result<std::optional<told_rule>> parse_filter_rule(std::string_view body) {
    const auto head = read_as<nfgenmsg>(body);
    if (!head) {
        return malformed("a rule");
    }
    const auto told = inet_attributes(*head, body);
    if (!told) {
        return std::nullopt;
    }
    told_rule rule;
    std::string table;
    const bool is_well = read_all(*told, [&](const attribute& one) {
        switch (one.type) {
            case NFTA_RULE_TABLE: return put_text(table, one.value);
            case NFTA_RULE_CHAIN: return put_text(rule.chain, one.value);
            case NFTA_RULE_HANDLE: return put_handle(rule.rule.handle, one.value);
            case NFTA_RULE_USERDATA: rule.rule.tag = tag_in(one.value); return true;
            case NFTA_RULE_EXPRESSIONS: rule.rule.digest = digest_of(one.value); return true;
            default: return true;
        }
    });
    if (!is_well || rule.chain.empty() || rule.rule.handle == 0) {
        return malformed("a rule");
    }
    if (table != filter_table) {
        return std::nullopt;
    }
    if (!rule.rule.tag.empty()) {
        rule.rule.digest = 0;
    }
    return rule;
}

}  // namespace pvc::netlink
