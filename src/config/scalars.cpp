#include "scalars.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

namespace pvc::config {

namespace {

constexpr std::string_view yaml_tags = "tag:yaml.org,2002:";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_null_word(std::string_view text) {
    return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// YAML 1.1 numbers: only to name a type in a message, so hexadecimal and the like need no exact grammar.
std::string_view plain_type(std::string_view text) {
    if (is_null_word(text)) {
        return "null";
    }
    if (text != "0" && text != "1" && parse_boolean(text)) {
        return "boolean";
    }
    std::string_view digits = text;
    if (digits[0] == '+' || digits[0] == '-') {
        digits.remove_prefix(1);
    }
    const bool starts_like_a_number = !digits.empty() && is_digit(digits[0]);
    const auto only = [&](std::string_view more) {
        return std::ranges::all_of(digits,
                                   [&](char c) { return is_digit(c) || more.find(c) != std::string_view::npos; });
    };
    if (starts_like_a_number && only("_:")) {
        return "integer";
    }
    if (starts_like_a_number && digits.starts_with("0x") && only("xabcdefABCDEF_")) {
        return "integer";
    }
    if (starts_like_a_number && only("_.eE+-") && std::ranges::count(digits, '.') <= 1 &&
        digits.find('.') != std::string_view::npos) {
        return "float";
    }
    return "string";
}

}  // namespace

std::string_view type_name(const yaml_node& node) {
    switch (node.kind) {
        case yaml_kind::sequence: return "sequence";
        case yaml_kind::mapping: return "mapping";
        case yaml_kind::scalar: break;
    }
    if (node.tag.starts_with(yaml_tags)) {
        const std::string_view name = std::string_view(node.tag).substr(yaml_tags.size());
        constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names{
            {{"int", "integer"}, {"float", "float"}, {"bool", "boolean"}, {"null", "null"}}};
        const auto found = std::ranges::find(names, name, &std::pair<std::string_view, std::string_view>::first);
        return found == names.end() ? "string" : found->second;
    }
    return node.plain && node.tag.empty() ? plain_type(node.text) : "string";
}

std::string value_text(const yaml_node& node, bool quoted) {
    const auto type = type_name(node);
    if (node.kind != yaml_kind::scalar) {
        return fmt::format("{} ({})", node.kind == yaml_kind::sequence ? "[...]" : "{...}", type);
    }
    if (type == "null") {
        return "null (null)";
    }
    const bool is_invisible = node.text.empty() || trim(node.text).size() != node.text.size();
    if (type == "string" && (quoted || is_invisible)) {
        return fmt::format("\"{}\" ({})", printable(node.text), type);
    }
    return fmt::format("{} ({})", printable(node.text), type);
}

bool is_quoted(const yaml_node& node) {
    return !node.plain || (!node.tag.empty() && type_name(node) == "string");
}

bool is_none(const yaml_node& node) {
    return node.kind == yaml_kind::scalar && (type_name(node) == "null" || node.text.empty() || node.text == "None" ||
                                              node.text == "none" || node.text == "NONE");
}

bool is_left_empty(const yaml_node& node) {
    return node.kind == yaml_kind::scalar ? type_name(node) == "null" || node.text.empty() : node.entries.empty();
}

std::optional<bool> parse_boolean(std::string_view text) {
    constexpr std::array<std::string_view, 12> yes{"true", "True", "TRUE", "yes", "Yes", "YES",
                                                   "on",   "On",   "ON",   "y",   "Y",   "1"};
    constexpr std::array<std::string_view, 12> no{"false", "False", "FALSE", "no", "No", "NO",
                                                  "off",   "Off",   "OFF",   "n",  "N",  "0"};
    if (std::ranges::find(yes, text) != yes.end()) {
        return true;
    }
    if (std::ranges::find(no, text) != no.end()) {
        return false;
    }
    return std::nullopt;
}

std::optional<std::int64_t> parse_decimal(std::string_view text) {
    const auto point = text.find('.');
    if (point != std::string_view::npos) {
        const auto fraction = text.substr(point + 1);
        if (fraction.empty() || fraction.find_first_not_of('0') != std::string_view::npos) {
            return std::nullopt;
        }
        text = text.substr(0, point);
    }
    std::string_view digits = text;
    if (digits.starts_with('+') || digits.starts_with('-')) {
        digits.remove_prefix(1);
    }
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) {
        return std::nullopt;
    }
    return parse_integer(text);
}

bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, is_ascii_control);
}

std::optional<std::string> parse_path(std::string_view text) {
    if (!text.starts_with('/') || has_control_character(text)) {
        return std::nullopt;
    }
    std::string path;
    for (const auto part : split(text, '/')) {
        if (!part.empty() && part != ".") {
            path.append("/").append(part);
        }
    }
    return path.empty() ? "/" : path;
}

bool is_device_name(std::string_view text) {
    constexpr std::array<std::string_view, 5> taken{".", "..", "brcluster", "brstorage", "brupstream"};
    return !text.empty() && text.size() <= 15 && text.find_first_of("/ ") == std::string_view::npos &&
           !has_control_character(text) && std::ranges::find(taken, text) == taken.end();
}

bool is_dns_name(std::string_view text) {
    const auto is_label = [](std::string_view label) {
        return !label.empty() && label.size() <= 63 &&
               std::ranges::all_of(label, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
    };
    return text.size() <= 253 && std::ranges::all_of(split(text, '.'), is_label);
}

bool is_host(std::string_view text) {
    const auto is_allowed = [](char c) {
        return is_letter(c) || is_digit(c) || std::string_view("-._:[]").find(c) != std::string_view::npos;
    };
    return !text.empty() && text.size() <= 255 && std::ranges::all_of(text, is_allowed);
}

}  // namespace pvc::config
