#include "operations/holder.hpp"

#include "operations/effects.hpp"
#include "pvcnoded/model/domain_payloads.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using policy::holdings;

namespace {
constexpr duration connect_limit = 5s;
}  // namespace

// ---- what is had ----------------------------------------------------------------------------------------------------

policy::held_now holder::state() {
    policy::held_now now;
    if (locks_) {
        now.of_migration = seen_by_machine(locks_->state());
        now.locks_text = locks_->text();
    }
    now.somebody_waits = waiters_ && somebody_waits(op_, *waiters_);
    if (sync_) {
        if (const auto* sender = std::get_if<policy::taking_sync>(&sync_->machine)) {
            now.sync_granted = sender->is_granted;
            now.sync_alone = sender->is_alone;
            now.sync_failed = sync_->has_ended && !sender->is_granted;
        }
        now.sync_released = sync_->has_ended;
        now.sync_is_held = sync_->lock && sync_->lock->state() == kept_locks::status::held;
    }
    now.has_turn = has_turn();
    if (call_) {
        now.call_begun = *call_begun_;
        now.call_is_over = call_->has_ended();
        if (const auto& outcome = call_->outcome()) {
            now.call_outcome = *outcome ? policy::call_end::done : end_of(outcome->error().code);
            call_text_ = *outcome ? std::string() : outcome->error().text;
            now.call_text = call_text_;
        }
    }
    if (daemon_of_ && daemon_of_->known() && daemon_of_->present()) {
        now.target_daemon = model::parse_daemon_state(daemon_of_->data());
    }
    now.target_lists_it =
        list_of_ && list_of_->known() && list_of_->present() && model::lists_domain(list_of_->data(), op_.id);
    return now;
}

// ---- what is wanted -------------------------------------------------------------------------------------------------

bool holder::needs_scope(const holdings& wanted) {
    const bool is_shaking = wanted.of_sync == holdings::sync::offered || wanted.of_sync == holdings::sync::taken;
    return wanted.locks || is_shaking || wanted.asks_guest_to_end;
}

bool holder::hold(const holdings& wanted) {
    if (wanted == held_) {
        return false;
    }
    const bool is_new_turn = wanted.of_turn != held_.of_turn;
    hold_locks(wanted);
    hold_sync(wanted);
    hold_turn(wanted);
    hold_call(wanted);
    hold_watches(wanted);
    hold_request(wanted);
    if (wanted.follows_sender) {
        effects_.follow_sender();
    }
    held_ = wanted;
    return is_new_turn && has_turn();
}

bool holder::has_turn() {
    return (move_turn_ && move_turn_->take()) || (creation_turn_ && creation_turn_->has_turn());
}

void holder::hold_locks(const holdings& wanted) {
    if (wanted.locks && !held_.locks) {
        locks_ = std::make_unique<kept_locks>(*scope_, op_.here.changed, migration_locks(op_, *wanted.locks));
    } else if (!wanted.locks && locks_) {
        locks_->release();
    }
}

void holder::hold_sync(const holdings& wanted) {
    if (wanted.of_sync == held_.of_sync) {
        return;
    }
    switch (wanted.of_sync) {
        case holdings::sync::offered:
            sync_ = std::make_unique<hand_shake>();
            sync_->machine = policy::offering_sync{};
            break;
        case holdings::sync::taken:
            sync_ = std::make_unique<hand_shake>();
            sync_->machine = policy::taking_sync{.deadline = wanted.sync_by};
            break;
        case holdings::sync::released:
        case holdings::sync::none:
            if (sync_) {
                sync_->release();
            }
            return;
    }
    scope_->spawn("sync lock", [this] { return hand_shake::run(op_, effects_, *sync_); });
}

void holder::hold_turn(const holdings& wanted) {
    if (wanted.of_turn == held_.of_turn) {
        return;
    }
    move_turn_.reset();
    op_.turn = nullptr;
    creation_turn_.reset();
    if (wanted.of_turn == holdings::turn::to_migrate) {
        move_turn_.emplace(op_.migrations, op_.id, op_.here.changed);
    } else if (wanted.of_turn == holdings::turn::to_be_created) {
        creation_turn_.emplace(op_.creations, wanted.pools, op_.here.changed);
        op_.turn = &*creation_turn_;
    }
}

void holder::hold_call(const holdings& wanted) {
    if (wanted.call_to.empty()) {
        call_.reset();
    } else if (held_.call_to.empty()) {
        // Its clocks run from when the call has its thread: one that waits for another's end is not slow.
        call_begun_ = std::make_shared<std::optional<time_point>>();
        hypervisor::migration how;
        how.peer = op_.address_of(wanted.call_to);
        how.data_uri = "tcp://" + how.peer;
        how.connect_within = connect_limit;
        how.begun = call_begun_;
        how.mib_per_second = op_.node.config->hypervisor.migration_bandwidth;
        call_.emplace(op_.calls, op_.id, std::move(how), op_.here.changed);
    }
    if (wanted.gives_up_call && call_) {
        call_->give_up();
    }
}

void holder::hold_request(const holdings& wanted) {
    if (wanted.asks_guest_to_end && !request_) {
        request_ = std::make_shared<shutdown_request>();
        scope_->spawn("request", [this, request = request_] { return shutdown_request::run(op_, request); });
    } else if (!wanted.asks_guest_to_end && request_) {
        request_->is_wanted = false;
        request_->scope.end();
        request_.reset();
    }
}

