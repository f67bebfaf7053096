// The process port: run a program to its end, with limits. Argument vectors only, never a shell; secrets through the
// environment, never through an argument. Specification: runtime-design.md 5.2.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pvc::async {

struct command {
    std::vector<std::string> arguments;  // [0] is the program, found on PATH unless it has a '/'
    std::vector<std::pair<std::string, std::string>> environment{};  // added to the daemon's own
    std::string input{};                                             // empty: /dev/null
    int socket = -1;  // what the program has as its descriptor 3; the caller keeps it open until the program runs
};

struct process_limits {
    duration time = std::chrono::seconds(10);
    duration grace = std::chrono::seconds(1);  // between SIGTERM and SIGKILL to the process group
    std::size_t output_bytes = 65536;          // of each stream; what exceeds it is read and dropped
    boot_time not_after = boot_time::max();    // a guarded step: it begins by then, or not at all
};

struct exited {
    int code = 0;
};
struct signalled {
    int signal = 0;
};
struct timed_out {
    bool killed = false;  // it took SIGKILL
};

struct process_outcome {
    std::variant<exited, signalled, timed_out> how;
    std::string output;
    std::string error_output;
    bool truncated = false;
    duration took{};

    [[nodiscard]] bool succeeded() const {
        const auto* end = std::get_if<exited>(&how);
        return end != nullptr && end->code == 0;
    }
    // "exit status 3", "signal 15", "timed out": for a message.
    [[nodiscard]] std::string text() const;
};

class process_runner {
public:
    process_runner() = default;
    process_runner(const process_runner&) = delete;
    process_runner& operator=(const process_runner&) = delete;
    virtual ~process_runner() = default;

    // Errors: not_found or io when the program cannot be started, timed_out when too many others ran for all of its
    // time (it was not started), stopped when it could not begin by `not_after` (likewise), invalid without a program;
    // a program that fails or is killed is an outcome, not a failure. Cancellation: the process group is ended
    // (SIGTERM, grace, SIGKILL) and reaped before this returns.
    virtual awaitable<result<process_outcome>> run(command what, process_limits limits) = 0;
};

}  // namespace pvc::async
