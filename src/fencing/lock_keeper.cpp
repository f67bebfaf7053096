#include "lock_keeper.hpp"

#include "pvcnoded/policy/fencing/fence_requests.hpp"

namespace pvc::fencing {

namespace {
constexpr duration pause_after_trouble = std::chrono::seconds(1);
}

void lock_keeper::set(const zookeeper::held_lock* now) {
    held_ = now;
    changes_.set(changes_.value() + 1);
}

async::awaitable<result<void>> lock_keeper::keep(zookeeper::held_lock& lock) {
    struct noted {
        lock_keeper& of;
        ~noted() { of.set(nullptr); }
    };
    const auto child = session_.watches.add(lock.child(), zookeeper::watch_kind::removal, work_);
    const noted guard{*this};
    set(&lock);
    trouble_.clear();
    while (wishes_ > 0 && (!child->known() || child->present())) {
        co_await work_.wait(async::wait_note::work("the end of fences, or of the fence lock"));
    }
    co_return result<void>();
}

async::awaitable<void> lock_keeper::run() {
    for (;;) {
        while (wishes_ == 0) {
            co_await work_.wait(async::wait_note::work("a node to be fenced"));
        }
        zookeeper::lock_request request;
        request.path = std::string(model::key_path::fence_lock);
        request.deadline = session_.limit(policy::fence_lock_limit(session_.node.times.keepalive));
        request.create_ancestors = true;
        request.task = "fencing";
        request.reason = "a dead node";
        const auto done = co_await session_.locks.with_lock(std::move(request),
                                                            [this](zookeeper::held_lock& lock) { return keep(lock); });
        if (!done) {
            trouble_ = done.error().text();
        }
        if (!done && done.error().code() != errc::timed_out) {
            co_await async::sleep_for(session_.node.clock(), pause_after_trouble, "another attempt at the fence lock");
        }
    }
}

}  // namespace pvc::fencing
