// Validate and apply: creates the keys that the active schema wants and the tree lacks. Never changes existing data.
// Loop thread only. What is cancelled has created some of them, and released its lock; the next start goes on.
// Specification: zookeeper-schema.md 9.2.
#pragma once

#include "pvcnoded/core/session.hpp"

namespace pvc::membership {

// Under the exclusive lock on /schema/version for at most `lock_limit`, after that without (with a warning).
// `remove_foreign`: also deletes base keys that this version lacks (the leader of a hot update).
// Errors: those of a session that broke; a key that cannot be created is a warning.
enum class foreign_keys : std::uint8_t { keep, remove };
async::awaitable<result<void>> repair_tree(core::session& s, duration lock_limit, foreign_keys foreign);

// Deletes a key with all its children. Missing is success.
async::awaitable<result<void>> remove_recursively(core::session& s, std::string path);

}  // namespace pvc::membership
