// The helper for Ceph as a simulated cluster has it: the words of the real one (protocol/ceph_messages.hpp), answered
// by doubles of the two ports that it stands for. It has as many threads for images and for breaks as the real one, and
// deals them out as that does; other questions are answered by themselves, as their answers are known.
#pragma once

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"
#include "pvcnoded/protocol/pool_turns.hpp"
#include "pvcnoded/services/stream_connection.hpp"
#include "pvcnoded/storage/ceph_cluster.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"

#include <deque>
#include <functional>
#include <string>

namespace pvc::sim {

class sim_ceph_helper {
public:
    // All must outlive it.
    sim_ceph_helper(storage::ceph_cluster& cluster, storage::rbd_locks& locks, async::timers& clock)
        : cluster_(cluster), locks_(locks), clock_(clock) {}

    // For sim_talker: one life of the helper, to the end of its stream.
    async::awaitable<std::string> live(services::stream_connection& with);

    bool is_frozen = false;  // SIGSTOP: reads nothing, says nothing, until it is thawed
    void thaw() {
        is_frozen = false;
        thawed_.notify_all();
    }
    bool is_mute = false;  // says no greeting
    std::int64_t version = protocol::ceph::version;
    // What it does to the frame of an answer on its way; empty: it is not sent.
    std::function<std::string(std::string frame)> spoil;

private:
    // The threads of one kind, and the questions that wait for one.
    struct lane {
        protocol::pool_turns turns;
        std::deque<std::pair<std::int64_t, std::string>> waiting{};  // id, pool
        async::condition changed{};
    };
    struct threads {
        lane images{protocol::pool_turns(4)};
        lane breaks{protocol::pool_turns(8)};
        [[nodiscard]] lane* of(const protocol::ceph::request& asked);
    };
    async::awaitable<void> stand_still();
    async::awaitable<protocol::ceph::answer> answer_to(protocol::ceph::request asked, threads& by);

    storage::ceph_cluster& cluster_;
    storage::rbd_locks& locks_;
    async::timers& clock_;
    async::condition thawed_;
};

}  // namespace pvc::sim
