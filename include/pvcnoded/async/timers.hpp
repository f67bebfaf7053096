// The clock port with timers on it: one ordered queue of deadlines, whoever drives it (a real timer, or a simulation
// that jumps from deadline to deadline). Nothing here allocates. Specification: runtime-design.md 8.1 (option B),
// node-lifecycle.md 3.1 rule 5.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <boost/intrusive/set.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace pvc::async {

class timers;

// A one-shot deadline with a callback. The callback runs on the loop, never inside arm(). Owned by whoever waits;
// destroying it disarms it. Must not outlive its `timers`.
class timer : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    explicit timer(timers& owner) : owner_(owner) {}
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
    ~timer() { disarm(); }

    // Replaces an earlier deadline. A deadline in the past fires at the next turn.
    void arm(time_point when, std::function<void()> action);
    void disarm();
    [[nodiscard]] bool armed() const { return is_linked(); }
    [[nodiscard]] time_point when() const { return when_; }

private:
    friend class timers;
    timers& owner_;
    time_point when_{};
    std::uint64_t order_ = 0;  // ties fire in the order of arming
    std::function<void()> action_;
};

class timers : public clock {
public:
    // Runs the callbacks of every deadline that has passed, earliest first.
    void run_due();
    [[nodiscard]] std::optional<time_point> next_deadline() const;

protected:
    // Called when the earliest deadline may have changed.
    virtual void deadlines_changed() = 0;

private:
    friend class timer;
    struct earlier {
        bool operator()(const timer& a, const timer& b) const {
            return a.when_ != b.when_ ? a.when_ < b.when_ : a.order_ < b.order_;
        }
    };
    boost::intrusive::multiset<timer, boost::intrusive::compare<earlier>, boost::intrusive::constant_time_size<false>>
        queue_;
    std::uint64_t armed_count_ = 0;
};

}  // namespace pvc::async
