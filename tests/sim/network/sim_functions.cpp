#include "sim/network/sim_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pvc::sim {

namespace {

constexpr int most_functions = 64;

failure no_card(const std::string& name) {
    return failure(errc::not_found, name, "No such device");
}

}  // namespace

void sim_functions::add_card(const std::string& name, int has) {
    cards_[name].at_boot = has;
    const auto seen = machine_.state();
    if (const auto* device = seen.find(name)) {
        cards_[name].link = device->index;
        make_now(cards_[name], has);
    }
}

void sim_functions::make_now(card& which, int count) const {
    which.functions.clear();
    const auto number = static_cast<int>(std::distance(
        cards_.begin(), std::ranges::find_if(cards_, [&](const auto& one) { return &one.second == &which; })));
    for (int i = 0; i < count; ++i) {
        model::virtual_function made;
        made.index = i;
        made.mac = fmt::format("0a:00:00:00:{:02x}:{:02x}", number, i);
        made.vlan = model::function_vlan();
        made.rate = model::function_rate();
        made.spoof_check = true;
        made.link_state = model::function_link::automatic;
        made.trust = false;
        made.query_rss = false;
        made.pci = fmt::format("0000:{:02x}:{:02x}.{}", 0x3b + number, 2 + i / 8, i % 8);
        which.functions.push_back(made);
    }
}

void sim_functions::lose_power() {
    has_module = false;
    mtus.clear();
    for (auto& [name, one] : cards_) {
        make_now(one, one.at_boot);
    }
}

sim_functions::card* sim_functions::find(const std::string& name) {
    const auto found = cards_.find(name);
    const auto seen = machine_.state();
    const auto* device = seen.find(name);
    if (found == cards_.end() || device == nullptr) {
        return nullptr;
    }
    if (device->index != found->second.link) {
        found->second.functions.clear();
        found->second.link = device->index;
    }
    return &found->second;
}

model::virtual_function* sim_functions::function(const std::string& card_name, int index) {
    auto* const which = find(card_name);
    return which == nullptr || index < 0 || index >= std::ssize(which->functions)
               ? nullptr
               : &which->functions[static_cast<std::size_t>(index)];
}

async::awaitable<result<void>> sim_functions::allow_unsafe_interrupts(time_point deadline) {
    calls.emplace_back("modprobe");
    return pass("modprobe", deadline, [this]() -> result<void> {
        if (const auto told = fault("modprobe")) {
            return *told;
        }
        has_module = true;
        return {};
    });
}

async::awaitable<result<int>> sim_functions::count(std::string card_name, time_point deadline) {
    auto found = std::make_shared<int>(0);
    auto counted = co_await pass(card_name, deadline, [this, card_name, found]() -> result<void> {
        if (const auto told = fault("count " + card_name)) {
            return *told;
        }
        const auto* which = find(card_name);
        if (which == nullptr) {
            return no_card(card_name);
        }
        *found = static_cast<int>(which->functions.size());
        return {};
    });
    if (!counted) {
        co_return std::move(counted).error();
    }
    co_return *found;
}

async::awaitable<result<void>> sim_functions::make(std::string card_name, int wanted, time_point deadline) {
    calls.push_back(fmt::format("make {} of {}", wanted, card_name));
    return pass(card_name, deadline, [this, card_name, wanted]() -> result<void> {
        if (const auto told = fault("make " + card_name)) {
            return *told;
        }
        auto* const which = find(card_name);
        if (which == nullptr) {
            return no_card(card_name);
        }
        if (wanted > most_functions) {
            return failure(errc::refused, card_name, "Numerical result out of range");
        }
        const auto has = static_cast<int>(which->functions.size());
        if (has != 0 && wanted != 0 && wanted != has) {
            return failure(errc::refused, card_name, "Device or resource busy");
        }
        if (wanted != has) {
            make_now(*which, wanted);
        }
        return {};
    });
}

