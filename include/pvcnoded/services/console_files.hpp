// The console log files that the hypervisor writes: told of changes, read from the end.
//
// follow(): changes of the file at a path, whatever it is: appended, truncated, replaced, removed, created. Reading
// goes through the offload port and touches only the end of the file. Loop thread only. Specification:
// vm-domains.md 10.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"

#include <memory>
#include <string>

namespace pvc::services {

// While it lives, its wakeup is notified of every change, and once at the beginning.
class followed_file {
public:
    followed_file() = default;
    followed_file(const followed_file&) = delete;
    followed_file& operator=(const followed_file&) = delete;
    virtual ~followed_file() = default;
};

class console_files {
public:
    console_files() = default;
    console_files(const console_files&) = delete;
    console_files& operator=(const console_files&) = delete;
    virtual ~console_files() = default;

    // Creates the file with mode 0600 if it is missing. Errors: io, timed_out.
    virtual async::awaitable<result<void>> ensure(std::string path, time_point deadline) = 0;
    // `changed` must outlive what is returned. A path that cannot be watched (no such directory, no more watches) is
    // looked at every 0.5 s instead.
    virtual std::unique_ptr<followed_file> follow(std::string path, async::wakeup& changed) = 0;
    // The last `lines` lines of the file, read backwards from its end, at most `bytes` bytes (then it begins within a
    // line). A missing file is empty. Errors: io, timed_out.
    virtual async::awaitable<result<std::string>> read_end(std::string path, std::size_t lines, std::size_t bytes,
                                                           time_point deadline) = 0;
};

}  // namespace pvc::services
