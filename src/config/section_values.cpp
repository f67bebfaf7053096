// The accessors of single values: what is absent, of the wrong kind, or does not fit is reported here.
#include "pvcnoded/base/text.hpp"
#include "section.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::config {

std::string range_text(range allowed) {
    return fmt::format("an integer from {} to {}", allowed.low, allowed.high);
}

setting<bool> section::boolean(std::string_view key, presence code, bool fallback) {
    const auto* entry = look_up(key);
    if (entry == nullptr) {
        missing(key, code, "a boolean", code == presence::defaulted ? (fallback ? "true" : "false") : "");
        return absent(key, fallback);
    }
    const auto& node = *entry->value;
    auto out = found(*entry, fmt::format("{}.{}", path_, key), fallback);
    const auto value = node.kind == yaml_kind::scalar ? parse_boolean(node.text) : std::nullopt;
    if (!value) {
        wrong(out, "not a boolean", "a boolean", value_text(node, true));
        return out;
    }
    if (is_quoted(node)) {
        report(severity::warning, out.line, out.path,
               fmt::format("a boolean in quotes; expected a boolean, got {}", value_text(node, true)));
    }
    out.value = *value;
    out.given = true;
    return out;
}

void section::read_integer(const yaml_node& node, range allowed, std::string_view expectation,
                           setting<int>& out) const {
    const auto value = node.kind == yaml_kind::scalar ? parse_decimal(node.text) : std::nullopt;
    if (!value) {
        wrong(out, type_name(node) == "integer" ? "not a decimal integer" : "not an integer", expectation,
              value_text(node, true));
    } else if (*value < allowed.low || *value > allowed.high) {
        wrong(out, "out of range", expectation, value_text(node, true));
    } else {
        out.value = static_cast<int>(*value);
        out.given = true;
    }
}

setting<int> section::integer(std::string_view key, presence code, range allowed, int fallback) {
    const auto* entry = look_up(key);
    if (entry == nullptr) {
        missing(key, code, range_text(allowed), code == presence::defaulted ? fmt::to_string(fallback) : "");
        return absent(key, fallback);
    }
    auto out = found(*entry, fmt::format("{}.{}", path_, key), fallback);
    read_integer(*entry->value, allowed, range_text(allowed), out);
    return out;
}

setting<std::optional<int>> section::optional_integer(std::string_view key, presence code, range allowed, bool or_none,
                                                      std::string_view absent_means) {
    const std::string expectation = range_text(allowed) + (or_none ? " or None" : "");
    const auto* entry = look_up(key);
    if (entry == nullptr) {
        missing(key, code, expectation, absent_means);
        return absent<std::optional<int>>(key, std::nullopt);
    }
    auto out = found<std::optional<int>>(*entry, fmt::format("{}.{}", path_, key), std::nullopt);
    if (or_none && is_none(*entry->value)) {
        out.given = true;
        return out;
    }
    auto number = found(*entry, out.path, 0);
    read_integer(*entry->value, allowed, expectation, number);
    out.given = number.given;
    if (number.given) {
        out.value = number.value;
    }
    return out;
}

void section::read_text(const yaml_node& node, const text_rule& rule, setting<std::string>& out) const {
    const auto got = [&](bool quoted) {
        return rule.is_secret ? fmt::format("a value of type {}", type_name(node)) : value_text(node, quoted);
    };
    if (rule.is_secret) {
        out.got.clear();
    }
    if (node.kind != yaml_kind::scalar) {
        wrong(out, "not a string", rule.expectation, got(true));
        return;
    }
    if (node.text.find('\0') !=
        std::string::npos) {  // cannot be passed on: arguments, variables and C libraries end there
        wrong(out, "contains a NUL character", rule.expectation, got(true));
        return;
    }
    const auto value = rule.parse == nullptr ? std::optional(node.text) : rule.parse(node.text);
    if (!value) {
        wrong(out, node.text.empty() ? "empty" : rule.what, rule.expectation, got(false));
        return;
    }
    out.value = *value;
    out.given = true;
}

setting<std::string> section::text(std::string_view key, presence code, const text_rule& rule, std::string fallback) {
    const auto* entry = look_up(key);
    if (entry == nullptr) {
        missing(key, code, rule.expectation, code == presence::defaulted ? fallback : "");
        return absent(key, std::move(fallback));
    }
    auto out = found(*entry, fmt::format("{}.{}", path_, key), std::move(fallback));
    read_text(*entry->value, rule, out);
    return out;
}

setting<std::optional<std::string>> section::text_or_none(std::string_view key, presence code, const text_rule& rule) {
    const auto* entry = look_up(key);
    if (entry == nullptr) {
        missing(key, code, rule.expectation);
        return absent<std::optional<std::string>>(key, std::nullopt);
    }
    auto out = found<std::optional<std::string>>(*entry, fmt::format("{}.{}", path_, key), std::nullopt);
    if (is_none(*entry->value)) {
        out.given = true;
        return out;
    }
    auto words = found<std::string>(*entry, out.path, {});
    read_text(*entry->value, rule, words);
    out.given = words.given;
    if (words.given) {
        out.value = std::move(words.value);
    }
    return out;
}

setting<std::string> section::word(std::string_view key, presence code, std::span<const std::string_view> words,
                                   std::string_view fallback, bool or_none) {
    const std::string expectation = fmt::format("one of {}{}", fmt::join(words, ", "), or_none ? ", None" : "");
    const auto* entry = look_up(key);
    if (entry == nullptr) {
        missing(key, code, expectation, code == presence::defaulted ? fallback : "");
        return absent(key, std::string(fallback));
    }
    const auto& node = *entry->value;
    auto out = found(*entry, fmt::format("{}.{}", path_, key), std::string(fallback));
    const std::string value = or_none && is_none(node) ? "none" : lower(node.text);
    if (node.kind != yaml_kind::scalar ||
        (!(or_none && value == "none") && std::ranges::find(words, value) == words.end())) {
        wrong(out, "not a known value", expectation, value_text(node, false));
        return out;
    }
    out.value = value;
    out.given = true;
    return out;
}

}  // namespace pvc::config
