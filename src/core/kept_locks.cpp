#include "pvcnoded/core/kept_locks.hpp"

namespace pvc::core {

kept_locks::kept_locks(async::task_group& scope, async::wakeup& changed, with_locks how)
    : record_(std::make_shared<record>()) {
    record_->how = std::move(how);
    record_->changed = &changed;
    scope.spawn("locks", [of = record_] { return run(of); });
}

void kept_locks::release() {
    record_->is_unwanted = true;
    record_->body_turn.notify();
    if (record_->state != status::held) {
        record_->scope.end();  // nobody waits for locks that he no longer needs
    }
}

async::awaitable<void> kept_locks::run(std::shared_ptr<record> of) {
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
        of->state = code == errc::timed_out ? status::late : code == errc::not_found ? status::missing : status::failed;
        of->text = done.error().text();
    });
    of->state = of->state == status::pending ? status::none : of->state;
    of->has_ended = true;
    of->changed->notify();
}

}  // namespace pvc::core
