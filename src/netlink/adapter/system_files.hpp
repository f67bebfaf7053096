// Small files of the kernel, below /sys and /proc. Plain calls: whoever may not wait for a driver makes them on a pool
// thread. They own what they touch.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <string>
#include <vector>

namespace pvc::netlink {

// The first 4 KiB, without the end of the line. Errors: not_found (no such file, or its device is gone), io; the
// subject is the path.
[[nodiscard]] result<std::string> read_system_file(const std::string& path);
// In one piece, as the kernel takes each for a value of its own. Errors: not_found, refused.
[[nodiscard]] result<void> write_system_file(const std::string& path, const std::string& value);
// Of files and folders in it, in no order, at most so many. Errors: not_found, io.
[[nodiscard]] result<std::vector<std::string>> names_in(const std::string& folder, std::size_t most);
// The last part of what a symbolic link points at. Errors: not_found, io.
[[nodiscard]] result<std::string> link_end(const std::string& path);
[[nodiscard]] bool is_there(const std::string& path);

}  // namespace pvc::netlink
