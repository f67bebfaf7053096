#include "pvcnoded/async/timers.hpp"

#include <utility>

namespace pvc::async {

void timer::arm(time_point when, std::function<void()> action) {
    if (is_linked()) {
        unlink();
    }
    when_ = when;
    action_ = std::move(action);
    order_ = ++owner_.armed_count_;
    owner_.queue_.insert(*this);
    owner_.deadlines_changed();
}

void timer::disarm() {
    if (is_linked()) {
        unlink();
        action_ = nullptr;
        owner_.deadlines_changed();
    }
}

void timers::run_due() {
    const time_point limit = now();
    while (!queue_.empty() && queue_.begin()->when_ <= limit) {
        timer& due = *queue_.begin();
        due.unlink();
        // The callback may destroy the timer.
        std::function<void()> action;
        action.swap(due.action_);
        action();
    }
}

std::optional<time_point> timers::next_deadline() const {
    if (queue_.empty()) {
        return std::nullopt;
    }
    return queue_.begin()->when_;
}

}  // namespace pvc::async
