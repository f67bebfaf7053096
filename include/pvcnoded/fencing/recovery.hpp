// What a fencer and the recovery of a dead node's machines need of each other. The fencer (fencer.hpp) has the fence
// lock, the record, and the order of nodes; the recovery does everything about machines. Of one ZooKeeper session; loop
// thread only. Specification: node-lifecycle.md 10.4, 10.5; README rulings 12, 37, 38, 44, 46.
#pragma once

#include "pvcnoded/core/metrics.hpp"
#include "pvcnoded/core/session.hpp"
#include "pvcnoded/policy/fencing/fence_requests.hpp"
#include "pvcnoded/policy/placement/storage_proof.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace pvc::fencing {

// The machines of this node, on this proof, while F0 stands: `daemonstate` written by `mark_id`, `keepalive` by
// `heartbeat_id`.
struct recovery_order {
    std::string node;
    policy::fence_proof proof = policy::fence_proof::none;
    std::int64_t mark_id = 0;
    std::int64_t heartbeat_id = 0;
};

// The fence lock, held for one dead node, and the record of what is done about it.
class fence_hold {
public:
    fence_hold() = default;
    fence_hold(const fence_hold&) = delete;
    fence_hold& operator=(const fence_hold&) = delete;
    virtual ~fence_hold() = default;

    // As far as is known without asking. False: nothing more is begun; whoever runs under it is cancelled then.
    [[nodiscard]] virtual bool holds() const = 0;
    // The own child of the lock, for a guarded read: while the key is there, read on this session, the lock is held.
    [[nodiscard]] virtual std::string child() const = 0;
    // Lets the transaction fail (not_found, subject = child()) once the lock is gone.
    virtual void add_check(zookeeper::transaction& what) const = 0;

    // On the disk, synced, with all that was noted before, when this says true; after false, and when it was cancelled,
    // no consequence may be drawn from it. At most 5 s.
    virtual async::awaitable<bool> record(policy::fence_entry::any entry) = 0;
    // Into the record, to be written soon. Names of machines for people are told here, too.
    virtual void note(policy::fence_entry::any entry) = 0;
    virtual void name_machine(const uuid& id, std::string name) = 0;
    // Who had the disks of its machines when that was looked at before, on this heartbeat, as this node's records of a
    // day tell: a proof by storage is taken again with it. A disk that is not read tells of none.
    virtual async::awaitable<std::map<uuid, policy::clients_before>> clients_before() {
        co_return std::map<uuid, policy::clients_before>();
    }
};

// Who gives a hold to those that are no fence: tries at what a recovery has left.
class fence_holds {
public:
    // Waits for the lock (policy::fence_lock_limit) and its turn, opens a record that follows the one in the node's
    // `fenceproof`, and runs `body`, which is cancelled once the lock is lost. Errors: timed_out (somebody else has the
    // lock), io (no record could be written), refused (the node is being fenced or recovered here), lost session.
    virtual async::awaitable<result<void>> with_hold(
        std::string dead_node, std::function<async::awaitable<result<void>>(fence_hold&)> body) = 0;

protected:
    ~fence_holds() = default;
};

// The recovery, on the authority of one session, which outlives it.
class session_recovery {
public:
    session_recovery() = default;
    session_recovery(const session_recovery&) = delete;
    session_recovery& operator=(const session_recovery&) = delete;
    virtual ~session_recovery() = default;

    // All machines of that node, planned, eight side by side. The caller has recorded the proof. Cancelled, it has
    // begun nothing that goes on.
    virtual async::awaitable<policy::fence_said::recovered> recover(recovery_order what, fence_hold& under) = 0;
    // Looks after what recoveries have left, anybody's, until cancelled: a child of the fencer's part of the session.
    virtual async::awaitable<void> tend(fence_holds& holds) = 0;
    // False: it is known that this node lacks something (Ceph) that such recoveries need.
    [[nodiscard]] virtual bool can_recover() const = 0;
    // How many machines of that node, whose recovery is over, are still to be recovered, as far as this node has
    // looked.
    [[nodiscard]] virtual std::size_t left_of(const std::string& /*node*/) const { return 0; }
};

// Of one attempt of the daemon.
class recoveries {
public:
    recoveries() = default;
    recoveries(const recoveries&) = delete;
    recoveries& operator=(const recoveries&) = delete;
    virtual ~recoveries() = default;

    virtual std::unique_ptr<session_recovery> begin(core::session& s) = 0;
    // What became of machines.
    virtual void put_metrics(core::metrics_sheet& /*sheet*/) const {}
};

}  // namespace pvc::fencing
