#include "pvcnoded/async/adapter/real_timers.hpp"

#include <ctime>

namespace pvc::async {

namespace {

duration read_clock(clockid_t which) {
    timespec t{};
    ::clock_gettime(which, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

real_timers::real_timers(boost::asio::io_context& context) : alarm_(std::in_place, context.get_executor()) {}

time_point real_timers::now() const {
    return time_point(read_clock(CLOCK_MONOTONIC));
}

boot_time real_timers::boot_now() const {
    return boot_time(read_clock(CLOCK_BOOTTIME));
}

wall_time real_timers::wall_now() const {
    return wall_time(read_clock(CLOCK_REALTIME));
}

void real_timers::close() {
    alarm_.reset();
    set_for_.reset();
    hook_ = nullptr;
}

void real_timers::deadlines_changed() {
    if (in_callbacks_ || !alarm_) {
        return;
    }
    const auto next = next_deadline();
    if (!next || (set_for_ && *set_for_ <= *next)) {
        return;
    }
    set_alarm(*next);
}

void real_timers::set_alarm(time_point when) {
    set_for_ = when;
    // Cancels the wait of the earlier setting. Its handler may already be queued as a success, hence the number.
    alarm_->expires_at(std::chrono::steady_clock::time_point(when.time_since_epoch()));
    alarm_->async_wait([this, setting = ++setting_](const boost::system::error_code& code) {
        if (!code && setting == setting_) {
            alarm_went_off();
        }
    });
}

void real_timers::alarm_went_off() {
    set_for_.reset();
    if (hook_) {
        hook_();
    }
    in_callbacks_ = true;
    run_due();
    in_callbacks_ = false;
    deadlines_changed();
}

}  // namespace pvc::async
