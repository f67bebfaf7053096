// One question to the daemon over its local socket, waiting for the (first) answer at most as long as the request says.
#pragma once

#include "pvcnoded/protocol/messages.hpp"

#include <functional>
#include <string>

namespace pvc::ctl {

// Errors: not_found and unavailable (nobody listens there), refused (no permission), timed_out, io, invalid and
// too_large (what came is no answer).
[[nodiscard]] result<protocol::answer> ask(const std::string& socket, const protocol::request& what);

// A request that goes on: `take` gets each answer as it comes, until it says no, the daemon says no more, or it hangs
// up (io). Only the first one is waited for with a limit.
[[nodiscard]] result<void> ask_on(const std::string& socket, const protocol::request& what,
                                  const std::function<bool(const protocol::answer&)>& take);

}  // namespace pvc::ctl
