#include "pvcnoded/policy/networks/nft_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <variant>

namespace pvc::policy {

using namespace model;

namespace {

template <class Chain>
const Chain* find(const std::vector<Chain>& chains, std::string_view name) {
    const auto found = std::ranges::find(chains, name, &Chain::name);
    return found == chains.end() ? nullptr : &*found;
}

using chain_index = std::map<std::string_view, const wanted_chain*>;
chain_index index_of(const wanted_filter& wanted) {
    chain_index all;
    for (const auto& one : wanted.chains) {
        all.emplace(one.name, &one);
    }
    return all;
}

// What each rule says, by its tag, in the words of nft. The files have the rules of each chain in their order.
std::map<std::string_view, std::string_view> texts_of(const wanted_filter& wanted) {
    const auto chains = index_of(wanted);
    std::map<std::string_view, std::size_t> places;
    std::map<std::string_view, std::string_view> texts;
    for (const auto& file : wanted.files) {
        for (const auto& [name, text] : rules_in(file.text)) {
            const auto chain = chains.find(name);
            const std::size_t at = places[name]++;
            if (chain != chains.end() && at < chain->second->rules.size()) {
                texts.emplace(chain->second->rules[at].rule.tag, text);
            }
        }
    }
    return texts;
}

// The chains without what static files made, and each rule with its tag. False: something of theirs differs.
bool take_apart(filter_state& seen, const chain_index& wanted, const nft_marks& marks) {
    std::map<std::string_view, const seen_chain*> statics;
    for (const auto& one : marks.statics) {
        statics.emplace(one.name, &one);
    }
    for (auto& chain : seen.chains) {
        if (const auto found = statics.find(chain.name); found != statics.end()) {
            const auto& theirs = found->second->rules;
            const auto has_head_of = [&chain](const seen_chain& one) {
                return chain.hook == one.hook && chain.is_base == one.is_base && chain.digest == one.digest;
            };
            if (!has_head_of(*found->second) || chain.rules.size() < theirs.size() ||
                !std::equal(theirs.begin(), theirs.end(), chain.rules.begin())) {
                return false;
            }
            chain.rules.erase(chain.rules.begin(), chain.rules.begin() + static_cast<std::ptrdiff_t>(theirs.size()));
            statics.erase(found);
            if (const auto wish = wanted.find(chain.name); wish != wanted.end()) {
                chain.hook = wish->second->hook;
                chain.is_base = chain.hook != filter_hook::none;
            }
        }
        for (auto& rule : chain.rules) {
            const auto mark = marks.rules.find(rule.handle);
            if (rule.tag.empty() && mark != marks.rules.end() && mark->second.digest == rule.digest) {
                rule.tag = mark->second.tag;
            }
        }
    }
    return statics.empty();
}

// Behind the rules of static files, and without them.
void spare(std::vector<filter_change>& changes, const filter_state& seen, const nft_marks& marks) {
    std::vector<filter_change> all;
    for (auto& change : changes) {
        const auto* const flushed = std::get_if<flush_chain>(&change);
        auto* const added = std::get_if<add_rule>(&change);
        const auto& name = flushed != nullptr ? flushed->name : added != nullptr ? added->chain : "";
        const auto theirs = std::ranges::find(marks.statics, name, &seen_chain::name);
        if (theirs == marks.statics.end() || theirs->rules.empty()) {
            all.push_back(std::move(change));
            continue;
        }
        if (added != nullptr) {
            if (added->is_first) {
                added->is_first = false;
                added->behind = theirs->rules.back().handle;
            }
            all.push_back(std::move(change));
            continue;
        }
        for (const auto& rule : std::ranges::find(seen.chains, name, &seen_chain::name)->rules) {
            all.emplace_back(delete_rule{name, rule.handle});
        }
    }
    changes = std::move(all);
}

struct in_words {
    const std::map<std::string_view, std::string_view>& texts;  // by tag

