// Settings of the kernel: files below /proc/sys. They are in memory, so reading and writing them is no waiting.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <string>

namespace pvc::netlink {

// Without the end of its line. Errors: not_found (also a key that leads out of /proc/sys), io.
[[nodiscard]] result<std::string> read_setting(const std::string& key);
// Errors: not_found, refused (also a key that leads out of /proc/sys).
[[nodiscard]] result<void> write_setting(const std::string& key, const std::string& value);

}  // namespace pvc::netlink
