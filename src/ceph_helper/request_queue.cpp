#include "pvcnoded/ceph_helper/request_queue.hpp"

#include <utility>

namespace pvc::ceph_helper {

namespace ask = protocol::ceph::ask;

namespace {

struct lane_choice {
    lane operator()(const ask::monitor_command&) const { return lane::figures; }
    lane operator()(const ask::pool_counters&) const { return lane::figures; }
    lane operator()(const ask::locks&) const { return lane::locks; }
    lane operator()(const ask::watchers&) const { return lane::locks; }
    lane operator()(const ask::prepare_break&) const { return lane::locks; }
    lane operator()(const ask::break_lock&) const { return lane::breaks; }
    lane operator()(const ask::blocklist&) const { return lane::breaks; }
    lane operator()(const ask::usage&) const { return lane::at_once; }
};

}  // namespace

lane lane_of(const protocol::ceph::request& what) {
    return std::visit(lane_choice{}, what.what);
}

void request_queue::put(pending_request one) {
    {
        const std::lock_guard guard(mutex_);
        waiting_.push_back(std::move(one));
    }
    came_.notify_one();
}

std::optional<pending_request> request_queue::take(duration at_most) {
    std::unique_lock guard(mutex_);
    std::optional<std::size_t> which;
    if (!came_.wait_for(guard, at_most, [&] { return (which = next()).has_value(); })) {
        return std::nullopt;
    }
    auto one = std::move(waiting_[*which]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(*which));
    turns_.take(pool_of(one.what));
    return one;
}

void request_queue::is_over(std::string_view pool) {
    {
        const std::lock_guard guard(mutex_);
        turns_.give_back(pool);
    }
    came_.notify_one();  // one of its pool may have waited for just that
}

std::optional<std::size_t> request_queue::next() const {
    return turns_.next(waiting_, [](const pending_request& one) { return pool_of(one.what); });
}

}  // namespace pvc::ceph_helper
