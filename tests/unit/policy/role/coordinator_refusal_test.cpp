// README ruling 22: a coordinator is named primary, runs, and does not take the role.
#include "pvcnoded/policy/role/coordinator_rules.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using enum model::daemon_state;
using enum model::router_state;

// hv1 observes; hv2 is named, runs as secondary, and so does hv3. All has been so for `age`. KI 5, FI 6.
coordinator_view view_of(duration age) {
    coordinator_view view;
    view.self = "hv1";
    view.stored_role = secondary;
    view.role_unchanged_for = age;
    view.started = true;
    view.session_live = true;
    view.heartbeat_age = 1s;
    view.primary = {"hv2", 7, age};
    for (const auto* name : {"hv2", "hv3"}) {
        coordinator_peer peer;
        peer.name = name;
        peer.daemon = run;
        peer.router = secondary;
        peer.keepalive_unchanged_for = 2s;
        peer.daemon_unchanged_for = peer.router_unchanged_for = age;
        view.peers.push_back(std::move(peer));
    }
    return view;
}

TEST(coordinator_refusal, the_named_node_is_cleared_once_nothing_has_changed_for_long_enough) {
    EXPECT_EQ(decide(view_of(19999ms)).action, coordinator_action::none);
    const auto decision = decide(view_of(20s));
    EXPECT_EQ(decision.action, coordinator_action::clear_to_none);
    EXPECT_EQ(decision.rule, rule_refusal);
    EXPECT_NE(decision.reason.find("hv2"), std::string::npos);
}

TEST(coordinator_refusal, four_intervals_where_those_are_longer) {
    auto view = view_of(39999ms);
    view.times.keepalive = 10s;
    EXPECT_EQ(decide(view).action, coordinator_action::none);
    view = view_of(40s);
    view.times.keepalive = 10s;
    EXPECT_EQ(decide(view).action, coordinator_action::clear_to_none);
}

TEST(coordinator_refusal, not_while_anything_says_that_somebody_may_be_at_it) {
    struct row {
        const char* what;
        std::function<void(coordinator_view&)> change;
    };
    const row rows[] = {
        {"the key has just changed", [](auto& view) { view.primary.unchanged_for = 5s; }},
        {"it has just come to run", [](auto& view) { view.peers[0].daemon_unchanged_for = 5s; }},
        {"its role has just changed", [](auto& view) { view.peers[0].router_unchanged_for = 5s; }},
        {"another role has just changed", [](auto& view) { view.peers[1].router_unchanged_for = 5s; }},
        {"the own role has just changed", [](auto& view) { view.role_unchanged_for = 5s; }},
        {"it takes over", [](auto& view) { view.peers[0].router = takeover; }},
        {"it is primary", [](auto& view) { view.peers[0].router = primary; }},
        {"another is primary", [](auto& view) { view.peers[1].router = primary; }},
        {"another takes over", [](auto& view) { view.peers[1].router = takeover; }},
        {"another relinquishes", [](auto& view) { view.peers[1].router = relinquish; }},
        {"a dead one may hold the addresses",
         [](auto& view) {
             view.peers[1].router = primary;
             view.peers[1].daemon = dead;
         }},
        {"it is dead: the fence decides", [](auto& view) { view.peers[0].daemon = dead; }},
        {"it starts: C5 has its own limits", [](auto& view) { view.peers[0].daemon = init; }},
        {"it is a client by role", [](auto& view) { view.peers[0].router = client; }},
        {"the observer is stopping", [](auto& view) { view.terminating = true; }},
        {"the observer has not started", [](auto& view) { view.started = false; }},
        {"the observer has no session", [](auto& view) { view.session_live = false; }},
    };
    for (const auto& row : rows) {
        auto view = view_of(300s);
        row.change(view);
        EXPECT_EQ(decide(view).action, coordinator_action::none) << row.what;
    }
}

TEST(coordinator_refusal, the_named_node_itself_begins_at_once) {
    auto view = view_of(300s);
    view.primary.node = "hv1";
    EXPECT_EQ(decide(view).action, coordinator_action::start_takeover);
}

}  // namespace
}  // namespace pvc::policy
