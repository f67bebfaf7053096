#include "told_remarks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::networks {

namespace {

using remarks = std::vector<policy::network_remark>;

std::ptrdiff_t count_of(const remarks& all, message which) {
    return std::ranges::count(all, which, &policy::network_remark::which);
}

bool has_text(const remarks& all, const policy::network_remark& like) {
    return std::ranges::any_of(
        all, [&](const policy::network_remark& one) { return one.which == like.which && one.text == like.text; });
}

}  // namespace

bool counted_warnings::tell(message which, const std::string& text) {
    kinds_.insert_or_assign(text, which);
    if (!events_.is_first(text, clock_.now())) {
        return false;
    }
    log_.warning(which, text);
    return true;
}

void counted_warnings::tell_due() {
    for (const auto& [text, times] : events_.take_due(clock_.now())) {
        if (const auto found = kinds_.find(text); found != kinds_.end()) {
            log_.warning(found->second, fmt::format("{}: {} more time(s) in the last minute", text, times));
        }
    }
    if (!events_.next_due()) {
        kinds_.clear();
    }
}

void told_remarks::say(const policy::network_remark& one) {
    if (one.is_error) {
        log_.error(one.which, one.text);
    } else {
        log_.warning(one.which, one.text);
    }
}

bool told_remarks::is_first(const policy::network_remark& one, bool is_so) {
    if (clock_ == nullptr) {
        return true;
    }
    counted_.insert_or_assign(one.text, one);
    return states_.is_first(one.text, is_so, clock_->now());
}

void told_remarks::tell_due() {
    if (clock_ == nullptr) {
        return;
    }
    for (const auto& [text, times, is_so] : states_.take_due(clock_->now())) {
        const auto found = counted_.find(text);
        if (found == counted_.end()) {
            continue;
        }
        auto one = found->second;
        const auto more = times == 0 ? std::string() : fmt::format(": {} more time(s) in the last minute", times);
        if (is_so) {
            one.text = fmt::format("{}{}, and so it is now", text, more);
            say(one);
        } else {
            log_.ok("this is over: " + text + more);
        }
    }
    if (!states_.next_due()) {
        counted_.clear();
    }
}

void told_remarks::tell(const std::string& about, std::vector<policy::network_remark> now) {
    if (now.empty() && !told_.contains(about)) {
        return;  // it goes well, as nearly always
    }
    auto& before = told_[about];
    for (const auto& one : now) {
        if (std::ranges::find(before, one) != before.end()) {
            continue;
        }
        if (is_first(one, true)) {
            say(one);
        }
    }
    for (const auto& one : before) {
        // Where there are as many of its kind as before, something else is said in its place.
        const bool is_over = !has_text(now, one) && count_of(now, one.which) < count_of(before, one.which);
        if (is_over && is_first(one, false)) {
            log_.ok("this is over: " + one.text);
        }
    }
    if (now.empty()) {
        told_.erase(about);
    } else {
        before = std::move(now);
    }
}

std::span<const policy::network_remark> told_remarks::of(const std::string& about) const {
    const auto found = told_.find(about);
    return found == told_.end() ? std::span<const policy::network_remark>() : found->second;
}

std::size_t told_remarks::size() const {
    std::size_t all = 0;
    for (const auto& [about, remarks] : told_) {
        all += remarks.size();
    }
    return all;
}

}  // namespace pvc::networks
