// wakeup: an auto-reset event with one waiter. It remembers one notification, so none is lost between waits, and
// several coalesce into one. Everything that waits in this project is built on it. Specification:
// runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/task.hpp"
#include "pvcnoded/base/assert.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <tuple>

namespace pvc::async {

template <class T = void>
using awaitable = asio::awaitable<T>;
using error_code = boost::system::error_code;

class wakeup final : private suspension {
public:
    wakeup() = default;
    // A waiter that is still there when the object goes was abandoned with its frame; its handler is dropped.
    ~wakeup() override { abandon(); }

    // Wakes the waiter, or lets the next wait return at once. Loop thread only.
    void notify();
    // True if a notification is waiting to be collected; collects it.
    bool try_consume() {
        const bool was = notified_;
        notified_ = false;
        return was;
    }

    // Suspends until notified. Throws operation_aborted when cancelled; the notification is then kept.
    awaitable<void> wait(wait_note note);
    // The same, with the cancellation as a value: a code is set if cancelled.
    awaitable<std::tuple<error_code>> wait_code(wait_note note);

    // Suspends until notified or until `deadline`. True if notified.
    awaitable<bool> wait_until(timers& clock, time_point deadline, std::string_view what);

private:
    template <class Token>
    auto start(wait_note note, Token token);
    void complete(error_code code);
    void abandon() override;
    [[nodiscard]] std::size_t depth() const override { return task_ == nullptr ? 0 : task_->depth(); }

    // The suspended handler, type-erased and in place, as every wait of the daemon makes one (asio's
    // any_completion_handler 1.81 recurses without end when it is built from an lvalue of itself).
    class waiter {
    public:
        waiter() = default;
        waiter(const waiter&) = delete;
        waiter& operator=(const waiter&) = delete;
        ~waiter() { drop(); }

        template <class Handler>
        void emplace(Handler handler);
        // Both leave it empty first: the frames that they resume or destroy may own this object.
        void post(error_code code);
        void drop();
        explicit operator bool() const { return act_ != nullptr; }

    private:
        template <class Handler>
        static void act_on(void* place, const error_code* code);

        static constexpr std::size_t size_max = 4 * sizeof(void*);
        alignas(std::max_align_t) std::byte place_[size_max];
        void (*act_)(void* place, const error_code* code) = nullptr;  // without a code: destroys the handler
    };

    waiter waiter_;
    asio::cancellation_slot slot_;
    task* task_ = nullptr;  // alive as long as the waiter is: its executor owns it
    bool notified_ = false;
};

// Suspends until `when`. A time in the past still yields once.
awaitable<void> sleep_until(timers& clock, time_point when, std::string_view what);
inline awaitable<void> sleep_for(timers& clock, duration time, std::string_view what) {
    return sleep_until(clock, clock.now() + time, what);
}
// Lets everything else that is ready run first.
awaitable<void> yield();

}  // namespace pvc::async
