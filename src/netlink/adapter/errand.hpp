// What a thread of the pool does for a caller, and how long it is wanted: until its deadline, or until the caller has
// gone. A thread asks right before each request, so what was given up by then never reaches the kernel.
#pragma once

#include "pvcnoded/async/thread_clock.hpp"

#include <atomic>
#include <memory>

namespace pvc::netlink {

// Copies are the same errand. Any thread.
class errand {
public:
    explicit errand(time_point deadline) : deadline_(deadline) {}

    [[nodiscard]] time_point deadline() const { return deadline_; }
    [[nodiscard]] bool is_given_up() const { return *is_given_up_; }
    [[nodiscard]] bool is_wanted() const { return !is_given_up() && async::thread_now() < deadline_; }
    void give_up() const { *is_given_up_ = true; }

private:
    time_point deadline_;
    std::shared_ptr<std::atomic<bool>> is_given_up_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace pvc::netlink
