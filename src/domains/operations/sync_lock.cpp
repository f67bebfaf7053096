// The hand-shake of sender and receiver on the lock of `migrate_sync_lock`, driven by who is seen to contend for it, so
// that it works against a reference node, which goes by fixed pauses. Specification: vm-domains.md 8.3 (S4), 8.4, 8.5.
#include "operations/migration.hpp"

#include "pvcnoded/model/lock_name.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;

namespace {

constexpr duration peer_limit = 30s;
constexpr duration idle_after = 1s;     // a receiver between its phases is away for milliseconds
constexpr duration queue_limit = 600s;  // of one acquisition; then it queues again
constexpr duration release_limit = 2s;
constexpr duration trouble_pause = 1s;

zookeeper::lock_request sync_request(operation& op, time_point deadline, std::string reason) {
    zookeeper::lock_request what;
    what.path = op.key(model::domain_key::migrate_sync_lock);
    what.deadline = deadline;
    what.task = "migration";
    what.reason = std::move(reason);
    return what;
}

// A missing key counts as empty and is made (README ruling 27), unless the domain goes. False: it does.
async::awaitable<bool> make_sync_key(operation& op) {
    if (!op.row.is_present || !policy::is_migration(op.row.state)) {
        co_return false;
    }
    const auto made = co_await op.s.zk.create(op.s.limit(), op.key(model::domain_key::migrate_sync_lock), "");
    co_return made || made.error().code() != errc::not_found;
}

// Once the state has moved on, the last placement is that of this migration's own end: nothing of it is stale.
bool is_stale(const operation& op, const zookeeper::node_stat& child) {
    return policy::is_migration(op.row.state) && op.row.stable.known() && child.czxid < op.row.stable.changed;
}

}  // namespace

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

namespace {

// Phase A: held until the sender is queued behind us.
async::awaitable<result<void>> hold_until_sender(operation& op, receiver_lock& state, async::wakeup& changed) {
    struct holding {
        explicit holding(receiver_lock& lock) : of(lock) { of.is_held = true; }
        ~holding() { of.is_held = false; }
        receiver_lock& of;
    };
    const holding turn(state);
    op.here.changed.notify();
    const time_point until = op.now() + peer_limit;
    while (op.now() < until) {
        auto behind = co_await peer_contends(op);
        if (behind && *behind) {
            state.peer_seen = true;
            break;
        }
        co_await changed.wait_until(op.clock(), until, "the sender of a migration");
    }
    co_return result<void>();
}

}  // namespace

async::awaitable<void> offer_sync_lock(operation& op, receiver_lock& state) {
    async::wakeup changed;
    auto contenders =
        op.s.watches.add(op.key(model::domain_key::migrate_sync_lock), zookeeper::watch_kind::children, changed);
    for (;;) {
        auto before = co_await peer_contends(op);
        if (before && *before) {
            state.peer_seen = true;  // its phase and ours have merged: it is ahead of us
        }
        auto done =
            co_await op.s.locks.with_lock(sync_request(op, op.now() + queue_limit, "receiving " + op.name()),
                                          [&](zookeeper::held_lock&) { return hold_until_sender(op, state, changed); });
        if (!done) {
            bool is_there = true;
            if (done.error().code() == errc::not_found) {
                is_there = co_await make_sync_key(op);
            }
            if (!is_there) {
                co_return;  // the domain is gone; the operation sees it too
            }
            co_await async::sleep_for(op.clock(), trouble_pause, "another attempt to queue for a migration lock");
        }
    }
}

async::awaitable<void> sender_lock::release(async::timers& clock) {
    must_release = true;
    changed.notify();
    if (!granted) {
        co_return;  // the end of the operation takes back what was queued
    }
    const time_point until = clock.now() + release_limit;
    while (!released && clock.now() < until) {
        co_await done.wait_until(clock, until, "the release of a migration lock");
    }
}

