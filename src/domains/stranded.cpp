#include "stranded.hpp"

#include "operations/migration.hpp"

#include "pvcnoded/model/lock_name.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr duration stranded_lock_limit = 15s;

}  // namespace

async::awaitable<std::optional<policy::stranded_look>> stranded_search::read_keys() {
    policy::stranded_look look;
    look.changed = std::max(op_.row.state_changed, op_.row.node_changed);
    for (const auto* suffix : {model::domain_key::last_node, model::domain_key::migrate_sync_lock}) {
        auto stat = co_await op_.s.zk.exists(op_.s.limit(), op_.key(suffix));
        if (!stat && stat.error().code() != errc::not_found) {
            co_return std::nullopt;
        }
        look.changed = std::max(look.changed, stat ? stat->stat.mzxid : 0);
    }
    auto of_sync = co_await peer_contends(op_);
    auto of_node = co_await op_.s.zk.children(op_.s.limit(), op_.key(model::domain_key::node));
    if (!of_sync || !of_node) {
        co_return std::nullopt;
    }
    look.is_contended = *of_sync || !model::contenders(of_node->names, model::lock_tag::lock).empty();
    co_return look;
}

async::awaitable<bool> stranded_search::look(std::vector<policy::holding_node> nodes) {
    const bool is_there = std::ranges::count(nodes, policy::holding::runs, &policy::holding_node::what) == 1;
    std::optional<policy::stranded_look> seen;
    if (is_there) {
        seen = co_await read_keys();
    }
    if (!seen) {
        sender_ = {};
        co_return false;
    }
    seen->nodes = std::move(nodes);
    sender_ = policy::follow(sender_, *seen, op_.now());
    if (!policy::is_stranded(sender_, op_.now())) {
        co_return false;
    }
    auto done = co_await take_back();
    if (!done) {
        op_.warning(
            message::migration_stranded_unwritten,
            "node " + sender_.node + " does not send it, and it could not be left there: " + done.error().text());
    }
    co_return is_taken_back_;
}

// Under the lock of `state`, like every placement; what was seen is looked at once more.
async::awaitable<result<void>> stranded_search::take_back() {
    zookeeper::lock_request what;
    what.path = op_.key(model::domain_key::state);
    what.deadline = op_.now() + stranded_lock_limit;
    what.task = "migration";
    what.reason = "leaving " + op_.name() + " with node " + sender_.node;
    co_return co_await op_.s.locks.with_lock(
        std::move(what), [this](zookeeper::held_lock& of_state) -> async::awaitable<result<void>> {
            op_.locks = {&of_state};
            struct leaving {
                operation& op;
                ~leaving() { op.locks.clear(); }
            };
            const leaving guard{op_};
            const std::string daemon = model::node_path(sender_.node, model::node_key::daemon_state);
            auto state = co_await op_.s.zk.get(op_.s.limit(), daemon);
            if (!state) {
                co_return state.error();
            }
            auto fresh = co_await op_.table.read(op_.row);
            auto now = co_await read_keys();
            const bool is_same = fresh && now && !now->is_contended && now->changed == sender_.changed &&
                                 model::parse_daemon_state(state->data) == model::daemon_state::run &&
                                 op_.row.is_present && op_.row.is_owner && policy::is_migration(op_.row.state) &&
                                 op_.is_guest(model::guest_class::absent);
            if (!is_same) {
                sender_ = {};
                co_return result<void>();
            }
            zookeeper::transaction more;
            more.check(daemon, state->stat.version);
            const std::string last = policy::last_node_after_return(sender_.node, op_.here.last_node);
            const write_result done =
                co_await op_.write_placement(model::vm_state::start, sender_.node, last, std::move(more));
            is_taken_back_ = done == write_result::written;
            if (is_taken_back_) {
                op_.error(
                    message::migration_stranded,
                    "node " + sender_.node +
                        " runs it and has not begun to send it for 120 s: it stays there (was its daemon restarted "
                        "meanwhile?)");
            }
            co_return result<void>();
        });
}

}  // namespace pvc::domains
