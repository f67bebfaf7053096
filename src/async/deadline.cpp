#include "pvcnoded/async/deadline.hpp"

#include "spawn_handler.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace pvc::async::detail {

namespace {

struct child_state {
    std::exception_ptr error;
    bool done = false;
    wakeup changed;
};

}  // namespace

awaitable<bool> run_bounded(timers& clock, time_point deadline, std::string what, awaitable<void> op,
                            outer_cancellation outer, std::exception_ptr& error) {
    auto executor = co_await asio::this_coro::executor;
    const auto* own = executor.target<task_executor>();
    PVC_ASSERT(own != nullptr);
    auto child = std::make_shared<task>(own->owner()->owner(), std::move(what), own->owner());
    child_state state;
    asio::co_spawn(asio::any_io_executor(task_executor(child)),
                   run_spawned(child, [op = std::move(op)]() mutable { return std::move(op); }),
                   spawn_handler(child, [&state](const task_end& how) {
                       state.error = how.error;
                       state.done = true;
                       state.changed.notify();
                   }));
    bool late = false;
    timer limit(clock);
    limit.arm(deadline, [&late, &child] {
        late = true;
        child->cancel();
    });
    co_await asio::this_coro::throw_if_cancelled(false);
    auto before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none && outer == outer_cancellation::forwarded) {
        child->cancel();
    }
    while (!state.done) {
        auto [code] = co_await state.changed.wait_code(wait_note::effect(child->name(), deadline));
        if (code && outer == outer_cancellation::forwarded) {
            child->cancel();
        }
    }
    co_await asio::this_coro::throw_if_cancelled(true);
    error = state.error;
    co_return late;
}

}  // namespace pvc::async::detail

namespace pvc::async {

awaitable<void> with_clean_up(timers& clock, duration limit, awaitable<void> body,
                              std::function<awaitable<void>()> clean_up) {
    std::exception_ptr error;
    try {
        co_await std::move(body);
    } catch (...) {
        error = std::current_exception();
    }
    co_await hold_cancellation();
    std::exception_ptr clean_up_error;
    co_await detail::run_bounded(clock, clock.now() + limit, "clean-up", clean_up(),
                                 detail::outer_cancellation::held_back, clean_up_error);
    co_await resume_cancellation();
    if (error) {
        std::rethrow_exception(error);
    }
    if (clean_up_error && !is_cancellation(clean_up_error)) {
        std::rethrow_exception(clean_up_error);
    }
}

}  // namespace pvc::async
