// Questions to ZooKeeper and writes to it.
#include "operations/effects.hpp"
#include "operations/others.hpp"

#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/model/lock_name.hpp"
#include "pvcnoded/policy/domains/stranded_migration.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using policy::answer;
using policy::write_end;
namespace ask = policy::ask;

namespace {
constexpr duration stranded_lock_limit = 15s;
constexpr int schema_of_downtime = 13;

// The keys that a migration writes, and who is at its locks. Empty: not all could be read.
async::awaitable<policy::keys_compared> compare_keys(operation& op) {
    policy::keys_compared seen;
    seen.changed = std::max(op.row.state_changed, op.row.node_changed);
    for (const auto* suffix : {model::domain_key::last_node, model::domain_key::migrate_sync_lock}) {
        auto stat = co_await op.s.zk.exists(op.s.limit(), op.key(suffix));
        if (!stat && stat.error().code() != errc::not_found) {
            co_return policy::keys_compared{};
        }
        seen.changed = std::max(seen.changed, stat ? stat->stat.mzxid : 0);
    }
    auto of_sync = co_await peer_contends(op);
    auto of_node = co_await op.s.zk.children(op.s.limit(), op.key(model::domain_key::node));
    if (!of_sync || !of_node) {
        co_return policy::keys_compared{};
    }
    seen.is_contended = *of_sync || !model::contenders(of_node->names, model::lock_tag::lock).empty();
    seen.is_known = true;
    co_return seen;
}

}  // namespace

async::awaitable<answer> effects::perform(ask::nothing /*what*/, time_point /*until*/) {
    co_return policy::woken{};
}

async::awaitable<answer> effects::perform(ask::change /*what*/, time_point /*until*/) {
    co_return policy::woken{};
}

async::awaitable<answer> effects::perform(ask::time /*what*/, time_point /*until*/) {
    co_return policy::woken{};
}

async::awaitable<answer> effects::perform(ask::row /*what*/, time_point /*until*/) {
    using end = policy::row_read::end;
    auto read = co_await op_.table.read(op_.row);
    if (read) {
        co_return policy::row_read{end::fresh, *read};
    }
    co_return policy::row_read{read.error().code() == errc::not_found ? end::gone : end::failed};
}

async::awaitable<answer> effects::perform(ask::write_state what, time_point /*until*/) {
    switch (what.sync) {
        case policy::sync_word::handed_over: co_return co_await write_hand_over(op_);
        case policy::sync_word::taken_back: co_return co_await write_taken_over(op_);
        case policy::sync_word::kept: break;
    }
    co_return co_await op_.write_state(what.state);
}

async::awaitable<answer> effects::perform(ask::write_placement what, time_point /*until*/) {
    co_return co_await op_.write_placement(what.state, std::move(what.node), std::move(what.last_node));
}

async::awaitable<answer> effects::perform(ask::write_last_node what, time_point /*until*/) {
    zookeeper::transaction write;
    const auto of_last = write.set(op_.key(model::domain_key::last_node), what.last_node, op_.here.last_node_version);
    write.check(op_.key(model::domain_key::state), op_.row.state_version);
    write.check(op_.key(model::domain_key::node), op_.row.node_version);
    for (const auto* lock : op_.locks) {
        lock->add_check(write);
    }
    auto done = co_await op_.s.zk.commit(op_.s.limit(), std::move(write));
    if (!done) {
        op_.table.mark(op_.row);
        co_return write_end::overtaken;
    }
    op_.here.last_node = std::move(what.last_node);
    op_.here.last_node_version = done->of(of_last).version;
    co_return write_end::written;
}

async::awaitable<answer> effects::perform(ask::clear_own what, time_point /*until*/) {
    const auto* key = what.key == policy::own_key::vnc ? model::domain_key::vnc : model::domain_key::migrate_sync_lock;
    const bool is_clear = co_await op_.write_own(key, "");
    co_return policy::yes{is_clear};
}

async::awaitable<answer> effects::perform(ask::offer_to_receive /*what*/, time_point /*until*/) {
    const bool is_written = co_await write_offer(op_);
    co_return policy::yes{is_written};
}