async::awaitable<void> take_sync_lock(operation& op, sender_lock& state, time_point deadline) {
    const std::string path = op.key(model::domain_key::migrate_sync_lock);
    const auto end = [&] {
        state.failed = !state.granted;
        state.released = true;
        state.done.notify();
        op.here.changed.notify();
    };
    auto children = op.s.watches.add(path, zookeeper::watch_kind::children, state.changed);
    auto value = op.s.watches.add(path, zookeeper::watch_kind::data, state.changed);
    bool was_seen = false;
    for (;;) {
        auto peer = co_await peer_contends(op);
        const bool is_there = peer && *peer;
        // A value that was written since the request is the receiver's.
        const bool wrote = value->known() && value->present() && value->stat().mzxid > op.row.state_changed &&
                           value->stat().mzxid != op.here.sync_written;
        if (is_there) {
            break;
        }
        was_seen = was_seen || wrote;
        if (was_seen && wrote && value->data().empty()) {
            state.alone = true;  // it came, passed its phases and went
            break;
        }
        bool is_gone = false;
        if (peer.has_error() && peer.error().code() == errc::not_found) {
            const bool is_made = co_await make_sync_key(op);
            is_gone = !is_made;
        }
        if (state.must_release || op.now() >= deadline || is_gone) {
            end();
            co_return;
        }
        co_await state.changed.wait_until(op.clock(), deadline, "the receiver of a migration");
    }
    auto done = co_await op.s.locks.with_lock(
        sync_request(op, op.now() + peer_limit, "sending " + op.name()),
        [&](zookeeper::held_lock&) -> async::awaitable<result<void>> {
            // The receiver queues again at once; one that does not has gone idle.
            const time_point until = op.now() + idle_after;
            while (!state.alone) {
                auto peer = co_await peer_contends(op);
                if (peer && *peer) {
                    break;
                }
                if (op.now() >= until) {
                    state.alone = true;
                    break;
                }
                co_await state.changed.wait_until(op.clock(), until, "the receiver to queue again");
            }
            state.granted = true;
            op.here.changed.notify();
            while (!state.must_release) {
                co_await state.changed.wait(async::wait_note::work("the end of the migration"));
            }
            co_return result<void>();
        });
    ignore(done, "`granted` says whether it was had");
    end();
}

async::awaitable<void> clear_sync_value(operation& op) {
    co_await op.write_own(model::domain_key::migrate_sync_lock, "");
}

async::awaitable<write_result> write_hand_over(operation& op) {
    const operation::view asked = op.present();
    auto stored = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::migrate_sync_lock));
    if (!stored && stored.error().code() != errc::not_found) {
        op.warning(message::migration_not_handed_over, "it was not handed over: " + stored.error().text());
        op.pause(1s);
        co_return write_result::failed;
    }
    if (op.present() != asked) {
        co_return write_result::overtaken;
    }
    zookeeper::transaction more;
    if (stored) {
        more.set(op.key(model::domain_key::migrate_sync_lock), policy::hand_over_mark(op.id), stored->stat.version);
    } else {
        more.create(op.key(model::domain_key::migrate_sync_lock), policy::hand_over_mark(op.id));
    }
    co_return co_await op.write_state(model::vm_state::stop, std::move(more));
}

async::awaitable<write_result> write_taken_over(operation& op) {
    const operation::view asked = op.present();
    auto stored = co_await op.s.zk.get(op.s.limit(), op.key(model::domain_key::migrate_sync_lock));
    if (op.present() != asked) {
        co_return write_result::overtaken;
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
        locks_ = policy::sender_locks{first.front().name, version};
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

async::awaitable<result<void>> with_migration_locks(operation& op, time_point deadline,
                                                    std::function<async::awaitable<void>()> body) {
    zookeeper::lock_request outer;
    outer.path = op.key(model::domain_key::node);
    outer.deadline = deadline;
    outer.task = "migration";
    outer.reason = "sending " + op.name();
    zookeeper::lock_request inner = outer;
    inner.path = op.key(model::domain_key::state);
    co_return co_await op.s.locks.with_lock(
        std::move(outer), [&](zookeeper::held_lock& of_node) -> async::awaitable<result<void>> {
            co_return co_await op.s.locks.with_lock(
                inner, [&](zookeeper::held_lock& of_state) -> async::awaitable<result<void>> {
                    op.locks = {&of_node, &of_state};
                    struct leaving {
                        operation& op;
                        ~leaving() { op.locks.clear(); }
                    };
                    const leaving guard{op};
                    co_await body();
                    co_return result<void>();
                });
        });
}

bool somebody_waits(const operation& op, const zookeeper::watched& state_children) {
    std::string own;
    for (const auto* lock : op.locks) {
        if (lock->child().starts_with(op.key("/state/"))) {
            own = lock->child().substr(op.key("/state/").size());
        }
    }
    const auto all = model::contenders(state_children.names(), model::lock_tag::lock);
    return std::ranges::any_of(all, [&](const auto& child) { return child.name != own; });
}

}  // namespace pvc::domains
