#include "pvcnoded/policy/membership/peer_cadence.hpp"

#include "pvcnoded/base/text.hpp"
#include "pvcnoded/policy/intervals.hpp"

#include <cmath>
#include <utility>

namespace pvc::policy {

namespace {

constexpr std::int64_t changes_for_a_mean = 10;

std::string tenths_text(duration d) {
    return float_text(std::round(std::chrono::duration<double>(d).count() * 10) / 10) + " s";
}

}  // namespace

std::optional<duration> peer_cadence::observe(std::int32_t data_version, time_point at) {
    const auto before = std::exchange(last_version_, data_version);
    if (!before || *before == data_version) {
        return std::nullopt;
    }
    // A version that went back belongs to a new key: the peer was registered again.
    if (!first_change_ || data_version < *before) {
        first_change_ = reading{data_version, at};
        return std::nullopt;
    }
    const std::int64_t changes = std::int64_t{data_version} - first_change_->version;
    if (changes < changes_for_a_mean) {
        return std::nullopt;
    }
    const duration mean = (at - first_change_->at) / changes;
    first_change_ = reading{data_version, at};
    const bool in_range = is_same_cadence(mean, own_interval_);
    const bool says_it = !in_range && !warned_;
    warned_ = !in_range;
    return says_it ? std::optional(mean) : std::nullopt;
}

std::string cadence_warning(std::string_view peer, duration peer_interval, duration own_interval) {
    return std::string(peer) + " checks in every " + tenths_text(peer_interval) + ", this node every " +
           tenths_text(own_interval) + ": keepalive_interval must be equal on all nodes";
}

}  // namespace pvc::policy
