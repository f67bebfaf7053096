#include "pvcnoded/policy/membership/outage.hpp"

#include "pvcnoded/policy/intervals.hpp"

#include <fmt/format.h>

#include <chrono>

namespace pvc::policy {

namespace {

using namespace std::chrono_literals;

std::int64_t whole_seconds(duration time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

std::string time_text(duration time) {
    const std::int64_t seconds = whole_seconds(time);
    constexpr std::int64_t minute = 60;
    return seconds < 2 * minute ? fmt::format("{} s", seconds) : fmt::format("{} min", seconds / minute);
}

}  // namespace

duration next_outage_line(duration told) {
    constexpr duration first = 10s;
    constexpr duration second = 1min;
    constexpr duration then_every = 5min;
    if (told < first) {
        return first;
    }
    return told < second ? second : told + then_every;
}

std::string outage_text(const outage& now) {
    std::string text = "ZooKeeper has been away for " + time_text(now.away);
    if (!now.cause.empty()) {
        text += ": " + now.cause;
    }
    if (now.until_fenced) {
        text += *now.until_fenced > duration::zero() ? "; peers may fence this node in " + time_text(*now.until_fenced)
                                                     : std::string("; peers may fence this node at any time");
    }
    return text;
}

std::string outage_end_text(duration away, duration keepalive_interval) {
    return fmt::format("connected to ZooKeeper again after {} without it, about {} heartbeats were missed",
                       time_text(away), missed_heartbeats(away, keepalive_interval));
}

}  // namespace pvc::policy
