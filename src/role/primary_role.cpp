#include "pvcnoded/role/primary_role.hpp"

#include "coordinator.hpp"
#include "owner.hpp"
#include "pvcnoded/policy/role/explain_role.hpp"
#include "vacancy.hpp"

namespace pvc::role {

namespace {

// S8: whoever comes first into a cluster without a primary is it. Nothing hangs on it: C3 goes on where this fails.
async::awaitable<void> claim_at_start(core::session& s) {
    auto claimed = co_await claim_vacancy(s, s.limit());
    if (claimed) {
        s.node.log.info("nobody is primary: claimed the role for this node");
        co_return;
    }
    const failure& why = claimed.error();
    if (why.code() == errc::version_conflict || why.code() == errc::already_exists) {
        auto winner = co_await s.zk.get(s.limit(), std::string(model::key_path::primary_node));
        s.node.log.info("the primary role was claimed by " + (winner ? winner->data : std::string("another node")));
    } else if (why.code() != errc::refused) {
        s.node.log.warning(message::start_role_claim, "claiming the primary role: " + why.text());
    }
}

core::explained_value seconds_or_none(duration time) {
    return time == duration::max()
               ? core::explained_value()
               : core::explained_value(
                     std::chrono::duration<double>(std::chrono::round<std::chrono::milliseconds>(time)).count());
}

// Without a session nobody looks at the others; only what this node knows of itself counts.
policy::coordinator_view view_alone(const core::node_context& node, const owner& role) {
    policy::coordinator_view seen;
    seen.self = node.self();
    seen.mode = node.mode;
    seen.role = role.now();
    seen.terminating = node.stopping.value();
    seen.in_transition = role.in_transition();
    seen.heartbeat_age = node.heartbeat_age();
    seen.times = node.times;
    return seen;
}

// Who walks beside this node: whoever has the role, or whoever is to have it.
std::string partner_of(const walk::report& now, const policy::coordinator_view& seen) {
    std::string names;
    for (const auto& one : seen.peers) {
        const bool has_role =
            one.router == model::router_state::primary || one.router == model::router_state::relinquish;
        if (now.side == "takeover" ? has_role : one.name == seen.primary.node) {
            names += (names.empty() ? "" : ", ") + one.name;
        }
    }
    return names;
}

// Of the transition under way: which phase, which lock, who is waited for, since when, what comes next.
void add_walk(const walk::report& now, const policy::coordinator_view& seen, time_point at, core::explanation& to) {
    const auto since = [at](time_point when) { return seconds_or_none(at - when); };
    to.facts.emplace_back("transition", now.side);
    to.facts.emplace_back("phase", now.phase);
    const auto partner = partner_of(now, seen);
    to.facts.emplace_back("partner", partner.empty() ? core::explained_value() : core::explained_value(partner));
    to.facts.emplace_back("next", now.asks);
    to.facts.emplace_back("waits_for", now.waits_for);
    to.facts.emplace_back("waits_since_s", since(now.since));
    to.facts.emplace_back("at_most_s",
                          now.until == time_point::max() ? core::explained_value() : seconds_or_none(now.until - at));
    std::string held;
    for (const auto& one : now.held) {
        held += (held.empty() ? "" : ", ") + one;
    }
    to.facts.emplace_back("holds", held.empty() ? core::explained_value() : core::explained_value(held));
    to.facts.emplace_back("others_queued", static_cast<double>(now.others_queued));
    to.facts.emplace_back("undone_because",
                          now.withdrawn.empty() ? core::explained_value() : core::explained_value(now.withdrawn));
}

core::explanation explanation_of(const policy::coordinator_view& seen) {
    using text = std::string;
    const auto decision = policy::explain_role(seen);
    core::explanation out;
    const auto or_none = [](std::optional<text> what) {
        return what ? core::explained_value(*std::move(what)) : core::explained_value();
    };
    out.facts = {{"rule", or_none(decision.rule.empty() ? std::nullopt : std::optional(text(decision.rule)))},
                 {"action", text(to_text(decision.action))},
                 {"reason", decision.reason},
                 {"role", text(to_text(seen.role))},
                 {"primary_node", or_none(seen.session_live ? seen.primary.node : std::nullopt)},
                 {"primary_node_age_s",
                  seen.session_live ? seconds_or_none(seen.primary.unchanged_for) : core::explained_value()},
                 {"heartbeat_age_s", seconds_or_none(seen.heartbeat_age)},
                 // Of the heartbeat: then a primary gives the role up by itself (C6).
                 {"given_up_at_age_s", seconds_or_none(policy::isolation_limit(seen.times).value_or(duration::max()))},
                 {"in_transition", seen.in_transition}};
    std::vector<core::explained_fields> others;
    for (const auto& one : seen.peers) {
        others.push_back({{"name", one.name},
                          {"state", text(to_text(one.daemon))},
                          {"role", text(to_text(one.router))},
                          {"heartbeat_age_s", seconds_or_none(one.keepalive_unchanged_for)}});
    }
    out.lists.emplace_back("coordinators", std::move(others));
    return out;
}

}  // namespace

primary_role::primary_role(core::node_context& node, std::vector<core::role_part*> parts)
    : node_(node), owner_(std::make_unique<owner>(node, std::move(parts))) {}

primary_role::~primary_role() = default;

async::awaitable<result<void>> primary_role::prepare(core::preparation in) {
    if (in.in_session == nullptr) {
        in.attempt.spawn("isolation", [this] { return owner_->run(); });
    } else if (node_.mode == model::daemon_mode::coordinator) {
        co_await claim_at_start(*in.in_session);
    }
    co_return result<void>();
}

async::awaitable<void> primary_role::end(time_point /*deadline*/) {
    return owner_->undo(nullptr);
}

std::unique_ptr<core::session_part> primary_role::begin(core::session& s) {
    return std::make_unique<coordinator>(s, *owner_);
}

std::shared_ptr<core::awaited_explanation> primary_role::explain(time_point /*until*/) {
    auto said = std::make_shared<core::awaited_explanation>();
    const auto seen = owner_->acting != nullptr ? owner_->acting->view() : view_alone(node_, *owner_);
    auto out = explanation_of(seen);
    if (owner_->acting != nullptr && owner_->acting->walking() != nullptr) {
        add_walk(owner_->acting->walking()->describe(), seen, node_.clock().now(), out);
    }
    said->give(std::move(out));
    return said;
}

void primary_role::report(std::vector<std::string>& lines) const {
    lines.push_back("role: this node is " + std::string(to_text(node_.role.now())) +
                    (owner_->in_transition() ? ", in a transition" : "") +
                    (owner_->why().empty() ? std::string() : ": " + owner_->why()));
    if (owner_->acting != nullptr && owner_->acting->walking() != nullptr) {
        const auto now = owner_->acting->walking()->describe();
        lines.push_back("role: " + now.side + ", phase " + now.phase + ": waits for " + now.waits_for);
    }
}

}  // namespace pvc::role
