#include "told_remarks.hpp"

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

void told_remarks::tell(const std::string& about, std::vector<policy::network_remark> now) {
    if (now.empty() && !told_.contains(about)) {
        return;  // it goes well, as nearly always
    }
    auto& before = told_[about];
    for (const auto& one : now) {
        if (std::ranges::find(before, one) != before.end()) {
            continue;
        }
        if (one.is_error) {
            log_.error(one.which, one.text);
        } else {
            log_.warning(one.which, one.text);
        }
    }
    for (const auto& one : before) {
        // Where there are as many of its kind as before, something else is said in its place.
        if (!has_text(now, one) && count_of(now, one.which) < count_of(before, one.which)) {
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
