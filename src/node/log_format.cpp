#include "pvcnoded/node/log_format.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace pvc::node {

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
    return style.colours ? fmt::format("{}>>> \033[0m", level.colour) : std::string(level.prompt);
}

template <class Line>
std::string for_each_line(std::string_view text, Line line) {
    std::string out;
    for (const auto part : split(text, '\n')) {
        if (!out.empty()) {
            out += '\n';
        }
        out += line(part);
    }
    return out;
}

std::string with_prefix(const log_record& record, std::string_view text) {
    return record.prefix.empty() ? std::string(text) : fmt::format("{} - {}", record.prefix, text);
}

}  // namespace

std::string date_text(wall_time when) {
    const auto since = when.time_since_epoch();
    const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(since).count();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since).count() - seconds * 1'000'000;
    std::tm local{};
    localtime_r(&seconds, &local);
    return fmt::format("{:04}/{:02}/{:02} {:02}:{:02}:{:02}.{:06} ", local.tm_year + 1900, local.tm_mon + 1,
                       local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, micros);
}

std::string format_record(const log_record& record, const log_style& style) {
    const std::string priority = style.journal ? fmt::format("<{}>", style_of(record.level).journal_priority) : "";
    const std::string date = style.dates ? date_text(record.when) : "";
    return for_each_line(record.text, [&](std::string_view text) {
        return priority + front(record, style) + date + with_prefix(record, text);
    });
}

std::string format_shipped(const log_record& record, const log_style& style, int schema_version) {
    const std::string tag = schema_version >= 11 ? "pvcnoded:   " : "";
    const std::string date = date_text(record.when);
    return for_each_line(record.text, [&](std::string_view text) {
        std::string line = style.dates ? "" : date;
        line += tag;
        line += front(record, style);
        line += style.dates ? date : "";
        line += with_prefix(record, text);
        return line;
    });
}

}  // namespace pvc::node
