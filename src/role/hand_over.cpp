// The orderly stop of a node that may be primary: the role goes to a successor if there is one.
// Specification: node-lifecycle.md 5 (step 4).
#include "coordinator.hpp"

#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/model/node_payloads.hpp"

namespace pvc::role {

using namespace std::chrono_literals;
using model::router_state;

// Whether own routerstate says that this node is primary or on its way, whatever we believe: the stop may have cut a
// takeover short after its write was sent.
async::awaitable<bool> coordinator::holds_role() {
    if (role_.now() == router_state::primary) {
        co_return true;
    }
    auto own = co_await session_.zk.get(session_.limit(), own_role_->path());
    const auto stored = own ? model::parse_router_state(own->data) : std::nullopt;
    co_return stored == router_state::primary || stored == router_state::takeover || stored == router_state::relinquish;
}

// A claim that was not acted on yet counts too: the key must not name a node that is going.
async::awaitable<void> coordinator::vacate_primary() {
    auto stored = co_await session_.zk.get(session_.limit(), primary_->path());
    if (!stored || model::parse_primary_node(stored->data) != session_.node.self()) {
        co_return;
    }
    zookeeper::transaction vacate;
    vacate.set(primary_->path(), "none", stored->stat.version);
    auto done = co_await session_.zk.commit(session_.limit(), std::move(vacate));
    if (!done) {
        session_.node.log.warning(message::role_release, "giving up the primary role: " + done.error().text());
    }
}

async::awaitable<void> coordinator::wait_for_successor(time_point deadline) {
    auto& clock = session_.node.clock();
    while (session_.zk.is_connected()) {
        const auto now = view();
        if (now.primary.node && *now.primary.node != session_.node.self()) {
            co_return;
        }
        // They may all be stopping at once: nobody who has left `run`, or fallen silent, is waited for.
        if (!policy::is_successor_expected(now)) {
            session_.node.log.info("no other coordinator can take the primary role: giving it up");
            co_return;
        }
        if (clock.now() >= deadline) {
            session_.node.log.warning(
                message::role_nobody,
                "no other coordinator took the primary role within 60 s, giving it up all the same");
            co_return;
        }
        const bool notified = co_await changed_.wait_until(clock, clock.now() + 1s, "a successor for the primary role");
        if (!notified) {
            co_await session_.others.read_heartbeats(clock.now() + 1s);
        }
    }
}

// In lockstep with the successor, as in any hand-over: what this node has goes when it is there on the other side.
async::awaitable<bool> coordinator::hand_over(time_point deadline, std::string why) {
    const auto now = view();
    const bool is_named = now.primary.node && *now.primary.node != session_.node.self();
    if (!role_.has_taken() || !is_named || role_.now() != router_state::primary || !session_.zk.is_connected()) {
        co_return false;
    }
    co_await async::sleep_for(session_.node.clock(), transition_delay, "the delay before a transition");
    auto walked = co_await async::with_deadline(session_.node.clock(), deadline, "the hand-over of the role",
                                                go(policy::holder(), std::move(why)));
    co_return walked && *walked;
}

async::awaitable<void> coordinator::stop(time_point deadline) {
    if (session_.node.mode != model::daemon_mode::coordinator) {
        co_return;
    }
    const async::latest<std::uint64_t>::observer peers(session_.others.changes(), changed_);
    const time_point peers_limit = session_.limit();
    while (!session_.others.known()) {
        const bool notified = co_await changed_.wait_until(session_.node.clock(), peers_limit, "the list of nodes");
        if (!notified) {
            break;
        }
    }
    const bool is_primary = co_await holds_role();
    if (session_.others.count() > 0) {
        co_await vacate_primary();
        if (is_primary && policy::is_successor_expected(view())) {
            co_await wait_for_successor(deadline);
        }
    }
    if (!is_primary) {
        co_return;
    }
    const std::string why = "the daemon is stopping";
    const bool is_handed_over = co_await hand_over(deadline, why);
    if (is_handed_over) {
        co_return;
    }
    if (role_.has_taken()) {
        const bool announced = co_await change_role(router_state::relinquish, why);
        ignore(result<bool>(announced), "the parts are given up whatever the key says");
        co_await give_parts_up();
    }
    const bool given_up = co_await change_role(router_state::secondary, why);
    ignore(result<bool>(given_up), "logged by change_role");
}

}  // namespace pvc::role
