// What the event loop knows of a descriptor or a timeout of the library's.
#pragma once

#include "event_loop.hpp"

#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>

namespace pvc::hypervisor {

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
    std::optional<boost::asio::posix::stream_descriptor> stream;
    bool reading = false;
    bool writing = false;
};

struct event_loop::timeout : entry {
    int milliseconds = -1;
    due_function due;
    std::unique_ptr<async::timer> timer;
};

}  // namespace pvc::hypervisor
