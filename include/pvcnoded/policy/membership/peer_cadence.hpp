// Intervals must be equal on all nodes, and nothing publishes them: whoever watches a peer's heartbeat can see when its
// cadence is not our own (config.md 5.5, case 45).
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pvc::policy {

class peer_cadence {
public:
    explicit peer_cadence(duration own_interval) : own_interval_(own_interval) {}

    // One read of the peer's keepalive. Its data version counts the changes between two reads, so that a peer that
    // beats faster than we read is noticed too. After ten changes: the mean interval, if it lies below half or above
    // twice our own and this was not said before. Silence is for others to judge: it gives no mean.
    [[nodiscard]] std::optional<duration> observe(std::int32_t data_version, time_point at);

    // The peer was down, or we were: what was counted so far says nothing.
    void restart() {
        first_change_.reset();
        last_version_.reset();
    }

private:
    struct reading {
        std::int32_t version;
        time_point at;
    };
    duration own_interval_;
    std::optional<reading> first_change_;
    std::optional<std::int32_t> last_version_;
    bool warned_ = false;
};

// "hv2 checks in every 30.0 s, this node every 5.0 s: keepalive_interval must be equal on all nodes".
[[nodiscard]] std::string cadence_warning(std::string_view peer, duration peer_interval, duration own_interval);

}  // namespace pvc::policy
