// The domains beyond the watch budget are looked at once in each keepalive interval. Specification:
// runtime-design.md 2.5.
#include "domain/table.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <algorithm>

// Scopes, locks and deadlines keep the callable they are given until its coroutine has ended.
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)

namespace pvc::node {

namespace {
constexpr std::size_t polls_in_flight_max = 8;
constexpr int poll_slices = 20;  // of an interval, so that ten thousand of them are no burst
}  // namespace

// Looks at the keys that are not watched; at all of them when a watch may not be relied on.
async::awaitable<void> domain_table::poll_one(uuid id, bool trusts_watches) {
    const std::string root = model::domain_path(to_text(id));
    const time_point deadline = session_->limit(read_limit);
    const domain_row* row = find(id);
    bool is_other = false;
    if (row != nullptr && row->is_known && !(trusts_watches && row->state_armed)) {
        auto state = co_await session_->zk.exists(deadline, root + "/state");
        row = find(id);
        if (row == nullptr || (!state && state.error().code() != errc::not_found)) {
            co_return;
        }
        is_other = (state ? state->stat.mzxid : 0) != row->state_changed;
    }
    if (row != nullptr && row->is_known && !is_other && !(trusts_watches && row->node_armed)) {
        auto node = co_await session_->zk.exists(deadline, root + "/node");
        row = find(id);
        if (row == nullptr || (!node && node.error().code() != errc::not_found)) {
            co_return;
        }
        is_other = (node ? node->stat.mzxid : 0) != row->node_changed;
    }
    if (is_other) {
        mark(*find(id));
    }
}

async::awaitable<void> domain_table::poll_slice(std::span<const uuid> ids, bool trusts_watches) {
    std::size_t at = 0;
    const auto work = [&]() -> async::awaitable<void> {
        while (at < ids.size() && session_->zk.is_connected()) {
            const uuid& id = ids[at++];
            co_await poll_one(id, trusts_watches);
        }
    };
    co_await async::with_task_group("polls of domains", [&](async::task_group& group) -> async::awaitable<void> {
        for (std::size_t poller = std::min(ids.size(), polls_in_flight_max); poller > 0; --poller) {
            group.spawn("poll", work);
        }
        co_return;
    });
}

// Once in each interval, spread over it: the domains beyond the watch budget, and after a reconnection all of them.
// (The server tells of what changed meanwhile as it takes over the watches; this is for whatever it may have missed.)
async::awaitable<void> domain_table::poll_unwatched() {
    const duration interval = node_.times.keepalive;
    time_point round = node_.clock().now();
    std::vector<uuid> todo;
    for (;;) {
        round = std::max(round + interval, node_.clock().now());
        co_await async::sleep_until(node_.clock(), round, "the next look at domains that are not watched");
        if (!session_->zk.is_connected()) {
            continue;
        }
        const bool trusts_watches = !std::exchange(compares_all_, false);
        todo.clear();
        std::size_t spare = budget_bytes - std::min(armed_bytes_, budget_bytes);
        for (auto& [id, row] : rows_) {
            if (!row.is_known || !row.is_present || (trusts_watches && row.state_armed && row.node_armed)) {
                continue;
            }
            if (lacks_watch(row) && spare >= state_watch_bytes + node_watch_bytes) {
                spare -= state_watch_bytes + node_watch_bytes;
                mark(row);  // there is room for its watches again
            } else {
                todo.push_back(id);
            }
        }
        if (!told_budget_ && trusts_watches && spare < state_watch_bytes + node_watch_bytes && !todo.empty()) {
            told_budget_ = true;
            node_.log.warning(message::watch_budget, std::to_string(todo.size()) +
                                                         " domains are beyond the watch budget: they are looked at " +
                                                         "once in each keepalive interval");
        }
        const std::size_t each = std::max(todo.size() / poll_slices + 1, polls_in_flight_max);
        for (std::size_t first = 0; first < todo.size(); first += each) {
            if (first > 0) {
                const auto part = static_cast<duration::rep>(first / each);
                co_await async::sleep_until(node_.clock(), round + interval * part / (poll_slices + 1),
                                            "the next of the domains that are not watched");
            }
            co_await poll_slice(std::span(todo).subspan(first, std::min(each, todo.size() - first)), trusts_watches);
        }
    }
}

}  // namespace pvc::node

// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
