#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/planted.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/this_coro.hpp>

#include <new>
#include <utility>

namespace pvc::async {

template <class Handler>
void wakeup::waiter::act_on(void* place, const error_code* code) {
    auto* held = static_cast<Handler*>(place);
    Handler taken = std::move(*held);
    held->~Handler();
    if (code != nullptr) {
        const auto executor = asio::get_associated_executor(taken);
        auto ready = [ready = std::move(taken), code = *code]() mutable { std::move(ready)(code); };
        if (const task* const owner = task_of(executor)) {
            owner->owner().executor().execute(std::move(ready));  // as its own executor would, with one wrapper less
        } else {
            asio::require(executor, asio::execution::blocking.never).execute(std::move(ready));
        }
    }
}

template <class Handler>
void wakeup::waiter::emplace(Handler handler) {
    static_assert(sizeof(Handler) <= size_max && alignof(Handler) <= alignof(std::max_align_t));
    ::new (static_cast<void*>(place_)) Handler(std::move(handler));
    act_ = &act_on<Handler>;
}

void wakeup::waiter::post(error_code code) {
    std::exchange(act_, nullptr)(place_, &code);
}

void wakeup::waiter::drop() {
    if (act_ != nullptr) {
        std::exchange(act_, nullptr)(place_, nullptr);
    }
}

template <class Token>
auto wakeup::start(wait_note note, Token token) {
    return asio::async_initiate<Token, void(error_code)>(
        [this, note](auto handler) {
            PVC_ASSERT(!waiter_);
            task_ = task_of(asio::get_associated_executor(handler));
            if (task_ != nullptr) {
                if (!is_planted(defect::nameless_wait)) {
                    task_->begin_wait(note);
                }
                task_->owner().suspended(*this);
            }
            auto slot = asio::get_associated_cancellation_slot(handler);
            waiter_.emplace(std::move(handler));
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
    if (is_planted(defect::lost_wakeup)) {
        static std::uint64_t count = 0;
        if (++count % 997 == 0) {
            return;
        }
    }
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
    waiter_.post(code);
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
        waiter_.drop();
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
    co_await start(wait_note::effect(what, deadline), asio::deferred);  // without a frame of its own
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
