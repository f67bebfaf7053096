#include "function_cards.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pvc::networks {

using namespace std::chrono_literals;

namespace {

constexpr duration module_limit = 10s;
constexpr duration making_limit = 60s;  // a driver starts each function
constexpr duration driver_limit = 10s;
constexpr duration between_card_looks = 5s;  // a driver asks its firmware
constexpr std::int64_t function_mtu_min = 68;
constexpr std::int64_t function_mtu_max = 65'535;

std::string function_text(std::string_view name) {
    return "virtual function " + std::string(name);
}

std::vector<policy::network_remark> one_remark(message which, std::string text) {
    std::vector<policy::network_remark> said;
    said.push_back({which, false, std::move(text)});
    return said;
}

}  // namespace

function_cards::function_cards(core::node_context& node, netlink::virtual_functions& driver,
                               netlink::network_stack& stack, network_counts& counts)
    : node_(node), driver_(driver), work_(node, stack, counts), counts_(counts), remarks_(node.log) {
    if (node_.config->sriov.enable) {
        for (const auto& one : node_.config->sriov.devices) {
            cards_[one.phy];
        }
    }
}

const model::physical_function* function_cards::seen(const std::string& card) const {
    const auto found = cards_.find(card);
    return found == cards_.end() || !found->second.seen ? nullptr : &*found->second.seen;
}

const model::virtual_function* function_cards::function_of(const function_row& row) const {
    const auto* const card = row.name ? seen(row.name->card) : nullptr;
    return card == nullptr ? nullptr : card->find(row.name->index);
}

std::size_t function_cards::failing() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        rows_, [](const auto& one) { return !one.second.trouble.empty() || !one.second.wanted.remarks.empty(); }));
}

// ---- cards

async::awaitable<void> function_cards::prepare() {
    if (cards_.empty()) {
        co_return;
    }
    auto loaded = co_await driver_.allow_unsafe_interrupts(node_.clock().now() + module_limit);
    if (!loaded) {
        node_.log.warning(message::sriov_module,
                          "the module for virtual functions of machines: " + loaded.error().text());
    }
    const auto config = node_.config;  // as long as it is gone through
    for (const auto& card : config->sriov.devices) {
        co_await prepare_one(card);
    }
}

async::awaitable<void> function_cards::prepare_one(const config::sriov_device& card) {
    const std::string phy = card.phy;
    auto now = co_await driver_.count(phy, node_.clock().now() + driver_limit);
    auto plan = policy::prepare_card(card, now);
    cards_[phy].is_prepared = now || now.error().code() != errc::not_found;
    if (plan.functions) {
        const int functions = *plan.functions;
        auto made = co_await driver_.make(phy, functions, node_.clock().now() + making_limit);
        if (made) {
            node_.log.info(fmt::format("{} has {} virtual functions now", phy, functions));
        } else {
            plan.remarks.push_back(
                {message::sriov_count, false,
                 fmt::format("{}: {} virtual functions could not be made: {}", phy, functions, made.error().text())});
        }
    }
    if (now) {
        auto done = co_await work_.carry_out(policy::changes_of_card(card));
        if (!done) {
            plan.remarks.push_back({message::sriov_card, false, phy + ": " + done.error().text()});
        }
    }
    remarks_.tell("preparing " + phy, std::move(plan.remarks));
}

bool function_cards::is_due(const card_row& card) const {
    return card.is_due && card.pause.is_over(node_.clock().now());
}

async::awaitable<void> function_cards::look() {
    if (is_look_wanted_) {
        bool is_too_early = false;
        for (auto& [name, card] : cards_) {
            const bool is_young = node_.clock().now() - card.looked < between_card_looks;
            card.is_due = card.is_due || !is_young;
            is_too_early = is_too_early || (is_young && !card.is_due);
        }
        is_look_wanted_ = is_too_early;
    }
    const auto config = node_.config;  // as long as it is gone through
    for (const auto& card : config->sriov.devices) {
        if (is_due(cards_[card.phy])) {
            co_await look_at(card);
        }
    }
}

