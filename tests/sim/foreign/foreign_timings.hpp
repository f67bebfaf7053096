// How long the reference takes for what, each step a duration of its own. The defaults are what the recorded traces
// show; a test pins some, a random run draws all between two sets (drawn_between). Answers of the ensemble come on top
// of all of these: they take what the node's link says.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/random.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace pvc::sim {

// The phases of a hand-over, in their order (node-lifecycle.md 7.3). In `stop_services` the old primary writes.
enum class hand_over_phase : std::uint8_t {
    meet,            // A: nothing but meeting
    stop_services,   // B: DNS aggregator, DHCP servers, then the APIs
    upstream,        // C: the upstream address
    cluster,         // D: the cluster and storage addresses
    metadata,        // E: the metadata address
    gateways,        // F: gateways of the managed networks
    start_services,  // G: database, APIs, DHCP servers, DNS aggregator
};
inline constexpr std::size_t hand_over_phases = 7;

// The side that holds the write lock in a phase.
struct writer_durations {
    duration hold{};   // the fixed sleep
    duration work{};   // what it does while it holds the lock, without the managed networks
    duration pause{};  // from its release to its next step
};

// The side that follows with the read lock.
struct reader_durations {
    duration wake{};  // from the news that a writer is gone to the next look at the queue: the deadlock is decided here
    duration let_go{};  // from having the lock to releasing it
    duration work{};    // what it does afterwards
};

struct foreign_timings {
    using ms = std::chrono::milliseconds;

    // --- start and stop ---
    duration services_settle = ms(10'000);  // after starting the system services
    duration links_settle = ms(3'000);      // after the network set-up; networking function only
    duration connect = ms(50);              // until the first request
    duration objects = ms(200);             // creating the objects of the cluster
    duration last_steps = ms(50);           // of an orderly stop, before `stop` is written
    duration new_session = ms(100);         // between a session that was lost and the next attempt

    // --- the tick ---
    duration collect = ms(15);         // statistics of a node that is not primary
    duration storage_status = ms(30);  // of a primary: what comes before each of its writes, in this order
    duration storage_health = ms(1);
    duration storage_usage = ms(2);
    duration storage_pools = ms(20);
    duration storage_osds = ms(5);
    duration after_collection = ms(1);

    // --- watches and jobs ---
    duration reaction = ms(2);            // of a watch handler
    duration transition_delay = ms(500);  // between the change of the primary's name and the own role
    duration contention_limit = ms(400);
    // A tick of a primary comes so long after another name, whenever its turn would be; empty: when it is its turn. In
    // the delay above it writes its own name back, and the role is given up all the same (README ruling 87).
    std::optional<duration> tick_after_name{};
    duration unflush = ms(1);  // until the job starts
    duration flush = ms(1);

    // --- the hand-over ---
    duration take_over_starts = ms(2);
    duration relinquish_starts = ms(202);
    duration lock_setup = ms(1);                 // before the first write lock
    duration read_lock_limit_long = ms(60'000);  // of the last phase, 0.9.82; its others have none
    duration read_lock_limit = ms(5'000);        // of every phase, 1.0.3
    duration settle = ms(2'000);                 // at the end, on both sides
    duration per_network = ms(0);                // of each managed network in the phases that touch them
    std::array<writer_durations, hand_over_phases> writer{{{ms(1'000), ms(1), ms(100)},
                                                           {ms(200), ms(405), ms(126)},
                                                           {ms(500), ms(128), ms(1)},
                                                           {ms(200), ms(246), ms(2)},
                                                           {ms(200), ms(159), ms(1)},
                                                           {ms(200), ms(128), ms(0)},
                                                           {ms(200), ms(237), ms(0)}}};
    std::array<reader_durations, hand_over_phases> reader{{{ms(0), ms(0), ms(1)},
                                                           {ms(0), ms(3), ms(1)},
                                                           {ms(0), ms(3), ms(6)},
                                                           {ms(0), ms(14), ms(11)},
                                                           {ms(0), ms(7), ms(2)},
                                                           {ms(0), ms(12), ms(5)},
                                                           {ms(0), ms(4), ms(0)}}};
    duration write_done = ms(1);  // from `sync_lock` written to the release

    [[nodiscard]] writer_durations& writing(hand_over_phase phase) {
        return writer.at(static_cast<std::size_t>(phase));
    }
    [[nodiscard]] reader_durations& reading(hand_over_phase phase) {
        return reader.at(static_cast<std::size_t>(phase));
    }
};

// Every duration drawn evenly between that of `earliest` and that of `latest`.
[[nodiscard]] foreign_timings drawn_between(const foreign_timings& earliest, const foreign_timings& latest,
                                            random_source& random);

}  // namespace pvc::sim
