// Two ends of a stream in memory, both awaited: a daemon and a program that is played by a coroutine. Takes no time,
// and has limited room in each direction, so that a slow reader holds the writer up.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/services/stream_connection.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace pvc::sim {

// Destroying one end is an end for the other one. The clock must outlive both.
struct stream_ends {
    std::unique_ptr<services::stream_connection> one;
    std::unique_ptr<services::stream_connection> other;
};
[[nodiscard]] stream_ends make_stream(async::timers& clock, std::size_t room = 64UL * 1024);

}  // namespace pvc::sim
