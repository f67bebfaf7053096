// The task tree: every coroutine runs on an executor that knows which task it belongs to, so what runs, since when, and
// what each task waits for can be printed at any time, without passing a context through every call.
// Specification: architecture.md rule 1, runtime-design.md 7.4 (introspection).
#pragma once

#include "pvcnoded/async/timers.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/execution.hpp>
#include <boost/intrusive/list.hpp>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::async {

namespace asio = boost::asio;

// What a suspended task waits for. `what` must outlive the wait (a literal, or a member of the waiting object).
// A wait for work has no deadline and is idle; a wait for an effect always has one (README ruling 17).
struct wait_note {
    std::string_view what;
    std::optional<time_point> deadline;

    static wait_note work(std::string_view source) { return {source, std::nullopt}; }
    static wait_note effect(std::string_view what, time_point deadline) { return {what, deadline}; }
    // A join of own children: bounded by what they wait for.
    static wait_note children() { return {"its children", std::nullopt}; }
};

class task;
class wakeup;

// Something that holds a suspended task. The runtime knows all of them, so that a simulated kill can destroy the
// frames.
class suspension : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    suspension() = default;
    suspension(const suspension&) = delete;
    suspension& operator=(const suspension&) = delete;
    virtual ~suspension() = default;
    // Destroys the suspended frames. They may contain this object: it must not be touched afterwards.
    virtual void abandon() = 0;
    // Depth of the suspended task in the tree.
    [[nodiscard]] virtual std::size_t depth() const = 0;
};

// What all tasks of one daemon share. Must outlive every task and every handler.
class runtime {
public:
    runtime(asio::any_io_executor executor, timers& clock);
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;
    ~runtime();

    [[nodiscard]] const asio::any_io_executor& executor() const { return executor_; }
    [[nodiscard]] timers& clock() const { return clock_; }
    [[nodiscard]] const std::shared_ptr<task>& root() const { return root_; }

    // A simulated kill destroys frames without joining them: the checks that a scope is left empty are off from then
    // on.
    void cut() { cut_ = true; }
    [[nodiscard]] bool is_cut() const { return cut_; }
    // Destroys every suspended task, innermost first, as children use what their parents' frames hold. Only after
    // cut(), with no handler of this runtime queued. Asio queues the destruction of frames: `run_ready` runs what is
    // queued.
    void abandon_tasks(const std::function<void()>& run_ready);
    void suspended(suspension& by) { suspensions_.push_back(by); }

    // Tasks that run or wait, and those of them that wait. With nothing ready both are equal: whoever neither runs nor
    // waits for something with a name is lost.
    [[nodiscard]] std::size_t tasks_begun() const { return begun_; }
    [[nodiscard]] std::size_t tasks_waiting() const { return waiting_; }

private:
    friend class task;
    std::size_t begun_ = 0;
    std::size_t waiting_ = 0;
    std::uint64_t last_id_ = 0;
    asio::any_io_executor executor_;
    timers& clock_;
    std::shared_ptr<task> root_;
    boost::intrusive::list<suspension, boost::intrusive::constant_time_size<false>> suspensions_;
    bool cut_ = false;
};

// How a task ended.
struct task_end {
    std::exception_ptr error{};  // empty: its body returned
    bool is_cancellation = false;
};

// A task as it is at one moment, for whoever is to be told of it.
struct task_view {
    std::uint64_t id = 0;
    std::size_t depth = 0;
    std::string name;
    duration age{};
    struct waiting {
        std::string what;
        duration since{};
        std::optional<duration> at_most;  // from now on; empty: idle, or bounded by what its children wait for
        bool is_idle = false;
    };
    std::optional<waiting> wait;
    std::vector<std::string> locks;
    bool can_be_cancelled = false;  // and was not yet
};
[[nodiscard]] std::string to_text(const task_view& seen);

class task : public std::enable_shared_from_this<task> {
public:
    task(runtime& owner, std::string name, std::shared_ptr<task> parent);
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    ~task();

