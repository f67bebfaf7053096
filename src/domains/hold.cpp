// Nothing is created on a node that was fenced as long as its domains are still being moved.
#include "manager.hpp"

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {
constexpr duration hold_limit = 180s;

bool is_being_recovered(const zookeeper::watched& key) {
    return key.present() && model::parse_domain_state(key.data()) == model::domain_state::fence_flush;
}
}  // namespace

// After a fence a fencer may still be moving the domains of this node: none is created until it is done, whenever the
// node's domain state comes to say so (node-lifecycle.md 3).
async::awaitable<void> manager::follow_hold(core::session& s) {
    async::wakeup changed;
    auto key = s.watches.add(s.own(model::node_key::domain_state), zookeeper::watch_kind::data, changed);
    while (!key->known()) {
        co_await changed.wait(async::wait_note::work("the node's domain state"));
    }
    for (;;) {
        if (is_being_recovered(*key)) {
            co_await hold_starts(s, *key, changed);
        }
        holds_starts_ = false;
        look_at_all();
        while (!is_being_recovered(*key)) {
            co_await changed.wait(async::wait_note::work("a recovery of this node's virtual machines"));
        }
    }
}

// Until the recovery is over, or nothing of it was seen to move for 180 s.
async::awaitable<void> manager::hold_starts(core::session& s, const zookeeper::watched& key, async::wakeup& changed) {
    holds_starts_ = true;
    for (auto& [id, row] : table.rows()) {
        if (row.here) {
            row.here->changed.notify();  // whoever is about to create it
        }
    }
    node.log.warning(
        message::fenced_holds,
        "the domain state of this node is fence-flush: whoever fenced it moves its machines, or a client wrote that; "
        "none is started here until that is over, or nothing was moved for 180 s");
    const auto owned = [this] {
        std::set<uuid> all;
        for (const auto& [id, row] : table.rows()) {
            if (row.is_owner) {
                all.insert(id);
            }
        }
        return all;
    };
    std::uint64_t seen = key.changes();
    auto before = owned();
    time_point until = node.clock().now() + hold_limit;
    while (is_being_recovered(key)) {
        co_await changed.wait_until(node.clock(), std::min(until, node.clock().now() + 5s), "the end of a recovery");
        if (key.changes() != seen || owned() != before) {
            seen = key.changes();
            before = owned();
            until = node.clock().now() + hold_limit;
        } else if (is_being_recovered(key) && node.clock().now() >= until) {
            zookeeper::transaction write;
            write.set(key.path(), std::string(to_text(model::domain_state::flushed)), key.stat().version);
            auto done = co_await s.zk.commit(s.limit(), std::move(write));
            if (done) {
                node.log.warning(message::fenced_recovery_over,
                                 "nobody moved anything for 180 s: the recovery counts as over");
                until = node.clock().now() + hold_limit;  // the watch shows it in a moment
            }
        }
    }
}

}  // namespace pvc::domains
