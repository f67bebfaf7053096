// Structured concurrency: a scope that owns its children.
//
// with_task_group(name, body) is the only way to make one. It returns when the body and every child have ended. The
// first failure cancels all the others and is what the caller sees; later failures are kept in the text of the first.
// Cancelling the caller cancels body and children; it still waits for them.
// Specification: architecture.md rule 1, runtime-design.md 7.3.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pvc::async {

class task_group {
public:
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    ~task_group();

    // Starts a child. `body` is kept until the child has ended. Into a cancelled group: the child starts cancelled.
    void spawn(std::string name, std::function<awaitable<void>()> body);
    // The same for what an operator may end by its number, without the group: its cancellation is no failure of it.
    void spawn_cancellable(std::string name, std::function<awaitable<void>()> body);
    // Nothing in it may be ended so; `why` outlives it.
    void refuse_cancelling(std::string_view why) { self_->refuse_cancelling(why); }
    // Asks every child to end (terminal cancellation); returns at once.
    void cancel();
    [[nodiscard]] bool cancelled() const { return cancelled_; }
    [[nodiscard]] std::size_t size() const { return children_.size(); }
    // Cancels when the deadline passes.
    void cancel_at(time_point deadline);

    // What later failures are reported to (the first one is thrown to the caller).
    using failure_observer = std::function<void(const std::string& task, std::exception_ptr)>;
    void observe_later_failures(failure_observer observer) { observer_ = std::move(observer); }

private:
    friend awaitable<void> with_task_group(std::string name, std::function<awaitable<void>(task_group&)> body);
    explicit task_group(std::shared_ptr<task> self);

    void start(std::shared_ptr<task> child, std::function<awaitable<void>()> body);
    void finished(const std::shared_ptr<task>& child, const task_end& how);
    awaitable<void> join();

    std::shared_ptr<task> self_;
    std::vector<std::shared_ptr<task>> children_;
    wakeup changed_;
    timer limit_;
    std::exception_ptr first_;
    failure_observer observer_;
    bool cancelled_ = false;
};

// See above. `body` runs as a task of the group itself.
awaitable<void> with_task_group(std::string name, std::function<awaitable<void>(task_group&)> body);

// Starts the one root task of a daemon; `done` is called when it has ended, with what it threw.
void start_root(runtime& owner, std::string name, std::function<awaitable<void>()> body,
                std::function<void(std::exception_ptr)> done);

// True if the exception is a cancellation.
[[nodiscard]] bool is_cancellation(const std::exception_ptr& error);
// The text of an exception, for a log line.
[[nodiscard]] std::string exception_text(const std::exception_ptr& error);

}  // namespace pvc::async
