#include "sim/network/sim_filter.hpp"

#include "pvcnoded/netlink/filter_limits.hpp"

#include <algorithm>
#include <set>

namespace pvc::sim {

namespace {

// Chains within chains, from one with a hook on; beyond that, and where they go
// round, the kernel refuses.
constexpr int depth_max = 16;

constexpr const char* missing = "No such file or directory";
constexpr const char* there = "File exists";
constexpr const char* owned = "Operation not permitted";
constexpr const char* busy = "Device or resource busy";
constexpr const char* impossible = "Operation not supported";
constexpr const char* too_deep = "Too many links";

template <class Each>
void for_each_target(const model::filter_rule& rule, Each each) {
    for (const auto& one : rule.expressions) {
        const auto* const verdict = std::get_if<model::give_verdict>(&one);
        if (verdict != nullptr &&
            (verdict->what == model::filter_verdict::jump || verdict->what == model::filter_verdict::go_to)) {
            each(verdict->chain);
        }
    }
}

}  // namespace

// Carries out changes one after the other on a copy; a change says why it
// cannot be.
struct sim_filter::applying {
    using refusal = std::optional<std::string>;

    std::optional<sim_filter_table> to;
    bool checks_depth = false;  // after each rule, not only in the end
    bool has_changed = false;

    sim_filter_chain* chain(std::string_view name) {
        if (!to) {
            return nullptr;
        }
        const auto found = std::ranges::find(to->chains, name, &sim_filter_chain::name);
        return found == to->chains.end() ? nullptr : &*found;
    }
    refusal done() {
        has_changed = true;
        return std::nullopt;
    }

    refusal operator()(const model::make_table& /*one*/) {
        if (to) {
            return std::nullopt;
        }
        to.emplace();
        return done();
    }
    refusal operator()(const model::delete_table& /*one*/) {
        if (!to) {
            return missing;
        }
        to.reset();
        return done();
    }
    refusal operator()(const model::make_chain& one) {
        if (!to) {
            return missing;
        }
        if (const auto* const found = chain(one.name)) {
            const bool fits = one.hook == model::filter_hook::none || one.hook == found->hook;
            return fits ? done() : there;
        }
        ++to->last_handle;
        to->chains.push_back({one.name, one.hook, {}});
        return done();
    }
    refusal operator()(const model::flush_chain& one) {
        auto* const found = chain(one.name);
        if (found == nullptr) {
            return missing;
        }
        has_changed = has_changed || !found->rules.empty();
        found->rules.clear();
        return std::nullopt;
    }
    refusal operator()(const model::delete_chain& one) {
        auto* const found = chain(one.name);
        if (found == nullptr) {
            return missing;
        }
        for (const auto& each : to->chains) {
            bool is_needed = false;
            for (const auto& rule : each.rules) {
                for_each_target(rule.is,
                                [&](const std::string& target) { is_needed = is_needed || target == one.name; });
            }
            if (is_needed && each.name != one.name) {
                return busy;
            }
        }
        to->chains.erase(to->chains.begin() + (found - to->chains.data()));
        return done();
    }
    refusal operator()(const model::add_rule& one) {
        auto* const found = chain(one.chain);
        refusal why = found == nullptr ? refusal(missing) : std::nullopt;
        for_each_target(one.rule, [&](const std::string& name) {
            const auto* const target = chain(name);
            if (!why && target == nullptr) {
                why = missing;
            } else if (!why && target->hook != model::filter_hook::none) {
                why = impossible;
            }
        });
        if (why) {
            return why;
        }
        auto place = one.is_first ? found->rules.begin() : found->rules.end();
        if (one.behind != 0) {
            place = std::ranges::find(found->rules, one.behind, &sim_filter_rule::handle);
            if (place == found->rules.end()) {
                return missing;
            }
            ++place;
        }
        // Anonymous sets have handles too.
        to->last_handle += static_cast<std::uint64_t>(std::ranges::count_if(
            one.rule.expressions, [](const auto& each) { return std::holds_alternative<model::in_set>(each); }));
        found->rules.insert(place, {++to->last_handle, one.rule});
        if (checks_depth && is_too_deep()) {
            return too_deep;
        }
        return done();
    }
    refusal operator()(const model::delete_rule& one) {
        auto* const found = chain(one.chain);
        if (found == nullptr ||
            std::erase_if(found->rules, [&](const auto& rule) { return rule.handle == one.handle; }) == 0) {
            return missing;
        }
        return done();
    }

    // Of the chains that are reached from a hook, as only these are checked.
    [[nodiscard]] bool is_too_deep() {
        if (!to) {
            return false;
        }
        std::set<std::string> level;
        for (const auto& each : to->chains) {
            if (each.hook != model::filter_hook::none) {
                level.insert(each.name);
            }
        }
        for (int depth = 0; !level.empty(); ++depth) {
            if (depth == depth_max) {
                return true;
            }
            std::set<std::string> next;
            for (const auto& name : level) {
                for (const auto& rule : chain(name)->rules) {
                    for_each_target(rule.is, [&](const std::string& target) { next.insert(target); });
                }
            }
            level = std::move(next);
        }
        return false;
    }

