#include "event_loop.hpp"

#include "event_entries.hpp"

#include "pvcnoded/base/assert.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <utility>

namespace pvc::hypervisor {

namespace asio = boost::asio;
namespace {

thread_local breaker* capturing = nullptr;

bool is_socket(int descriptor) {
    struct stat about{};
    return ::fstat(descriptor, &about) == 0 && S_ISSOCK(about.st_mode);
}

}  // namespace

event_loop::capture::capture(breaker& target) {
    capturing = &target;
}
event_loop::capture::~capture() {
    capturing = nullptr;
}

void event_loop::attach(asio::any_io_executor loop, async::timers& clock) {
    const std::lock_guard lock(mutex_);
    PVC_ASSERT(attached_ == 0 || loop_ == loop);
    if (++attached_ > 1) {
        return;
    }
    loop_ = std::move(loop);
    clock_ = &clock;
    ++attachment_number_;
    // What was left behind without a loop goes on with this one.
    for (const auto& [id, one] : handles_) {
        note(one);
    }
    for (const auto& [id, one] : timeouts_) {
        note(one);
    }
    if (!changed_.empty()) {
        want_visit();
    }
}

void event_loop::detach() {
    std::vector<std::shared_ptr<entry>> to_free;
    {
        const std::lock_guard lock(mutex_);
        if (--attached_ > 0) {
            return;
        }
        loop_ = nullptr;
        clock_ = nullptr;
        visit_posted_ = false;
        for (const auto& [id, one] : handles_) {
            if (one->stream) {
                one->duplicate = one->stream->release();
                one->stream.reset();
                one->reading = one->writing = false;
            }
        }
        for (const auto& [id, one] : timeouts_) {
            one->timer.reset();
        }
        to_free.swap(changed_);
    }
    for (const auto& one : to_free) {
        bool removed = false;
        {
            const std::lock_guard lock(mutex_);
            removed = one->removed;
        }
        if (removed) {
            if (auto* watched = dynamic_cast<handle*>(one.get())) {
                watched->stream.reset();
            } else {
                static_cast<timeout&>(*one).timer.reset();
            }
            if (auto free = std::exchange(one->free, nullptr)) {
                free();
            }
        }
    }
}

void event_loop::post(std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    if (loop_) {
        asio::post(loop_, std::move(action));
    }
}

std::size_t event_loop::handles() const {
    const std::lock_guard lock(mutex_);
    return handles_.size();
}

std::size_t event_loop::timeouts() const {
    const std::lock_guard lock(mutex_);
    return timeouts_.size();
}

bool event_loop::is_settled() const {
    const std::lock_guard lock(mutex_);
    return changed_.empty();
}

void event_loop::note(const std::shared_ptr<entry>& changed) {
    changed_.push_back(changed);
    want_visit();
}

void event_loop::want_visit() {
    if (loop_ && !visit_posted_) {
        visit_posted_ = true;
        asio::post(loop_, [this, number = attachment_number_] { visit(number); });
    }
}

int event_loop::new_id() {
    // Numbers of handles and timeouts that still live are not given twice.
    do {
        last_id_ = last_id_ == std::numeric_limits<int>::max() ? 1 : last_id_ + 1;
    } while (handles_.contains(last_id_) || timeouts_.contains(last_id_));
    return last_id_;
}

int event_loop::add_handle(int descriptor, short events, ready_function ready, std::function<void()> free) {
    auto added = std::make_shared<handle>();
    added->descriptor = descriptor;
    added->duplicate = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (added->duplicate < 0) {
        return -1;
    }
    if (capturing != nullptr && is_socket(descriptor)) {
        capturing->take(descriptor);
    }
    added->wanted = events;
    added->ready = std::move(ready);
    added->free = std::move(free);
    const std::lock_guard lock(mutex_);
    added->id = new_id();
    handles_.emplace(added->id, added);
    note(added);
    return added->id;
}

void event_loop::update_handle(int watch, short events) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(watch);
    if (found != handles_.end() && std::exchange(found->second->wanted, events) != events) {
        note(found->second);
    }
}

bool event_loop::remove_handle(int watch) {
    const std::lock_guard lock(mutex_);
    auto found = handles_.extract(watch);
    if (found.empty()) {
        return false;
    }
    found.mapped()->removed = true;
    note(found.mapped());
    return true;
}

int event_loop::add_timeout(int milliseconds, due_function due, std::function<void()> free) {
    auto added = std::make_shared<timeout>();
    added->milliseconds = milliseconds;
    added->due = std::move(due);
    added->free = std::move(free);
    const std::lock_guard lock(mutex_);
    added->id = new_id();
    timeouts_.emplace(added->id, added);
    note(added);
    return added->id;
}

void event_loop::update_timeout(int id, int milliseconds) {
    const std::lock_guard lock(mutex_);
    const auto found = timeouts_.find(id);
    if (found != timeouts_.end()) {
        found->second->milliseconds = milliseconds;
        note(found->second);
    }
}

bool event_loop::remove_timeout(int id) {
    const std::lock_guard lock(mutex_);
    auto found = timeouts_.extract(id);
    if (found.empty()) {
        return false;
    }
    found.mapped()->removed = true;
    note(found.mapped());
    return true;
}

}  // namespace pvc::hypervisor
