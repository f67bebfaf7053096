// The clocks as a pool thread may read them: what it does can outlive the loop and its timers, which are the loop
// thread's. They are the clocks of real_timers, so that moments of the one can be compared with the other.
#pragma once

#include "pvcnoded/base/clock.hpp"

namespace pvc::netlink {

[[nodiscard]] time_point thread_now();
[[nodiscard]] boot_time thread_boot_now();

}  // namespace pvc::netlink
