// The bridge from a callback of somebody else (a C library, a pool thread's result) to an awaitable.
//
// The record is shared by the waiter and the callback. A cancelled or late waiter goes at once; the callback then finds
// nobody waiting and its value is dropped, or handed to `if_late`. Loop thread only.
// Specification: runtime-design.md 7.3 (completion bridge).
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace pvc::async {

template <class T>
class completion {
public:
    // Called at most once, by the callback's side.
    void set(T value) {
        value_.emplace(std::move(value));
        changed_.notify();
    }
    [[nodiscard]] bool is_set() const { return value_.has_value(); }

    // Suspends until set (true) or until the deadline (false).
    static awaitable<bool> wait(std::shared_ptr<completion> self, timers& clock, time_point deadline,
                                std::string_view what) {
        if (self->value_) {
            co_return true;
        }
        const bool notified = co_await self->changed_.wait_until(clock, deadline, what);
        co_return notified || self->value_.has_value();
    }
    T& value() { return *value_; }

private:
    std::optional<T> value_;
    wakeup changed_;
};

}  // namespace pvc::async
