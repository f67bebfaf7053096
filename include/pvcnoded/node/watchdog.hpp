// Feeds the supervisor's watchdog: a ping every 10 s proves that the loop turned and that the keepalive task ran its
// last due tick, connected or not. Never from a server's answer. Specification: config.md 7.2, runtime-design.md 9.6.
#pragma once

#include "pvcnoded/core/node_context.hpp"

#include <functional>

namespace pvc::node {

// Pings until cancelled. `loop_turns`: how often the loop has turned; empty: it is taken to turn. `is_stuck`: the
// keepalive runs beyond its time.
async::awaitable<void> feed_watchdog(core::platform& port, std::function<std::uint64_t()> loop_turns,
                                     std::function<bool()> is_stuck);

}  // namespace pvc::node
