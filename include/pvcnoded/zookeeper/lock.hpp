// Locks that interoperate on the wire with kazoo: exclusive, write and read locks as ephemeral sequential children of
// the locked key. A lock lives in with_lock(): acquired, held for the body, and released whatever happens; a child that
// could not be deleted (its fate is unknown, the connection is away) passes to the reaper, which lives as long as the
// session. Specification: zookeeper-schema.md 4, node-lifecycle.md 3.1 rule 8.
#pragma once

#include "pvcnoded/base/guard.hpp"
#include "pvcnoded/base/log_record.hpp"
#include "pvcnoded/base/random.hpp"
#include "pvcnoded/model/lock_name.hpp"
#include "pvcnoded/zookeeper/client.hpp"
#include "pvcnoded/zookeeper/watch_set.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace pvc::zookeeper {

class lock_service;

// How long the answer that showed our child counts, from the sending of its request; and, for any effect outside
// ZooKeeper, the read that justifies it.
inline constexpr duration guard_validity = std::chrono::seconds(2);

// A lock that is held. A protected step outside ZooKeeper starts only while valid(); a write puts add_check() into its
// transaction, so that it fails (not_found, subject = child()) once the lock is gone.
class held_lock {
public:
    held_lock(lock_service& service, std::string child, boot_time proof)
        : service_(service), child_(std::move(child)), proof_(proof) {}
    held_lock(const held_lock&) = delete;
    held_lock& operator=(const held_lock&) = delete;

    [[nodiscard]] bool valid(const guard_place& where = guard_place::current()) const;
    // Reads our child again. Errors: refused (it is gone: the lock is lost), and those of a read.
    async::awaitable<result<void>> verify(time_point deadline, guard_place where = guard_place::current());
    void add_check(transaction& what, const guard_place& where = guard_place::current()) const;
    [[nodiscard]] const std::string& child() const { return child_; }

private:
    lock_service& service_;
    std::string child_;
    boot_time proof_;
    bool lost_ = false;
};

// Readers that were queued when a writer released: it lets them pass before it queues again (zookeeper-schema.md 4.3).
struct reader_drain {
    std::vector<std::string> readers;  // full paths
};

struct lock_request {
    std::string path;  // the locked key
    model::lock_kind kind = model::lock_kind::exclusive;
    time_point deadline{};          // of the whole acquisition
    bool create_ancestors = false;  // base and log keys only; an object that is gone stays gone
    std::string task;               // for the child's data: who
    std::string reason;             // and why
    reader_drain* drain = nullptr;  // writers of a phase hand-over; outlives the call
    std::string* guid = nullptr;  // gets what the name of its child begins with, before there is one; outlives the call
};

class lock_service {
public:
    // `node` and `pid` go into the children's data. The references must outlive the service.
    lock_service(client& session, watch_set& watches, async::timers& clock, random_source random, std::string node,
                 int pid, logger& log);
    lock_service(const lock_service&) = delete;
    lock_service& operator=(const lock_service&) = delete;

    // Acquires, runs `body`, releases. Errors: timed_out (not acquired in time), not_found (the locked object does not
    // exist), session_lost, suspended, and what `body` returns. Cancellation: the lock is released, or with the reaper,
    // when this returns.
    async::awaitable<result<void>> with_lock(lock_request what,
                                             std::function<async::awaitable<result<void>>(held_lock&)> body);

    // The reaper: a child of the session scope. Ends with the session.
    async::awaitable<void> run();
    [[nodiscard]] std::size_t reaper_backlog() const { return to_reap_.size(); }

private:
    friend class held_lock;
    struct claim;
    struct reap_entry {
        std::string path;
        std::string guid;
    };

    async::awaitable<result<void>> acquire(claim& mine);
    async::awaitable<result<void>> ensure_key(claim& mine);
    async::awaitable<result<void>> drain_readers(claim& mine);
    async::awaitable<result<void>> create_child(claim& mine);
    async::awaitable<result<bool>> wait_for_predecessor(claim& mine, const model::lock_child& predecessor);
    async::awaitable<void> wait_gone(std::string path, time_point deadline);
    async::awaitable<result<void>> hold(claim& mine, std::function<async::awaitable<result<void>>(held_lock&)>& body);
    async::awaitable<void> release(claim& mine);
    async::awaitable<bool> reap(const reap_entry& entry);

    client& session_;
    watch_set& watches_;
    async::timers& clock_;
    random_source random_;
    std::string node_;
    int pid_;
    logger& log_;
    std::list<reap_entry> to_reap_;
    async::wakeup reaper_work_;
};

}  // namespace pvc::zookeeper
