#include "pvcnoded/config/intervals.hpp"

#include <algorithm>

namespace pvc::config {

using std::chrono::seconds;

std::optional<seconds> self_reset_limit(const intervals& times) {
    constexpr seconds shortest{30};
    if (times.suicide <= 0) {
        return std::nullopt;
    }
    return std::max(times.suicide * times.keepalive, shortest);
}

std::optional<seconds> self_reset_lease(const intervals& times) {
    constexpr seconds margin{10};
    const auto limit = self_reset_limit(times);
    return limit ? std::optional(*limit + margin) : std::nullopt;
}

std::optional<seconds> publishable_lease(const intervals& times) {
    const auto lease = self_reset_lease(times);
    return lease && *lease <= times.fenced_after() ? lease : std::nullopt;
}

}  // namespace pvc::config
