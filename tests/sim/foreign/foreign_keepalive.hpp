// The tick of the reference: own state, role, statistics, then one transaction with ten keys, the time stamp last
// (node-lifecycle.md 6.1 and 6.2). A fixed cadence; runs that fall into a running one are skipped. What a tick asks of
// ZooKeeper waits for a connection, however long. Without the search for dead nodes.
#pragma once

#include <functional>

#include "sim/foreign/foreign_state.hpp"

namespace pvc::sim {

class foreign_keepalive {
public:
    explicit foreign_keepalive(foreign_state& node) : node_(node) {}

    // Tick after tick until stop().
    async::awaitable<void> run();
    // No further tick; suspends until a running one has ended.
    async::awaitable<void> stop();
    async::awaitable<void> tick();
    // One whose turn it is not; nothing while one is running.
    async::awaitable<void> tick_early();
    // At the end of each but the last one; may be empty.
    std::function<async::awaitable<void>()> after_tick;

private:
    async::awaitable<void> publish_settings();
    async::awaitable<void> assert_state();
    async::awaitable<void> publish_storage();
    async::awaitable<void> publish_figures();
    [[nodiscard]] bool is_primary() const { return node_.role == model::router_state::primary; }

    foreign_state& node_;
    async::wakeup idle_;
    bool is_stopped_ = false;
    bool is_ticking_ = false;
};

}  // namespace pvc::sim
