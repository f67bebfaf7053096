// Requests on their way to the threads that carry them out, and which threads those are. Any thread.
// Specification: storage.md 3.2.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace pvc::ceph_helper {

// Each has threads of its own, so that what hangs in one holds nothing up in the others; the last two share a handle of
// the cluster.
enum class lane : std::uint8_t {
    at_once,  // Ceph is not asked
    figures,  // one thread: monitors, managers, counters of pools
    locks,    // four: who holds locks, and who has images open
    breaks,   // two: what is taken from somebody
};
[[nodiscard]] lane lane_of(const protocol::ceph::request& what);

struct pending_request {
    protocol::ceph::request what;
    time_point until;  // nothing of it is begun later
};

class request_queue {
public:
    void put(pending_request one);
    // The oldest one; empty: none came in that time.
    [[nodiscard]] std::optional<pending_request> take(duration at_most);

private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<pending_request> waiting_;
};

}  // namespace pvc::ceph_helper
