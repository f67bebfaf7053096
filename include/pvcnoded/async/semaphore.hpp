// ordered_semaphore: so many at once; of those that wait the one with the lowest key is next.
// mutex: one at once, first come, first served.
//
// Both are level-triggered: whoever goes, also by cancellation and at whatever moment, lets the next one look. A place
// is held by its object and given back with it. Loop thread only. Specification: runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/assert.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace pvc::async {

template <class Key>
class ordered_semaphore {
public:
    explicit ordered_semaphore(std::size_t most) : most_(most) {}
    ordered_semaphore(const ordered_semaphore&) = delete;
    ordered_semaphore& operator=(const ordered_semaphore&) = delete;

    // More than are allowed from now on go on.
    void allow(std::size_t most) {
        most_ = most;
        pass_on();
    }
    [[nodiscard]] std::size_t used() const { return used_; }

    // In the queue, and from the first successful take() on among those that go ahead. `wake` is notified when it may
    // be its turn, for whoever has other things to heed as well; it must outlive the wait.
    class place {
    public:
        place(ordered_semaphore& owner, Key key, wakeup& wake) : owner_(&owner), key_(std::move(key)) {
            const bool is_new = owner.waiting_.emplace(key_, &wake).second;
            PVC_ASSERT(is_new);
        }
        place(place&& other) noexcept
            : owner_(std::exchange(other.owner_, nullptr)), key_(other.key_), has_turn_(other.has_turn_) {}
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        place& operator=(place&&) = delete;
        ~place() {
            if (owner_ == nullptr) {
                return;
            }
            if (has_turn_) {
                --owner_->used_;
            } else {
                owner_->waiting_.erase(key_);
            }
            owner_->pass_on();
        }
        // True from the first time that it is its turn, until it goes.
        bool take() {
            if (!has_turn_ && owner_->used_ < owner_->most_ && owner_->waiting_.begin()->first == key_) {
                has_turn_ = true;
                ++owner_->used_;
                owner_->waiting_.erase(key_);
                owner_->pass_on();
            }
            return has_turn_;
        }

    private:
        ordered_semaphore* owner_;
        Key key_;
        bool has_turn_ = false;
    };

    // Suspends until it is its turn. `what` is what the task tree shows, with static lifetime.
    awaitable<place> take(Key key, std::string_view what) {
        wakeup mine;
        place here(*this, std::move(key), mine);
        while (!here.take()) {
            co_await mine.wait(wait_note::work(what));
        }
        co_return std::move(here);
    }
    // The same until `deadline`; empty: it was not its turn by then.
    awaitable<std::optional<place>> take_until(Key key, timers& clock, time_point deadline, std::string_view what) {
        wakeup mine;
        place here(*this, std::move(key), mine);
        while (!here.take()) {
            const bool notified = co_await mine.wait_until(clock, deadline, what);
            if (!notified && !here.take()) {
                co_return std::nullopt;
            }
        }
        co_return std::optional<place>(std::move(here));
    }

private:
    void pass_on() {
        if (used_ < most_ && !waiting_.empty()) {
            waiting_.begin()->second->notify();
        }
    }

    std::size_t most_;
    std::size_t used_ = 0;
    std::map<Key, wakeup*> waiting_;
};

class mutex {
public:
    using guard = ordered_semaphore<std::uint64_t>::place;

    awaitable<guard> lock(std::string_view what) { return turns_.take(next_++, what); }
    // Empty: somebody else still had it at `deadline`.
    awaitable<std::optional<guard>> lock_until(timers& clock, time_point deadline, std::string_view what) {
        return turns_.take_until(next_++, clock, deadline, what);
    }
    [[nodiscard]] bool is_locked() const { return turns_.used() > 0; }

private:
    ordered_semaphore<std::uint64_t> turns_{1};
    std::uint64_t next_ = 0;
};

}  // namespace pvc::async
