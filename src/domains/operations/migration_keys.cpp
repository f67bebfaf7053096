// The keys of a migration beside `state` and `node`: who contends for the lock of the hand-shake, the words in it, the
// locks of a reference sender. Specification: vm-domains.md 8.4, 8.5.
#include "operations/migration.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/domain_payloads.hpp"
#include "pvcnoded/model/lock_name.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

// Once the state has moved on, the last placement is that of this migration's own end: nothing of it is stale.
bool is_stale(const operation& op, const zookeeper::node_stat& child) {
    return policy::is_migration(op.row.state) && op.row.stable.known() && child.czxid < op.row.stable.changed;
}

}  // namespace

// A missing key counts as empty and is made (README ruling 27), unless the domain goes. False: it does.
async::awaitable<bool> make_sync_key(operation& op) {
    if (!op.row.is_present || !policy::is_migration(op.row.state)) {
        co_return false;
    }
    const auto made = co_await op.s.zk.create(op.s.limit(), op.key(model::domain_key::migrate_sync_lock), "");
    co_return made || made.error().code() != errc::not_found;
}

async::awaitable<result<bool>> peer_contends(operation& op) {
    const std::string path = op.key(model::domain_key::migrate_sync_lock);
    auto children = co_await op.s.zk.children(op.s.limit(), path);
    if (!children) {
        co_return children.error();
    }
    const std::int64_t own_session = op.s.zk.state().value().session_id;
    const std::string own_prefix = op.node.self() + ":";
    bool found = false;
    for (const auto& child : model::contenders(children->names, model::lock_tag::lock)) {
        auto one = co_await op.s.zk.get(op.s.limit(), path + "/" + child.name);
        if (!one) {
            continue;
        }
        if (one->stat.ephemeral_owner != own_session && is_stale(op, one->stat)) {
            op.warning(message::migration_lock_left,
                       "removing a contender for its migration lock that an earlier migration left behind");
            auto removed = co_await op.s.zk.remove(op.s.limit(), path + "/" + child.name, zookeeper::any_version);
            ignore(removed, "if it is still there, the next look finds it");
            continue;
        }
        const bool is_own = one->stat.ephemeral_owner == own_session || one->data.starts_with(own_prefix);
        found = found || (!is_own && one->stat.ephemeral_owner != 0);
    }
    co_return found;
}

async::awaitable<bool> write_offer(operation& op) {
    const std::int32_t of_state = op.row.state_version;
    const std::int32_t of_node = op.row.node_version;
    const std::string key = op.key(model::domain_key::migrate_sync_lock);
    auto stored = co_await op.s.zk.get(op.s.limit(), key);
    if (!stored || stored->data == to_text(op.id)) {
        co_return stored || stored.error().code() == errc::not_found;  // one that is gone is not made here
    }
    zookeeper::transaction what;
    const auto of_key = what.set(key, to_text(op.id), stored->stat.version);
    if (!is_planted(defect::offer_late)) {
        what.check(op.key(model::domain_key::state), of_state);
        what.check(op.key(model::domain_key::node), of_node);
    }
    auto done = co_await op.s.zk.commit(op.s.limit(), std::move(what));
    if (done) {
        op.here.migration.sync_written = done->of(of_key).mzxid;
    }
    co_return done.has_value();
}

async::awaitable<write_end> write_hand_over(operation& op) {
    const policy::wish asked = op.present();
    auto stored = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::migrate_sync_lock));
    if (!stored && stored.error().code() != errc::not_found) {
        op.warning(message::migration_not_handed_over, "it was not handed over: " + stored.error().text());
        op.pause(1s);
        co_return write_end::failed;
    }
    if (op.present() != asked) {
        co_return write_end::overtaken;
    }
    zookeeper::transaction more;
    if (stored) {
        more.set(op.key(model::domain_key::migrate_sync_lock), policy::hand_over_mark(op.id), stored->stat.version);
    } else {
        more.create(op.key(model::domain_key::migrate_sync_lock), policy::hand_over_mark(op.id));
    }
    const write_end end = co_await op.write_state(model::vm_state::stop, std::move(more));
    op.here.is_handed_over =
        end == write_end::written;  // whoever looks before it is read again must not take it for off
    co_return end;
}

