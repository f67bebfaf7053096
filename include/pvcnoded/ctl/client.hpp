// One question to the daemon over its local socket, waiting for the answer at most as long as the request says.
#pragma once

#include "pvcnoded/protocol/messages.hpp"

#include <string>

namespace pvc::ctl {

// Errors: not_found and unavailable (nobody listens there), refused (no permission), timed_out, io, invalid and
// too_large (what came is no answer).
[[nodiscard]] result<protocol::answer> ask(const std::string& socket, const protocol::request& what);

}  // namespace pvc::ctl
