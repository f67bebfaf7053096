// The two sides of a hand-over of the primary role as the reference walks them, in lockstep through two locks
// (node-lifecycle.md 7.3). Each is a thread of its own there; here a task of the node's scope. Nothing bounds the lock
// waits of 0.9.82 but the last one, so both can wait for ever.
#pragma once

#include "sim/foreign/foreign_state.hpp"

namespace pvc::sim {

async::awaitable<void> take_over(foreign_state& node);
async::awaitable<void> relinquish(foreign_state& node);

}  // namespace pvc::sim