async::awaitable<write_end> write_taken_over(operation& op) {
    const policy::wish asked = op.present();
    auto stored = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::migrate_sync_lock));
    if (op.present() != asked) {
        co_return write_end::overtaken;
    }
    zookeeper::transaction more;
    if (stored && !stored->data.empty()) {
        more.set(op.key(model::domain_key::migrate_sync_lock), "", stored->stat.version);
    }
    co_return co_await op.write_state(model::vm_state::start, std::move(more));
}

namespace {

// "<node>:<pid>:…" (zookeeper-schema.md 4.1); the reference writes an identifier without such parts.
bool is_of_ours(std::string_view data) {
    const auto name_end = data.find(':');
    const auto pid_end = name_end == std::string_view::npos ? name_end : data.find(':', name_end + 1);
    return pid_end != std::string_view::npos && name_end > 0 && pid_end > name_end + 1 &&
           data.substr(name_end + 1, pid_end - name_end - 1).find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

reference_sender::reference_sender(operation& op)
    : op_(op),
      of_node_(op.s.watches.add(op.key(model::domain_key::node), zookeeper::watch_kind::children, op.here.changed)),
      of_state_(op.s.watches.add(op.key(model::domain_key::state), zookeeper::watch_kind::children, op.here.changed)) {}

async::awaitable<bool> reference_sender::look() {
    const std::uint64_t of_node = of_node_->changes();
    const std::uint64_t of_state = of_state_->changes();
    if (of_node == seen_of_node_ && of_state == seen_of_state_) {
        co_return true;
    }
    const std::int32_t version = of_state_->stat().cversion;
    const std::int64_t changed = of_state_->stat().pzxid;
    const auto first = model::contenders(of_state_->names(), model::lock_tag::lock);
    const auto holders = model::contenders(of_node_->names(), model::lock_tag::lock);
    if (first.empty() || holders.empty()) {
        seen_of_node_ = of_node;
        seen_of_state_ = of_state;
        co_return true;  // what was seen before still says who had them
    }
    auto child = co_await op_.s.zk.get(op_.s.limit(), op_.key("/state/") + first.front().name);
    auto other = co_await op_.s.zk.get(op_.s.limit(), op_.key("/node/") + holders.front().name);
    for (const auto* one : {&child, &other}) {
        if (!*one && one->error().code() != errc::not_found) {
            co_return false;  // asked again
        }
    }
    seen_of_node_ = of_node;
    seen_of_state_ = of_state;
    const bool are_of_one = child && other && child->stat.ephemeral_owner != 0 &&
                            child->stat.ephemeral_owner == other->stat.ephemeral_owner;
    if (are_of_one && !is_of_ours(child->data)) {  // one of ours would have said so
        const bool is_known = locks_ && locks_->child == first.front().name;
        locks_ = policy::sender_locks{first.front().name, version, is_known ? locks_->first_since : changed};
    }
    co_return true;
}

async::awaitable<std::optional<bool>> reference_sender::wrote_stop() {
    const std::int64_t written = op_.row.state_changed;
    if (op_.is_guest(model::guest_class::incoming)) {
        co_return false;  // it is being copied: nobody shuts it down now
    }
    const bool was_read = co_await look();
    if (!was_read) {
        co_return std::nullopt;
    }
    if (!locks_) {
        co_return false;
    }
    auto now = co_await op_.s.zk.children(op_.s.limit(), op_.key(model::domain_key::state));
    if (!now) {
        co_return now.error().code() == errc::not_found ? std::optional(false) : std::nullopt;
    }
    policy::state_lock lock;
    for (auto& one : model::contenders(now->names, model::lock_tag::lock)) {
        lock.contenders.push_back(std::move(one.name));
    }
    lock.children_version = now->stat.cversion;
    lock.children_changed = now->stat.pzxid;
    co_return policy::held_it_then(*locks_, lock, written);
}

async::awaitable<result<std::vector<std::string>>> stored_volumes(operation& op) {
    PVC_CO_TRY(auto xml, co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::xml)));
    auto rbdlist = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::rbd_list));
    if (!rbdlist && rbdlist.error().code() != errc::not_found) {
        co_return rbdlist.error();
    }
    auto parsed = model::parse_domain_xml(xml.data);
    co_return model::rbd_volumes(rbdlist ? rbdlist->data : std::string(), parsed ? *parsed : model::domain_xml{});
}

}  // namespace pvc::domains
