// What the world does at a later moment of its own clock: a fault that ends, a process that its service manager starts
// again.
#pragma once

#include "pvcnoded/async/timers.hpp"

#include <functional>
#include <map>

namespace pvc::sim {

class agenda {
public:
    explicit agenda(async::timers& clock) : clock_(clock), timer_(clock) {}

    // Entries of one moment are done in the order in which they were made.
    void after(duration delay, std::function<void()> deed) {
        entries_.emplace(clock_.now() + delay, std::move(deed));
        arm();
    }
    [[nodiscard]] bool empty() const { return entries_.empty(); }
    void clear() {
        entries_.clear();
        timer_.disarm();
    }

private:
    void arm() {
        if (!entries_.empty() && (!timer_.armed() || entries_.begin()->first < timer_.when())) {
            timer_.arm(entries_.begin()->first, [this] { fire(); });
        }
    }
    void fire() {
        while (!entries_.empty() && entries_.begin()->first <= clock_.now()) {
            const auto deed = std::move(entries_.begin()->second);
            entries_.erase(entries_.begin());
            deed();
        }
        arm();
    }

    async::timers& clock_;
    async::timer timer_;
    std::multimap<time_point, std::function<void()>> entries_;
};

}  // namespace pvc::sim
