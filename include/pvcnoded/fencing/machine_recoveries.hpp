// The recovery of dead nodes' machines: reads them, plans where they go, clears the locks on their disks and gives them
// to living nodes, each by a machine of its own (policy/fencing/recovery.hpp), eight side by side; and looks after what
// recoveries have left (policy/fencing/leftovers.hpp). Of one attempt of the daemon; loop thread only.
// Specification: node-lifecycle.md 10.4 row 5, 10.5; README rulings 12, 38, 44.
#pragma once

#include "pvcnoded/fencing/recovery.hpp"
#include "pvcnoded/hypervisor/hypervisor.hpp"
#include "pvcnoded/storage/rbd_locks.hpp"

#include <memory>
#include <utility>

namespace pvc::fencing {

// Both outlive it.
struct recovery_ports {
    hypervisor::hypervisor* hypervisors = nullptr;  // asked about machines that were migrating; null: nobody answers
    storage::rbd_locks* locks = nullptr;            // null: Ceph cannot be asked from here
};

// What became of machines, since the process began.
struct recovery_counts {
    std::uint64_t recovered = 0;  // written to run elsewhere, or to stay where it runs
    std::uint64_t unseen = 0;     // likewise, and not seen to run there in time
    std::uint64_t stopped = 0;
    std::uint64_t parked = 0;
    std::uint64_t kept = 0;        // not recovered, tried again
    std::uint64_t needs_ceph = 0;  // likewise, for want of Ceph here
};

class machine_recoveries final : public recoveries {
public:
    // The ports outlive it.
    machine_recoveries(recovery_ports outside, std::shared_ptr<recovery_counts> counts)
        : ports_(outside), counts_(std::move(counts)) {}

    std::unique_ptr<session_recovery> begin(core::session& s) override;
    void put_metrics(core::metrics_sheet& sheet) const override;

private:
    recovery_ports ports_;
    std::shared_ptr<recovery_counts> counts_;
};

}  // namespace pvc::fencing
