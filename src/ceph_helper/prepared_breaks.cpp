#include "pvcnoded/ceph_helper/prepared_breaks.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pvc::ceph_helper {

// Whatever is forgotten is closed without the lock: that may take a while.
void prepared_breaks::put(const key& of, std::shared_ptr<ready_break> one, time_point now) {
    std::shared_ptr<ready_break> dropped;
    const std::lock_guard guard(mutex_);
    if (all_.size() >= most && !all_.contains(of)) {
        const auto oldest = std::ranges::min_element(all_, {}, [](const auto& any) { return any.second.since; });
        dropped = std::move(oldest->second.one);
        all_.erase(oldest);
    }
    auto& its = all_[of];
    std::swap(its.one, one);
    its.since = now;
}

std::shared_ptr<ready_break> prepared_breaks::find(const key& of) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(of);
    return found == all_.end() ? nullptr : found->second.one;
}

void prepared_breaks::forget(const key& of) {
    std::shared_ptr<ready_break> dropped;
    const std::lock_guard guard(mutex_);
    if (const auto found = all_.find(of); found != all_.end()) {
        dropped = std::move(found->second.one);
        all_.erase(found);
    }
}

void prepared_breaks::forget_old(time_point now) {
    std::vector<std::shared_ptr<ready_break>> dropped;
    const std::lock_guard guard(mutex_);
    for (auto one = all_.begin(); one != all_.end();) {
        if (now - one->second.since >= kept) {
            dropped.push_back(std::move(one->second.one));
            one = all_.erase(one);
        } else {
            ++one;
        }
    }
}

}  // namespace pvc::ceph_helper
