#include "operations/held_locks.hpp"

#include "pvcnoded/model/lock_name.hpp"

#include <algorithm>

namespace pvc::domains {

held_locks::held_locks(async::task_group& scope, async::wakeup& changed, with_locks how)
    : record_(std::make_shared<record>()) {
    record_->how = std::move(how);
    record_->changed = &changed;
    scope.spawn("locks", [of = record_] { return run(of); });
}

void held_locks::release() {
    record_->is_unwanted = true;
    record_->body_turn.notify();
    if (record_->state != status::held) {
        record_->scope.end();  // nobody waits for locks that he no longer needs
    }
}

async::awaitable<void> held_locks::run(std::shared_ptr<record> of) {
    co_await async::with_task_group("locks", [&of](async::task_group& group) -> async::awaitable<void> {
        const scope_to_end::body inside(of->scope, group);
        if (of->is_unwanted) {
            co_return;
        }
        auto done = co_await of->how([&of]() -> async::awaitable<result<void>> {
            of->state = status::held;
            of->changed->notify();
            while (!of->is_unwanted) {
                co_await of->body_turn.wait(async::wait_note::work("the end of what is done under the locks"));
            }
            co_return result<void>();
        });
        if (done || of->state == status::held) {
            of->state = status::none;
            co_return;
        }
        const errc code = done.error().code();
        of->state = code == errc::timed_out ? status::late : code == errc::not_found ? status::no_keys : status::failed;
        of->text = done.error().text();
    });
    of->state = of->state == status::pending ? status::none : of->state;
    of->has_ended = true;
    of->changed->notify();
}

held_locks::with_locks migration_locks(operation& op, time_point deadline) {
    return [&op, deadline](held_locks::body body) -> async::awaitable<result<void>> {
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

held_locks::with_locks sync_lock(operation& op, time_point deadline, std::string reason) {
    return [&op, deadline, reason = std::move(reason)](held_locks::body body) -> async::awaitable<result<void>> {
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
