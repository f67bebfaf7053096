// Log bytes to a file and to standard output. Written with the system call itself: nothing of ours holds a line back.
// Specification: config.md 5.6 (flush per line, reopen on SIGHUP).
#pragma once

#include "pvcnoded/services/log_output.hpp"

#include <unistd.h>
#include <chrono>

namespace pvc::services {

// Appends; made with mode 0640, group adm, if missing, and its folder too. Opened by the first write, so that it is a
// pool thread that waits for the disk.
class file_log_output final : public log_output {
public:
    explicit file_log_output(std::string path) : path_(std::move(path)) {}
    ~file_log_output() override;

    // A failed write may have written a part.
    result<void> write(std::string_view bytes) override;
    // On failure the file that was open before stays in use.
    result<void> reopen() override;

private:
    std::string path_;
    int file_ = -1;
};

// Standard output may be a terminal, a file, or a pipe whose reader is slow or gone, and somebody may have made it
// non-blocking.
class stdout_log_output final : public log_output {
public:
    // How long a write waits for a reader that takes nothing.
    static constexpr std::chrono::milliseconds usual_patience{2000};

    explicit stdout_log_output(int descriptor = STDOUT_FILENO, std::chrono::milliseconds patience = usual_patience)
        : descriptor_(descriptor), patience_(patience) {}

    result<void> write(std::string_view bytes) override;
    result<void> reopen() override { return {}; }

private:
    int descriptor_;
    std::chrono::milliseconds patience_;
};

}  // namespace pvc::services
