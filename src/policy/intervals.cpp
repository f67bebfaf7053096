#include "pvcnoded/policy/intervals.hpp"

#include "pvcnoded/base/assert.hpp"

#include <algorithm>

namespace pvc::policy {

using namespace std::chrono_literals;

time_point next_tick(time_point start, duration interval, time_point now) {
    PVC_ASSERT(interval > duration::zero());
    if (now < start) {
        return start;
    }
    return start + ((now - start) / interval + 1) * interval;
}

duration figures_budget(duration interval) {
    return std::max<duration>(interval - 1s, interval * 3 / 4);
}

duration tick_budget(duration interval) {
    return interval * 9 / 10;
}

std::int64_t missed_heartbeats(duration away, duration interval) {
    return interval > duration::zero() ? away / interval : 0;
}

bool is_same_cadence(duration peer_interval, duration own_interval) {
    return peer_interval >= own_interval / 2 && peer_interval <= own_interval * 2;
}

std::chrono::seconds watchdog_limit(const intervals& times) {
    constexpr std::chrono::seconds shortest = 30s;
    constexpr std::chrono::seconds longest = 60s;
    return times.fence == 0 ? longest : std::clamp(times.dead_after(), shortest, longest);
}

std::optional<duration> isolation_limit(const intervals& times) {
    const auto limit = silence_limit(times);
    return limit ? std::optional(*limit - times.keepalive) : std::nullopt;
}

std::optional<duration> silence_limit(const intervals& times) {
    return times.fence > 0 ? std::optional<duration>(times.fenced_after()) : std::nullopt;
}

duration fresh_limit(const intervals& times) {
    constexpr duration shortest = 30s;
    return std::max<duration>(times.dead_after(), shortest);
}

duration absence_limit(const intervals& times) {
    constexpr duration shortest = 120s;
    return std::max<duration>(times.dead_after(), shortest);
}

duration quiet_limit(const intervals& times) {
    return std::max(times.dead_after(), times.grace());
}

duration refusal_limit(const intervals& times) {
    constexpr duration shortest = 20s;
    return std::max<duration>(4 * times.keepalive, shortest);
}

duration twin_forgotten_after(const intervals& times) {
    return 3 * times.keepalive + 10s;
}

duration twin_wait(const intervals& times) {
    constexpr duration longest = 60s;
    return std::min<duration>(2 * times.keepalive, longest);
}

duration round_time(duration interval, std::size_t things, std::size_t each_interval) {
    return interval * static_cast<duration::rep>((things + each_interval - 1) / each_interval);
}

std::size_t per_interval(duration interval, double per_second) {
    const double seconds = std::chrono::duration<double>(interval).count();
    return std::max<std::size_t>(static_cast<std::size_t>(seconds * per_second), 1);
}

}  // namespace pvc::policy
