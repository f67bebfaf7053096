// The command line of pvcnodectl.
#pragma once

#include "pvcnoded/protocol/messages.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace pvc::ctl {

// Documented in docs/control.md and in the help: scripts rely on them.
namespace exit_status {
inline constexpr int good = 0;
inline constexpr int refused = 1;  // the daemon answered that it cannot or will not; not ready; a file that is not good
inline constexpr int usage = 2;
inline constexpr int no_daemon = 3;  // nobody listens
inline constexpr int forbidden = 4;  // this user may not, or nobody may
inline constexpr int no_answer = 5;  // in time; what was cancelled still ends
inline constexpr int not_understood = 6;
}  // namespace exit_status

struct options {
    protocol::request asked;  // its name is the command, also of one for which the daemon is not asked
    std::string socket = "/run/pvc/pvcnoded.sock";
    bool as_json = false;
    bool waits = false;  // until it is ready, at most so long:
    std::chrono::seconds wait_limit{300};
    bool is_confirmed = false;  // what changes something is done without asking first
    bool wants_version = false;
    std::string help;     // not empty: print it and end
    std::string problem;  // not empty: a usage error
};

[[nodiscard]] options parse_options(const std::vector<std::string>& arguments);

}  // namespace pvc::ctl
