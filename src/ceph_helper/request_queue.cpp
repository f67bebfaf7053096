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
    if (!came_.wait_for(guard, at_most, [this] { return !waiting_.empty(); })) {
        return std::nullopt;
    }
    auto one = std::move(waiting_.front());
    waiting_.pop_front();
    return one;
}

}  // namespace pvc::ceph_helper