async::awaitable<answer> effects::perform(ask::connection /*what*/, time_point until) {
    const auto is_back = co_await op_.s.zk.wait_connected(until);
    co_return policy::yes{is_back.has_value()};
}

async::awaitable<answer> effects::perform(ask::sending_keys what, time_point /*until*/) {
    const auto read =
        co_await op_.s.zk.read_together(op_.s.limit(), {{.path = model::node_path(what.target), .with_data = false},
                                                        {.path = op_.key(model::domain_key::migration_method)},
                                                        {.path = op_.key(model::domain_key::migration_max_downtime)}});
    policy::wishes_read out;
    out.is_known = std::ranges::all_of(read, [](const auto& one) {
        return one || one.error().code() == errc::not_found || one.error().code() == errc::invalid;
    });
    out.is_target_known = read[0].has_value();
    out.method = read[1] ? read[1]->data : "";
    std::string downtime = read[2] ? read[2]->data : "";
    if (op_.s.table.version() >= schema_of_downtime || !downtime.empty()) {
        out.max_downtime = std::move(downtime);
    }
    co_return out;
}

async::awaitable<answer> effects::perform(ask::set_listed what, time_point /*until*/) {
    co_return policy::yes{co_await op_.set_listed(what.runs)};
}

async::awaitable<answer> effects::perform(ask::whose_stop /*what*/, time_point /*until*/) {
    std::optional<bool> is_the_senders;
    if (sender_) {
        is_the_senders = co_await sender_->wrote_stop();
    }
    co_return policy::yes{is_the_senders};
}

async::awaitable<answer> effects::perform(ask::contenders /*what*/, time_point /*until*/) {
    using end = policy::contenders_read::end;
    const auto peer = co_await peer_contends(op_);
    if (peer) {
        co_return policy::contenders_read{end::read, *peer};
    }
    co_return policy::contenders_read{peer.error().code() == errc::not_found ? end::no_key : end::failed};
}

async::awaitable<answer> effects::perform(ask::make_sync_key /*what*/, time_point /*until*/) {
    const bool is_made = co_await make_sync_key(op_);
    co_return policy::yes{is_made};
}

async::awaitable<answer> effects::perform(ask::stranded_keys /*what*/, time_point /*until*/) {
    co_return co_await compare_keys(op_);
}

// Under the lock of `state`, like every placement; what was seen is looked at once more.
async::awaitable<answer> effects::perform(ask::take_back what, time_point /*until*/) {
    zookeeper::lock_request lock;
    lock.path = op_.key(model::domain_key::state);
    lock.deadline = op_.now() + stranded_lock_limit;
    lock.task = "migration";
    lock.reason = "leaving " + op_.name() + " with node " + what.node;
    write_end end = write_end::failed;
    auto done = co_await op_.s.locks.with_lock(
        std::move(lock), [&](zookeeper::held_lock& of_state) -> async::awaitable<result<void>> {
            const lock_checks guard(op_, {&of_state});
            const std::string daemon = model::node_path(what.node, model::node_key::daemon_state);
            PVC_CO_TRY(auto state, co_await op_.s.zk.get(op_.s.limit(), daemon));
            auto fresh = co_await op_.table.read(op_.row);
            const auto now = co_await compare_keys(op_);
            const bool is_same = fresh && now.is_known && !now.is_contended && now.changed == what.changed &&
                                 model::parse_daemon_state(state.data) == model::daemon_state::run &&
                                 op_.row.is_present && op_.row.is_owner && policy::is_migration(op_.row.state) &&
                                 op_.is_guest(model::guest_class::absent);
            end = write_end::overtaken;
            if (!is_same) {
                co_return result<void>();
            }
            zookeeper::transaction more;
            more.check(daemon, state.stat.version);
            end = co_await op_.write_placement(model::vm_state::start, what.node,
                                               policy::last_node_after_return(what.node, op_.here.last_node),
                                               std::move(more));
            co_return result<void>();
        });
    if (!done) {
        op_.warning(message::migration_stranded_unwritten,
                    "node " + what.node + " does not send it, and it could not be left there: " + done.error().text());
    }
    co_return end;
}

}  // namespace pvc::domains
