// Nothing is created on a node that was fenced as long as its machines are still being moved.
#include "domain/manager.hpp"

namespace pvc::node {

using namespace std::chrono_literals;

namespace {
constexpr duration hold_limit = 180s;
}

// After a fence a fencer may still be moving the machines of this node: none is created until it is done
// (node-lifecycle.md 3).
async::awaitable<void> domains::manager::follow_hold(session& s) {
    async::wakeup changed;
    auto key = s.watches.add(s.own("/domainstate"), zookeeper::watch_kind::data, changed);
    while (!key->known()) {
        co_await changed.wait(async::wait_note::work("the node's domain state"));
    }
    holds_starts_ = key->present() && model::parse_domain_state(key->data()) == model::domain_state::fence_flush;
    if (!holds_starts_) {
        look_at_all();
        co_return;
    }
    node.log.warning(
        "this node was fenced and its machines are still being moved: none is started here until that is done");
    const auto owned = [this] {
        std::set<uuid> all;
        for (const auto& [id, row] : table.rows()) {
            if (row.is_owner) {
                all.insert(id);
            }
        }
        return all;
    };
    std::uint64_t seen = key->changes();
    auto before = owned();
    time_point until = node.clock().now() + hold_limit;
    while (holds_starts_) {
        co_await changed.wait_until(node.clock(), std::min(until, node.clock().now() + 5s), "the end of a recovery");
        if (!key->present() || model::parse_domain_state(key->data()) != model::domain_state::fence_flush) {
            holds_starts_ = false;
        } else if (key->changes() != seen || owned() != before) {
            seen = key->changes();
            before = owned();
            until = node.clock().now() + hold_limit;
        } else if (node.clock().now() >= until) {
            zookeeper::transaction write;
            write.set(key->path(), std::string(to_text(model::domain_state::flushed)), key->stat().version);
            auto done = co_await s.zk.commit(s.limit(), std::move(write));
            if (done) {
                node.log.warning("nobody moved anything for 180 s: the recovery counts as over");
                holds_starts_ = false;
            }
        }
    }
    look_at_all();
}

}  // namespace pvc::node
