#include "pvcnoded/model/virtual_functions.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::model {

namespace {

constexpr std::array<std::string_view, 3> link_words{"auto", "enable", "disable"};
constexpr std::array<std::string_view, 6> kinds{"VLAN", "rate", "spoof check", "link state", "trust", "RSS query"};

bool are_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_hexadecimal(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
}

struct setting_in_words {
    std::string operator()(const function_vlan& one) const { return fmt::format("{}, QoS {}", one.id, one.qos); }
    std::string operator()(const function_rate& one) const {
        return one.max == 0 ? fmt::format("at least {} Mbit/s, no limit", one.min)
                            : fmt::format("{} to {} Mbit/s", one.min, one.max);
    }
    std::string operator()(function_link one) const { return std::string(to_text(one)); }
    template <class Switch>
    std::string operator()(const Switch& one) const {
        return one.is_on ? "on" : "off";
    }
};

}  // namespace

std::string_view to_text(function_link state) {
    return link_words[static_cast<std::size_t>(state)];
}

std::optional<function_link> parse_function_link(std::string_view text) {
    const auto* const found = std::ranges::find(link_words, text);
    return found == link_words.end() ? std::nullopt
                                     : std::optional(static_cast<function_link>(found - link_words.begin()));
}

std::string_view kind_of(const function_setting& setting) {
    return kinds[setting.index()];
}

std::string to_text(const function_setting& setting) {
    return std::string(kind_of(setting)) + ' ' + std::visit(setting_in_words{}, setting);
}

const virtual_function* physical_function::find(int index) const {
    const auto found = std::ranges::find(functions, index, &virtual_function::index);
    return found == functions.end() ? nullptr : &*found;
}

std::optional<function_name> parse_function_name(std::string_view name) {
    const auto at = name.rfind('v');
    if (at == std::string_view::npos || at == 0 || !are_digits(name.substr(at + 1))) {
        return std::nullopt;
    }
    const auto digits = name.substr(at + 1);
    constexpr std::int64_t most = 65'535;  // as many as PCI can count
    const auto index = parse_integer(digits);
    const bool is_plain = digits.size() == 1 || digits.front() != '0';
    if (!index || *index > most || !is_plain) {
        return std::nullopt;
    }
    return function_name{std::string(name.substr(0, at)), static_cast<int>(*index)};
}

std::string to_text(const function_name& name) {
    return fmt::format("{}v{}", name.card, name.index);
}

bool is_mac_address(std::string_view text) {
    const auto parts = split(text, ':');
    return parts.size() == 6 &&
           std::ranges::all_of(parts, [](std::string_view one) { return one.size() == 2 && is_hexadecimal(one); });
}

std::optional<pci_address> parse_pci_address(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() != 3) {
        return std::nullopt;
    }
    const auto last = split(parts[2], '.');
    if (last.size() != 2 || !is_hexadecimal(parts[0]) || !is_hexadecimal(parts[1]) || !is_hexadecimal(last[0]) ||
        !is_hexadecimal(last[1])) {
        return std::nullopt;
    }
    return pci_address{std::string(parts[0]), std::string(parts[1]), std::string(last[0]), std::string(last[1])};
}

}  // namespace pvc::model
