#include "pvcnoded/policy/intervals.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

using namespace std::chrono_literals;

constexpr int saving_throws = 6;
constexpr auto shortest_reset = 30s;
constexpr auto lease_margin = 10s;
constexpr duration shortest_fresh = 30s;

}  // namespace

std::optional<duration> isolation_limit(const intervals& times) {
    if (times.fence <= 0) {
        return std::nullopt;
    }
    return duration((times.fence + saving_throws - 1) * times.keepalive);
}

std::optional<std::chrono::seconds> self_reset_limit(const intervals& times) {
    if (times.suicide <= 0) {
        return std::nullopt;
    }
    return std::max<std::chrono::seconds>(times.suicide * times.keepalive, shortest_reset);
}

std::optional<std::chrono::seconds> publishable_lease(const intervals& times) {
    const auto limit = self_reset_limit(times);
    if (!limit) {
        return std::nullopt;
    }
    const auto lease = *limit + lease_margin;
    return lease <= (times.fence + saving_throws) * times.keepalive ? std::optional(lease) : std::nullopt;
}

duration fresh_limit(const intervals& times) {
    return std::max(times.dead_after(), shortest_fresh);
}

}  // namespace pvc::policy
