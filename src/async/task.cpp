#include "pvcnoded/async/task.hpp"

#include "pvcnoded/base/assert.hpp"

#include <algorithm>
#include <chrono>

namespace pvc::async {

namespace {

std::string seconds_text(duration elapsed) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count();
    std::string text = std::to_string(ms / 1000) + '.' + std::to_string(ms % 1000 / 100) + " s";
    return text;
}

}  // namespace

runtime::runtime(asio::any_io_executor executor, timers& clock)
    : executor_(asio::require(executor, asio::execution::blocking.never)),
      clock_(clock),
      root_(std::make_shared<task>(*this, "pvcnoded", nullptr)) {}

runtime::~runtime() {
    PVC_ASSERT(is_cut() || root_->children().empty());
}

void runtime::abandon_tasks(const std::function<void()>& run_ready) {
    PVC_ASSERT(is_cut());
    while (!suspensions_.empty()) {
        auto deepest = suspensions_.begin();
        for (auto at = suspensions_.begin(); at != suspensions_.end(); ++at) {
            if (at->depth() > deepest->depth()) {
                deepest = at;
            }
        }
        deepest->abandon();  // unlinks it, and whatever its frames held
        run_ready();
    }
}

task::task(runtime& owner, std::string name, std::shared_ptr<task> parent)
    : owner_(owner), name_(std::move(name)), parent_(std::move(parent)), started_(owner.clock().now()) {
    if (parent_) {
        place_ = parent_->children_.insert(parent_->children_.end(), this);
    }
}

task::~task() {
    if (parent_) {
        parent_->children_.erase(place_);
    }
}

std::string task::path() const {
    return parent_ ? parent_->path() + '/' + name_ : name_;
}

void task::cancel() {
    is_cancelled_ = true;
    if (has_begun_) {
        cancellation_.emit(asio::cancellation_type::terminal);
    }
}

bool task::begin() {
    has_begun_ = true;
    ++owner_.begun_;
    return !is_cancelled_;
}

void task::finish(task_end how) {
    end_ = std::move(how);
    --owner_.begun_;
}

void task::begin_wait(const wait_note& note) {
    owner_.waiting_ += wait_ ? 0 : 1;
    wait_ = note;
    wait_since_ = owner_.clock().now();
}

void task::end_wait() {
    owner_.waiting_ -= wait_ ? 1 : 0;
    wait_.reset();
}

void task::drop_lock(std::string_view path) {
    const auto found = std::ranges::find(locks_, path);
    if (found != locks_.end()) {
        locks_.erase(found);
    }
}

void task::describe(std::vector<std::string>& lines, std::size_t depth) const {
    const time_point now = owner_.clock().now();
    std::string line(depth * 2, ' ');
    line += name_ + "  (" + seconds_text(now - started_) + ")";
    if (wait_) {
        line += wait_->deadline || wait_->what == wait_note::children().what ? "  waits for " : "  idle, waits for ";
        line += wait_->what;
        line += " since " + seconds_text(now - wait_since_);
        if (wait_->deadline) {
            line += ", at most " + seconds_text(std::max(duration::zero(), *wait_->deadline - now)) + " more";
        }
    }
    for (const auto& lock : locks_) {
        line += "  holds " + lock;
    }
    lines.push_back(std::move(line));
    for (const task* child : children_) {
        child->describe(lines, depth + 1);
    }
}

}  // namespace pvc::async
