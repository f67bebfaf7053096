// The part of the storage port that asks about the cluster: commands to the monitors, counters of pools, and how it
// stands with whoever asks for us (a helper process; ruling 3). Specification: storage.md 3, 4.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/pool_counters.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pvc::storage {

// How it stands with the helper; nothing of it is asked from anybody.
struct helper_view {
    bool is_running = false;
    int pid = 0;
    std::uint64_t starts = 0;                    // since the daemon began
    std::uint64_t killed = 0;                    // of these: for an answer that did not come
    std::size_t waiting = 0;                     // questions without an answer yet
    std::optional<duration> oldest_wait;         // of those
    std::optional<duration> next_start;          // from now on; while it may not be started again yet
    std::string why_not;                         // the newest reason that it is not there; empty: none
    std::optional<std::uint64_t> private_bytes;  // of its memory, as it last said
    std::optional<std::uint64_t> threads;        // likewise
};

// Loop thread only. Cancelling a question leaves nothing behind: its answer, should it come, is dropped.
class ceph_cluster {
public:
    ceph_cluster() = default;
    ceph_cluster(const ceph_cluster&) = delete;
    ceph_cluster& operator=(const ceph_cluster&) = delete;
    virtual ~ceph_cluster() = default;

    // `command` is the whole JSON text; gives what Ceph printed, byte for byte (not necessarily UTF-8).
    // Errors: timed_out (no answer from whoever had to answer, or the deadline), unavailable (no connection to the
    // cluster: the cause says which, a keyring that is not taken for one; or no helper), refused (the keyring is taken,
    // and does not permit this), not_found, too_large (above 16 MiB), invalid (Ceph knows no such command), io (any
    // other status, or the helper ended with the question).
    virtual async::awaitable<result<std::string>> command(std::string command, time_point deadline) = 0;
    // Of those of these pools that exist, in the order asked for. Errors: as above.
    virtual async::awaitable<result<std::vector<model::pool_counters>>> counters(std::vector<std::string> pools,
                                                                                 time_point deadline) = 0;
    // What the helper takes: asked at most once a round. Errors: as above. The view has it from then on.
    virtual async::awaitable<result<void>> measure(time_point deadline) = 0;
    [[nodiscard]] virtual helper_view view() const = 0;
};

}  // namespace pvc::storage
