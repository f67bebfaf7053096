#include "pvcnoded/services/adapter/file_log_output.hpp"

#include "adapter/host_files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <cerrno>

namespace pvc::services {

namespace {

// Zero when there is room again, else an error number. Waits at most `patience`.
int wait_for_room(int descriptor, std::chrono::milliseconds patience) {
    pollfd entry{descriptor, POLLOUT, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(patience.count()));
    if (ready < 0) {
        return errno == EINTR ? 0 : errno;
    }
    return ready == 0 ? EAGAIN : 0;
}

result<void> write_patiently(int descriptor, const std::string& subject, std::string_view bytes,
                             std::chrono::milliseconds patience) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        int error = written == 0 ? EIO : errno;
        if (error == EAGAIN) {
            error = wait_for_room(descriptor, patience);
        }
        if (error != 0 && error != EINTR) {
            return io_failure(subject, error);
        }
    }
    return {};
}

}  // namespace

file_log_output::~file_log_output() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

result<void> file_log_output::write(std::string_view bytes) {
    if (file_ < 0) {
        auto opened = reopen();
        if (!opened) {
            return opened;
        }
    }
    return write_patiently(file_, path_, bytes, std::chrono::milliseconds(0));
}

result<void> file_log_output::reopen() {
    const int fresh = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
    if (fresh < 0) {
        return io_failure(path_, errno);
    }
    if (file_ >= 0) {
        ::close(file_);
    }
    file_ = fresh;
    return {};
}

result<void> stdout_log_output::write(std::string_view bytes) {
    return write_patiently(descriptor_, "standard output", bytes, patience_);
}

}  // namespace pvc::services
