#include "pvcnoded/ceph_helper/setting_gate.hpp"

#include <chrono>

namespace pvc::ceph_helper {

setting_gate::entry setting_gate::enter(std::uint32_t value, time_point until, const std::function<int()>& change) {
    std::unique_lock guard(mutex_);
    const bool is_as_wanted = value_ == value && want_another_ == 0;
    if (!is_as_wanted && inside_ > 0) {
        ++want_another_;
        const bool is_in_time = left_.wait_until(guard, std::chrono::steady_clock::time_point(until.time_since_epoch()),
                                                 [this] { return inside_ == 0; });
        --want_another_;
        if (!is_in_time) {
            left_.notify_all();
            return {};
        }
    }
    if (value_ != value) {
        value_.reset();
        if (const int error = change(); error != 0) {
            return {outcome::in, error};
        }
        value_ = value;
    }
    ++inside_;
    return {outcome::in, 0};
}

void setting_gate::leave() {
    {
        const std::lock_guard guard(mutex_);
        --inside_;
    }
    left_.notify_all();
}

}  // namespace pvc::ceph_helper