async::awaitable<result<model::physical_function>> sim_functions::look(std::string card_name, time_point deadline) {
    auto found = std::make_shared<model::physical_function>();
    auto looked = co_await pass(card_name, deadline, [this, card_name, found]() -> result<void> {
        if (const auto told = fault("look " + card_name)) {
            return *told;
        }
        const auto seen = machine_.state();
        const auto* device = seen.find(card_name);
        if (device == nullptr) {
            return no_card(card_name);
        }
        *found = {device->index, card_name, device->mtu, {}};
        if (const auto* which = find(card_name)) {
            found->functions = which->functions;
        }
        for (auto& one : found->functions) {
            if (driver.hides.contains("VLAN")) {
                one.vlan.reset();
            }
            if (driver.hides.contains("rate")) {
                one.rate.reset();
            }
            if (driver.hides.contains("spoof check")) {
                one.spoof_check.reset();
            }
            if (driver.hides.contains("link state")) {
                one.link_state.reset();
            }
            if (driver.hides.contains("trust")) {
                one.trust.reset();
            }
            if (driver.hides.contains("RSS query")) {
                one.query_rss.reset();
            }
        }
        return {};
    });
    if (!looked) {
        co_return std::move(looked).error();
    }
    co_return std::move(*found);
}

result<void> sim_functions::set_now(const model::function_name& which, const model::function_setting& setting) {
    auto* const one = function(which.card, which.index);
    if (one == nullptr) {
        if (machine_.state().find(which.card) == nullptr) {
            return no_card(which.card);
        }
        return find(which.card) == nullptr ? failure(errc::invalid, model::to_text(which), "Operation not supported")
                                           : failure(errc::refused, model::to_text(which), "Invalid argument");
    }
    const auto kind = model::kind_of(setting);
    if (driver.lacks.contains(kind)) {
        return failure(errc::invalid, model::to_text(which), "Operation not supported");
    }
    if (driver.ignores.contains(kind)) {
        return {};
    }
    struct store {
        model::virtual_function& to;
        void operator()(const model::function_vlan& is) const { to.vlan = is; }
        void operator()(const model::function_rate& is) const { to.rate = is; }
        void operator()(const model::function_spoof_check& is) const { to.spoof_check = is.is_on; }
        void operator()(model::function_link is) const { to.link_state = is; }
        void operator()(const model::function_trust& is) const { to.trust = is.is_on; }
        void operator()(const model::function_query_rss& is) const { to.query_rss = is.is_on; }
    };
    const auto* const rate = std::get_if<model::function_rate>(&setting);
    if (rate != nullptr && rate->max != 0 && rate->min > rate->max) {
        return failure(errc::refused, model::to_text(which), "Invalid argument");
    }
    std::visit(store{*one}, setting);
    return {};
}

async::awaitable<result<void>> sim_functions::set(model::function_name which, model::function_setting setting,
                                                  time_point deadline) {
    const std::string about = model::to_text(which) + ' ' + model::to_text(setting);
    calls.push_back("set " + about);
    return pass(about, deadline, [this, which, setting, about]() -> result<void> {
        if (const auto told = fault("set " + about)) {
            return *told;
        }
        return set_now(which, setting);
    });
}

async::awaitable<result<void>> sim_functions::set_mtu(model::function_name which, int mtu, time_point deadline) {
    const std::string name = model::to_text(which);
    return pass(name, deadline, [this, which, name, mtu]() -> result<void> {
        if (const auto told = fault("mtu " + name)) {
            return *told;
        }
        if (function(which.card, which.index) == nullptr || with_guests.contains(name)) {
            return failure(errc::not_found, name, "it has no link here");
        }
        if (const auto now = mtus.find(name); now == mtus.end() ? mtu != 1500 : now->second != mtu) {
            calls.push_back(fmt::format("mtu {} {}", name, mtu));
            mtus[name] = mtu;
        }
        return {};
    });
}

}  // namespace pvc::sim
