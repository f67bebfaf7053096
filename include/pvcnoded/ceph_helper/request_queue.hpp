// Requests on their way to the threads that carry them out, and which threads those are. Any thread.
// Specification: storage.md 3.2.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"
#include "pvcnoded/protocol/pool_turns.hpp"

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
    locks,    // four: who holds locks, and who has images open; what a break needs opened
    breaks,   // eight: what is taken from somebody; each takes the monitors most of a second
};
[[nodiscard]] lane lane_of(const protocol::ceph::request& what);

struct pending_request {
    protocol::ceph::request what;
    time_point until;  // nothing of it is begun later
};

// Pools take turns, and none has more than half of the threads: calls about one that is sick end late.
class request_queue {
public:
    explicit request_queue(std::size_t threads) : turns_(threads) {}
    void put(pending_request one);
    // The next one that may be carried out; empty: there was none in that time. Whoever takes it says when it is over.
    [[nodiscard]] std::optional<pending_request> take(duration at_most);
    void is_over(std::string_view pool);

private:
    [[nodiscard]] std::optional<std::size_t> next() const;

    protocol::pool_turns turns_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<pending_request> waiting_;
};

}  // namespace pvc::ceph_helper
