#include "pvcnoded/async/task.hpp"

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/assert.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

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
    : owner_(owner),
      name_(std::move(name)),
      parent_(std::move(parent)),
      id_(++owner.last_id_),
      started_(owner.clock().now()) {
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
    // Once: what it gives back after the first one is not to be disturbed by another.
    if (!std::exchange(is_cancelled_, true) && has_begun_) {
        cancellation_.emit(asio::cancellation_type::terminal);
    }
}

std::string_view task::why_not_cancelled() const {
    return !why_not_cancelled_.empty() || !parent_ ? why_not_cancelled_ : parent_->why_not_cancelled();
}

const task* task::cancellable_above() const {
    if (!parent_ || parent_->can_be_cancelled()) {
        return parent_.get();
    }
    return parent_->cancellable_above();
}

std::shared_ptr<task> task::find(std::uint64_t id) {
    if (id_ == id) {
        return has_ended_ ? nullptr : shared_from_this();
    }
    for (task* child : children_) {
        if (auto found = child->find(id)) {
            return found;
        }
    }
    return nullptr;
}

std::shared_ptr<wakeup> task::watch_end() {
    std::erase_if(end_watches_, [](const auto& one) { return one.expired(); });  // who asked has gone
    auto made = std::make_shared<wakeup>();
    end_watches_.push_back(made);
    return made;
}

void task::tell_end() {
    has_ended_ = true;
    for (const auto& one : std::exchange(end_watches_, {})) {
        if (const auto waiting = one.lock()) {
            waiting->notify();
        }
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

bool task::view(std::vector<task_view>& all, std::size_t most, std::size_t depth) const {
    if (all.size() >= most) {
        return false;
    }
    const time_point now = owner_.clock().now();
    task_view& mine = all.emplace_back(
        task_view{id_, depth, name_, now - started_, {}, locks_, can_be_cancelled() && !is_cancelled_});
    if (wait_) {
        const bool is_idle = !wait_->deadline && wait_->what != wait_note::children().what;
        mine.wait.emplace(task_view::waiting{std::string(wait_->what), now - wait_since_, {}, is_idle});
        if (wait_->deadline) {
            mine.wait->at_most = std::max(duration::zero(), *wait_->deadline - now);
        }
    }
    return std::ranges::all_of(children_, [&](const task* child) { return child->view(all, most, depth + 1); });
}

std::string to_text(const task_view& seen) {
    std::string line(seen.depth * 2, ' ');
    line += seen.name + "  (" + seconds_text(seen.age) + ")";
    if (seen.wait) {
        line += seen.wait->is_idle ? "  idle, waits for " : "  waits for ";
        line += seen.wait->what;
        line += " since " + seconds_text(seen.wait->since);
        if (seen.wait->at_most) {
            line += ", at most " + seconds_text(*seen.wait->at_most) + " more";
        }
    }
    for (const auto& lock : seen.locks) {
        line += "  holds " + lock;
    }
    return line;
}

void task::describe(std::vector<std::string>& lines, std::size_t depth) const {
    std::vector<task_view> all;
    view(all, std::numeric_limits<std::size_t>::max(), depth);
    for (const auto& one : all) {
        lines.push_back(to_text(one));
    }
}

}  // namespace pvc::async
