// The launcher behind posix_process: posix_spawn instead of Boost's fork, which costs 40 ms with a large heap, joins
// the resolver's thread, and leaves a zombie when exec fails (runtime-design.md 5.1; Boost 1.81).
#pragma once

#include "pvcnoded/async/process.hpp"

// First: boost/process/v2/process_handle.hpp alone does not compile in 1.81.
#include <boost/process/v2/process.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace pvc::async {

using loop_executor = boost::asio::io_context::executor_type;
using loop_descriptor = boost::asio::posix::basic_stream_descriptor<loop_executor>;

struct spawned_process {
    // Owns the leader: reaps it, tells how it ended.
    boost::process::v2::basic_process<loop_executor> leader;
    // Becomes readable when the leader has ended and nobody has reaped it yet. Boost's async_wait() reaps at once; but
    // the rest of the group must be killed while the zombie still keeps the group's number from being given away.
    loop_descriptor ended;
    loop_descriptor input;  // not open if the command has no input
    loop_descriptor output;
    loop_descriptor error_output;
};

// Starts the program. Errors: not_found (no such program), io, invalid (no program named). Blocks until exec was done,
// well below a millisecond.
result<spawned_process> spawn(const loop_executor& executor, const command& what);

}  // namespace pvc::async