    std::string operator()(const make_table& /*one*/) const { return "add table inet filter\n"; }
    std::string operator()(const delete_table& /*one*/) const { return "delete table inet filter\n"; }
    std::string operator()(const make_chain& one) const { return chain_text(one.name, one.hook); }
    std::string operator()(const flush_chain& one) const {
        return fmt::format("flush chain inet filter {}\n", one.name);
    }
    std::string operator()(const delete_chain& one) const {
        return fmt::format("delete chain inet filter {}\n", one.name);
    }
    std::string operator()(const add_rule& one) const {
        return fmt::format("{} rule inet filter {}{} {}\n", one.is_first ? "insert" : "add", one.chain,
                           one.behind == 0 ? "" : fmt::format(" handle {}", one.behind), texts.at(one.rule.tag));
    }
    std::string operator()(const delete_rule& one) const {
        return fmt::format("delete rule inet filter {} handle {}\n", one.chain, one.handle);
    }
};

}  // namespace

std::optional<nft_marks> marks_of(const wanted_filter& wanted, const filter_state& made,
                                  std::span<const std::string> static_chains) {
    nft_marks marks;
    const auto chains = index_of(wanted);
    std::size_t found = 0;
    for (const auto& chain : made.chains) {
        const auto at_name = chains.find(chain.name);
        const auto* const wish = at_name == chains.end() ? nullptr : at_name->second;
        const std::size_t own = wish == nullptr ? 0 : wish->rules.size();
        if (chain.rules.size() < own) {
            return std::nullopt;
        }
        const auto first = chain.rules.end() - static_cast<std::ptrdiff_t>(own);
        const bool is_networks_alone = wish != nullptr && first == chain.rules.begin() && chain.hook == wish->hook &&
                                       std::ranges::find(static_chains, chain.name) == static_chains.end();
        if (!is_networks_alone) {
            marks.statics.push_back(
                {chain.name, chain.hook, chain.is_base, {chain.rules.begin(), first}, chain.digest});
        }
        found += wish == nullptr ? 0 : 1;
        for (std::size_t at = 0; at < own; ++at) {
            const auto& rule = first[static_cast<std::ptrdiff_t>(at)];
            const auto& tag = wish->rules[at].rule.tag;
            if (rule.tag.empty()) {
                marks.rules.emplace(rule.handle, seen_rule{rule.handle, tag, rule.digest});
            } else if (rule.tag != tag) {
                return std::nullopt;
            }
        }
    }
    return made.has_table && made.flags == 0 && found == wanted.chains.size() ? std::optional(std::move(marks))
                                                                              : std::nullopt;
}

std::optional<filter_plan> plan_beside(const wanted_filter& wanted, const filter_state& seen, const nft_marks& marks) {
    filter_state own = seen;
    const auto chains = index_of(wanted);
    if (!take_apart(own, chains, marks)) {
        return std::nullopt;
    }
    // Of a chain of theirs in which a network that is gone had rules, these go, and no more.
    std::vector<filter_change> left;
    std::erase_if(own.chains, [&](const seen_chain& one) {
        const bool is_theirs = !chains.contains(one.name) && find(marks.statics, one.name) != nullptr;
        for (const auto& rule : is_theirs ? one.rules : std::vector<seen_rule>()) {
            left.emplace_back(delete_rule{one.name, rule.handle});
        }
        return is_theirs;
    });
    auto plan = plan_filter(wanted, own, false);
    spare(plan.changes, own, marks);
    std::ranges::move(left, std::back_inserter(plan.changes));
    return plan;
}

std::vector<std::string> for_nft(const filter_plan& plan) {
    std::vector<std::string> tags;
    for (const auto& one : plan.changes) {
        const auto* const added = std::get_if<add_rule>(&one);
        if (added != nullptr && added->rule.expressions.empty()) {
            tags.push_back(added->rule.tag);
        }
    }
    return tags;
}

std::string nft_text(const filter_plan& plan, const wanted_filter& wanted) {
    const auto texts = texts_of(wanted);
    std::string text;
    for (const auto& change : plan.changes) {
        text += std::visit(in_words{texts}, change);
    }
    return text;
}

}  // namespace pvc::policy
