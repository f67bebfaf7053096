#include "pvcnoded/services/adapter/linux_host.hpp"

#include "adapter/host_files.hpp"
#include "pvcnoded/base/text.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

namespace pvc::services {

namespace {

using namespace std::chrono_literals;
constexpr duration disk_limit = 5s;
constexpr std::size_t file_limit = 64 * 1024;
constexpr std::size_t proc_limit = 1024 * 1024;

// What `uname -o` prints; uname(2) does not say it.
constexpr std::string_view operating_system = "GNU/Linux";

constexpr mode_t lock_mode = 0600;

// Who holds a flock, as the kernel lists it. Empty: not known (a process of another PID namespace has no number here).
std::string flock_holder(int descriptor, const std::string& proc) {
    struct stat found{};
    const auto locks = read_small_file(proc + "/locks", proc_limit);
    if (!locks || ::fstat(descriptor, &found) != 0) {
        return {};
    }
    const std::string inode = ':' + std::to_string(found.st_ino);
    for (const auto line : split(*locks, '\n')) {
        // "3: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF"; one that waits has "->" behind its number.
        const auto words = split_blanks(line);
        if (words.size() > 5 && words[1] == "FLOCK" && words[5].ends_with(inode) && words[4] != "0") {
            return std::string(words[4]);
        }
    }
    return {};
}

// The number of the daemon that holds it, or who else does.
std::string holder_text(int descriptor, const std::string& proc, const std::string& recorded) {
    const std::string holder = flock_holder(descriptor, proc);
    if (holder.empty() || holder == recorded) {
        return recorded;
    }
    const auto name = read_small_file(proc + '/' + holder + "/comm", file_limit);
    return holder + (name ? " (" + ascii_only(trim(*name)) + ")" : "") +
           ", which is not the daemon that the file records" +
           (recorded.empty() ? "" : " (" + ascii_only(recorded) + ")");
}

class flock_lock final : public file_lock {
public:
    explicit flock_lock(file_descriptor file) : file_(std::move(file)) {}

private:
    file_descriptor file_;
};

bool stays_below(std::string_view path) {
    return !path.empty() && path.front() != '/' && path.find("//") == std::string_view::npos &&
           std::ranges::none_of(split(path, '/'), [](std::string_view part) { return part == ".." || part == "."; });
}

// Blocking and final: the words of /proc/sys are taken in one write or not at all.
int write_existing(const std::string& path, const std::string& text) {
    const file_descriptor opened(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    return opened.is_open() ? write_all(opened.get(), text) : errno;
}

}  // namespace

linux_host::linux_host(async::offload& pool, async::timers& clock, host_paths paths)
    : pool_(pool), clock_(clock), paths_(std::move(paths)) {}

machine_facts linux_host::facts() const {
    machine_facts facts;
    facts.cpus = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    utsname names{};
    if (::uname(&names) == 0) {
        facts.kernel_release = names.release;
        facts.machine = names.machine;
    }
    facts.operating_system = operating_system;
    const auto boot_id = read_small_file(paths_.proc + "/sys/kernel/random/boot_id", file_limit);
    if (boot_id) {
        facts.boot_id = trim(*boot_id);
    }
    facts.pid = ::getpid();
    return facts;
}

result<std::string> linux_host::meminfo() {
    return read_small_file(paths_.proc + "/meminfo", proc_limit);
}

result<std::string> linux_host::loadavg() {
    return read_small_file(paths_.proc + "/loadavg", proc_limit);
}

async::awaitable<result<void>> linux_host::make_directory(std::string path, std::uint32_t mode, std::string owner) {
    const std::string what = "make directory " + path;
    std::function<result<void>()> work = [path, mode, owner] { return make_directory_blocking(path, mode, owner); };
    return pool_.run<void>(clock_, clock_.now() + disk_limit, what, std::move(work));
}

async::awaitable<result<void>> linux_host::replace_file(std::string path, std::string text) {
    const std::string what = "write " + path;
    std::function<result<void>()> work = [path = std::move(path), text = std::move(text)] {
        return replace_file_blocking(path, text);
    };
    return pool_.run<void>(clock_, clock_.now() + disk_limit, what, std::move(work));
}

async::awaitable<result<void>> linux_host::remove_file(std::string path) {
    const std::string what = "remove " + path;
    std::function<result<void>()> work = [path = std::move(path)] { return remove_file_blocking(path); };
    return pool_.run<void>(clock_, clock_.now() + disk_limit, what, std::move(work));
}

async::awaitable<result<void>> linux_host::remove_folder(std::string path) {
    const std::string what = "remove " + path;
    std::function<result<void>()> work = [path = std::move(path)] { return remove_folder_blocking(path); };
    return pool_.run<void>(clock_, clock_.now() + disk_limit, what, std::move(work));
}

async::awaitable<result<void>> linux_host::can_read(std::string path) {
    const std::string what = "look at " + path;
    std::function<result<void>()> work = [path = std::move(path)] { return can_read_blocking(path); };
    return pool_.run<void>(clock_, clock_.now() + disk_limit, what, std::move(work));
}

async::awaitable<result<std::string>> linux_host::read_disk_file(std::string path, std::size_t most) {
    const std::string what = "read " + path;
    std::function<result<std::string>()> work = [path = std::move(path), most] { return read_small_file(path, most); };
    return pool_.run<std::string>(clock_, clock_.now() + disk_limit, what, std::move(work));
}

async::awaitable<result<std::vector<std::string>>> linux_host::list_disk_files(std::string directory) {
    using names = std::vector<std::string>;
    const std::string what = "list " + directory;
    std::function<result<names>()> work = [directory = std::move(directory)] { return file_names(directory); };
    return pool_.run<names>(clock_, clock_.now() + disk_limit, what, std::move(work));
}

// Files of memory are the daemon's own, or the kernel's: a link among them leads to what is somebody else's.
result<std::string> linux_host::read_file(std::string path) {
    return read_small_file(path, file_limit, links::are_refused);
}

result<std::vector<std::string>> linux_host::list_files(std::string directory) {
    return file_names(directory);
}

result<std::vector<std::string>> linux_host::list_folders(std::string directory) {
    return folder_names(directory);
}

result<void> linux_host::set_sysctl(std::string key, std::string value) {
    std::string below = key;
    if (key.find('/') == std::string::npos) {
        std::ranges::replace(below, '.', '/');
    }
    if (!stays_below(below)) {
        return failure(errc::invalid, key, "not a key of /proc/sys");
    }
    const int error = write_existing(paths_.proc + "/sys/" + below, value);
    if (error != 0) {
        return os_failure(key, error);
    }
    return {};
}

result<std::unique_ptr<file_lock>> linux_host::lock(std::string path) {
    // Whoever can open it can lock it, and the daemon would not start again: nobody else can. One that an older version
    // made is closed to others, too.
    file_descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, lock_mode));
    if (!file.is_open() || ::fchmod(file.get(), lock_mode) != 0) {
        return io_failure(path, errno);
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return io_failure(path, errno);
        }
        const auto recorded = read_small_file(path, file_limit);
        return failure(errc::refused, path,
                       holder_text(file.get(), paths_.proc, recorded ? std::string(trim(*recorded)) : std::string()));
    }
    int error = ::ftruncate(file.get(), 0) == 0 ? 0 : errno;
    error = error != 0 ? error : write_all(file.get(), std::to_string(::getpid()) + '\n');
    if (error != 0) {
        return io_failure(path, error);
    }
    return std::unique_ptr<file_lock>(std::make_unique<flock_lock>(std::move(file)));
}

bool linux_host::has_watchdog() const {
    for (const char* name : {"/watchdog0", "/watchdog"}) {
        struct stat found{};
        if (::stat((paths_.devices + name).c_str(), &found) == 0 && S_ISCHR(found.st_mode)) {
            return true;
        }
    }
    return false;
}

}  // namespace pvc::services
