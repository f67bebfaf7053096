// Settings of the kernel: files below /proc/sys. They are in memory, and to read one is no
// waiting; to write one is, where the kernel tells every link of it: that is for threads of the pool.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <string>

namespace pvc::netlink {

// Without the end of its line. Errors: not_found (also a key that leads out of /proc/sys), io.
[[nodiscard]] result<std::string> read_setting(const std::string& key);
// Errors: not_found, refused (also a key that leads out of /proc/sys).
[[nodiscard]] result<void> write_setting(const std::string& key, const std::string& value);

}  // namespace pvc::netlink
