// What the recovery of a fenced node has left, as one coordinator sees it. Loop thread only.
// Specification: node-lifecycle.md 10.4 row 5; README rulings 37, 38, 44.
#pragma once

#include "pvcnoded/fencing/recovery.hpp"
#include "pvcnoded/policy/fencing/leftovers.hpp"

#include <map>
#include <string>
#include <vector>

namespace pvc::fencing {

struct leftover_look {
    recovery_order order;  // F0
    policy::stored_proof proof;
    std::int64_t proof_id = 0;
    bool stands = false;
    bool is_recovering = false;
    std::vector<uuid> left;
    bool has_any_without_ceph = false;  // of these one has no disk there, as far as its list of disks tells
    std::map<uuid, std::string> names;
};

// Errors: those of a read; not_found (a key that the node must have is gone).
async::awaitable<result<leftover_look>> look_at_leftovers(core::session& s, std::string node);
// Takes off the node's running list all but these, if it is still so fenced. Errors: those of a read and of a write.
async::awaitable<result<void>> shorten_list(core::session& s, recovery_order order, const fence_hold& under,
                                            std::vector<uuid> left);

}  // namespace pvc::fencing
