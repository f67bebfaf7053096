#include "pvcnoded/services/adapter/file_log_output.hpp"

#include "adapter/host_files.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>

namespace pvc::services {

namespace {

// What a daemon before this one left readable by everybody.
void close_to_others(int file) {
    constexpr mode_t of_others = 07;
    struct stat now{};
    if (file >= 0 && ::fstat(file, &now) == 0 && S_ISREG(now.st_mode) && (now.st_mode & of_others) != 0) {
        const bool is_closed = ::fchmod(file, now.st_mode & 07777 & ~of_others) == 0;
        ignore(is_closed, "that others may read it is no reason to have no log");
    }
}

// Below zero: errno says why. A new file is for root, and for those who may read logs.
int open_for_appending(const std::string& path) {
    constexpr mode_t log_mode = 0640;
    // Not through a link: in a directory that others may write it could lead anywhere.
    constexpr int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
    const int fresh = ::open(path.c_str(), flags | O_CREAT | O_EXCL, log_mode);
    if (fresh < 0) {
        const int present = errno == EEXIST ? ::open(path.c_str(), flags) : fresh;
        close_to_others(present);
        return present;
    }
    group entry{};
    group* found = nullptr;
    std::array<char, 4096> texts{};
    const bool is_known = ::getgrnam_r("adm", &entry, texts.data(), texts.size(), &found) == 0 && found != nullptr;
    const bool is_given = is_known && ::fchown(fresh, static_cast<uid_t>(-1), entry.gr_gid) == 0;
    const bool is_readable = ::fchmod(fresh, log_mode) == 0;
    ignore(is_given && is_readable, "that fewer may read it is no reason to have no log");
    return fresh;
}

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
    int fresh = open_for_appending(path_);
    if (fresh < 0 && errno == ENOENT) {
        // Its folder could not be made when the daemon started, or somebody removed it.
        ::mkdir(path_.substr(0, path_.rfind('/')).c_str(), 0755);
        fresh = open_for_appending(path_);
    }
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
