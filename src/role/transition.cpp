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

// What they would say without the transition that is under way.
policy::coordinator_decision coordinator::rules_now() const {
    auto now = view();
    now.in_transition = false;
    return policy::decide(now);
}

async::awaitable<void> coordinator::transit(policy::coordinator_decision decision) {
    if (!decision.is_at_once) {
        co_await async::sleep_for(session_.node.clock(), transition_delay, "the delay before a transition");
    }
    if (rules_now().action != decision.action) {
        co_return;
    }
    walk::machine which;
    if (decision.action == policy::coordinator_action::start_relinquish) {
        which = policy::holder();
    }
    std::visit([this](auto& one) { one.is_empty = !role_.has_parts(); }, which);
    const std::int64_t named = view().primary.written;
    const auto changed = co_await go(std::move(which), std::move(decision.reason));
    const bool is_named_anew = view().primary.written != named;
    if ((!changed || !*changed) && !is_named_anew && rules_now().rule != policy::rule_written_back) {
        // Not in a tight loop: the next tick or change asks again. A key that was written meanwhile is such a change.
        co_await async::sleep_for(session_.node.clock(), pause_after_failure, "another attempt at the transition");
    }
}

async::awaitable<result<bool>> coordinator::go(walk::machine which, std::string why) {
    struct noted {
        coordinator& of;
        ~noted() { of.walking_ = nullptr; }
    };
    walk one(session_, role_, *this, std::move(which), std::move(why));
    const noted guard{*this};
    walking_ = &one;
    co_await one.run();
    if (const auto* taken = std::get_if<policy::candidate>(&one.now())) {
        if (!taken->withdrawn.empty()) {
            session_.node.log.warning(message::role_withdrawn, fmt::format("the takeover was undone in phase {}: {}",
                                                                           to_text(taken->phase), taken->withdrawn));
        }
        co_return taken->is_primary;
    }
    co_return std::get<policy::holder>(one.now()).is_secondary;
}

core::session* coordinator::reachable_session() const {
    return session_.zk.is_connected() ? &session_ : nullptr;
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

async::awaitable<bool> coordinator::change_role(router_state to, std::string why,
                                                std::function<void(zookeeper::transaction&)> guard) {
    const auto become = [&](std::int64_t since) {
        if (role_.now() != to) {
            session_.node.log.state(fmt::format("this node is now {}: {}", to_text(to), why));
        }
        role_.become(to, why);
        told_unwritten_.clear();
        // The watch may still show an older value (the outcome of our write was unknown until now).
        role_written_ = std::max(role_written_, since);
    };
    for (int attempt = 0; attempt < 5; ++attempt) {
        auto stored = co_await session_.zk.get(session_.limit(), own_role_->path());
        const bool is_missing = !stored && stored.error().code() == errc::not_found;
        if (!stored && !is_missing) {
            tell_unwritten(to, stored.error());
            co_return false;
        }
        if (stored && model::parse_router_state(stored->data) == to) {
            become(stored->stat.mzxid);
            co_return true;
        }
        zookeeper::transaction change;
        if (is_missing) {  // somebody deleted it in the middle of a transition: nobody else makes it then
            change.create(own_role_->path(), std::string(to_text(to)));
        } else {
            change.set(own_role_->path(), std::string(to_text(to)),
                       is_planted(defect::blind_role_write) ? zookeeper::any_version : stored->stat.version);
        }
        if (guard) {
            guard(change);
        }
        auto done = co_await session_.zk.commit(session_.limit(), std::move(change));
        if (done) {
            become(done->zxid());
            co_return true;
        }
        if (guard && done.error().subject() != own_role_->path()) {
            tell_unwritten(to, done.error());
            co_return false;  // no longer named, or without the lock: decided on anew
        }
        const bool is_other_now = done.error().code() == errc::version_conflict ||
                                  done.error().code() == (is_missing ? errc::already_exists : errc::not_found);
        if (!is_other_now && done.error().code() != errc::outcome_unknown) {
            tell_unwritten(to, done.error());
            co_return false;
        }
    }
    co_return false;
}

// At once and locally; then it is said, as far as there is somebody to say it to.
async::awaitable<void> coordinator::demote(const policy::coordinator_decision& decision) {
    session_.node.log.state("this node is now secondary: " + decision.reason);
    role_.give_up_locally(decision.reason);
    const bool demoted = co_await change_role(router_state::secondary, decision.reason);
    if (!demoted) {
        session_.node.log.error(message::role_given_up, "gave up the primary role: " + decision.reason);
    }
}

}  // namespace pvc::role