void holder::watch_key(std::unique_ptr<zookeeper::watched>& key, const std::string& node, std::string_view of_node) {
    key = node.empty()
              ? nullptr
              : op_.s.watches.add(model::node_path(node, of_node), zookeeper::watch_kind::data, op_.here.changed);
}

void holder::hold_watches(const holdings& wanted) {
    if (wanted.follows_waiters && !waiters_) {
        waiters_ =
            op_.s.watches.add(op_.key(model::domain_key::state), zookeeper::watch_kind::children, op_.here.changed);
    }
    if (wanted.follows_daemon_of != held_.follows_daemon_of) {
        watch_key(daemon_of_, wanted.follows_daemon_of, model::node_key::daemon_state);
    }
    if (wanted.follows_list_of != held_.follows_list_of) {
        watch_key(list_of_, wanted.follows_list_of, model::node_key::running_domains);
    }
    std::erase_if(lists_,
                  [&](const auto& one) { return std::ranges::find(wanted.lists, one.first) == wanted.lists.end(); });
    for (const auto& node : wanted.lists) {
        auto& key = lists_[node];
        if (!key) {
            watch_key(key, node, model::node_key::running_domains);
        }
    }
}

// ---- children -------------------------------------------------------------------------------------------------------

void hand_shake::release() {
    is_wanted = false;
    changed.notify();
    if (std::holds_alternative<policy::offering_sync>(machine)) {
        scope.end();
    }
}

async::awaitable<void> hand_shake::run(operation& op, effects& doing, hand_shake& self) {
    struct leaving {
        operation& op;
        hand_shake& self;
        ~leaving() {
            self.has_ended = true;
            op.here.changed.notify();
        }
    };
    const leaving guard{op, self};
    const std::string path = op.key(model::domain_key::migrate_sync_lock);
    const bool is_sender = std::holds_alternative<policy::taking_sync>(self.machine);
    self.children = op.s.watches.add(path, zookeeper::watch_kind::children, self.changed);
    if (is_sender) {
        self.value = op.s.watches.add(path, zookeeper::watch_kind::data, self.changed);
    }
    co_await async::with_task_group("hand-shake", [&](async::task_group& group) -> async::awaitable<void> {
        const scope_to_end::body inside(self.scope, group);
        if (is_sender || self.is_wanted) {
            co_await drive(op, doing, self, group);
        }
        group.cancel();
    });
    self.lock.reset();
}

async::awaitable<void> hand_shake::drive(operation& op, effects& doing, hand_shake& self, async::task_group& group) {
    const std::string_view what = self.value ? "sending " : "receiving ";
    policy::answer said;
    for (;;) {
        policy::domain_seen seen = seen_of(op);
        seen.held.of_sync = seen_by_machine(self.lock ? self.lock->state() : kept_locks::status::none);
        seen.held.sync_is_wanted = self.is_wanted;
        if (self.value && self.value->known() && self.value->present()) {
            seen.held.sync_written = self.value->stat().mzxid;
            seen.held.sync_is_empty = self.value->data().empty();
        }
        const policy::step next = std::visit(
            [&](auto& machine) {
                auto out = policy::resume(machine, {seen, said, op.now()}, op.here);
                if (machine.wants_lock && !self.lock) {
                    self.lock = std::make_unique<kept_locks>(
                        group, self.changed, sync_lock(op, machine.queued_until, std::string(what) + op.name()));
                } else if (!machine.wants_lock && self.lock) {
                    self.lock->release();
                }
                return std::move(out.next);
            },
            self.machine);
        op.here.changed.notify();
        if (next.is_over()) {
            co_return;
        }
        said = co_await doing.carry_out(next, self.changed);
        if (self.lock && self.lock->has_ended() && self.lock->state() == kept_locks::status::none) {
            self.lock.reset();
        }
    }
}

namespace {

async::awaitable<void> request_shutdown(operation& op) {
    constexpr duration call_limit = 60s;
    constexpr duration again_after = 10s;
    using hypervisor::call_error;
    using model::guest_class;
    if (op.is_guest(guest_class::paused)) {
        auto resumed =
            co_await op.hv.resume(op.id, op.clock().boot_now() + zookeeper::guard_validity, op.now() + call_limit);
        if (!resumed) {
            op.warning(message::domain_resume_refused,
                       "it is paused and could not be resumed for its shutdown: " + resumed.error().text);
            co_return;  // it hears nothing: the deadline ends it
        }
    }
    auto way = hypervisor::shutdown_way::any;
    for (;;) {
        auto asked = co_await op.hv.shutdown(op.id, way, op.now() + call_limit);
        if (asked) {
            op.here.going_down.was_asked = true;
            co_return;
        }
        switch (asked.error().code) {
            case call_error::no_domain:
            case call_error::wrong_state: co_await op.ask_class(); break;
            default:
                op.warning(message::domain_shutdown_refused, "asking it to shut down: " + asked.error().text);
                break;
        }
        if (op.is_guest(guest_class::absent)) {
            co_return;
        }
        way = hypervisor::shutdown_way::acpi;
        co_await async::sleep_for(op.clock(), again_after, "another request to shut down");
    }
}

}  // namespace

async::awaitable<void> shutdown_request::run(operation& op, std::shared_ptr<shutdown_request> self) {
    co_await async::with_task_group("request", [&](async::task_group& group) -> async::awaitable<void> {
        const scope_to_end::body inside(self->scope, group);
        if (self->is_wanted) {
            co_await request_shutdown(op);
        }
    });
}

}  // namespace pvc::domains
