#include "pvcnoded/async/adapter/real_timers.hpp"

#include "pvcnoded/async/thread_clock.hpp"

namespace pvc::async {

real_timers::real_timers(boost::asio::io_context& context) : alarm_(std::in_place, context.get_executor()) {}

time_point real_timers::now() const {
    return thread_now();
}

boot_time real_timers::boot_now() const {
    return thread_boot_now();
}

wall_time real_timers::wall_now() const {
    return wall_time(std::chrono::system_clock::now().time_since_epoch());
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
