// Spacing of automatic restarts, progress of a live migration: pure, on times that the caller passes.
// Specification: vm-domains.md 6.1 (last paragraph), 8.3, 17.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <tuple>

namespace pvc::policy {

// A domain in `start` that ends by itself is started again: at once, then after 2, 4, 8 … 60 s while it lives less
// than 60 s. Ten minutes of life, or any write of a client, begin anew.
class restart_spacing {
public:
    void started(time_point now) { started_ = now; }
    // It ended by itself: the earliest time of the next start.
    time_point ended(time_point now);
    void reset() { quick_ends_ = 0; }

    // All that it remembers: machines are compared and hashed.
    [[nodiscard]] auto fields() const { return std::tie(started_, quick_ends_); }
    friend bool operator==(const restart_spacing&, const restart_spacing&) = default;

private:
    std::optional<time_point> started_;
    unsigned quick_ends_ = 0;
};

// Watches how much a migration has left to copy.
class migration_watch {
public:
    // `stall_limit`: without progress for so long it is ended, whoever waits.
    explicit migration_watch(time_point now, duration stall_limit = std::chrono::seconds(300))
        : minimum_since_(now), began_(now), stall_limit_(stall_limit) {}

    // The remaining data, and whether somebody waits for the lock of `state` behind us. Returns why the job must end.
    // Less by what is copied in two seconds counts as a new minimum: between two looks a guest that writes fast shows
    // now less, now more.
    enum class verdict : std::uint8_t { go_on, no_progress, somebody_waits };
    verdict observe(time_point now, std::optional<std::uint64_t> remaining_bytes, bool somebody_waits,
                    std::uint64_t bytes_per_second = 0);
    // True once: it does not converge so far (20 s without a new minimum).
    [[nodiscard]] bool must_warn(time_point now);
    [[nodiscard]] duration stalled_for(time_point now) const { return now - minimum_since_; }
    [[nodiscard]] duration running_for(time_point now) const { return now - began_; }

    [[nodiscard]] auto fields() const { return std::tie(minimum_since_, began_, stall_limit_, minimum_, warned_); }
    friend bool operator==(const migration_watch&, const migration_watch&) = default;

private:
    time_point minimum_since_;
    time_point began_;
    duration stall_limit_;
    std::optional<std::uint64_t> minimum_;
    bool warned_ = false;
};

inline constexpr duration stall_limit_with_waiter = std::chrono::seconds(30);
inline constexpr duration stall_warning = std::chrono::seconds(20);

}  // namespace pvc::policy
