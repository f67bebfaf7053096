#include "pvcnoded/async/wakeup.hpp"

#include <boost/asio/this_coro.hpp>

#include <utility>

namespace pvc::async {

template <class Handler>
struct wakeup::handler_waiter final : wakeup::waiter {
    explicit handler_waiter(Handler h) : handler(std::move(h)) {}
    void post(std::unique_ptr<waiter> self, error_code code) override {
        auto executor = asio::get_associated_executor(handler);
        asio::post(executor, [self = std::move(self), this, code]() mutable {
            Handler ready = std::move(handler);
            self.reset();
            std::move(ready)(code);
        });
    }
    Handler handler;
};

template <class Token>
auto wakeup::start(wait_note note, Token token) {
    return asio::async_initiate<Token, void(error_code)>(
        [this, note](auto handler) {
            PVC_ASSERT(!waiter_);
            task_ = task_of(asio::get_associated_executor(handler));
            if (task_ != nullptr) {
                task_->begin_wait(note);
                task_->owner().suspended(*this);
            }
            auto slot = asio::get_associated_cancellation_slot(handler);
            waiter_ = std::make_unique<handler_waiter<decltype(handler)>>(std::move(handler));
            if (notified_) {
                notified_ = false;
                complete({});
                return;
            }
            if (slot.is_connected()) {
                slot_ = slot;
                slot_.assign([this](asio::cancellation_type /*type*/) { complete(asio::error::operation_aborted); });
            }
        },
        token);
}

awaitable<void> wakeup::wait(wait_note note) {
    return start(note, asio::use_awaitable);
}

awaitable<std::tuple<error_code>> wakeup::wait_code(wait_note note) {
    return start(note, asio::as_tuple(asio::use_awaitable));
}

void wakeup::notify() {
    if (waiter_) {
        complete({});
    } else {
        notified_ = true;
    }
}

void wakeup::complete(error_code code) {
    if (slot_.is_connected()) {
        slot_.clear();
    }
    slot_ = {};
    if (is_linked()) {
        unlink();
    }
    if (task_ != nullptr) {
        task_->end_wait();
        task_ = nullptr;
    }
    auto ready = std::move(waiter_);
    waiter* target = ready.get();
    target->post(std::move(ready), code);
}

void wakeup::abandon() {
    if (is_linked()) {
        unlink();
    }
    if (waiter_) {
        if (slot_.is_connected()) {
            slot_.clear();
        }
        slot_ = {};
        task_ = nullptr;
        // The frames may own this object: nothing of it is touched after the waiter is gone.
        const auto gone = std::move(waiter_);
    }
}

awaitable<bool> wakeup::wait_until(timers& clock, time_point deadline, std::string_view what) {
    if (try_consume()) {
        co_return true;
    }
    bool expired = false;
    timer limit(clock);
    limit.arm(deadline, [this, &expired] {
        expired = true;
        notify();
    });
    co_await wait(wait_note::effect(what, deadline));
    // Both in one turn: the notification counts, the wait was over before the deadline was looked at.
    co_return !expired;
}

awaitable<void> sleep_until(timers& clock, time_point when, std::string_view what) {
    wakeup due;
    timer alarm(clock);
    alarm.arm(when, [&due] { due.notify(); });
    co_await due.wait(wait_note::effect(what, when));
}

awaitable<void> yield() {
    auto executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, asio::use_awaitable);
}

}  // namespace pvc::async
