// Where finished log bytes go: one port for the file, one for standard output. A write may block for as long as a disk
// or a pipe likes, so it is done on a pool thread; who writes keeps a bounded queue in front of it
// (node/log_sinks.hpp).
#pragma once

#include "pvcnoded/base/result.hpp"

#include <string>
#include <string_view>

namespace pvc::services {

class log_output {
public:
    log_output() = default;
    log_output(const log_output&) = delete;
    log_output& operator=(const log_output&) = delete;
    virtual ~log_output() = default;

    // Blocking; called by one pool thread at a time. Writes all of `bytes` and flushes. Errors: io (with the OS text).
    virtual result<void> write(std::string_view bytes) = 0;
    // Blocking. Opens the file anew (after it was rotated). No-op for standard output.
    virtual result<void> reopen() = 0;
};

}  // namespace pvc::services
