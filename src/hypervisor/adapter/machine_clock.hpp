// The clocks as a pool thread may read them: an item can outlive the loop and its timers, which are the loop thread's.
// They are the clocks of real_timers (CLOCK_MONOTONIC, CLOCK_BOOTTIME), so that moments of the one can be compared with
// the other.
#pragma once

#include "pvcnoded/base/clock.hpp"

namespace pvc::hypervisor {

[[nodiscard]] time_point machine_now();
[[nodiscard]] boot_time machine_boot_now();

}  // namespace pvc::hypervisor
