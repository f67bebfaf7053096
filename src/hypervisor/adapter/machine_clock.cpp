// tidy-allow-file(clock): pool threads cannot ask the loop's timers, and a guarded step needs the moment before the
// call
#include "machine_clock.hpp"

#include <ctime>

namespace pvc::hypervisor {

namespace {

duration read_clock(clockid_t which) {
    timespec t{};
    ::clock_gettime(which, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

time_point machine_now() {
    return time_point(read_clock(CLOCK_MONOTONIC));
}

boot_time machine_boot_now() {
    return boot_time(read_clock(CLOCK_BOOTTIME));
}

}  // namespace pvc::hypervisor
