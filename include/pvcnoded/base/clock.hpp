// Time as an input. Nothing above `app` names a clock of the standard library (architecture.md rule 2).
#pragma once

#include <chrono>
#include <cstdint>

namespace pvc {

using duration = std::chrono::nanoseconds;

// Intervals and deadlines: monotonic, stands still while the machine sleeps.
struct monotonic_tag {
    using rep = duration::rep;
    using period = duration::period;
    using duration = pvc::duration;
    static constexpr bool is_steady = true;
};
using time_point = std::chrono::time_point<monotonic_tag>;

// Ages on which other nodes rely (heartbeat, server contact, guards): goes on while the machine sleeps
// (node-lifecycle.md 3.1 rule 5). A type of its own so that the two cannot be mixed up.
struct boot_tag {
    using rep = duration::rep;
    using period = duration::period;
    using duration = pvc::duration;
    static constexpr bool is_steady = true;
};
using boot_time = std::chrono::time_point<boot_tag>;

// Published values only; may jump at any moment. Nanoseconds since the Unix epoch.
struct wall_tag {
    using rep = duration::rep;
    using period = duration::period;
    using duration = pvc::duration;
    static constexpr bool is_steady = false;
};
using wall_time = std::chrono::time_point<wall_tag>;

class clock {
public:
    clock() = default;
    clock(const clock&) = delete;
    clock& operator=(const clock&) = delete;
    virtual ~clock() = default;

    [[nodiscard]] virtual time_point now() const = 0;
    [[nodiscard]] virtual boot_time boot_now() const = 0;
    [[nodiscard]] virtual wall_time wall_now() const = 0;
};

[[nodiscard]] inline std::int64_t unix_seconds(wall_time t) {
    return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch()).count();
}

}  // namespace pvc
