// The process port on posix_spawn, with a Boost.Process v2 handle.
//
// Each program runs in a process group of its own, with an empty signal mask, default signal dispositions, /dev/null or
// a pipe as standard input, and no other descriptor of ours. Its time limit includes the time that it waits for its
// turn when too many run already; a program whose turn did not come in time is failure(timed_out) and was never
// started (failure(stopped), if it was its latest start that passed). After SIGKILL the leader gets 5 s to end; one
// that is stuck in the kernel longer is left to be reaped when it does end, and keeps its place among those that run
// until then. Specification: runtime-design.md 5.
#pragma once

#include "pvcnoded/async/process.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <memory>

namespace pvc::async {

// Loop thread only. Ignores SIGPIPE and makes sure that SIGCHLD is not ignored. Destroying it kills the groups of what
// still runs; `context` and `clock` must outlive it.
class posix_process final : public process_runner {
public:
    static constexpr std::size_t default_at_once = 16;

    posix_process(boost::asio::io_context& context, timers& clock, std::size_t at_once = default_at_once);
    ~posix_process() override;

    awaitable<result<process_outcome>> run(command what, process_limits limits) override;

    // Children that run, and calls of run() that wait for their turn.
    [[nodiscard]] std::size_t running() const;
    [[nodiscard]] std::size_t waiting() const;

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace pvc::async
