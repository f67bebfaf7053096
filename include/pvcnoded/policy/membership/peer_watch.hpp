// What an observer knows of a peer's heartbeat (node-lifecycle.md 10.1, README ruling 9): the age of the last change of
// the keepalive's transaction id by the observer's own clock. Neither the value nor a server's stamp counts.
#pragma once

#include "pvcnoded/base/clock.hpp"

#include <cstdint>
#include <optional>

namespace pvc::policy {

// A read answered later than this after it was sent says nothing about an age.
inline constexpr duration peer_read_limit = std::chrono::seconds(2);

class peer_watch {
public:
    // The observer has (re)connected: no age is older than this.
    void connected(time_point at) { since_ = at; }

    // One read of the key: its modification id, empty if the key is missing. Sent and answered by the observer's
    // monotonic clock. False: void, it was answered too late; nothing is learned.
    bool observe(std::optional<std::int64_t> mzxid, time_point sent, time_point answered);

    // How long the id has been unchanged at that moment; never negative. Zero before connected() and observe().
    [[nodiscard]] duration unchanged_for(time_point at) const;

    // Another sign of life: the peer changed something else.
    void moved() { moved_ = true; }
    // Whether a change was seen since connected(). Until then the age says how long we have been looking, and nothing
    // about the peer.
    [[nodiscard]] bool has_moved() const { return moved_; }

    // The id seen last; empty: never seen, or the key is missing.
    [[nodiscard]] std::optional<std::int64_t> id() const { return id_; }

private:
    std::optional<std::int64_t> id_;
    std::optional<time_point> since_;
    bool moved_ = false;
};

}  // namespace pvc::policy
