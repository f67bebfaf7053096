// condition: several wait until something is so. Whoever changes what they look at calls notify_all(); each waiter then
// looks for itself. Level-triggered: it is registered from before its first look until it goes on, so that no change
// between a look and the wait is lost, and a notification that changes nothing does no harm. Woken in the order of
// their coming. For one waiter without anything to look at: async/wakeup.hpp. For a value: async/latest.hpp.
//
// A waiter that is cancelled, whose time has passed or whose frame is destroyed leaves the others as they are. It may
// outlive the condition, but is then woken by nobody. Loop thread only. Nothing is allocated but the waiter's own
// frame. Specification: runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <boost/intrusive/list.hpp>

namespace pvc::async {

class condition {
    using hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

public:
    condition() = default;
    condition(const condition&) = delete;
    condition& operator=(const condition&) = delete;

    // While it lives, `target` is notified with the others: for who heeds other things as well. `target` outlives it.
    class observer : public hook {
    public:
        observer(condition& source, wakeup& target) : target_(target) { source.observers_.push_back(*this); }
        observer(const observer&) = delete;
        observer& operator=(const observer&) = delete;

    private:
        friend class condition;
        wakeup& target_;
    };

    // Wakes all that wait now; they run in a later turn.
    void notify_all() {
        for (observer& one : observers_) {
            one.target_.notify();
        }
    }

    // Suspends until `is_so()`; not at all if it is so already. Throws operation_aborted when cancelled.
    template <class Predicate>
    awaitable<void> wait(Predicate is_so, wait_note note) {
        wakeup mine;
        const observer here(*this, mine);
        while (!is_so()) {
            co_await mine.wait(note);
        }
    }

    // The same until `deadline`, which may have passed. Whether it is so at the end.
    template <class Predicate>
    awaitable<bool> wait_until(Predicate is_so, timers& clock, time_point deadline, std::string_view what) {
        wakeup mine;
        const observer here(*this, mine);
        while (!is_so() && clock.now() < deadline) {
            co_await mine.wait_until(clock, deadline, what);
        }
        co_return is_so();
    }

private:
    boost::intrusive::list<observer, boost::intrusive::constant_time_size<false>> observers_;
};

}  // namespace pvc::async
