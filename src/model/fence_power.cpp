#include "pvcnoded/model/fence_power.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::model {

namespace {

constexpr std::size_t longest_name = 255;

bool is_name_in_power(std::string_view text) {
    return !text.empty() && text.size() <= longest_name &&
           std::ranges::all_of(text, [](char one) { return one > ' ' && one < '\x7f'; });
}

}  // namespace

std::string to_text(const fence_power_key& what) {
    std::string text = (what.is_on ? "on " : "off ") + what.coordinator;
    return what.ordered ? text + " " + std::to_string(what.ordered->at) + " " + what.ordered->by : text;
}

std::optional<fence_power_key> parse_fence_power(std::string_view text) {
    const auto words = split(text, ' ');
    const bool is_order = words.size() == 2 && words[0] == "on";
    const bool is_word = (words.size() == 2 || words.size() == 4) && words[0] == "off";
    if ((!is_order && !is_word) || !is_name_in_power(words[1])) {
        return std::nullopt;
    }
    fence_power_key out{.is_on = is_order, .coordinator = std::string(words[1])};
    if (words.size() == 4) {
        const auto at = parse_integer(words[2]);
        if (!at || *at <= 0 || std::to_string(*at) != words[2] || !is_name_in_power(words[3])) {
            return std::nullopt;
        }
        out.ordered = {.at = *at, .by = std::string(words[3])};
    }
    return out;
}

}  // namespace pvc::model
