// The mark of a flush that shut a domain down (`node_autostart`): an unflush is to start it. Whoever writes `start`
// before that ends it, whatever becomes of the start: a client who stops the domain after it wants it off.
// Specification: node-lifecycle.md 8.1 (5a), 8.2.
#pragma once

#include "pvcnoded/base/uuid.hpp"
#include "pvcnoded/core/session.hpp"

#include <cstdint>

namespace pvc::domains {

// Takes the mark back if it is older than transaction `since`, which wrote `start` or `restart`. Failures are left: the
// next session asks again. A child of the session scope.
async::awaitable<void> end_flush_mark(core::session& s, uuid id, std::int64_t since);

}  // namespace pvc::domains
