// tidy-allow-file(unit-folder): what tests use and no test itself: tests/CMakeLists.txt names it
#include "toy_filter.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace model;

namespace {

struct filter_step {
    toy_filter::table& to;

    std::string operator()(const make_table& /*one*/) const {
        to.is_there = true;
        return "";
    }
    std::string operator()(const delete_table& /*one*/) const {
        if (!to.is_there) {
            return "no table";
        }
        to.is_there = false;
        to.flags = 0;
        to.chains.clear();
        return "";
    }
    std::string operator()(const make_chain& one) const {
        if (!to.is_there) {
            return "no table";
        }
        if (const auto* const found = to.find(one.name)) {
            return found->hook == one.hook ? "" : "another hook: " + one.name;
        }
        to.chains.push_back({one.name, one.hook, {}});
        return "";
    }
    std::string operator()(const flush_chain& one) const {
        auto* const found = to.find(one.name);
        if (found == nullptr) {
            return "no chain " + one.name;
        }
        found->rules.clear();
        return "";
    }
    std::string operator()(const delete_chain& one) const {
        const auto* const found = to.find(one.name);
        if (found == nullptr || !found->rules.empty() || to.is_led_to(one.name)) {
            return "no chain, or one that is used: " + one.name;
        }
        std::erase_if(to.chains, [&](const toy_filter::chain& chain) { return chain.name == one.name; });
        return "";
    }
    std::string operator()(const add_rule& one) const {
        auto* const found = to.find(one.chain);
        if (found == nullptr) {
            return "no chain " + one.chain;
        }
        for (const auto& expression : one.rule.expressions) {
            const auto* const verdict = std::get_if<give_verdict>(&expression);
            if (verdict != nullptr && !verdict->chain.empty() && to.find(verdict->chain) == nullptr) {
                return "no chain to go to: " + verdict->chain;
            }
        }
        if (one.rule.tag.size() > 200) {
            return "a long tag";
        }
        auto& rules = found->rules;
        auto at = one.is_first ? rules.begin() : rules.end();
        if (one.behind != 0) {
            const auto before = std::ranges::find(rules, one.behind, &toy_filter::rule::handle);
            if (before == rules.end()) {
                return "no rule to stand behind";
            }
            at = std::next(before);
        }
        rules.insert(at, {to.next_handle++, one.rule});
        return "";
    }
    std::string operator()(const delete_rule& one) const {
        auto* const found = to.find(one.chain);
        const auto gone = found == nullptr ? 0U : std::erase_if(found->rules, [&](const toy_filter::rule& rule) {
            return rule.handle == one.handle;
        });
        return gone == 1 ? "" : "no such rule";
    }
};

}  // namespace

toy_filter::chain* toy_filter::table::find(const std::string& name) {
    const auto found = std::ranges::find(chains, name, &chain::name);
    return found == chains.end() ? nullptr : &*found;
}

bool toy_filter::table::is_led_to(const std::string& name) const {
    return std::ranges::any_of(chains, [&](const chain& one) {
        return std::ranges::any_of(one.rules, [&](const rule& it) {
            return std::ranges::any_of(it.what.expressions, [&](const filter_expression& expression) {
                const auto* const verdict = std::get_if<give_verdict>(&expression);
                return verdict != nullptr && verdict->chain == name;
            });
        });
    });
}

std::string toy_filter::commit(const std::vector<filter_change>& changes) {
    auto next = now;
    for (const auto& one : changes) {
        if (auto refused = std::visit(filter_step{next}, one); !refused.empty()) {
            return refused;
        }
    }
    now = std::move(next);
    return "";
}

filter_state toy_filter::state() const {
    filter_state seen;
    seen.has_table = now.is_there;
    seen.flags = now.flags;
    for (const auto& one : now.chains) {
        seen_chain chain{one.name, one.hook, one.hook != filter_hook::none, {}};
        for (const auto& rule : one.rules) {
            chain.rules.push_back({rule.handle, rule.what.tag});
        }
        seen.chains.push_back(std::move(chain));
    }
    return seen;
}

}  // namespace pvc::policy
