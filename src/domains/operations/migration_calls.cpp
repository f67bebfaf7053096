#include "operations/migration_calls.hpp"

#include "pvcnoded/async/child.hpp"

namespace pvc::domains {

migration_calls::call::call(migration_calls& owner, uuid id, hypervisor::migration how, async::wakeup& waiter)
    : record_(std::make_shared<record>()) {
    record_->waiter = &waiter;
    if (owner.scope_ == nullptr || owner.scope_->cancelled()) {
        record_->outcome = hypervisor::call_failure(hypervisor::call_error::unavailable, "the daemon stops");
        record_->has_ended = true;
        return;
    }
    owner.calls_[id] = record_;
    // The child may be cancelled before its first step.
    struct end {
        migration_calls& owner;
        uuid id;
        std::shared_ptr<record> of;
        ~end() { owner.ended(id, *of); }
    };
    auto at_end = std::make_shared<end>(owner, id, record_);
    owner.scope_->spawn("migration of " + to_text(id),
                        [&owner, id, how = std::move(how), at_end] { return owner.make(id, how, at_end->of); });
}

void migration_calls::call::give_up() {
    record_->is_unwanted = true;
    record_->changed.notify();
}

void migration_calls::ended(const uuid& id, call::record& of) {
    of.has_ended = true;
    if (!of.outcome && !of.is_unwanted) {
        of.outcome = hypervisor::call_failure(hypervisor::call_error::unavailable, "the daemon stops");
    }
    const auto found = calls_.find(id);
    if (found != calls_.end() && found->second.get() == &of) {
        calls_.erase(found);
    }
    if (of.waiter != nullptr) {
        of.waiter->notify();
    } else if (on_end) {
        on_end(id);
    }
}

async::awaitable<void> migration_calls::make(uuid id, hypervisor::migration how, std::shared_ptr<call::record> of) {
    std::optional<async::child<hypervisor::call_result<void>>> made;
    co_await async::with_task_group("migration call", [&](async::task_group& group) -> async::awaitable<void> {
        made.emplace(group, "call", [&] { return hv_.migrate(id, how); }, of->changed);
        while (!made->has_ended() && !of->is_unwanted) {
            co_await of->changed.wait(async::wait_note::work("the end of a live call"));
        }
        group.cancel();  // which aborts it, and waits for its end
    });
    if (made->has_ended()) {
        of->outcome = std::move(made->value());
    }
}

async::awaitable<void> migration_calls::run() {
    struct leaving {
        migration_calls& owner;
        ~leaving() { owner.scope_ = nullptr; }
    };
    const leaving guard{*this};
    co_await async::with_task_group("migration calls", [this](async::task_group& group) -> async::awaitable<void> {
        scope_ = &group;
        async::wakeup never;
        co_await never.wait(async::wait_note::work("live migrations"));
    });
}

}  // namespace pvc::domains
