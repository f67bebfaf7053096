#include "coordinator.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/model/node_payloads.hpp"
#include "vacancy.hpp"

#include <fmt/format.h>

namespace pvc::role {

using namespace std::chrono_literals;

namespace {
constexpr duration contention_limit = 400ms;
}

coordinator::coordinator(core::session& s, owner& role) : session_(s), role_(role) {
    using zookeeper::watch_kind;
    primary_ = s.watches.add(std::string(model::key_path::primary_node), watch_kind::data, changed_);
    own_role_ = s.watches.add(s.own(model::node_key::router_state), watch_kind::data, changed_);
    primary_since_ = role_since_ = s.node.clock().now();
    role_.acting = this;
}

coordinator::~coordinator() {
    role_.acting = role_.acting == this ? nullptr : role_.acting;
}

bool coordinator::is_stored_role_current() const {
    return own_role_->known() && own_role_->present() && own_role_->stat().mzxid >= role_written_;
}

policy::coordinator_view coordinator::view() const {
    const core::node_context& node = session_.node;
    policy::coordinator_view v;
    v.self = node.self();
    v.mode = node.mode;
    v.role = role_.now();
    if (is_stored_role_current()) {
        v.stored_role = model::parse_router_state(own_role_->data());
    }
    v.role_unchanged_for = node.clock().now() - role_since_;
    v.started = open_;
    v.terminating = node.stopping.value();
    v.session_live = session_.zk.is_connected() && primary_->known() && session_.others.known();
    v.in_transition = role_.in_transition();
    v.heartbeat_age = node.heartbeat_age();
    v.primary.node = model::parse_primary_node(primary_->present() ? std::optional<std::string_view>(primary_->data())
                                                                   : std::nullopt);
    v.primary.version = primary_->stat().version;
    v.primary.unchanged_for = node.clock().now() - primary_since_;
    v.primary.written = primary_->present() ? primary_->stat().mzxid : 0;
    v.peers = session_.others.coordinators();
    v.times = node.times;
    v.returned = written_back_.returned(v, node.clock().now());
    return v;
}

async::awaitable<void> coordinator::write_primary(const policy::coordinator_decision& decision) {
    const bool clears = decision.action == policy::coordinator_action::clear_to_none;
    const std::string value = clears ? "none" : session_.node.self();
    zookeeper::transaction change;
    if (decision.rule == policy::rule_refusal || (decision.rule == policy::rule_written_back && clears)) {
        session_.others.add_role_checks(change);
    }
    if (primary_->present()) {
        change.set(primary_->path(), value, primary_->stat().version);
    } else {
        change.create(primary_->path(), value);
    }
    auto done = co_await session_.zk.commit(session_.limit(), std::move(change));
    if (done) {
        session_.node.log.info(fmt::format("wrote {} into {}: {}", value, primary_->path(), decision.reason));
    } else if (done.error().code() != errc::version_conflict && done.error().code() != errc::already_exists) {
        session_.node.log.warning(message::role_key_unwritten,
                                  "writing " + primary_->path() + " failed: " + done.error().text());
    }
    // Whatever came of it: decide again on what is stored, not on what was.
    session_.watches.refresh(*primary_);
}

async::awaitable<void> coordinator::contend(policy::primary_view decided_on) {
    zookeeper::lock_request lock;
    lock.path = primary_->path();
    lock.kind = model::lock_kind::exclusive;
    lock.deadline = session_.limit(contention_limit);
    lock.create_ancestors = true;
    lock.task = "coordinator";
    lock.reason = "contend for the primary role";
    auto outcome = co_await session_.locks.with_lock(std::move(lock), [&](zookeeper::held_lock& held) {
        return claim_vacancy(session_, session_.limit(contention_limit), decided_on, &held);
    });
    if (outcome) {
        session_.node.log.info("nobody was primary: took the role for this node");
    } else {
        session_.node.log.debug("contention for the primary role: " + outcome.error().text());
    }
    session_.watches.refresh(*primary_);
}

async::awaitable<void> coordinator::act(const policy::coordinator_decision& decision, async::task_group& transitions) {
    using policy::coordinator_action;
    switch (decision.action) {
        case coordinator_action::none: break;
        case coordinator_action::start_takeover:
        case coordinator_action::start_relinquish: begin_transition(decision, transitions); break;
        case coordinator_action::claim:
        case coordinator_action::clear_to_none: co_await write_primary(decision); break;
        case coordinator_action::contend: co_await contend(view().primary); break;
        case coordinator_action::demote: co_await demote(decision); break;
    }
}

// What the key says must be what this daemon does; a role that somebody else wrote is not taken on.
async::awaitable<void> coordinator::align_stored_role() {
    if (role_.in_transition()) {
        co_return;  // it writes the key itself
    }
    const std::string& path = own_role_->path();
    if (own_role_->known() && !own_role_->present() && session_.zk.is_connected()) {
        // Somebody deleted it. With the whole record gone this fails: that is created again at the next start only.
        auto created = co_await session_.zk.create(session_.limit(), path, std::string(to_text(role_.now())));
        if (created) {
            session_.node.log.warning(message::role_recreated, "recreated " + path + ", which somebody had deleted");
        }
        session_.watches.refresh(*own_role_);
        co_return;
    }
    if (!is_stored_role_current() || !session_.zk.is_connected()) {
        co_return;
    }
    const auto stored = model::parse_router_state(own_role_->data());
    const auto role = role_.now();
    const bool is_demotion = role == model::router_state::primary && stored == model::router_state::secondary;
    if (stored == role || is_demotion) {
        co_return;
    }
    zookeeper::transaction repair;
    repair.set(path, std::string(to_text(role)), own_role_->stat().version);
    auto done = co_await session_.zk.commit(session_.limit(), std::move(repair));
    if (done) {
        role_written_ = done->zxid();
        session_.node.log.warning(message::role_restored, fmt::format("{} said \"{}\", restored to {}", path,
                                                                      own_role_->data(), to_text(role)));
    }
    session_.watches.refresh(*own_role_);
}

async::awaitable<void> coordinator::run() {
    const async::latest<std::uint64_t>::observer peers(session_.others.changes(), changed_);
    const async::latest<std::uint64_t>::observer ticks(session_.ticks, changed_);
    const async::latest<std::uint64_t>::observer undone(role_.undone(), changed_);
    co_await async::with_task_group("coordinator", [this](async::task_group& group) { return follow(group); });
}

void coordinator::note_changes() {
    const time_point now = session_.node.clock().now();
    if (std::exchange(primary_changes_, primary_->changes()) != primary_->changes()) {
        primary_since_ = now;
    }
    if (std::exchange(role_changes_, own_role_->changes()) != own_role_->changes()) {
        role_since_ = now;
    }
    written_back_.look(view(), now);
    looks_.set(looks_.value() + 1);
}

async::awaitable<void> coordinator::wait_for_change(std::optional<duration> at_most) {
    constexpr std::string_view what = "a change of the primary node or of a peer";
    if (!at_most) {
        co_await changed_.wait(async::wait_note::work(what));
        co_return;
    }
    auto& clock = session_.node.clock();
    const bool notified = co_await changed_.wait_until(clock, clock.now() + *at_most, what);
    ignore(result<bool>(notified), "the rules look at the clock");
}

async::awaitable<void> coordinator::follow(async::task_group& transitions) {
    for (;;) {
        note_changes();
        co_await align_stored_role();
        const auto decision = policy::decide(view());
        if (decision.action != policy::coordinator_action::none) {
            session_.node.log.debug(
                fmt::format("coordinator rule {}: {} ({})", decision.rule, to_text(decision.action), decision.reason));
            // Own writes come back through the watch; contention is retried at the next tick, not at once.
            co_await act(decision, transitions);
        } else if (!role_.in_transition() && decision.reason != last_wait_) {
            last_wait_ = decision.reason;
            if (!decision.reason.empty()) {
                session_.node.log.info(decision.reason);
            }
        }
        co_await wait_for_change(decision.again_in);
    }
}

}  // namespace pvc::role
