#include "pvcnoded/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace pvc {

namespace {
constexpr std::string_view blanks = " \t\r\n\v\f";

char lower_character(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
    if (text.starts_with('+') && text.size() > 1 && text[1] != '-') {
        text.remove_prefix(1);
    }
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped_at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped_at != end || text.empty()) {
        return std::nullopt;
    }
    return value;
}

std::string float_text(double value) {
    char buffer[400];  // the smallest double has 324 digits behind the point, and up to 17 that count
    const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(value)) {
        return "0.0";
    }
    std::string text(std::begin(buffer), end);
    if (text.find('.') == std::string::npos) {
        text += ".0";
    }
    return text;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), lower_character);
    return out;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, {}, lower_character, lower_character);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> split_blanks(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto first = text.find_first_not_of(blanks);
        if (first == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(first);
        const auto end = std::min(text.find_first_of(blanks), text.size());
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
    std::string out;
    for (const auto& part : parts) {
        if (&part != &parts.front()) {
            out += separator;
        }
        out += part;
    }
    return out;
}

std::string ascii_only(std::string_view text) {
    std::string out(text);
    std::ranges::replace_if(out, [](char c) { return c < 0x20 || c > 0x7e; }, '?');
    return out;
}

std::string shown(std::string_view text) {
    constexpr std::size_t most = 64;
    return ascii_only(text.substr(0, most)) + (text.size() > most ? "…" : "");
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace pvc
