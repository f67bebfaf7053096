#include "adapter/console_watches.hpp"

#include <sys/inotify.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace pvc::services {

namespace {

using namespace std::chrono_literals;

constexpr duration look_interval = 500ms;
constexpr duration rest_interval = 50ms;

// Added to what is asked for already: a followed path may be a folder with followed paths in it.
constexpr std::uint32_t folder_events =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD;
constexpr std::uint32_t file_events = IN_MODIFY | IN_DONT_FOLLOW | IN_MASK_ADD;
// The watch is over, or what it watches is no longer at its path.
constexpr std::uint32_t lost_events = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;

}  // namespace

console_watches::console_watches(boost::asio::io_context& context, async::timers& clock)
    : context_(context), clock_(clock) {
    look_.emplace(clock);
    rest_.emplace(clock);
}

void console_watches::close() {
    look_.reset();
    rest_.reset();
    inotify_.reset();
    followers_.clear();
}

std::size_t console_watches::unwatched() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(followers_, [](const follower* one) { return !one->is_watched; }));
}

void console_watches::add(follower& one) {
    followers_.push_back(&one);
    watch(one);
    one.changed->notify();
    arm_look();
}

void console_watches::remove(follower& one) {
    if (std::erase(followers_, &one) == 0) {
        return;  // closed before
    }
    unwatch(one);
    if (followers_.empty()) {
        look_->disarm();
        rest_->disarm();
        inotify_.reset();
    }
}

bool console_watches::open() {
    if (inotify_) {
        return true;
    }
    const int number = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (number < 0) {
        return false;
    }
    inotify_.emplace(context_.get_executor(), number);
    ++opened_;
    listen();
    return true;
}

void console_watches::listen() {
    inotify_->async_wait(descriptor::wait_read,
                         [weak = weak_from_this(), mine = opened_](const async::error_code& code) {
                             const auto self = weak.lock();
                             if (!code && self && self->inotify_ && self->opened_ == mine) {
                                 self->take_events();
                             }
                         });
}

void console_watches::take_events() {
    alignas(inotify_event) std::array<char, 16UL * 1024> events{};
    for (;;) {
        const ssize_t size = ::read(inotify_->native_handle(), events.data(), events.size());
        if (size <= 0) {
            if (size < 0 && errno == EINTR) {
                continue;
            }
            break;
        }
        for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
            inotify_event event{};
            std::memcpy(&event, events.data() + at, sizeof event);
            // The name is padded with NUL bytes.
            const char* const name = events.data() + at + sizeof event;
            dispatch(event, event.len == 0 ? std::string_view() : std::string_view(name));
            at += sizeof event + event.len;
        }
    }
    arm_look();
    rest_->arm(clock_.now() + rest_interval, [this] { listen(); });
}

void console_watches::dispatch(const inotify_event& event, std::string_view name) {
    const bool is_overflow = (event.mask & IN_Q_OVERFLOW) != 0;
    const bool is_lost = (event.mask & lost_events) != 0;
    for (follower* const one : followers_) {
        const bool of_folder = event.wd == one->folder_watch;
        const bool of_file = event.wd == one->file_watch;
        if (is_overflow || (of_folder && is_lost)) {
            unwatch(*one);
            watch(*one);
        } else if (of_folder && name == one->name) {
            watch_file(*one);
        } else if (of_file && is_lost) {
            one->file_watch = -1;
            watch_file(*one);
        } else if (!of_file) {
            continue;
        }
        one->changed->notify();
    }
}

// First the folder: what appears in it afterwards is told.
void console_watches::watch(follower& one) {
    one.is_watched = false;
    if (!open()) {
        return;
    }
    one.folder_watch = ::inotify_add_watch(inotify_->native_handle(), one.folder.c_str(), folder_events);
    if (one.folder_watch >= 0) {
        watch_file(one);
    }
}

void console_watches::watch_file(follower& one) {
    const int old = std::exchange(one.file_watch, -1);
    const int found = ::inotify_add_watch(inotify_->native_handle(), one.path.c_str(), file_events);
    one.is_watched = found >= 0 || errno == ENOENT;
    if (old != found && old >= 0) {
        int previous = old;
        drop(previous);
    }
    one.file_watch = found;
}

void console_watches::unwatch(follower& one) {
    one.is_watched = false;
    drop(one.folder_watch);
    drop(one.file_watch);
}

// Two names of one file or folder have one watch: the last one takes it away.
void console_watches::drop(int& watch) {
    const int number = std::exchange(watch, -1);
    if (number < 0 || !inotify_) {
        return;
    }
    const bool is_used = std::ranges::any_of(followers_, [number](const follower* other) {
        return other->folder_watch == number || other->file_watch == number;
    });
    if (!is_used) {
        ::inotify_rm_watch(inotify_->native_handle(), number);  // one that is gone already is no matter
    }
}

void console_watches::look_again() {
    for (follower* const one : followers_) {
        if (!one->is_watched) {
            unwatch(*one);
            watch(*one);
            one->changed->notify();
        }
    }
    arm_look();
}

void console_watches::arm_look() {
    if (unwatched() > 0 && !look_->armed()) {
        look_->arm(clock_.now() + look_interval, [this] { look_again(); });
    }
}

}  // namespace pvc::services
