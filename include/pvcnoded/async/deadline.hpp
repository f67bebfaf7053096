// Deadlines and shields around an operation.
//
//   with_deadline(clock, t, what, op)  cancels `op` when t passes and waits for its end. If it finished successfully
//   after
//                                      all, that counts; else errc::timed_out. An exception of `op` passes through.
//   shielded(clock, t, what, op)       the same, but cancelling the caller does not reach `op`: for clean-up that
//   awaits.
//                                      The caller's next await sees the cancellation.
//   with_clean_up(clock, limit, body, f)  runs `body`, then `f` whatever happened, shielded, for at most `limit`.
//
// Cancellation is level-triggered: in a cancelled coroutine every await throws before it starts, also that of
// shielded(). So a coroutine that cleans up by itself brackets the clean-up with hold_cancellation() and
// resume_cancellation(); with_clean_up() does that for its caller. Specification: runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/result.hpp"

#include <boost/asio/this_coro.hpp>

#include <functional>
#include <optional>

namespace pvc::async {

namespace detail {
enum class outer_cancellation : std::uint8_t { forwarded, held_back };
// Runs `op` as a child task. True if the deadline passed before it ended.
awaitable<bool> run_bounded(timers& clock, time_point deadline, std::string what, awaitable<void> op,
                            outer_cancellation outer, std::exception_ptr& error);

template <class T>
awaitable<void> store(awaitable<T> op, std::optional<T>& out) {
    out.emplace(co_await std::move(op));
}

template <class T>
awaitable<result<T>> bounded(timers& clock, time_point deadline, std::string what, awaitable<result<T>> op,
                             outer_cancellation outer) {
    std::optional<result<T>> out;
    std::exception_ptr error;
    auto body = store(std::move(op), out);
    const bool late = co_await run_bounded(clock, deadline, what, std::move(body), outer, error);
    if (out) {
        co_return std::move(*out);
    }
    if (late && is_cancellation(error)) {
        co_return failure(errc::timed_out, what);
    }
    std::rethrow_exception(error);
}
}  // namespace detail

template <class T>
awaitable<result<T>> with_deadline(timers& clock, time_point deadline, std::string what, awaitable<result<T>> op) {
    return detail::bounded(clock, deadline, std::move(what), std::move(op), detail::outer_cancellation::forwarded);
}

template <class T>
awaitable<result<T>> shielded(timers& clock, time_point deadline, std::string what, awaitable<result<T>> op) {
    return detail::bounded(clock, deadline, std::move(what), std::move(op), detail::outer_cancellation::held_back);
}

// `co_await hold_cancellation()`: from here on awaits of this coroutine do not throw because of a cancellation.
inline auto hold_cancellation() {
    return asio::this_coro::throw_if_cancelled(false);
}
inline auto resume_cancellation() {
    return asio::this_coro::throw_if_cancelled(true);
}

// Runs `body`, then `clean_up`, shielded and for at most `limit`, whether the body ended, failed or was cancelled. What
// the body threw is thrown on afterwards.
awaitable<void> with_clean_up(timers& clock, duration limit, awaitable<void> body,
                              std::function<awaitable<void>()> clean_up);

}  // namespace pvc::async
