// The host port: what the daemon reads from and does to its own machine outside networking and virtualisation.
// Quick reads of /proc are direct; whatever can hang on a disk goes through the offload port.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pvc::services {

struct machine_facts {
    unsigned cpus = 1;             // logical, online
    std::string kernel_release;    // 6.1.0-13-amd64
    std::string operating_system;  // GNU/Linux
    std::string machine;           // x86_64
    std::string boot_id;
    int pid = 0;
};

// Holding it keeps the lock; the operating system frees it when the process ends, however it ends.
class file_lock {
public:
    file_lock() = default;
    file_lock(const file_lock&) = delete;
    file_lock& operator=(const file_lock&) = delete;
    virtual ~file_lock() = default;
};

class host {
public:
    host() = default;
    host(const host&) = delete;
    host& operator=(const host&) = delete;
    virtual ~host() = default;

    [[nodiscard]] virtual machine_facts facts() const = 0;
    [[nodiscard]] virtual result<std::string> meminfo() = 0;  // the text of /proc/meminfo
    [[nodiscard]] virtual result<std::string> loadavg() = 0;  // the text of /proc/loadavg

    // Creates the directory and its parents if missing; if the last one was, sets its mode, and its owner by name if
    // given and known. One that exists stays as it is. Errors: io; timed_out after 5 s (the disk hangs: it may still
    // happen); unavailable (too much hangs already).
    virtual async::awaitable<result<void>> make_directory(std::string path, std::uint32_t mode, std::string owner) = 0;
    // Writes through a temporary file and rename: readers see the old text or the new one, also after a crash. Small
    // files; the directory must exist. A file that is replaced keeps its mode, a new one has 0644. Errors as above.
    virtual async::awaitable<result<void>> replace_file(std::string path, std::string text) = 0;
    // A file that is not there is success. Errors as above.
    virtual async::awaitable<result<void>> remove_file(std::string path) = 0;
    // A directory with the plain files in it. One that is not there is success. Errors: refused (it is no directory, as
    // a symbolic link is none: nothing is done; or something in it is no plain file: that stays, and the files are
    // gone); others as above.
    virtual async::awaitable<result<void>> remove_folder(std::string path) = 0;
    // Whether this process may read it; nothing of it is read. Errors: not_found, refused (the cause says why);
    // timed_out, unavailable as above.
    virtual async::awaitable<result<void>> can_read(std::string path) = 0;
    // Of a directory of memory, at once. Errors: not_found, io, too_large (above 64 KiB).
    virtual result<std::string> read_file(std::string path) = 0;
    // Of wherever it is, at most so many bytes. Errors: those of read_file; timed_out, unavailable as above.
    static constexpr std::size_t usual_file_limit = 65536;
    virtual async::awaitable<result<std::string>> read_disk_file(std::string path,
                                                                 std::size_t most = usual_file_limit) = 0;
    // Names of the files in a directory, wherever it is, at most 10,000. Errors: not_found, io; timed_out, unavailable
    // as above.
    virtual async::awaitable<result<std::vector<std::string>>> list_disk_files(std::string directory) = 0;
    // Names of the files in a directory of memory (/run), at most 10,000. Errors: not_found, io.
    virtual result<std::vector<std::string>> list_files(std::string directory) = 0;
    // Likewise, of the directories in it; what a symbolic link leads to is none. Errors: not_found, io.
    virtual result<std::vector<std::string>> list_folders(std::string directory) = 0;
    // Writes /proc/sys/<key with '/' for '.'>; a key that holds a '/' is taken as it is
    // ("net/ipv4/conf/bond0.100/rp_filter": a device name may hold dots). Errors: not_found (this kernel has no such
    // key), io, invalid (leaves /proc/sys).
    virtual result<void> set_sysctl(std::string key, std::string value) = 0;
    // Takes an exclusive lock on the file (created if missing, mode 0600) and writes our pid into it.
    // Errors: refused (held; the cause is the pid of the holder, and says more if that is not who wrote its pid), io.
    virtual result<std::unique_ptr<file_lock>> lock(std::string path) = 0;
    // True if a kernel watchdog device exists.
    [[nodiscard]] virtual bool has_watchdog() const = 0;
};

}  // namespace pvc::services