    [[nodiscard]] runtime& owner() const { return owner_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    // No other task of this runtime has or had it; from 1 up.
    [[nodiscard]] std::uint64_t id() const { return id_; }
    // Names from the root down, joined by '/'.
    [[nodiscard]] std::string path() const;
    [[nodiscard]] std::size_t depth() const { return parent_ ? parent_->depth() + 1 : 0; }

    void begin_wait(const wait_note& note);
    void end_wait();
    [[nodiscard]] const std::optional<wait_note>& waiting() const { return wait_; }
    void hold_lock(std::string path) { locks_.push_back(std::move(path)); }
    void drop_lock(std::string_view path);

    asio::cancellation_slot cancellation_slot() { return cancellation_.slot(); }
    // Asks the task to end (terminal cancellation). Before its first step this is noted, and the task ends without one:
    // Asio cannot take a cancellation for a coroutine that has not begun.
    void cancel();
    [[nodiscard]] bool is_cancelled() const { return is_cancelled_; }
    // Whether an operator may end it by its number. Its owner says so, for what can be begun anew at any moment
    // (task_group::spawn_cancellable); of what nobody says it, it may not.
    [[nodiscard]] bool can_be_cancelled() const { return may_be_cancelled_ && !has_ended_; }
    void allow_cancelling() { may_be_cancelled_ = true; }
    // Why not, of it and of what is below it; `why` outlives it.
    void refuse_cancelling(std::string_view why) { why_not_cancelled_ = why; }
    [[nodiscard]] std::string_view why_not_cancelled() const;
    // The next one above it that may be cancelled; null: there is none.
    [[nodiscard]] const task* cancellable_above() const;
    // This one or one below it, that has not ended; null: there is none of that number.
    [[nodiscard]] std::shared_ptr<task> find(std::uint64_t id);
    // Notified once, when it has ended: its locks are given back, its children have ended. For one waiter, who keeps it
    // and must not keep the task alive meanwhile.
    [[nodiscard]] std::shared_ptr<wakeup> watch_end();
    // Called by its group.
    void tell_end();
    // Called at the task's first step. False: it was cancelled before, and must end at once.
    [[nodiscard]] bool begin();
    // Called when its coroutine is about to end, and how it did.
    void finish(task_end how);
    [[nodiscard]] const task_end& end() const { return end_; }
    [[nodiscard]] const std::list<task*>& children() const { return children_; }

    // The tree below this task, from the top down, at most so many of them. False: there are more.
    bool view(std::vector<task_view>& all, std::size_t most, std::size_t depth = 0) const;
    // The same, one line a task.
    void describe(std::vector<std::string>& lines, std::size_t depth = 0) const;

private:
    runtime& owner_;
    std::string name_;
    std::shared_ptr<task> parent_;
    std::list<task*> children_;
    std::list<task*>::iterator place_;
    asio::cancellation_signal cancellation_;
    const std::uint64_t id_;
    bool has_begun_ = false;
    bool is_cancelled_ = false;
    bool may_be_cancelled_ = false;
    bool has_ended_ = false;
    std::string_view why_not_cancelled_;
    std::vector<std::weak_ptr<wakeup>> end_watches_;
    time_point started_;
    std::optional<wait_note> wait_;
    time_point wait_since_{};
    std::vector<std::string> locks_;
    task_end end_;
};

// The executor of a task: the runtime's executor plus the task. Everything submitted is queued, never run inside the
// call, so a completion cannot re-enter whoever completes it.
class task_executor {
public:
    explicit task_executor(std::shared_ptr<task> owner) : task_(std::move(owner)) {}

    [[nodiscard]] const std::shared_ptr<task>& owner() const noexcept { return task_; }

    template <class Function>
    void execute(Function&& function) const {
        task_->owner().executor().execute(std::forward<Function>(function));
    }
    asio::execution_context& query(asio::execution::context_t /*property*/) const noexcept {
        return asio::query(task_->owner().executor(), asio::execution::context);
    }
    static constexpr asio::execution::blocking_t query(asio::execution::blocking_t /*property*/) noexcept {
        return asio::execution::blocking.never;
    }
    [[nodiscard]] const task_executor& require(asio::execution::blocking_t::never_t /*property*/) const noexcept {
        return *this;
    }
    friend bool operator==(const task_executor& a, const task_executor& b) noexcept { return a.task_ == b.task_; }
    friend bool operator!=(const task_executor& a, const task_executor& b) noexcept { return a.task_ != b.task_; }

private:
    std::shared_ptr<task> task_;
};

// The task whose executor this is; null for an executor that is not of a task.
template <class Executor>
[[nodiscard]] task* task_of(const Executor& executor) {
    if constexpr (std::is_same_v<Executor, task_executor>) {
        return executor.owner().get();
    } else if constexpr (std::is_same_v<Executor, asio::any_io_executor>) {
        const auto* target = executor.template target<task_executor>();
        return target == nullptr ? nullptr : target->owner().get();
    } else {
        return nullptr;
    }
}

}  // namespace pvc::async
