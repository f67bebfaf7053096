#include "operations/held_locks.hpp"

#include "pvcnoded/model/lock_name.hpp"

#include <algorithm>

namespace pvc::domains {

policy::held_now::locks seen_by_machine(kept_locks::status of) {
    using enum policy::held_now::locks;
    switch (of) {
        case kept_locks::status::none: return none;
        case kept_locks::status::pending: return pending;
        case kept_locks::status::held: return held;
        case kept_locks::status::late: return late;
        case kept_locks::status::missing: return no_keys;
        case kept_locks::status::failed: return failed;
    }
    return failed;
}

kept_locks::with_locks migration_locks(operation& op, time_point deadline) {
    return [&op, deadline](kept_locks::body body) -> async::awaitable<result<void>> {
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
                        const lock_checks guard(op, {&of_node, &of_state});
                        co_return co_await body();
                    });
            });
    };
}

kept_locks::with_locks sync_lock(operation& op, time_point deadline, std::string reason) {
    return [&op, deadline, reason = std::move(reason)](kept_locks::body body) -> async::awaitable<result<void>> {
        zookeeper::lock_request what;
        what.path = op.key(model::domain_key::migrate_sync_lock);
        what.deadline = deadline;
        what.task = "migration";
        what.reason = reason;
        co_return co_await op.s.locks.with_lock(std::move(what), [&](zookeeper::held_lock& /*of*/) { return body(); });
    };
}

bool somebody_waits(const operation& op, const zookeeper::watched& state_children) {
    // Asked at every resumption of a sender, and then there is mostly our own child and nothing else: no text is made.
    const std::string& path = state_children.path();
    const auto is_own = [&](const std::string& name) {
        return std::ranges::any_of(op.locks, [&](const auto* lock) {
            const std::string_view child = lock->child();
            return child.size() == path.size() + 1 + name.size() && child.starts_with(path) && child.ends_with(name);
        });
    };
    return std::ranges::any_of(state_children.names(), [&](const std::string& name) {
        if (is_own(name)) {
            return false;
        }
        const auto child = model::parse_lock_child(name);
        return child && child->tag == model::lock_tag::lock;
    });
}

}  // namespace pvc::domains
