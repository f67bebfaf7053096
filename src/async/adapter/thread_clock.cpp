#include "pvcnoded/async/thread_clock.hpp"

#include <ctime>

namespace pvc::async {

namespace {

duration read_clock(clockid_t which) {
    timespec t{};
    ::clock_gettime(which, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

time_point thread_now() {
    return time_point(read_clock(CLOCK_MONOTONIC));
}

boot_time thread_boot_now() {
    return boot_time(read_clock(CLOCK_BOOTTIME));
}

}  // namespace pvc::async
