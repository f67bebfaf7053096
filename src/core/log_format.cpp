#include "pvcnoded/core/log_format.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

namespace pvc::core {

namespace {

struct level_style {
    std::string_view colour;
    std::string_view prompt;
    int journal_priority;
};

const level_style& style_of(log_level level) {
    static constexpr std::array<level_style, 7> table{{
        {"\033[92m", "ok: ", 6},
        {"\033[91m", "failed: ", 3},
        {"\033[93m", "warning: ", 4},
        {"\033[94m", "info: ", 6},
        {"\033[96m", "system: ", 5},
        {"\033[95m", "tick: ", 6},
        {"\033[97m", "debug: ", 7},
    }};
    return table[static_cast<std::size_t>(level)];
}

std::string front(const log_record& record, const log_style& style) {
    const level_style& level = style_of(record.level);
    return style.colours ? std::string(level.colour).append(">>> \033[0m") : std::string(level.prompt);
}

// As much of the text as the limits of a record allow, cut at a character, and what is missing.
std::string bounded(std::string_view text) {
    std::size_t end = start_to_character(text, record_bytes_max).size();
    std::size_t lines = 1;
    for (auto at = text.find('\n'); at < end; at = text.find('\n', at + 1)) {
        if (++lines > record_lines_max) {
            end = at;
        }
    }
    std::string kept = tame_text(text.substr(0, end));
    return end == text.size() ? kept : kept + fmt::format("\n... ({} bytes more)", text.size() - end);
}

template <class Line>
std::string for_each_line(const std::string& text, Line line) {
    std::string out;
    for (const auto part : split(text, '\n')) {
        if (!out.empty()) {
            out += '\n';
        }
        out += line(part);
    }
    return out;
}

std::string with_prefix(const std::string& prefix, std::string_view text) {
    return prefix.empty() ? std::string(text) : (prefix + " - ").append(text);
}

void put(std::string& to, std::int64_t number, std::size_t digits, char behind) {
    const std::size_t end = to.size() + digits;
    to.append(digits, '0');
    for (std::size_t at = end; digits > 0; --digits, number /= 10) {
        to[--at] = static_cast<char>('0' + number % 10);
    }
    to += behind;
}

std::string one_line(std::string_view text) {
    std::string line = tame_text(text);
    std::ranges::replace(line, '\n', '?');
    return line;
}

}  // namespace

std::string date_text(wall_time when) {
    const auto since = when.time_since_epoch();
    const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(since).count();
    const auto micros = std::chrono::floor<std::chrono::microseconds>(since).count() - seconds * 1'000'000;
    std::tm local{};
    localtime_r(&seconds, &local);
    std::string text;
    text.reserve(sizeof("2026/01/01 00:00:00.000000 "));
    put(text, local.tm_year + 1900, 4, '/');
    put(text, local.tm_mon + 1, 2, '/');
    put(text, local.tm_mday, 2, ' ');
    put(text, local.tm_hour, 2, ':');
    put(text, local.tm_min, 2, ':');
    put(text, local.tm_sec, 2, '.');
    put(text, micros, 6, ' ');
    return text;
}

std::string format_record(const log_record& record, const log_style& style) {
    const std::string priority = style.journal ? fmt::format("<{}>", style_of(record.level).journal_priority) : "";
    const std::string date = style.dates ? date_text(record.when) : "";
    const std::string prefix = one_line(record.prefix);
    return for_each_line(bounded(record.text), [&](std::string_view text) {
        return priority + front(record, style) + date + with_prefix(prefix, text);
    });
}

std::string format_shipped(const log_record& record, const log_style& style, int schema_version) {
    const std::string tag = schema_version >= 11 ? "pvcnoded:   " : "";
    const std::string date = date_text(record.when);
    const std::string prefix = one_line(record.prefix);
    return for_each_line(bounded(record.text), [&](std::string_view text) {
        std::string line = style.dates ? "" : date;
        line += tag;
        line += front(record, style);
        line += style.dates ? date : "";
        line += with_prefix(prefix, text);
        return line;
    });
}

}  // namespace pvc::core
