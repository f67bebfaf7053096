// Answers on their way to the thread that writes them; a descriptor says that there are some. What waits here is
// bounded: a worker that has more to say waits. Any thread.
#pragma once

#include "pvcnoded/protocol/ceph_messages.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace pvc::ceph_helper {

class outbox {
public:
    static constexpr std::size_t bytes_max = 2 * protocol::frame_body_max;

    // Throws std::system_error when the system gives no descriptor.
    outbox();
    outbox(const outbox&) = delete;
    outbox& operator=(const outbox&) = delete;
    ~outbox();

    // Waits until there is room. An answer that no frame takes becomes a failure that says so.
    void put(protocol::ceph::answer one);
    // The same for the thread that empties it: without waiting.
    void put_now(const protocol::ceph::answer& one);

    // The next frame, if there is one; and whether so much waits that no more should be asked.
    [[nodiscard]] std::optional<std::string> take();
    [[nodiscard]] bool is_full() const;
    // Readable while there is something to take; the thread that empties it calms it first.
    [[nodiscard]] int descriptor() const { return event_; }
    void calm() const;

private:
    void add(std::string frame);

    int event_;
    mutable std::mutex mutex_;
    std::condition_variable emptied_;
    std::deque<std::string> frames_;
    std::size_t bytes_ = 0;
};

}  // namespace pvc::ceph_helper
