#include "pvcnoded/policy/domains/domain_timing.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;

namespace {
constexpr duration short_life = 60s;
constexpr duration long_life = 10min;
constexpr duration quick_pause_max = 60s;
constexpr unsigned doublings_max = 6;
}  // namespace

time_point restart_spacing::ended(time_point now) {
    const duration lived = started_ ? now - *started_ : duration::zero();
    if (lived >= long_life) {
        quick_ends_ = 0;
    }
    if (quick_ends_ == 0 || lived >= short_life) {
        quick_ends_ = std::max(quick_ends_, 1U);
        return now;
    }
    const duration pause = std::min<duration>(quick_pause_max, 1s * (1U << std::min(quick_ends_, doublings_max)));
    ++quick_ends_;
    return now + pause;
}

migration_watch::verdict migration_watch::observe(time_point now, std::optional<std::uint64_t> remaining_bytes,
                                                  bool somebody_waits, std::uint64_t bytes_per_second) {
    const bool is_less =
        remaining_bytes &&
        (!minimum_ || (*remaining_bytes < *minimum_ && *minimum_ - *remaining_bytes >= 2 * bytes_per_second));
    if (is_less) {
        minimum_ = remaining_bytes;
        minimum_since_ = now;
    }
    const duration stalled = stalled_for(now);
    if (somebody_waits && stalled >= stall_limit_with_waiter) {
        return verdict::somebody_waits;
    }
    return stalled >= stall_limit_ ? verdict::no_progress : verdict::go_on;
}

bool migration_watch::must_warn(time_point now) {
    const bool due = !warned_ && stalled_for(now) >= stall_warning;
    warned_ = warned_ || due;
    return due;
}

}  // namespace pvc::policy
