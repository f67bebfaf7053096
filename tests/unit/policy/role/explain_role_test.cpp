// The rule that decides, as the actor's own decision, and a reason where none does.
#include "pvcnoded/policy/role/explain_role.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::router_state;

coordinator_view seen_as(router_state role, std::optional<std::string> named) {
    coordinator_view view;
    view.self = "hv1";
    view.role = role;
    view.stored_role = role;
    view.started = true;
    view.session_live = true;
    view.heartbeat_age = 1s;
    view.primary = {std::move(named), 7, 0s};
    view.peers = {{"hv2", daemon_state::run, router_state::secondary, 2s, 0s, 0s}};
    return view;
}

TEST(explain_role, each_state_has_a_reason) {
    using change = void (*)(coordinator_view&);
    const struct {
        router_state role;
        std::optional<std::string> named;
        change differs;
        std::string_view rule;
        coordinator_action action;
        std::string reason;
    } table[] = {
        {router_state::primary, "hv1", nullptr, "", coordinator_action::none, "this node is primary, and is named"},
        {router_state::secondary, "hv2", nullptr, "", coordinator_action::none,
         "hv2 is named primary, and may have or take the role"},
        {router_state::secondary, "hv1", nullptr, "C1", coordinator_action::start_takeover,
         "this node is named primary"},
        {router_state::primary, "hv2", nullptr, "C2", coordinator_action::start_relinquish, "hv2 is to become primary"},
        {router_state::secondary, std::nullopt, nullptr, "C3", coordinator_action::contend, "no primary is named"},
        {router_state::secondary, std::nullopt, [](coordinator_view& v) { v.started = false; }, "",
         coordinator_action::none, "the daemon has not started yet"},
        {router_state::secondary, std::nullopt, [](coordinator_view& v) { v.terminating = true; }, "",
         coordinator_action::none, "the daemon is stopping"},
        {router_state::secondary, "hv1", [](coordinator_view& v) { v.in_transition = true; }, "",
         coordinator_action::none, "a transition is under way; only rules C6 and C7 apply meanwhile"},
        {router_state::secondary, "hv1", [](coordinator_view& v) { v.session_live = false; }, "",
         coordinator_action::none, "there is no session, or the primary and the other coordinators are not known yet"},
        {router_state::secondary, "hv1", [](coordinator_view& v) { v.heartbeat_age = 10min; }, "",
         coordinator_action::none,
         "this node would have to give the role up at once: no heartbeat was acknowledged for 600 s"},
        {router_state::primary, "hv1", [](coordinator_view& v) { v.heartbeat_age = 10min; }, "C6",
         coordinator_action::demote, "no heartbeat was acknowledged for 600 s"},
        {router_state::client, "hv2", [](coordinator_view& v) { v.mode = model::daemon_mode::hypervisor; }, "",
         coordinator_action::none, "this node is no coordinator"},
    };
    for (const auto& one : table) {
        auto view = seen_as(one.role, one.named);
        if (one.differs != nullptr) {
            one.differs(view);
        }
        const auto told = explain_role(view);
        EXPECT_EQ(told.reason, one.reason);
        EXPECT_EQ(told.rule, one.rule) << one.reason;
        EXPECT_EQ(told.action, one.action) << one.reason;
        EXPECT_EQ(told.action, decide(view).action) << one.reason;
    }
}

}  // namespace
}  // namespace pvc::policy
