// A connection over which bytes come and go in order, whatever it goes through.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace pvc::services {

// Destroying it closes it. One waiter for each direction. Loop thread only.
class stream_connection {
public:
    stream_connection() = default;
    stream_connection(const stream_connection&) = delete;
    stream_connection& operator=(const stream_connection&) = delete;
    virtual ~stream_connection() = default;

    // Suspends until there is something to read, which may be less than there is room for; 0: the other side has ended.
    // `into` must outlive the wait. Errors: timed_out, io.
    virtual async::awaitable<result<std::size_t>> read(std::span<char> into, time_point deadline) = 0;
    // Suspends until all of it is taken by the kernel. `text` must outlive the wait. Errors: timed_out (a part may have
    // been sent), io.
    virtual async::awaitable<result<void>> write(std::string_view text, time_point deadline) = 0;
    // As much as is taken at once.
    virtual void write_now(std::string_view text) = 0;
    // Nothing more will be written: the other side reads an end after what it has not read yet.
    virtual void end_writing() = 0;
};

}  // namespace pvc::services
