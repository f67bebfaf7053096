// What is known of a daemon that does not listen: its note of the last heartbeat, and what the service manager says.
#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::ctl {

// What was found; empty: it could not be had.
struct traces {
    std::optional<std::string> note;  // the text of the file `heartbeat` in the dynamic directory
    std::string boot_id;              // of this boot
    std::int64_t boot_ns = 0;         // since then, suspended time included
    std::optional<std::string> unit;  // the output of systemctl show
    std::string unit_problem;         // why there is none
};
// The properties that systemctl is asked for.
inline constexpr std::string_view unit_properties =
    "LoadState,ActiveState,SubState,Result,ExecMainStatus,StateChangeTimestamp";

// As it is printed with --json (docs/control.md).
[[nodiscard]] boost::json::object describe(const traces& found);
// Reads the note beside the socket, and asks systemctl for at most 2 s.
[[nodiscard]] traces look_for_traces(const std::string& socket);

}  // namespace pvc::ctl
