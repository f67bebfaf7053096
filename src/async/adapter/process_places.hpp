// How many programs run at once: places, handed on in the order of asking.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace pvc::async {

class process_places {
public:
    explicit process_places(std::size_t limit) : limit_(limit) {}

    [[nodiscard]] std::size_t taken() const { return taken_; }
    [[nodiscard]] std::size_t waiting() const { return requests_.size(); }

    // A place, or the wish for one; given back or withdrawn with the object.
    class request {
    public:
        explicit request(std::shared_ptr<process_places> owner) : owner_(std::move(owner)) {}
        request(const request&) = delete;
        request& operator=(const request&) = delete;
        ~request() {
            if (has_place_) {
                owner_->leave();
            } else {
                std::erase(owner_->requests_, this);
            }
        }
        // False: the deadline passed.
        awaitable<bool> wait(timers& clock, time_point deadline) {
            if (owner_->taken_ < owner_->limit_) {
                ++owner_->taken_;
                has_place_ = true;
            } else {
                owner_->requests_.push_back(this);
                co_await granted_.wait_until(clock, deadline, "its turn to start a program");
            }
            co_return has_place_;
        }
        // The place is somebody else's now, who calls the function when it is free.
        std::function<void()> hand_over() {
            has_place_ = false;
            return [owner = owner_] { owner->leave(); };
        }

    private:
        friend class process_places;
        std::shared_ptr<process_places> owner_;
        wakeup granted_;
        bool has_place_ = false;
    };

private:
    void leave() {
        if (requests_.empty()) {
            --taken_;
            return;
        }
        request* next = requests_.front();
        requests_.pop_front();
        next->has_place_ = true;
        next->granted_.notify();
    }

    std::size_t limit_;
    std::size_t taken_ = 0;
    std::deque<request*> requests_;
};

}  // namespace pvc::async