async::awaitable<void> function_cards::look_at(const config::sriov_device& card) {
    const std::string phy = card.phy;
    auto found = co_await driver_.look(phy, node_.clock().now() + driver_limit);
    if (found && !std::exchange(cards_[phy].is_prepared, true)) {
        co_await prepare_one(card);  // it has come since
        found = co_await driver_.look(phy, node_.clock().now() + driver_limit);
    }
    auto& row = cards_[phy];
    row.looked = node_.clock().now();
    if (found) {
        row.is_due = false;
        row.pause.succeeded();
        remarks_.tell("card " + phy, {});
        take(phy, *std::move(found));
    } else if (found.error().code() == errc::not_found) {
        row.is_due = false;  // whoever comes is told of
        row.pause.succeeded();
        take_gone(phy);
        remarks_.tell("card " + phy, {});
        remarks_.tell("preparing " + phy, policy::prepare_card(card, found.error()).remarks);  // told once
    } else {
        row.pause.failed(node_.clock().now());
        remarks_.tell("card " + phy, one_remark(message::sriov_card, phy + ": its virtual functions cannot be seen: " +
                                                                         found.error().text() + ", trying again"));
    }
}

void function_cards::take(const std::string& card, model::physical_function now) {
    auto& row = cards_[card];
    const bool is_another = row.seen && row.seen->link != now.link;
    forget_functions_of(card, is_another ? nullptr : &now);
    for (const auto& function : now.functions) {
        const auto found = rows_.find(model::to_text(model::function_name{card, function.index}));
        if (found != rows_.end()) {
            found->second.memory.seen(function);
        }
    }
    row.seen = std::move(now);
}

void function_cards::take_gone(const std::string& card) {
    auto& row = cards_[card];
    row.seen.reset();
    row.is_prepared = false;
    row.setting_pause.succeeded();
    remarks_.tell("driver of " + card, {});
    row.lacks.clear();
    tell_lacks(card);
    forget_functions_of(card, nullptr);
}

// What was done to functions that are no more was done to others.
void function_cards::forget_functions_of(const std::string& card, const model::physical_function* now) {
    for (auto& [name, row] : rows_) {
        if (row.name && row.name->card == card && (now == nullptr || now->find(row.name->index) == nullptr)) {
            row.memory = {};
            row.pause.succeeded();
            row.trouble.clear();
            row.has_mtu = false;
            tell(name);
        }
    }
}

// ---- functions

void function_cards::keep(const std::vector<std::string>& names) {
    for (auto one = rows_.begin(); one != rows_.end();) {
        if (std::ranges::binary_search(names, one->first)) {
            ++one;
        } else {
            remarks_.forget(function_text(one->first));
            one = rows_.erase(one);
        }
    }
}

void function_cards::tell(const std::string& name) {
    const auto& row = rows_[name];
    std::vector<policy::network_remark> said;
    for (const auto& text : row.wanted.remarks) {
        said.push_back({message::sriov_value, true, text});
    }
    if (!row.trouble.empty()) {
        said.push_back({message::sriov_failed, true, function_text(name) + ": " + row.trouble + ", trying again"});
    }
    remarks_.tell(function_text(name), std::move(said));
}

void function_cards::tell_lacks(const std::string& card) {
    std::vector<policy::network_remark> said;
    for (const auto& setting : cards_[card].lacks) {
        said.push_back({message::sriov_unsupported, false,
                        card + ": its driver does not have the setting " + setting + " of virtual functions"});
    }
    remarks_.tell("settings of " + card, std::move(said));
}

async::awaitable<void> function_cards::settle(std::string name, std::string path, policy::function_keys stored,
                                              std::optional<std::string> mtu) {
    auto& row = rows_[name];
    row.name = model::parse_function_name(name);
    row.wanted = policy::parse_function(path, stored);
    const auto* const function = function_of(row);
    if (function == nullptr) {
        tell(name);
        co_return;  // set when it comes
    }
    auto changes = policy::plan_function(row.wanted, *function, row.memory);
    if (changes.empty()) {
        row.pause.succeeded();
        row.trouble.clear();
    }
    const time_point now = node_.clock().now();
    const bool is_right_time = row.pause.is_over(now) && cards_[row.name->card].setting_pause.is_over(now);
    const bool wants_mtu = mtu && !std::exchange(row.has_mtu, true);
    if (!changes.empty() && is_right_time) {
        co_await apply(name, std::move(changes));
    }
    if (wants_mtu) {
        co_await set_mtu(name, *mtu);
    }
    if (rows_.contains(name)) {
        tell(name);
    }
}

