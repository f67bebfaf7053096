#include "pvcnoded/core/log_levels.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace pvc::core {

namespace {

constexpr std::array<std::string_view, 4> detail_names{"error", "warning", "info", "debug"};
constexpr std::array<std::string_view, 7> level_names{"ok", "error", "warning", "info", "state", "tick", "debug"};

}  // namespace

std::string_view to_text(log_detail detail) {
    return detail_names[static_cast<std::size_t>(detail)];
}

std::optional<log_detail> parse_log_detail(std::string_view text) {
    const auto* found = std::ranges::find(detail_names, text);
    return found == detail_names.end() ? std::nullopt
                                       : std::optional(static_cast<log_detail>(found - detail_names.begin()));
}

log_detail detail_of(log_level level) {
    switch (level) {
        case log_level::error: return log_detail::error;
        case log_level::warning: return log_detail::warning;
        case log_level::debug: return log_detail::debug;
        default: return log_detail::info;
    }
}

std::string_view to_text(log_level level) {
    return level_names[static_cast<std::size_t>(level)];
}

bool log_levels::set(setting what) {
    const auto at = std::ranges::lower_bound(settings_, what.subject, {}, &setting::subject);
    if (at != settings_.end() && at->subject == what.subject) {
        *at = std::move(what);
        return true;
    }
    if (settings_.size() >= settings_max) {
        return false;
    }
    settings_.insert(at, std::move(what));
    return true;
}

bool log_levels::reset(std::string_view subject) {
    return std::erase_if(settings_, [&](const setting& one) { return one.subject == subject; }) != 0;
}

std::vector<log_levels::setting> log_levels::expire(time_point now) {
    std::vector<setting> over;
    const auto is_over = [&](const setting& one) { return one.until <= now; };
    std::ranges::copy_if(settings_, std::back_inserter(over), is_over);
    std::erase_if(settings_, is_over);
    return over;
}

bool log_levels::shows(log_level level, std::string_view subject) const {
    log_detail wanted = base_;
    for (const auto& one : settings_) {
        if (one.subject.empty()) {
            wanted = one.detail;
        } else if (one.subject == subject) {
            wanted = one.detail;
            break;
        }
    }
    return detail_of(level) <= wanted;
}

}  // namespace pvc::core
