// The keys that are not watched are looked at in rounds, some of them in each keepalive interval:
//   - `state` and `node` of what is ours, beyond the limit of all watches: every interval
//   - `node` of others: a round takes as many intervals as it takes
//   - `state` of others, which concerns this node only once their `node` has changed (and is read then): few at a time
//   - after a reconnection both of all, once, with what the others leave
// The server tells of what changed meanwhile as it takes over the watches; the last is for whatever it may have missed.
// Specification: runtime-design.md 2.5; the limit in place of one round an interval is ours: a hundred requests a
// second of each node are what an ensemble of a large cluster does not notice.
#include "table.hpp"

#include "pvcnoded/async/for_each.hpp"
#include "pvcnoded/policy/intervals.hpp"

#include <algorithm>

namespace pvc::domains {

namespace {
constexpr std::size_t polls_in_flight_max = 8;
constexpr int poll_slices = 20;             // of an interval, so that hundreds of them are no burst
constexpr double looks_per_second = 90;     // of others
constexpr double states_per_second = 15;    // of these
constexpr double compared_per_second = 10;  // of these, as long as there is something to compare
constexpr double a_round = 55;              // seconds, at most
}  // namespace

async::awaitable<void> domain_table::poll_one(look one) {
    const std::string root = model::domain_path(to_text(one.id));
    const time_point deadline = session_->limit(read_limit);
    const domain_row* row = find(one.id);
    bool is_other = false;
    if (row != nullptr && row->is_known && one.at_state) {
        auto state = co_await session_->zk.exists(deadline, root + model::domain_key::state);
        row = find(one.id);
        if (row == nullptr || (!state && state.error().code() != errc::not_found)) {
            co_return;
        }
        is_other = (state ? state->stat.mzxid : 0) != row->state_changed;
    }
    if (row != nullptr && row->is_known && !is_other && one.at_node) {
        auto node = co_await session_->zk.exists(deadline, root + model::domain_key::node);
        row = find(one.id);
        if (row == nullptr || (!node && node.error().code() != errc::not_found)) {
            co_return;
        }
        is_other = (node ? node->stat.mzxid : 0) != row->node_changed;
    }
    if (is_other) {
        mark(*find(one.id));
    }
}

async::awaitable<void> domain_table::poll_slice(std::span<const look> looks) {
    co_await async::for_each_bounded("polls of virtual machines", polls_in_flight_max, looks,
                                     [&](const look& one) -> async::awaitable<void> {
                                         if (session_->zk.is_connected()) {
                                             co_await poll_one(one);
                                         }
                                     });
}

// The next of a round, after the one that was looked at last.
void domain_table::add_looks(std::vector<look>& to, const std::vector<look>& from, uuid& last,
                             std::size_t limit) const {
    const auto next = std::ranges::upper_bound(from, last, {}, &look::id);
    const auto first = static_cast<std::size_t>(next - from.begin());
    for (std::size_t taken = 0; taken < std::min(limit, from.size()); ++taken) {
        to.push_back(from[(first + taken) % from.size()]);
        last = to.back().id;
    }
}

void domain_table::add_comparisons(std::vector<look>& to, std::size_t limit) {
    for (std::size_t taken = 0; taken < limit && !to_compare_.empty(); ++taken) {
        to.push_back({to_compare_.back(), true, true});
        to_compare_.pop_back();
    }
}

// Whether there is room again for a watch that it lacks: then it is to be read anew.
bool domain_table::take_room(const domain_row& row, std::size_t& room, std::size_t& reserved) const {
    if (lacks_node_watch(row) && room >= node_watch_bytes) {
        room -= node_watch_bytes;
        reserved -= node_watch_bytes;
        return true;
    }
    if (lacks_state_watch(row) && room >= reserved + state_watch_bytes) {
        room -= state_watch_bytes;
        return true;
    }
    return false;
}

void domain_table::tell_budget(std::size_t unwatched, std::size_t limit) {
    if (unwatched > 0 && !std::exchange(told_budget_, true)) {
        const duration round = policy::round_time(node_.times.keepalive, unwatched, limit);
        node_.log.warning(message::watch_budget,
                          std::to_string(unwatched) +
                              " domains of other nodes are beyond the watch budget: that one was given to this node " +
                              "is noticed within " +
                              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(round).count()) + " s");
    }
}

// What is looked at in this interval: `limit` requests at the most, but for ours.
std::vector<domain_table::look> domain_table::next_looks(std::size_t limit) {
    std::size_t room = budget_bytes - std::min(used_bytes(), budget_bytes);
    std::size_t reserved = reserve();
    std::vector<look> out;
    std::vector<look> nodes;
    std::vector<look> states;
    for (auto& [id, row] : rows_) {
        if (!row.is_known || !row.is_present || (row.state_armed && row.node_armed)) {
            continue;
        }
        if (take_room(row, room, reserved)) {
            mark(row);
        } else if (is_ours(row)) {
            out.push_back({id, !row.state_armed, !row.node_armed});
        } else if (!row.node_armed) {
            nodes.push_back({id, false, true});
        } else {
            states.push_back({id, true, false});
        }
    }
    const std::size_t for_states =
        std::min(states.size(), policy::per_interval(node_.times.keepalive, states_per_second));
    const std::size_t for_comparing =
        to_compare_.empty() ? 0 : policy::per_interval(node_.times.keepalive, compared_per_second);
    // However many there are, each within a minute.
    limit = std::max(limit, policy::per_interval(node_.times.keepalive, static_cast<double>(nodes.size()) / a_round) +
                                for_states + for_comparing);
    const std::size_t for_nodes = std::min(nodes.size(), limit - std::min(limit, for_states + for_comparing));
    tell_budget(nodes.size(), limit - std::min(limit - 1, for_states));
    add_looks(out, nodes, last_node_look_, for_nodes);
    add_looks(out, states, last_state_look_, for_states);
    add_comparisons(out, (limit - std::min(limit, for_nodes + for_states)) / 2);
    return out;
}

async::awaitable<void> domain_table::poll_unwatched() {
    const duration interval = node_.times.keepalive;
    time_point round = node_.clock().now();
    for (;;) {
        round = std::max(round + interval, node_.clock().now());
        co_await async::sleep_until(node_.clock(), round, "the next look at domains that are not watched");
        if (!session_->zk.is_connected()) {
            continue;
        }
        const std::vector<look> todo = next_looks(policy::per_interval(interval, looks_per_second));
        const std::size_t each = std::max(todo.size() / poll_slices + 1, polls_in_flight_max);
        for (std::size_t first = 0; first < todo.size(); first += each) {
            if (first > 0) {
                const auto part = static_cast<duration::rep>(first / each);
                co_await async::sleep_until(node_.clock(), round + interval * part / (poll_slices + 1),
                                            "the next of the domains that are not watched");
            }
            co_await poll_slice(std::span(todo).subspan(first, std::min(each, todo.size() - first)));
        }
    }
}

}  // namespace pvc::domains
