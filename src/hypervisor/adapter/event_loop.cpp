#include "event_loop.hpp"

#include "pvcnoded/base/assert.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <utility>

namespace pvc::hypervisor {

namespace asio = boost::asio;
using descriptor_stream = asio::posix::stream_descriptor;

// `removed` and what the library wants are guarded by the mutex; the rest is the loop thread's.
struct event_loop::entry {
    entry() = default;
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    virtual ~entry() = default;

    int id = 0;
    bool removed = false;
    std::function<void()> free;
};

struct event_loop::handle : entry {
    ~handle() override {
        if (duplicate >= 0) {
            ::close(duplicate);
        }
    }

    int descriptor = -1;  // the library's own, to give back to it
    int duplicate = -1;   // ours, until `stream` has it
    short wanted = 0;
    ready_function ready;
    std::optional<descriptor_stream> stream;
    bool reading = false;
    bool writing = false;
};

struct event_loop::timeout : entry {
    int milliseconds = -1;
    due_function due;
    std::unique_ptr<async::timer> timer;
};

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

void event_loop::visit(std::uint64_t attachment_number) {
    std::vector<std::shared_ptr<entry>> changed;
    {
        const std::lock_guard lock(mutex_);
        if (!loop_ || attachment_number != attachment_number_) {
            return;
        }
        visit_posted_ = false;
        changed.swap(changed_);
    }
    for (const auto& one : changed) {
        refresh(one);
    }
}

void event_loop::refresh(const std::shared_ptr<entry>& one) {
    std::function<void()> free;
    int milliseconds = -1;
    bool removed = false;
    auto watched = std::dynamic_pointer_cast<handle>(one);
    auto timed = std::dynamic_pointer_cast<timeout>(one);
    {
        const std::lock_guard lock(mutex_);
        if (!loop_) {
            return;
        }
        removed = one->removed;
        if (removed) {
            free = std::exchange(one->free, nullptr);
        } else if (timed) {
            milliseconds = timed->milliseconds;
        } else if (watched && !watched->stream) {
            watched->stream.emplace(loop_, std::exchange(watched->duplicate, -1));
        }
    }
    if (watched) {
        if (removed) {
            watched->stream.reset();
        } else {
            watch(watched);
        }
    } else if (timed) {
        arm(timed, milliseconds);
    }
    if (free) {
        free();
    }
}

void event_loop::watch(const std::shared_ptr<handle>& one) {
    short wanted = 0;
    {
        const std::lock_guard lock(mutex_);
        wanted = one->removed ? short{0} : one->wanted;
    }
    if (!one->stream) {
        return;
    }
    // A wait that is no longer wanted is left alone: when it ends it finds nothing to do.
    if ((wanted & POLLIN) != 0 && !one->reading) {
        one->reading = true;
        wait_for(one, descriptor_stream::wait_read);
    }
    if ((wanted & POLLOUT) != 0 && !one->writing) {
        one->writing = true;
        wait_for(one, descriptor_stream::wait_write);
    }
}

void event_loop::wait_for(const std::shared_ptr<handle>& one, descriptor_stream::wait_type what) {
    one->stream->async_wait(what, [this, one, what](const boost::system::error_code& code) {
        if (code == asio::error::operation_aborted) {
            return;
        }
        (what == descriptor_stream::wait_read ? one->reading : one->writing) = false;
        became_ready(one);
    });
}

void event_loop::became_ready(const std::shared_ptr<handle>& one) {
    short wanted = 0;
    {
        const std::lock_guard lock(mutex_);
        if (one->removed) {
            return;
        }
        wanted = one->wanted;
    }
    if (!one->stream) {
        return;
    }
    pollfd now{one->stream->native_handle(), wanted, 0};
    if (wanted != 0 && ::poll(&now, 1, 0) > 0 && now.revents != 0) {
        // The user's data is alive: it is freed by a visit of this thread only.
        one->ready(one->id, one->descriptor, now.revents);
    }
    watch(one);
}

void event_loop::arm(const std::shared_ptr<timeout>& one, int milliseconds) {
    if (milliseconds < 0) {
        one->timer.reset();
        return;
    }
    async::timers* clock = nullptr;
    {
        const std::lock_guard lock(mutex_);
        clock = clock_;
    }
    if (clock == nullptr) {
        return;
    }
    if (!one->timer) {
        one->timer = std::make_unique<async::timer>(*clock);
    }
    one->timer->arm(clock->now() + std::chrono::milliseconds(milliseconds), [this, weak = std::weak_ptr<timeout>(one)] {
        if (const auto due = weak.lock()) {
            became_due(due);
        }
    });
}

void event_loop::became_due(const std::shared_ptr<timeout>& one) {
    int milliseconds = -1;
    {
        const std::lock_guard lock(mutex_);
        milliseconds = one->removed ? -1 : one->milliseconds;
    }
    if (milliseconds < 0) {
        return;
    }
    one->due(one->id);
    // Periodic, until the library says otherwise; what it said just now is noted and visited later.
    bool goes_on = false;
    {
        const std::lock_guard lock(mutex_);
        goes_on = !one->removed && one->milliseconds >= 0;
        milliseconds = one->milliseconds;
    }
    if (goes_on) {
        arm(one, milliseconds);
    }
}

}  // namespace pvc::hypervisor