    [[nodiscard]] std::optional<netlink::batch_refusal> apply(const std::vector<model::filter_change>& changes) {
        for (std::size_t number = 0; number < changes.size(); ++number) {
            const bool is_owned = to && (to->flags & model::owned_table) != 0;
            if (auto why = is_owned ? refusal(owned) : std::visit(*this, changes[number])) {
                return netlink::batch_refusal{number, *std::move(why)};
            }
        }
        return std::nullopt;
    }
};

sim_filter::outcome sim_filter::commit(const std::vector<model::filter_change>& changes,
                                       std::optional<std::uint32_t> generation) {
    if (changes.empty()) {
        return std::nullopt;
    }
    for (std::size_t number = 0; number < changes.size(); ++number) {
        if (auto why = netlink::objection_to(changes[number])) {
            return netlink::batch_refusal{number, *std::move(why)};
        }
    }
    if (generation && *generation != 0 && *generation != generation_) {  // 0: the kernel takes it for none
        return failure(errc::version_conflict, "the packet filter", "its generation is another one");
    }
    applying tried{table_};
    if (auto refused = tried.apply(changes)) {
        return refused;
    }
    // As the kernel does: once more, to see which of the changes it was.
    if (tried.is_too_deep()) {
        applying again{table_, true};
        if (auto refused = again.apply(changes)) {
            return refused;
        }
    }
    const bool had_host_rules = has_host_rules();
    table_ = std::move(tried.to);
    host_rules_replaced += had_host_rules && !has_host_rules() ? 1 : 0;
    if (table_ && table_->number == 0) {
        table_->number = ++tables_made_;
    }
    if (tried.has_changed) {
        step();
    }
    return std::nullopt;
}

namespace {
// Of the kinds of its expressions, in order: what is enough to tell those of tests apart.
std::uint64_t digest_of(const model::filter_rule& rule) {
    std::uint64_t digest = 1;
    for (const auto& one : rule.expressions) {
        digest = digest * 31 + one.index();
    }
    return digest;
}
}  // namespace

model::filter_state sim_filter::state() const {
    model::filter_state seen;
    seen.has_table = table_.has_value();
    seen.flags = flags();
    seen.table = table_ ? table_->number : 0;
    seen.owner = (seen.flags & model::owned_table) != 0 ? port_of_owner : 0;
    seen.generation = generation_;
    if (table_) {
        for (const auto& each : table_->chains) {
            model::seen_chain chain{
                each.name, each.hook, each.has_own_place || each.hook != model::filter_hook::none, {}};
            chain.digest = each.has_own_place ? 1 : 0;
            for (const auto& rule : each.rules) {
                chain.rules.push_back({rule.handle, rule.is.tag, rule.is.tag.empty() ? digest_of(rule.is) : 0});
            }
            seen.chains.push_back(std::move(chain));
        }
    }
    return seen;
}

void sim_filter::flush_ruleset() {
    const bool goes = table_ && (table_->flags & model::owned_table) == 0;
    const bool has_any = goes || !foreign_.empty();
    if (goes) {
        table_.reset();
    }
    foreign_.clear();
    if (has_any) {
        step();
    }
}

void sim_filter::replace_rule(std::string_view chain, model::filter_rule with) {
    if (!table_) {
        return;
    }
    const auto found = std::ranges::find(table_->chains, chain, &sim_filter_chain::name);
    if (found != table_->chains.end() && !found->rules.empty()) {
        found->rules.front().is = std::move(with);
        step();
    }
}

void sim_filter::make_dormant() {
    if (table_ && (table_->flags & model::dormant_table) == 0) {
        table_->flags |= model::dormant_table;
        step();
    }
}

void sim_filter::make_owned() {
    if (!table_) {
        table_.emplace().flags = model::owned_table;
        step();
    }
}

void sim_filter::own_table() {
    if (table_) {
        table_->flags |= model::owned_table;
        step();
    }
}

void sim_filter::end_owner() {
    if ((flags() & model::owned_table) != 0) {
        table_.reset();
    }
}

void sim_filter::load_host_rules() {
    flush_ruleset();
    using model::filter_hook;
    const auto made =
        commit({model::make_table{}, model::make_chain{"input", filter_hook::none},
                model::make_chain{"output", filter_hook::none},
                model::add_rule{"input", {{model::give_verdict{model::filter_verdict::accept, ""}}, ""}, 0, false}},
               std::nullopt);
    if (made && !*made && table_) {
        for (auto& chain : table_->chains) {
            chain.has_own_place = true;
        }
    }
}

void sim_filter::take_place(std::string_view chain) {
    if (!table_) {
        return;
    }
    const auto found = std::ranges::find(table_->chains, chain, &sim_filter_chain::name);
    if (found != table_->chains.end()) {
        found->has_own_place = true;
        found->hook = model::filter_hook::none;
        step();
    }
}

bool sim_filter::has_host_rules() const {
    return table_ && std::ranges::any_of(table_->chains, &sim_filter_chain::has_own_place);
}

void sim_filter::touch_table(const std::string& name) {
    ++foreign_[name];
    step();
}

void sim_filter::lose_power() {
    table_.reset();
    foreign_.clear();
    generation_ = 1;
}

const sim_filter_chain* sim_filter::find(std::string_view chain) const {
    if (!table_) {
        return nullptr;
    }
    const auto found = std::ranges::find(table_->chains, chain, &sim_filter_chain::name);
    return found == table_->chains.end() ? nullptr : &*found;
}

std::string sim_filter::text() const {
    std::string all;
    if (!table_) {
        return "no table";
    }
    for (const auto& each : table_->chains) {
        all += (all.empty() ? "" : "; ") + each.name;
        if (each.hook != model::filter_hook::none) {
            all += each.hook == model::filter_hook::forward ? " (forward)" : " (input)";
        }
        const char* before = ": ";
        for (const auto& rule : each.rules) {
            all += before + (rule.is.tag.empty() ? "-" : rule.is.tag);
            before = ", ";
        }
    }
    return all;
}

std::string sim_filter::foreign_text() const {
    std::string all;
    for (const auto& [name, times] : foreign_) {
        all += (all.empty() ? "" : ", ") + name + ' ' + std::to_string(times);
    }
    return all;
}

void sim_filter::step() {
    ++generation_;
    if (changed) {
        changed();
    }
}

}  // namespace pvc::sim
