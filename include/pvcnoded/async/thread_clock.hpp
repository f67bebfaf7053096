// The clocks as a pool thread may read them: what it does can outlive the loop and its timers, which are the loop
// thread's. They are the clocks of real_timers (CLOCK_MONOTONIC, CLOCK_BOOTTIME), so that moments of the one can be
// compared with the other. For adapters that block, and nobody else: what runs on the loop takes its timers.
#pragma once

#include "pvcnoded/base/clock.hpp"

namespace pvc::async {

[[nodiscard]] time_point thread_now();
[[nodiscard]] boot_time thread_boot_now();

}  // namespace pvc::async
