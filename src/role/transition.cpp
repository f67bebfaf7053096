// A transition of the role: a task of its own beside the rules, of which C6 and C7 are asked at every step, and at
// every change during one. Specification: node-lifecycle.md 7.2 (C1, C2, C6, C7), 7.3, 7.4.
#include "coordinator.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/node_payloads.hpp"

#include <fmt/format.h>

namespace pvc::role {

using namespace std::chrono_literals;
using model::router_state;

namespace {
constexpr duration transition_delay = 500ms;  // longer than the contention limit, so that losers have let go
constexpr duration pause_after_failure = 1s;
}  // namespace

void coordinator::begin_transition(const policy::coordinator_decision& decision, async::task_group& transitions) {
    auto mark = std::make_shared<owner::transition_mark>(role_);
    transitions.spawn(std::string(to_text(decision.action)),
                      [this, decision, mark = std::move(mark)]() mutable -> async::awaitable<void> {
                          co_await transit(decision);
                          mark.reset();
                          session_.watches.refresh(*own_role_);
                          changed_.notify();
                      });
}

async::awaitable<void> coordinator::transit(policy::coordinator_decision decision) {
    co_await async::sleep_for(session_.node.clock(), transition_delay, "the delay before a transition");
    auto now = view();
    now.in_transition = false;
    if (policy::decide(now).action != decision.action) {
        co_return;
    }
    if (decision.action == policy::coordinator_action::start_takeover) {
        co_await take_over(std::move(decision.reason));
    } else {
        co_await relinquish(std::move(decision.reason));
    }
}

std::optional<std::string> coordinator::withdrawal() const {
    constexpr bool own_contenders_present = true;  // there are no locks of a hand-over yet
    return policy::withdraw_reason(view(), own_contenders_present);
}

// One phase; ends early when there is a reason to withdraw, which it returns.
async::awaitable<std::optional<std::string>> coordinator::take_step(policy::role_phase which) {
    std::optional<std::string> why = withdrawal();
    if (why) {
        co_return why;
    }
    co_await async::with_task_group("phase " + std::string(to_text(which)),
                                    [&](async::task_group& group) -> async::awaitable<void> {
                                        group.spawn("withdrawal", [&]() -> async::awaitable<void> {
                                            async::wakeup changed;
                                            const async::latest<std::uint64_t>::observer watch(looks_, changed);
                                            while (!(why = withdrawal())) {
                                                co_await changed.wait(async::wait_note::work("a reason to withdraw"));
                                            }
                                            group.cancel();
                                        });
                                        co_await role_.take_up(which, session_);
                                        group.cancel();
                                    });
    co_return why;
}

async::awaitable<void> coordinator::take_over(std::string why) {
    bool changed = true;
    if (role_.has_parts()) {
        changed = co_await change_role(router_state::takeover, why);
        for (const auto which : policy::role_phases) {
            const auto withdrawn = changed ? co_await take_step(which) : std::nullopt;
            if (withdrawn) {
                session_.node.log.warning(message::role_withdrawn, fmt::format("the takeover is undone in phase {}: {}",
                                                                               to_text(which), *withdrawn));
                co_await role_.undo(reachable_session());
                changed = co_await change_role(router_state::secondary, *withdrawn);
                co_return;
            }
        }
    }
    changed = changed && co_await change_role(router_state::primary, why);
    if (!changed) {
        // Not in a tight loop: the next tick or change asks again.
        co_await async::sleep_for(session_.node.clock(), pause_after_failure, "another attempt at the transition");
    }
}

core::session* coordinator::reachable_session() const {
    return session_.zk.is_connected() ? &session_ : nullptr;
}

async::awaitable<void> coordinator::relinquish(std::string why) {
    bool changed = !role_.has_parts() || co_await change_role(router_state::relinquish, why);
    if (changed) {
        co_await give_parts_up();
        changed = co_await change_role(router_state::secondary, why);
    }
    if (!changed) {
        co_await async::sleep_for(session_.node.clock(), pause_after_failure, "another attempt at the transition");
    }
}

// In the order in which a successor takes them up.
async::awaitable<void> coordinator::give_parts_up() {
    for (const auto which : policy::role_phases) {
        if (role_.has_parts()) {
            co_await role_.give_up(which, reachable_session());
        }
    }
}

// Each attempt fails alike for as long as the cause stays: said once.
void coordinator::tell_unwritten(router_state to, const failure& why) {
    auto text = fmt::format("cannot change the role to {}: {}", to_text(to), why.text());
    if (text != std::exchange(told_unwritten_, text)) {
        session_.node.log.warning(message::role_unwritten, told_unwritten_);
    }
}

async::awaitable<bool> coordinator::change_role(router_state to, std::string why) {
    const auto become = [&](std::int64_t since) {
        if (role_.now() != to) {
            session_.node.log.state(fmt::format("this node is now {}: {}", to_text(to), why));
        }
        role_.become(to);
        told_unwritten_.clear();
        // The watch may still show an older value (the outcome of our write was unknown until now).
        role_written_ = std::max(role_written_, since);
    };
    for (int attempt = 0; attempt < 5; ++attempt) {
        auto stored = co_await session_.zk.get(session_.limit(), own_role_->path());
        if (!stored) {
            tell_unwritten(to, stored.error());
            co_return false;
        }
        if (model::parse_router_state(stored->data) == to) {
            become(stored->stat.mzxid);
            co_return true;
        }
        zookeeper::transaction change;
        change.set(own_role_->path(), std::string(to_text(to)),
                   is_planted(defect::blind_role_write) ? zookeeper::any_version : stored->stat.version);
        auto done = co_await session_.zk.commit(session_.limit(), std::move(change));
        if (done) {
            become(done->zxid());
            co_return true;
        }
        if (done.error().code() != errc::version_conflict && done.error().code() != errc::outcome_unknown) {
            tell_unwritten(to, done.error());
            co_return false;
        }
    }
    co_return false;
}

// At once and locally; then it is said, as far as there is somebody to say it to.
async::awaitable<void> coordinator::demote(const policy::coordinator_decision& decision) {
    session_.node.log.state("this node is now secondary: " + decision.reason);
    role_.give_up_locally();
    const bool demoted = co_await change_role(router_state::secondary, decision.reason);
    if (!demoted) {
        session_.node.log.error(message::role_given_up, "gave up the primary role: " + decision.reason);
    }
}

}  // namespace pvc::role
