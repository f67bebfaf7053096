// The offload port on simulated time: work runs on the loop itself when its time has passed. What the next calls do can
// be scripted: take long, hang, find the pool full.
#pragma once

#include "pvcnoded/async/offload.hpp"

#include <deque>
#include <list>

namespace pvc::sim {

class sim_offload final : public async::offload {
public:
    explicit sim_offload(async::timers& clock, duration usual = std::chrono::milliseconds(1))
        : clock_(clock), usual_(usual) {}

    // One call each, in the order of the calls that follow.
    void next_takes(duration time) { script_.push_back({time, false}); }
    void next_hangs() { script_.push_back({duration::zero(), true}); }
    // While full, nothing is accepted.
    void set_full(bool full) { full_ = full; }
    // What hangs goes on: it runs now, as late results do.
    void release() {
        for (auto& entry : items_) {
            if (!entry.due.armed()) {
                start(entry, duration::zero());
            }
        }
    }
    [[nodiscard]] std::size_t accepted() const { return accepted_; }
    // Calls that have not ended.
    [[nodiscard]] std::size_t under_way() const { return items_.size(); }
    // A killed daemon: nothing that it started reaches the world any more.
    void cut() {
        is_cut_ = true;
        items_.clear();
    }
    void renew() { is_cut_ = false; }

protected:
    bool submit(std::function<void()> work, std::function<void()> done) override {
        if (full_) {
            return false;
        }
        if (is_cut_) {
            return true;  // and nothing ever comes of it
        }
        ++accepted_;
        auto& entry = items_.emplace_back(clock_);
        entry.work = std::move(work);
        entry.done = std::move(done);
        behaviour next{usual_, false};
        if (!script_.empty()) {
            next = script_.front();
            script_.pop_front();
        }
        if (!next.hangs) {
            start(entry, next.takes);
        }
        return true;
    }

private:
    struct behaviour {
        duration takes;
        bool hangs;
    };
    struct item {
        explicit item(async::timers& clock) : due(clock) {}
        async::timer due;
        std::function<void()> work;
        std::function<void()> done;
    };

    void start(item& entry, duration time) {
        entry.due.arm(clock_.now() + time, [this, &entry] {
            entry.work();
            const auto done = std::move(entry.done);
            items_.remove_if([&entry](const item& other) { return &other == &entry; });
            done();
        });
    }

    async::timers& clock_;
    duration usual_;
    std::list<item> items_;
    std::deque<behaviour> script_;
    std::size_t accepted_ = 0;
    bool full_ = false;
    bool is_cut_ = false;
};

}  // namespace pvc::sim
