#include "pvcnoded/policy/role/coordinator_rules.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <algorithm>

namespace pvc::policy {

namespace {

using model::daemon_state;
using model::router_state;
using namespace std::chrono_literals;

const coordinator_peer* find_peer(const coordinator_view& view, std::string_view name) {
    const auto found = std::ranges::find(view.peers, name, &coordinator_peer::name);
    return found == view.peers.end() ? nullptr : &*found;
}

std::string seconds_text(duration d) {
    return std::to_string(std::chrono::floor<std::chrono::seconds>(d).count()) + " s";
}

bool holds_role(router_state role) {
    return role == router_state::primary || role == router_state::takeover || role == router_state::relinquish;
}

// C5: why the named node will not take the role; empty: it may still.
std::optional<std::string> vacancy(const coordinator_view& view, const std::string& name) {
    const auto* const peer = find_peer(view, name);
    if (peer == nullptr) {
        return shown(name) + " has no coordinator entry";
    }
    const auto state = std::string(to_text(peer->daemon));
    const bool stopped = peer->daemon == daemon_state::stop || peer->daemon == daemon_state::fenced;
    if (stopped) {
        return peer->stopped_for >= view.times.grace()
                   ? std::optional(name + " is in state " + state + " for " + seconds_text(peer->stopped_for))
                   : std::nullopt;
    }
    if (peer->not_run_for < absence_limit(view.times)) {
        return std::nullopt;
    }
    const bool quiet = peer->keepalive_unchanged_for >= quiet_limit(view.times);
    if (peer->daemon == daemon_state::init || (peer->daemon == daemon_state::shutdown && quiet)) {
        return name + " is in state " + state + " and was not in run for " + seconds_text(peer->not_run_for);
    }
    return std::nullopt;
}

// C5': a secondary that runs, is named and does not begin, while nobody is primary or on the way there or back.
std::optional<std::string> refusal(const coordinator_view& view, const std::string& name) {
    const duration settled = refusal_limit(view.times);
    const auto* const peer = find_peer(view, name);
    if (peer == nullptr || peer->daemon != daemon_state::run || peer->router != router_state::secondary ||
        peer->daemon_unchanged_for < settled || view.primary.unchanged_for < settled ||
        view.role_unchanged_for < settled) {
        return std::nullopt;
    }
    const bool is_settled = std::ranges::all_of(view.peers, [settled](const coordinator_peer& one) {
        return !holds_role(one.router) && one.router_unchanged_for >= settled;
    });
    return is_settled ? std::optional(name + " is named primary and has not taken the role for " +
                                      seconds_text(view.primary.unchanged_for) + ", and nobody else has it")
                      : std::nullopt;
}

// The named node will not take the role: it has just given it up, and looks at the key no more.
std::optional<coordinator_decision> name_written_back(const coordinator_view& view) {
    constexpr duration settled = 1s;
    const auto& returned = view.returned;
    if (!returned || view.primary.node != returned->by || is_planted(defect::written_back_unnoticed)) {
        return std::nullopt;
    }
    auto why = shown(returned->by) + " wrote its own name back and gives the role up all the same";
    if (returned->was_named) {
        return coordinator_decision{coordinator_action::claim, rule_written_back, why + ", this node was named"};
    }
    if (returned->seen_for >= settled) {
        return coordinator_decision{coordinator_action::clear_to_none, rule_written_back,
                                    why + ", nobody takes it over"};
    }
    return coordinator_decision{.rule = rule_written_back,
                                .reason = why + ", whoever was named may take it over",
                                .again_in = settled - returned->seen_for};
}

coordinator_decision decide_as_primary(const coordinator_view& view) {
    const auto& named = view.primary.node;
    if (named == view.self) {
        return {};
    }
    const bool settled = view.primary.unchanged_for >= view.times.grace();
    if (!named) {
        if (view.terminating) {
            return {};
        }
        if (!settled) {
            return {coordinator_action::none, "C4", "no primary is named, waiting for a contender"};
        }
        return {coordinator_action::claim, "C4",
                "nobody took the primary role within " + seconds_text(view.times.grace())};
    }
    const auto* const successor = find_peer(view, *named);
    if (successor != nullptr && successor->daemon == daemon_state::run && !is_planted(defect::role_kept)) {
        return {coordinator_action::start_relinquish, "C2", shown(*named) + " is to become primary"};
    }
    if (view.terminating) {
        return {};
    }
    if (!settled) {
        return {coordinator_action::none, "C2'",
                shown(*named) + " is named primary but is no coordinator in state run"};
    }
    return {coordinator_action::claim, "C2'",
            shown(*named) + " was named primary but is no coordinator in state run, taking the role back"};
}

coordinator_decision decide_as_secondary(const coordinator_view& view) {
    if (!view.ready()) {
        return {};
    }
    const auto& named = view.primary.node;
    if (!named) {
        return {coordinator_action::contend, "C3", "no primary is named"};
    }
    if (named == view.self) {
        const auto silent = std::ranges::find_if(
            view.peers, [&view](const coordinator_peer& peer) { return is_silent(peer, view.times); });
        if (silent != view.peers.end()) {
            const std::string since = silent->has_beaten ? "silent for " + seconds_text(silent->keepalive_unchanged_for)
                                                         : "not heard since this node is connected";
            return {coordinator_action::none, "C1",
                    silent->name + " is " + std::string(to_text(silent->router)) + ", " + since +
                        " and may still hold the addresses"};
        }
        return {.action = coordinator_action::start_takeover,
                .rule = "C1",
                .reason = "this node is named primary",
                .is_at_once = view.returned.has_value()};
    }
    if (auto decision = name_written_back(view)) {
        return *std::move(decision);
    }
    if (auto reason = vacancy(view, *named)) {
        return {coordinator_action::clear_to_none, "C5", *std::move(reason)};
    }
    if (auto reason = refusal(view, *named)) {
        return {coordinator_action::clear_to_none, rule_refusal, *std::move(reason)};
    }
    return {};
}

}  // namespace

std::string_view to_text(coordinator_action action) {
    switch (action) {
        case coordinator_action::none: return "nothing";
        case coordinator_action::start_takeover: return "take over";
        case coordinator_action::start_relinquish: return "relinquish";
        case coordinator_action::claim: return "claim";
        case coordinator_action::clear_to_none: return "clear";
        case coordinator_action::contend: return "contend";
        case coordinator_action::demote: return "demote";
    }
    return "nothing";
}

bool is_silent(const coordinator_peer& peer, const intervals& times) {
    const bool maybe_alive =
        peer.daemon == daemon_state::run || peer.daemon == daemon_state::shutdown || peer.daemon == daemon_state::dead;
    if (!holds_role(peer.router) || !maybe_alive) {
        return false;
    }
    // Whoever has just connected does not know how long a silence has lasted already.
    if (peer.keepalive_unchanged_for < times.grace() && peer.has_beaten) {
        return false;
    }
    const auto limit = silence_limit(times);
    return !limit || peer.keepalive_unchanged_for < *limit;
}

std::optional<std::string> isolation_reason(duration heartbeat_age, const intervals& times) {
    const auto limit = isolation_limit(times);
    if (!limit || heartbeat_age < *limit) {
        return std::nullopt;
    }
    return heartbeat_age == duration::max() ? "no heartbeat was acknowledged yet"
                                            : "no heartbeat was acknowledged for " + seconds_text(heartbeat_age);
}

coordinator_decision decide(const coordinator_view& view) {
    if (view.mode != model::daemon_mode::coordinator) {
        return {};
    }
    auto isolated = isolation_reason(view.heartbeat_age, view.times);
    if (isolated && view.role == router_state::primary) {
        return {coordinator_action::demote, "C6", *std::move(isolated)};
    }
    if (!view.session_live && view.role == router_state::primary) {
        // Nobody can be told; but what was seen last says that the successor has everything.
        const auto& named = view.primary.node;
        const auto* const successor = named && *named != view.self ? find_peer(view, *named) : nullptr;
        if (successor != nullptr && successor->router == router_state::primary) {
            return {coordinator_action::demote, "C6", successor->name + " is primary, and this node is out of touch"};
        }
    }
    if (!view.session_live || view.in_transition) {
        return {};
    }
    const auto limit = isolation_limit(view.times);
    if (view.role != router_state::primary && limit && view.heartbeat_age >= *limit) {
        return {};  // it would have to give the role up at once: first somebody must have heard of us
    }
    if (view.role == router_state::primary) {
        if (view.stored_role == router_state::secondary) {
            return {coordinator_action::demote, "", "somebody else set this node to secondary"};
        }
        return decide_as_primary(view);
    }
    return view.role == router_state::secondary ? decide_as_secondary(view) : coordinator_decision{};
}

bool still_vacant(const primary_view& decided_on, const primary_view& now) {
    return !now.node && now.version == decided_on.version;
}

bool is_peer_expected(const coordinator_view& view) {
    return std::ranges::any_of(view.peers, [&view](const coordinator_peer& peer) {
        const bool partner = peer.router == router_state::primary || peer.router == router_state::relinquish;
        const bool working = peer.daemon == daemon_state::run || peer.daemon == daemon_state::shutdown;
        return partner && working && peer.keepalive_unchanged_for < fresh_limit(view.times);
    });
}

bool is_successor_expected(const coordinator_view& view) {
    return std::ranges::any_of(view.peers, [&view](const coordinator_peer& peer) {
        return peer.daemon == daemon_state::run && peer.keepalive_unchanged_for < fresh_limit(view.times);
    });
}

std::optional<std::string> withdraw_reason(const coordinator_view& view, bool own_contenders_present) {
    if (!view.session_live) {
        return "the session is lost";
    }
    if (view.terminating) {
        return "the daemon is stopping";
    }
    if (auto isolated = isolation_reason(view.heartbeat_age, view.times)) {
        return isolated;
    }
    if (view.primary.node != view.self) {
        return "primary_node now says " + view.primary.node.value_or("none");
    }
    if (!own_contenders_present) {
        return "an own lock is gone";
    }
    return std::nullopt;
}

}  // namespace pvc::policy
