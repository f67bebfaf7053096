// Directories of the daemon's own below its dynamic directory. What leads elsewhere (a symbolic link) is none: who
// wrote into it, or removed what is too many there, would do that to somebody else's files.
#pragma once

#include "pvcnoded/services/host.hpp"

#include <string>
#include <string_view>

namespace pvc::networks {

inline constexpr std::string_view is_no_folder = "it is no directory (a symbolic link is none)";

// Success: parent/name is one, or is not there yet. Errors: refused (something else is there). At once, as the dynamic
// directory is one of memory.
[[nodiscard]] result<void> may_be_folder(services::host& host, const std::string& parent, const std::string& name);

}  // namespace pvc::networks
