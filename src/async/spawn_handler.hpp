// The completion handler of every spawned task: what to call at the end, and the slot that cancels it.
//
// It has no executor of its own on purpose. For a handler that has one, Asio (1.26) hands a cancellation on through
// that executor, as queued work that holds a raw pointer into the slot: the task may have ended, and its slot be gone,
// before that work runs. Without one the signal is given at once, and the slot does not hold the task's executor
// either.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace pvc::async {

template <class Function>
struct spawn_handler {
    using cancellation_slot_type = asio::cancellation_slot;

    spawn_handler(std::shared_ptr<task> of, Function at_end) : self(std::move(of)), done(std::move(at_end)) {}
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return self->cancellation_slot(); }
    void operator()(std::exception_ptr error) { done(error ? task_end{std::move(error)} : self->end()); }

    std::shared_ptr<task> self;
    Function done;
};

// What is spawned: the body, once the task may begin. The callable lives as long as the task. How it ended is kept with
// the task instead of being thrown once more: an exception costs some 20,000 instructions for each frame, and every
// task of a session ends by one. Whatever happened, the coroutine ends with cancellation switched off: Asio's own last
// await would throw past its handlers if the task was cancelled before it ever suspended.
template <class Body>
awaitable<void> run_spawned(std::shared_ptr<task> self, Body body) {
    try {
        if (self->begin()) {
            co_await body();
            self->finish({});
        } else {
            self->finish({std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted)), true});
        }
    } catch (const boost::system::system_error& error) {
        self->finish({std::current_exception(), error.code() == asio::error::operation_aborted});
    } catch (...) {
        self->finish({std::current_exception()});
    }
    co_await asio::this_coro::throw_if_cancelled(false);
}

}  // namespace pvc::async
