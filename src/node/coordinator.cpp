#include "pvcnoded/node/coordinator.hpp"
#include "pvcnoded/base/planted.hpp"

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/model/node_payloads.hpp"

#include <fmt/format.h>

namespace pvc::node {

using namespace std::chrono_literals;

namespace {

constexpr duration transition_delay = 500ms;  // longer than the contention limit, so that losers have let go
constexpr duration contention_limit = 400ms;
constexpr duration hand_over_limit = 60s;

const std::string primary_key(model::key_path::primary_node);

}  // namespace

coordinator::coordinator(session& s) : session_(s), peers_(s, changed_) {
    primary_ = s.watches.add(primary_key, zookeeper::watch_kind::data, changed_);
    own_role_ = s.watches.add(s.own("/routerstate"), zookeeper::watch_kind::data, changed_);
    primary_since_ = role_since_ = s.node.clock().now();
}

bool coordinator::is_stored_role_current() const {
    return own_role_->known() && own_role_->present() && own_role_->stat().mzxid >= role_written_;
}

policy::coordinator_view coordinator::view() const {
    const node_context& node = session_.node;
    policy::coordinator_view v;
    v.self = node.self();
    v.mode = node.mode;
    v.role = node.role;
    if (is_stored_role_current()) {
        v.stored_role = model::parse_router_state(own_role_->data());
    }
    v.role_unchanged_for = node.clock().now() - role_since_;
    v.started = open_;
    v.terminating = node.stopping.value();
    v.session_live = session_.zk.is_connected() && primary_->known() && peers_.known();
    v.heartbeat_age = node.heartbeat_age();
    v.primary.node = model::parse_primary_node(primary_->present() ? std::optional<std::string_view>(primary_->data())
                                                                   : std::nullopt);
    v.primary.version = primary_->stat().version;
    v.primary.unchanged_for = node.clock().now() - primary_since_;
    v.peers = peers_.coordinators();
    v.times = node.times;
    return v;
}

// Each attempt fails alike for as long as the cause stays: said once.
void coordinator::tell_unwritten(model::router_state to, const failure& why) {
    auto text = fmt::format("cannot change the role to {}: {}", model::to_text(to), why.text());
    if (text != std::exchange(told_unwritten_, text)) {
        session_.node.log.warning(message::role_unwritten, told_unwritten_);
    }
}

async::awaitable<bool> coordinator::change_role(model::router_state to, std::string_view why) {
    node_context& node = session_.node;
    for (int attempt = 0; attempt < 5; ++attempt) {
        auto stored = co_await session_.zk.get(session_.limit(), session_.own("/routerstate"));
        if (!stored) {
            tell_unwritten(to, stored.error());
            co_return false;
        }
        if (model::parse_router_state(stored->data) == to) {
            if (node.role != to) {
                node.log.state(fmt::format("this node is now {}: {}", model::to_text(to), why));
            }
            node.set_role(to);
            told_unwritten_.clear();
            // The watch may still show an older value (the outcome of our write was unknown until now).
            role_written_ = std::max(role_written_, stored->stat.mzxid);
            co_return true;
        }
        zookeeper::transaction change;
        change.set(session_.own("/routerstate"), std::string(model::to_text(to)),
                   is_planted(defect::blind_role_write) ? zookeeper::any_version : stored->stat.version);
        auto done = co_await session_.zk.commit(session_.limit(), std::move(change));
        if (done) {
            node.set_role(to);
            told_unwritten_.clear();
            role_written_ = done->zxid();
            node.log.state(fmt::format("this node is now {}: {}", model::to_text(to), why));
            co_return true;
        }
        if (done.error().code() != errc::version_conflict && done.error().code() != errc::outcome_unknown) {
            tell_unwritten(to, done.error());
            co_return false;
        }
    }
    co_return false;
}

async::awaitable<void> coordinator::write_primary(std::string value, std::int32_t version, std::string_view why,
                                                  zookeeper::transaction change) {
    if (primary_->present()) {
        change.set(primary_key, value, version);
    } else {
        change.create(primary_key, value);
    }
    auto done = co_await session_.zk.commit(session_.limit(), std::move(change));
    if (done) {
        session_.node.log.info(fmt::format("wrote {} into {}: {}", value, primary_key, why));
    } else if (done.error().code() != errc::version_conflict && done.error().code() != errc::already_exists) {
        session_.node.log.warning(message::role_key_unwritten,
                                  "writing " + primary_key + " failed: " + done.error().text());
    }
    // Whatever came of it: decide again on what is stored, not on what was.
    session_.watches.refresh(*primary_);
}

async::awaitable<void> coordinator::contend(policy::primary_view decided_on) {
    zookeeper::lock_request lock;
    lock.path = primary_key;
    lock.kind = model::lock_kind::exclusive;
    lock.deadline = session_.limit(contention_limit);
    lock.create_ancestors = true;
    lock.task = "coordinator";
    lock.reason = "contend for the primary role";
    auto outcome = co_await session_.locks.with_lock(
        std::move(lock), [&](zookeeper::held_lock& held) -> async::awaitable<result<void>> {
            auto stored = co_await session_.zk.get(session_.limit(contention_limit), primary_key);
            policy::primary_view now;
            zookeeper::transaction claim;
            if (stored) {
                now.node = model::parse_primary_node(stored->data);
                now.version = stored->stat.version;
                claim.set(primary_key, session_.node.self(), stored->stat.version);
            } else if (stored.error().code() == errc::not_found) {
                claim.create(primary_key, session_.node.self());
                now.version = decided_on.version;
            } else {
                co_return stored.error();
            }
            if (!policy::still_vacant(decided_on, now)) {
                co_return failure(errc::refused, primary_key, "another node was faster");
            }
            held.add_check(claim);
            auto done = co_await session_.zk.commit(session_.limit(contention_limit), std::move(claim));
            co_return done ? result<void>() : result<void>(done.error());
        });
    if (outcome) {
        session_.node.log.info("nobody was primary: took the role for this node");
    } else {
        session_.node.log.debug("contention for the primary role: " + outcome.error().text());
    }
    session_.watches.refresh(*primary_);
}

async::awaitable<void> coordinator::act(const policy::coordinator_decision& decision) {
    using policy::coordinator_action;
    const auto v = view();
    switch (decision.action) {
        case coordinator_action::none: break;
        case coordinator_action::start_takeover:
        case coordinator_action::start_relinquish: {
            co_await async::sleep_for(session_.node.clock(), transition_delay, "the delay before a transition");
            const auto again = policy::decide(view());
            if (again.action != decision.action) {
                break;
            }
            const bool takes = decision.action == coordinator_action::start_takeover;
            const bool changed = co_await change_role(
                takes ? model::router_state::primary : model::router_state::secondary, decision.reason);
            if (!changed) {
                // Not in a tight loop: the next tick or change asks again.
                co_await async::sleep_for(session_.node.clock(), 1s, "another attempt at the transition");
            }
            break;
        }
        case coordinator_action::claim:
            co_await write_primary(session_.node.self(), v.primary.version, decision.reason);
            break;
        case coordinator_action::clear_to_none: {
            zookeeper::transaction change;
            if (decision.rule == policy::rule_refusal) {
                peers_.add_role_checks(change);
            }
            co_await write_primary("none", v.primary.version, decision.reason, std::move(change));
            break;
        }
        case coordinator_action::contend: co_await contend(v.primary); break;
        case coordinator_action::demote: {
            const bool demoted = co_await change_role(model::router_state::secondary, decision.reason);
            if (!demoted) {
                session_.node.set_role(model::router_state::secondary);
                session_.node.log.error(message::role_given_up, "gave up the primary role: " + decision.reason);
            }
            break;
        }
    }
}

// What the key says must be what this daemon does; a role that somebody else wrote is not taken on.
async::awaitable<void> coordinator::align_stored_role() {
    if (own_role_->known() && !own_role_->present() && session_.zk.is_connected()) {
        // Somebody deleted it. With the whole record gone this fails: that is created again at the next start only.
        auto created = co_await session_.zk.create(session_.limit(), session_.own("/routerstate"),
                                                   std::string(model::to_text(session_.node.role)));
        if (created) {
            session_.node.log.warning(message::role_recreated,
                                      "recreated " + session_.own("/routerstate") + ", which somebody had deleted");
        }
        session_.watches.refresh(*own_role_);
        co_return;
    }
    if (!is_stored_role_current() || !session_.zk.is_connected()) {
        co_return;
    }
    const auto stored = model::parse_router_state(own_role_->data());
    const auto role = session_.node.role;
    const bool is_demotion = role == model::router_state::primary && stored == model::router_state::secondary;
    if (stored == role || is_demotion) {
        co_return;
    }
    zookeeper::transaction repair;
    repair.set(session_.own("/routerstate"), std::string(model::to_text(role)), own_role_->stat().version);
    auto done = co_await session_.zk.commit(session_.limit(), std::move(repair));
    if (done) {
        role_written_ = done->zxid();
        session_.node.log.warning(message::role_restored,
                                  fmt::format("{} said \"{}\", restored to {}", session_.own("/routerstate"),
                                              own_role_->data(), model::to_text(role)));
    }
    session_.watches.refresh(*own_role_);
}

async::awaitable<void> coordinator::run() {
    co_await async::with_task_group("coordinator", [this](async::task_group& group) -> async::awaitable<void> {
        group.spawn("peers", [this] { return peers_.run(); });
        for (;;) {
            if (primary_->changes() != primary_changes_) {
                primary_changes_ = primary_->changes();
                primary_since_ = session_.node.clock().now();
            }
            if (own_role_->changes() != role_changes_) {
                role_changes_ = own_role_->changes();
                role_since_ = session_.node.clock().now();
            }
            co_await align_stored_role();
            const auto decision = policy::decide(view());
            if (decision.action != policy::coordinator_action::none) {
                session_.node.log.debug(fmt::format("coordinator rule {}: {} ({})", decision.rule,
                                                    policy::to_text(decision.action), decision.reason));
                co_await act(decision);
                // Own writes come back through the watch; contention is retried at the next tick, not at once.
                if (decision.action == policy::coordinator_action::start_takeover ||
                    decision.action == policy::coordinator_action::start_relinquish) {
                    session_.watches.refresh(*own_role_);
                    continue;
                }
            } else if (decision.reason != last_wait_) {
                last_wait_ = decision.reason;
                if (!decision.reason.empty()) {
                    session_.node.log.info(decision.reason);
                }
            }
            co_await changed_.wait(async::wait_note::work("a change of the primary node or of a peer"));
        }
    });
}

// Whether own routerstate says that this node is primary, whatever we believe: the stop may have cut a takeover short
// after its write was sent.
async::awaitable<bool> coordinator::holds_role() {
    if (session_.node.role == model::router_state::primary) {
        co_return true;
    }
    auto own = co_await session_.zk.get(session_.limit(), session_.own("/routerstate"));
    const bool holds = own && model::parse_router_state(own->data) == model::router_state::primary;
    if (holds) {
        session_.node.set_role(model::router_state::primary);
    }
    co_return holds;
}

// A claim that was not acted on yet counts too: the key must not name a node that is going.
async::awaitable<void> coordinator::vacate_primary() {
    auto stored = co_await session_.zk.get(session_.limit(), primary_key);
    if (!stored || model::parse_primary_node(stored->data) != session_.node.self()) {
        co_return;
    }
    zookeeper::transaction vacate;
    vacate.set(primary_key, "none", stored->stat.version);
    auto done = co_await session_.zk.commit(session_.limit(), std::move(vacate));
    if (!done) {
        session_.node.log.warning(message::role_release, "giving up the primary role: " + done.error().text());
    }
}

async::awaitable<void> coordinator::wait_for_successor() {
    auto& clock = session_.node.clock();
    const time_point limit = clock.now() + hand_over_limit;
    while (session_.zk.is_connected()) {
        const auto now = view();
        if (now.primary.node && *now.primary.node != session_.node.self()) {
            co_return;
        }
        // They may all be stopping at once: nobody who has left `run`, or fallen silent, is waited for.
        if (!policy::is_successor_expected(now)) {
            session_.node.log.info("no other coordinator can take the primary role: giving it up");
            co_return;
        }
        if (clock.now() >= limit) {
            session_.node.log.warning(
                message::role_nobody,
                "no other coordinator took the primary role within 60 s, giving it up all the same");
            co_return;
        }
        const bool notified = co_await changed_.wait_until(clock, clock.now() + 1s, "a successor for the primary role");
        if (!notified) {
            co_await peers_.read_heartbeats(clock.now() + 1s);
        }
    }
}

async::awaitable<void> coordinator::hand_over() {
    if (session_.node.mode != model::daemon_mode::coordinator) {
        co_return;
    }
    const time_point peers_limit = session_.limit();
    while (!peers_.known()) {
        const bool notified = co_await changed_.wait_until(session_.node.clock(), peers_limit, "the list of nodes");
        if (!notified) {
            break;
        }
    }
    const bool is_primary = co_await holds_role();
    if (peers_.count() > 0) {
        co_await vacate_primary();
        if (is_primary && policy::is_successor_expected(view())) {
            co_await wait_for_successor();
        }
    }
    if (is_primary) {
        const bool given_up = co_await change_role(model::router_state::secondary, "the daemon is stopping");
        ignore(result<bool>(given_up), "logged by change_role");
    }
}

}  // namespace pvc::node
