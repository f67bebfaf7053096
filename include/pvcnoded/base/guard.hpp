// Guards that can be left out one at a time, to see that a test notices (tests/long/guards, docs/simulation.md). A
// guard is what keeps a decision from being carried out on a world that has changed: the check of a transaction, the
// version of a write, the deadline of an effect, a look at the role or at a lock. Each place in the sources that has
// one is a guard of its own, named by file and line. In the build of preset `guards` (PVC_GUARDS) the environment names
// one that is not there; in every other build nothing of this is left: the place is empty and the question is the
// constant false.
#pragma once

#include "pvcnoded/base/clock.hpp"

#ifdef PVC_GUARDS
#include <source_location>
#endif

namespace pvc {

#ifdef PVC_GUARDS
using guard_place = std::source_location;
// PVC_GUARD_LEFT_OUT=FILE:LINE names the guard that is not there; PVC_GUARDS_SEEN=FILE gets, when the process ends,
// each that was come by, one a line.
[[nodiscard]] bool is_left_out(const guard_place& where) noexcept;
#else
struct guard_place {
    static constexpr guard_place current() noexcept { return {}; }
};
[[nodiscard]] constexpr bool is_left_out(const guard_place& /*where*/) noexcept {
    return false;
}
#endif

// Whether the guard lets through what it stands before.
[[nodiscard]] inline bool guarded(bool holds, const guard_place& where = guard_place::current()) noexcept {
    return is_left_out(where) || holds;
}

// The end by which an effect must have begun.
[[nodiscard]] inline boot_time guarded_until(boot_time end,
                                             const guard_place& where = guard_place::current()) noexcept {
    return is_left_out(where) ? boot_time::max() : end;
}

}  // namespace pvc
