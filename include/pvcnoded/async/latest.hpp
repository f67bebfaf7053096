// latest<T>: a value and its version. Readers see the newest value; intermediate ones may be skipped, none is queued.
// Any number of observers, each with a wakeup of its own. Loop thread only.
// Specification: runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/condition.hpp"

#include <cstdint>
#include <utility>

namespace pvc::async {

template <class T>
class latest {
public:
    explicit latest(T initial = {}) : value_(std::move(initial)) {}
    latest(const latest&) = delete;
    latest& operator=(const latest&) = delete;

    [[nodiscard]] const T& value() const { return value_; }
    [[nodiscard]] std::uint64_t version() const { return version_; }

    // Publishes a value and wakes the observers.
    void set(T value) {
        value_ = std::move(value);
        ++version_;
        changed_.notify_all();
    }

    // While it lives, `target` is notified at every change. The value present now counts as seen.
    class observer {
    public:
        observer(latest& source, wakeup& target) : place_(source.changed_, target) {}

    private:
        condition::observer place_;
    };

private:
    T value_;
    std::uint64_t version_ = 0;
    condition changed_;
};

}  // namespace pvc::async
