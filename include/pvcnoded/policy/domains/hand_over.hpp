// Whose word a `stop` in the middle of a migration is: the sender's, which hands over what it has shut down, or a
// client's, who wants the domain to be off. A sender of ours says so in `migrate_sync_lock`, in the transaction of its
// `stop`; one of the reference says nothing, and is known by the locks it holds. Where both are possible it is the
// client's. Specification: vm-domains.md 8.4; README ruling 26.
#pragma once

#include "pvcnoded/base/uuid.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::policy {

// What a sender writes into `migrate_sync_lock` with the `stop` of its hand-over.
[[nodiscard]] std::string hand_over_mark(const uuid& id);

// A `stop` that was written by the transaction `state_changed` is a hand-over if the mark came with the same one: a
// rewrite of either key is another transaction.
[[nodiscard]] bool is_hand_over(const uuid& id, std::int64_t state_changed, std::string_view sync_value,
                                std::int64_t sync_changed);

// One session had a child on `node` and the first one on `state`, when the children of `state` were in this version.
struct sender_locks {
    std::string child;  // the one on `state`
    std::int32_t children_version = 0;
    std::int64_t first_since = 0;  // pzxid when it was seen as the first for the first time
};
struct state_lock {
    std::vector<std::string> contenders;  // by turn
    std::int32_t children_version = 0;
    std::int64_t children_changed = 0;  // pzxid
};
// Whether that session had the lock of `state` when the `stop` was written: it had it before, and has it now, or giving
// it back is the one change of the children since, and came after the write. A client may have had it before one whose
// turn came later.
[[nodiscard]] bool held_it_then(const sender_locks& sender, const state_lock& now, std::int64_t written);

}  // namespace pvc::policy
