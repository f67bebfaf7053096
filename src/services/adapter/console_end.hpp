// The blocking file work of inotify_console_files: plain functions that own all they touch, so that they may run on a
// pool thread.
#pragma once

#include "pvcnoded/base/result.hpp"

#include <cstddef>
#include <string>

namespace pvc::services {

// Makes an empty file with mode 0600 unless something has that name.
result<void> ensure_console_blocking(const std::string& path);
// The last `lines` lines (the unfinished one counts), at most `bytes` bytes. A missing file is empty; what is no
// regular file is an io failure and is not opened.
result<std::string> read_console_end_blocking(const std::string& path, std::size_t lines, std::size_t bytes);

}  // namespace pvc::services
