#include "pvcnoded/model/scalar.hpp"

#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace pvc::model {

namespace {

using namespace std::string_view_literals;

constexpr std::array true_words = {"y"sv, "yes"sv, "t"sv, "true"sv, "on"sv, "1"sv};
constexpr std::array false_words = {"n"sv, "no"sv, "f"sv, "false"sv, "off"sv, "0"sv};

bool is_one_of(std::string_view text, const auto& words) {
    return std::ranges::any_of(words, [text](std::string_view word) { return equal_ignoring_case(text, word); });
}

}  // namespace

bool is_no_value(std::string_view text) {
    return text.empty() || text == "None";
}

std::optional<bool> parse_boolean(std::string_view text) {
    const auto word = trim(text);
    if (is_one_of(word, true_words)) {
        return true;
    }
    if (is_one_of(word, false_words)) {
        return false;
    }
    return std::nullopt;
}

std::string_view boolean_text(bool value) {
    return value ? "True" : "False";
}

bool parse_maintenance(std::string_view text) {
    return parse_boolean(text).value_or(false);
}

std::string_view maintenance_text(bool value) {
    return value ? "true" : "false";
}

std::int64_t integer_or(std::string_view text, std::int64_t fallback) {
    return parse_integer(trim(text)).value_or(fallback);
}

std::optional<double> parse_float(std::string_view text) {
    const auto number = trim(text);
    double value = 0;
    const char* const end = number.data() + number.size();
    const auto [stopped_at, error] = std::from_chars(number.data(), end, value);
    if (error != std::errc{} || stopped_at != end || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::string cpu_load_text(double load) {
    if (!std::isfinite(load) || load < 0) {
        return "0.0";
    }
    std::array<char, 400> buffer{};  // the largest double has 309 digits before the point
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), load, std::chars_format::fixed, 2);
    if (error != std::errc{}) {
        return "0.0";
    }
    std::string text(buffer.data(), end);
    if (text.ends_with('0')) {
        text.pop_back();
    }
    return text;
}

std::optional<int> parse_health(std::string_view text) {
    const auto value = parse_integer(trim(text));
    if (!value || *value < 0 || *value > 100) {
        return std::nullopt;
    }
    return static_cast<int>(*value);
}

std::string health_text(std::optional<int> health) {
    return health ? std::to_string(*health) : "None";
}

std::vector<std::string> parse_comma_list(std::string_view text) {
    std::vector<std::string> items;
    for (const auto part : split(text, ',')) {
        const auto item = trim(part);
        if (!is_no_value(item)) {
            items.emplace_back(item);
        }
    }
    return items;
}

std::string comma_list_text(const std::vector<std::string>& items) {
    return join(items, ",");
}

}  // namespace pvc::model
