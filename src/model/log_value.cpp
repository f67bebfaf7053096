#include "pvcnoded/model/log_value.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"
#include "pvcnoded/base/utf8.hpp"

#include <algorithm>

namespace pvc::model {

namespace {

void add_line_views(std::vector<std::string_view>& lines, std::string_view text) {
    for (const auto line : split(text, '\n')) {
        lines.push_back(line);
    }
}

}  // namespace

std::vector<std::string> split_lines(std::string_view value) {
    std::vector<std::string> lines;
    if (!value.empty()) {
        for (const auto line : split(value, '\n')) {
            lines.emplace_back(line);
        }
    }
    return lines;
}

std::string join_lines(const std::vector<std::string>& lines) {
    return join(lines, "\n");
}

std::string append_lines(std::string_view old_value, const std::vector<std::string>& new_lines, std::size_t max_lines,
                         std::size_t max_bytes) {
    std::vector<std::string_view> lines;
    if (!old_value.empty()) {
        add_line_views(lines, old_value);
    }
    for (const auto& line : new_lines) {
        add_line_views(lines, line);
    }
    // From the newest backwards; `bytes` counts the separator in front of every kept line but the first.
    std::size_t kept = 0;
    std::size_t bytes = 0;
    while (kept < std::min(lines.size(), is_planted(defect::log_without_end) ? lines.size() : max_lines)) {
        const std::size_t more = lines[lines.size() - 1 - kept].size() + (kept == 0 ? 0 : 1);
        if (more > max_bytes - bytes) {
            break;
        }
        bytes += more;
        ++kept;
    }
    if (kept == 0) {
        return lines.empty() || max_lines == 0 ? std::string()
                                               : std::string(start_to_character(lines.back(), max_bytes));
    }
    std::string value;
    value.reserve(bytes);
    for (std::size_t i = lines.size() - kept; i < lines.size(); ++i) {
        if (i != lines.size() - kept) {
            value += '\n';
        }
        value += lines[i];
    }
    return value;
}

}  // namespace pvc::model