async::awaitable<void> function_cards::apply(std::string name, std::vector<model::function_setting> changes) {
    {
        auto& row = rows_[name];
        row.trouble.clear();
        for (const auto& one : changes) {
            if (row.memory.was_applied(one)) {
                ++counts_.function_repairs;
                node_.log.warning(message::sriov_changed, fmt::format("{}: somebody changed it, setting it again: {}",
                                                                      function_text(name), model::to_text(one)));
            }
        }
    }
    const auto which = model::parse_function_name(name);
    for (const auto& one : changes) {
        auto done = co_await driver_.set(*which, one, node_.clock().now() + driver_limit);
        const auto row = rows_.find(name);
        if (row == rows_.end() || !take_outcome(row->second, one, done)) {
            break;
        }
    }
    const auto row = rows_.find(name);
    if (row == rows_.end()) {
        co_return;
    }
    if (row->second.trouble.empty()) {
        row->second.pause.succeeded();
    } else {
        row->second.pause.failed(node_.clock().now());
    }
}

bool function_cards::take_outcome(function_row& row, const model::function_setting& setting, const result<void>& done) {
    auto& card = cards_[row.name->card];
    const auto driver_remarks = "driver of " + row.name->card;
    if (done) {
        card.setting_pause.succeeded();
        remarks_.tell(driver_remarks, {});
        ++counts_.function_changes;
        row.memory.applied(setting);
        card.is_due = true;  // what the driver makes of it
        node_.log.info(function_text(model::to_text(*row.name)) + ": " + model::to_text(setting) + " is set");
        return true;
    }
    const auto code = done.error().code();
    if (code == errc::invalid) {
        row.memory.applied(setting);  // it never will
        if (!policy::is_plain(setting)) {
            card.lacks.emplace(model::kind_of(setting));
            tell_lacks(row.name->card);
        }
        return true;
    }
    if (code == errc::not_found) {
        card.is_due = true;
        return false;
    }
    ++counts_.function_failures;
    if (code != errc::refused) {  // no word about this setting
        card.setting_pause.failed(node_.clock().now());
        remarks_.tell(driver_remarks,
                      one_remark(message::sriov_failed, row.name->card + ": its driver does not do what it is asked: " +
                                                            done.error().text() + ", trying again"));
        return false;
    }
    const std::string text = model::to_text(setting) + ": " + done.error().text();
    row.trouble += (row.trouble.empty() ? "" : "; ") + text;
    return true;
}

async::awaitable<void> function_cards::set_mtu(std::string name, std::string mtu) {
    const auto wanted = parse_integer(mtu);
    const auto which = model::parse_function_name(name);
    if (!wanted || *wanted < function_mtu_min || *wanted > function_mtu_max) {
        node_.log.debug(function_text(name) + ": `" + shown(mtu) + "` is no MTU");
        co_return;
    }
    auto done = co_await driver_.set_mtu(*which, static_cast<int>(*wanted), node_.clock().now() + driver_limit);
    if (!done && done.error().code() != errc::not_found) {
        node_.log.info(fmt::format("{}: MTU {} was not set: {}", function_text(name), *wanted, done.error().text()));
    }
}

// ---- what is asked

std::optional<time_point> function_cards::next_try() const {
    std::optional<time_point> first;
    const auto add = [&](time_point when) { first = std::min(first.value_or(time_point::max()), when); };
    for (const auto& [name, card] : cards_) {
        if (card.is_due) {
            add(card.pause.until().value_or(node_.clock().now()));
        } else if (is_look_wanted_) {
            add(card.looked + between_card_looks);
        }
        if (card.setting_pause.until()) {
            add(*card.setting_pause.until());
        }
    }
    for (const auto& [name, row] : rows_) {
        if (row.pause.until()) {
            add(*row.pause.until());
        }
    }
    return first;
}

std::vector<function_cards::difference> function_cards::differences() const {
    std::vector<difference> all;
    for (const auto& [name, row] : rows_) {
        const auto* const function = function_of(row);
        for (const auto& text : row.wanted.remarks) {
            all.push_back({name, "", "", "", text});
        }
        for (const auto& wanted : row.wanted.settings) {
            const auto shown = function == nullptr ? std::nullopt : policy::shown_of(*function, wanted);
            if (shown == wanted || (!shown && policy::is_plain(wanted))) {
                continue;
            }
            std::string why = row.trouble;
            if (function == nullptr) {
                why = "the function is not here";
            } else if (row.memory.was_applied(wanted)) {
                why = "the driver was given it, and does not show it";
            }
            all.push_back({name, std::string(model::kind_of(wanted)), model::to_text(wanted),
                           shown ? model::to_text(*shown) : std::string(), std::move(why)});
        }
    }
    return all;
}

}  // namespace pvc::networks
