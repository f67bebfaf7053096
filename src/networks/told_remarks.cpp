#include "told_remarks.hpp"

#include <algorithm>

namespace pvc::networks {

void told_remarks::tell(const std::string& about, std::vector<policy::network_remark> now) {
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
        // Something else is said of it in its place, or nothing any more.
        if (std::ranges::find(now, one.which, &policy::network_remark::which) == now.end()) {
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
