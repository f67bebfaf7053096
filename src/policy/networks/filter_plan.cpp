#include "pvcnoded/policy/networks/filter_plan.hpp"

#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/model/client_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

namespace pvc::policy {

using namespace model;

namespace {

using seen_chains = std::map<std::string_view, const seen_chain*>;

bool has_its_hook(const wanted_chain& wanted, const seen_chain& seen) {
    return seen.hook == wanted.hook && seen.is_base == (wanted.hook != filter_hook::none);
}

// Another one's, or changed in a way that no change of ours leads out of.
bool is_beyond_repair(const wanted_filter& wanted, const filter_state& seen, const seen_chains& by_name) {
    if (!seen.has_table || seen.flags != 0) {
        return true;
    }
    for (const auto& chain : wanted.chains) {
        const auto found = by_name.find(chain.name);
        if (found != by_name.end() && !has_its_hook(chain, *found->second)) {
            return true;
        }
    }
    bool has_rules = false;
    for (const auto& chain : seen.chains) {
        has_rules = has_rules || !chain.rules.empty();
        if (std::ranges::any_of(chain.rules, [](const seen_rule& one) { return is_own_tag(one.tag); })) {
            return false;
        }
    }
    return has_rules;
}

// For each wanted rule the handle of the seen one that stays, or 0. Those stay that stand in one order here and there,
// as many as possible: of the seen rules, by their place in what is wanted, the longest sequence that grows.
std::vector<std::uint64_t> kept_rules(const wanted_chain& wanted, const seen_chain& seen) {
    std::map<std::string_view, std::size_t> places;
    for (std::size_t at = 0; at < wanted.rules.size(); ++at) {
        places.emplace(wanted.rules[at].rule.tag, at);
    }
    struct candidate {
        std::size_t place;
        std::uint64_t handle;
        std::optional<std::size_t> before;  // in `all`
    };
    std::vector<candidate> all;
    std::vector<std::size_t> ends;  // in `all`: where the sequence of each length ends, with the lowest place
    for (const auto& one : seen.rules) {
        const auto place = places.find(one.tag);
        if (one.tag.empty() || place == places.end()) {
            continue;
        }
        const auto end =
            std::ranges::lower_bound(ends, place->second, {}, [&](std::size_t at) { return all[at].place; });
        all.push_back({place->second, one.handle,
                       end == ends.begin() ? std::nullopt : std::optional<std::size_t>(*std::prev(end))});
        if (end == ends.end()) {
            ends.push_back(all.size() - 1);
        } else {
            *end = all.size() - 1;
        }
    }
    std::vector<std::uint64_t> kept(wanted.rules.size(), 0);
    for (auto at = ends.empty() ? std::nullopt : std::optional(ends.back()); at; at = all[*at].before) {
        kept[all[*at].place] = all[*at].handle;
    }
    return kept;
}

void remove_others(std::vector<filter_change>& to, const seen_chain& seen, std::vector<std::uint64_t> kept) {
    if (is_planted(defect::filter_rule_kept) && seen.hook == filter_hook::input) {
        return;
    }
    std::erase(kept, 0U);
    if (kept.empty() && !seen.rules.empty()) {
        to.emplace_back(flush_chain{seen.name});
        return;
    }
    std::ranges::sort(kept);
    for (const auto& one : seen.rules) {
        if (!std::ranges::binary_search(kept, one.handle)) {
            to.emplace_back(delete_rule{seen.name, one.handle});
        }
    }
}

// Those that are missing, in groups between those that stay.
void add_missing(std::vector<filter_change>& to, const wanted_chain& wanted, const std::vector<std::uint64_t>& kept) {
    const auto is_kept = [](std::uint64_t handle) { return handle != 0; };
    std::uint64_t behind = 0;
    for (std::size_t begin = 0; begin < kept.size();) {
        if (is_kept(kept[begin])) {
            behind = kept[begin++];
            continue;
        }
        const auto next = std::find_if(kept.begin() + static_cast<std::ptrdiff_t>(begin), kept.end(), is_kept);
        const auto end = static_cast<std::size_t>(next - kept.begin());
        const bool is_last = next == kept.end();
        for (std::size_t at = 0; at < end - begin; ++at) {
            // At the end each stands behind the one before; elsewhere each comes between it and what it is put behind.
            const auto& rule = wanted.rules[is_last ? begin + at : end - 1 - at].rule;
            to.emplace_back(add_rule{wanted.name, rule, is_last ? 0 : behind, !is_last && behind == 0});
        }
        begin = end;
    }
}

filter_plan rebuild(const wanted_filter& wanted) {
    filter_plan plan;
    plan.is_rebuild = true;
    // It is made first, so that there is one to remove.
    plan.changes = {make_table{}, delete_table{}, make_table{}};
    for (const auto& chain : wanted.chains) {
        plan.changes.emplace_back(make_chain{chain.name, chain.hook});
    }
    for (const auto& chain : wanted.chains) {
        for (const auto& one : chain.rules) {
            plan.changes.emplace_back(add_rule{chain.name, one.rule, 0, false});
        }
    }
    return plan;
}

// Of either kind of daemon: "vxlan1001-in".
bool is_of_network(std::string_view chain) {
    for (const std::string_view end : {"-in", "-out"}) {
        if (chain.ends_with(end) && model::vni_of(chain.substr(0, chain.size() - end.size()), "vxlan")) {
            return true;
        }
    }
    return false;
}

}  // namespace

bool is_of_daemons(const filter_state& seen) {
    return std::ranges::any_of(seen.chains, [](const seen_chain& chain) {
        return is_of_network(chain.name) ||
               std::ranges::any_of(chain.rules, [](const seen_rule& one) { return is_own_tag(one.tag); });
    });
}

std::string rules_of_others(const filter_state& seen) {
    const bool is_daemons = is_of_daemons(seen);
    std::string all;
    for (const auto& chain : seen.chains) {
        const bool has_own_place = chain.is_base && chain.hook == filter_hook::none;
        std::string what;
        if (has_own_place || (!chain.is_base && !is_daemons)) {
            what = "chain " + chain.name;
        } else if (!is_daemons && !chain.rules.empty()) {
            what = fmt::format("{} rule{} in {}", chain.rules.size(), chain.rules.size() == 1 ? "" : "s", chain.name);
        }
        all += (all.empty() || what.empty() ? "" : ", ") + what;
    }
    return all;
}

filter_plan plan_filter(const wanted_filter& wanted, const filter_state& seen, bool must_rebuild) {
    seen_chains unwanted;
    for (const auto& chain : seen.chains) {
        unwanted.emplace(chain.name, &chain);
    }
    if (must_rebuild || is_beyond_repair(wanted, seen, unwanted)) {
        return rebuild(wanted);
    }
    filter_plan plan;
    std::vector<filter_change> added;
    // What leads to a chain goes before it, and comes after it.
    std::vector<filter_change> removed;
    for (const auto& chain : wanted.chains) {
        const auto found = unwanted.find(chain.name);
        if (found == unwanted.end()) {
            plan.changes.emplace_back(make_chain{chain.name, chain.hook});
            add_missing(added, chain, std::vector<std::uint64_t>(chain.rules.size(), 0));
            continue;
        }
        const auto kept = kept_rules(chain, *found->second);
        remove_others(removed, *found->second, kept);
        add_missing(added, chain, kept);
        unwanted.erase(found);
    }
    for (const auto& [name, chain] : unwanted) {
        removed.emplace_back(flush_chain{chain->name});
    }
    for (const auto& [name, chain] : unwanted) {
        removed.emplace_back(delete_chain{chain->name});
    }
    std::ranges::move(removed, std::back_inserter(plan.changes));
    std::ranges::move(added, std::back_inserter(plan.changes));
    return plan;
}

std::string filter_unseen(const failure& why) {
    return fmt::format(
        "it cannot be looked at: {}: what is in force stays, and a kernel without nf_tables filters no "
        "guest of a client network",
        why.text());
}

}  // namespace pvc::policy
