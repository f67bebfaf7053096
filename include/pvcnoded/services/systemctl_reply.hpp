// What an ended systemctl said, as the answer of the service manager port: total, whatever it printed.
// Specification: config.md 7.2.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/base/result.hpp"

#include <string>

namespace pvc::services {

// The longest cause taken from its output: the first line, ASCII.
inline constexpr std::size_t longest_systemctl_cause = 300;

// To start, restart, stop, enable and disable. Errors: refused, unavailable, timed_out, with systemctl's words or how
// it ended.
[[nodiscard]] result<void> request_reply(const std::string& unit, const async::process_outcome& outcome);
// To is-active: exit status 0 is active; 3 (not active) and 4 (no such unit) are not. Errors as above.
[[nodiscard]] result<bool> activity_reply(const std::string& unit, const async::process_outcome& outcome);

}  // namespace pvc::services
