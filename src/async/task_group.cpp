#include "pvcnoded/async/task_group.hpp"

#include "spawn_handler.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace pvc::async {

bool is_cancellation(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const boost::system::system_error& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

std::string exception_text(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "unknown exception";
    }
}

task_group::task_group(std::shared_ptr<task> self) : self_(std::move(self)), limit_(self_->owner().clock()) {}

task_group::~task_group() {
    PVC_ASSERT(children_.empty() || self_->owner().is_cut());
}

void task_group::spawn(std::string name, std::function<awaitable<void>()> body) {
    start(std::make_shared<task>(self_->owner(), std::move(name), self_), std::move(body));
}

void task_group::spawn_cancellable(std::string name, std::function<awaitable<void>()> body) {
    auto child = std::make_shared<task>(self_->owner(), std::move(name), self_);
    child->allow_cancelling();
    start(std::move(child), std::move(body));
}

void task_group::start(std::shared_ptr<task> child, std::function<awaitable<void>()> body) {
    children_.push_back(child);
    asio::co_spawn(asio::any_io_executor(task_executor(child)), run_spawned(child, std::move(body)),
                   spawn_handler(child, [this, child](const task_end& how) { finished(child, how); }));
    if (cancelled_) {
        child->cancel();
    }
}

void task_group::cancel() {
    if (cancelled_) {
        return;
    }
    cancelled_ = true;
    // A copy: a child may end, or spawn, while the signal is given.
    const auto all = children_;
    for (const auto& child : all) {
        child->cancel();
    }
}

void task_group::cancel_at(time_point deadline) {
    limit_.arm(deadline, [this] { cancel(); });
}

void task_group::finished(const std::shared_ptr<task>& child, const task_end& how) {
    std::erase(children_, child);
    child->tell_end();
    const bool was_asked_to_end = cancelled_ || child->is_cancelled();
    if (how.error && !(was_asked_to_end && how.is_cancellation)) {
        if (!first_) {
            first_ = how.error;
            cancel();
        } else if (observer_) {
            observer_(child->path(), how.error);
        }
    }
    changed_.notify();
}

awaitable<void> task_group::join() {
    while (!children_.empty()) {
        auto [code] = co_await changed_.wait_code(wait_note::children());
        // The outer scope wants us to end: pass it on and keep waiting. The state is asked too: a cancellation that
        // comes when the wait was just ended by a child finds no wait to tell.
        auto state = co_await asio::this_coro::cancellation_state;
        if (code || state.cancelled() != asio::cancellation_type::none) {
            cancel();
        }
    }
}

awaitable<void> with_task_group(std::string name, std::function<awaitable<void>(task_group&)> body) {
    auto executor = co_await asio::this_coro::executor;
    task* outer = task_of(executor);
    PVC_ASSERT(outer != nullptr);
    auto parent = executor.target<task_executor>()->owner();
    auto self = std::make_shared<task>(outer->owner(), std::move(name), parent);
    task_group group(self);
    group.spawn("body", [&body, &group]() -> awaitable<void> { return body(group); });
    co_await asio::this_coro::throw_if_cancelled(false);
    // Cancelled before this line: the level-triggered state is set, but no slot will be told again.
    auto before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none) {
        group.cancel();
    }
    co_await group.join();
    co_await asio::this_coro::throw_if_cancelled(true);
    if (group.first_) {
        std::rethrow_exception(group.first_);
    }
    auto after = co_await asio::this_coro::cancellation_state;
    if (after.cancelled() != asio::cancellation_type::none) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
}

void start_root(runtime& owner, std::string name, std::function<awaitable<void>()> body,
                std::function<void(std::exception_ptr)> done) {
    auto child = std::make_shared<task>(owner, std::move(name), owner.root());
    asio::co_spawn(asio::any_io_executor(task_executor(child)), run_spawned(child, std::move(body)),
                   spawn_handler(child, [child, done = std::move(done)](const task_end& how) { done(how.error); }));
}

}  // namespace pvc::async
