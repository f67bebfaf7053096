#include "process_state.hpp"

#include "pvcnoded/base/text.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace pvc::ceph_helper {

namespace {

duration read_clock(clockid_t which) {
    timespec now{};
    ::clock_gettime(which, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// "Private_Dirty:        1234 kB"
std::uint64_t private_bytes() {
    std::ifstream from("/proc/self/smaps_rollup");
    std::uint64_t kib = 0;
    for (std::string line; std::getline(from, line);) {
        if (line.starts_with("Private_")) {
            const auto words = split_blanks(line);
            kib += static_cast<std::uint64_t>(words.size() < 2 ? 0 : parse_integer(words[1]).value_or(0));
        }
    }
    return kib * 1024;
}

std::uint64_t thread_count() {
    std::error_code failed;
    std::uint64_t count = 0;
    for (auto entry = std::filesystem::directory_iterator("/proc/self/task", failed);
         !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
        ++count;
    }
    return count;
}

void drop_capabilities() {
    for (int one = 0; ::prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {
        if (one != CAP_DAC_READ_SEARCH) {
            ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0);  // refused where it has none, as in tests without root
        }
    }
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &head, sets.data()) != 0) {
        return;
    }
    const std::uint32_t kept = sets[0].permitted & (1U << CAP_DAC_READ_SEARCH);
    sets = {};
    sets[0].permitted = kept;
    sets[0].effective = kept;
    ::syscall(SYS_capset, &head, sets.data());
}

}  // namespace

time_point monotonic_now() {
    return time_point(read_clock(CLOCK_MONOTONIC));
}

boot_time boot_now() {
    return boot_time(read_clock(CLOCK_BOOTTIME));
}

protocol::ceph::say::used usage_now() {
    return {.private_bytes = private_bytes(), .threads = thread_count(), .handles = 0};
}

void die_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

void confine(unsigned first_descriptor_closed) {
    ::close_range(first_descriptor_closed, ~0U, 0);
    if (const int nothing = ::open("/dev/null", O_RDWR); nothing >= 0) {
        ::dup2(nothing, STDIN_FILENO);
        ::close(nothing);
    }
    const rlimit none{};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    drop_capabilities();
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace pvc::ceph_helper
