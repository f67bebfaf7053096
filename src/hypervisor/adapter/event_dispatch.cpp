// The loop's side of the event loop: the visits that bring asio in line with what the library wants, and the callbacks.
#include "event_entries.hpp"
#include "event_loop.hpp"

#include <boost/asio/error.hpp>

#include <poll.h>

#include <chrono>
#include <utility>

namespace pvc::hypervisor {

namespace asio = boost::asio;
using descriptor_stream = asio::posix::stream_descriptor;

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
