// The lock of the reference's ZooKeeper library, with its flaw: a reader waits for the write contender with the highest
// sequence of all, also for one that queued behind it (zookeeper-schema.md 4.3). It is told nothing of a lost session
// and believes that it still holds what the server has taken away.
//
// One object, one acquisition. Not released by its destructor: the reference leaves that to the end of its session.
#pragma once

#include "pvcnoded/base/random.hpp"
#include "pvcnoded/model/lock_name.hpp"
#include "sim/foreign/foreign_session.hpp"

#include <optional>
#include <string>

namespace pvc::sim {

class foreign_lock {
public:
    foreign_lock(foreign_session& session, random_source& random, std::string path, model::lock_kind kind);
    foreign_lock(const foreign_lock&) = delete;
    foreign_lock& operator=(const foreign_lock&) = delete;
    ~foreign_lock();

    // Waits until it has the lock; without a limit for as long as it takes. False: the limit passed, the child is
    // removed. `wake`: how long it takes from the news that a predecessor is gone to the next look at the queue.
    async::awaitable<bool> acquire(std::optional<duration> limit, duration wake = {});
    async::awaitable<void> release();

private:
    // The child to wait for; empty: none. False: our own child is gone.
    struct standing {
        bool is_listed = false;
        std::string predecessor;
    };
    [[nodiscard]] standing look(const std::vector<std::string>& children) const;
    async::awaitable<void> queue();
    async::awaitable<bool> wait(std::optional<time_point> until);

    foreign_session& session_;
    std::string path_;
    model::lock_kind kind_;
    std::string prefix_;  // "<guid><tag>"
    std::string data_;
    std::string own_;  // name of the child; empty: none
    async::wakeup wake_;
};

// The text of a time-based UUID, by form.
[[nodiscard]] std::string time_uuid_text(random_source& random);

}  // namespace pvc::sim
