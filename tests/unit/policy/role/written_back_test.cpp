// README ruling 87: a reference node writes its own name back and gives the role up all the same.
#include "pvcnoded/policy/role/written_back.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using enum model::daemon_state;
using enum model::router_state;
using action = coordinator_action;

constexpr time_point start{1h};

// hv1 looks; hv2 is a reference node, primary and named by zxid 10; hv3 is another coordinator.
struct observer {
    coordinator_view view;
    written_back memory;
    time_point now = start;

    observer() {
        view.self = "hv1";
        view.stored_role = secondary;
        view.started = view.session_live = true;
        view.heartbeat_age = 1s;
        view.primary = {"hv2", 7, 1h, 10};
        for (const auto* name : {"hv2", "hv3"}) {
            coordinator_peer peer;
            peer.name = name;
            peer.daemon = run;
            peer.router = secondary;
            peer.keepalive_unchanged_for = 2s;
            view.peers.push_back(std::move(peer));
        }
        hv2() = {.name = "hv2", .daemon = run, .router = primary, .keepalive_unchanged_for = 2s, .router_written = 9};
    }
    coordinator_peer& hv2() { return view.peers[0]; }
    coordinator_peer& hv3() { return view.peers[1]; }
    void name(const std::string& whom, std::int64_t zxid) { view.primary = {whom, view.primary.version + 1, 0s, zxid}; }
    coordinator_decision look() {
        memory.look(view, now);
        view.returned = memory.returned(view, now);
        return decide(view);
    }
    void relinquishes(std::int64_t zxid) {
        hv2().router = relinquish;
        hv2().router_written = zxid;
    }
    // This node was named and saw it, hv2 wrote its name back and relinquished.
    void is_written_back() {
        name("hv1", 20);
        look();
        name("hv2", 21);
        look();
        relinquishes(30);
    }
};

TEST(written_back, who_was_named_claims_the_key_at_once_and_takes_over_without_a_delay) {
    observer of;
    of.name("hv1", 20);
    const auto told = of.look();
    EXPECT_EQ(told.action, action::start_takeover);
    EXPECT_FALSE(told.is_at_once);
    of.name("hv2", 21);
    EXPECT_EQ(of.look().action, action::none) << "it may keep the role: that is not known yet";
    of.relinquishes(30);
    const auto claim = of.look();
    EXPECT_EQ(claim.action, action::claim);
    EXPECT_EQ(claim.rule, rule_written_back);
    of.name("hv1", 31);
    const auto begin = of.look();
    EXPECT_EQ(begin.action, action::start_takeover);
    EXPECT_TRUE(begin.is_at_once);
}

TEST(written_back, that_it_is_secondary_by_then_changes_nothing) {
    observer of;
    of.is_written_back();
    of.look();
    of.hv2().router = secondary;
    of.hv2().router_written = 32;
    EXPECT_EQ(of.look().action, action::claim);
    of.name("hv1", 33);
    EXPECT_TRUE(of.look().is_at_once);
}

TEST(written_back, another_heartbeat_that_had_begun_changes_nothing) {
    observer of;
    of.is_written_back();
    of.look();
    of.name("hv1", 31);
    of.look();
    of.name("hv2", 32);
    EXPECT_EQ(of.look().action, action::claim) << "also while it still relinquishes";
    of.hv2().router = secondary;
    of.hv2().router_written = 33;
    EXPECT_EQ(of.look().action, action::claim);
}

// It has seen its name as secondary, and takes the role.
TEST(written_back, a_name_that_is_younger_than_secondary_is_its_own) {
    observer of;
    of.is_written_back();
    of.look();
    of.hv2().router = secondary;
    of.hv2().router_written = 31;
    of.name("hv2", 32);
    EXPECT_EQ(of.look().action, action::none);
}

TEST(written_back, who_was_not_seen_to_be_named_clears_the_key_after_a_second) {
    observer of;
    of.view.primary = {"hv2", 9, 0s, 21};  // two writes: the first was not seen
    of.relinquishes(30);
    auto decision = of.look();
    EXPECT_EQ(decision.action, action::none);
    EXPECT_EQ(decision.again_in, duration(1s));
    of.now += 400ms;
    EXPECT_EQ(of.look().again_in, duration(600ms));
    of.now += 599ms;
    EXPECT_EQ(of.look().action, action::none);
    of.now += 1ms;
    decision = of.look();
    EXPECT_EQ(decision.action, action::clear_to_none);
    EXPECT_EQ(decision.rule, rule_written_back);
    of.view.primary = {std::nullopt, 10, 0s, 31};
    EXPECT_EQ(of.look().action, action::contend);
    of.name("hv1", 32);
    EXPECT_TRUE(of.look().is_at_once);
    EXPECT_TRUE(of.view.returned) << "it is still a partner that is ahead";
}

TEST(written_back, not_while_somebody_is_on_the_way) {
    observer of;
    of.view.primary = {"hv2", 9, 0s, 21};
    of.relinquishes(30);
    of.look();
    of.now += 900ms;
    of.hv3().router = takeover;
    of.look();
    of.now += 5s;
    EXPECT_EQ(of.look().action, action::none);
    of.hv3().router = secondary;
    EXPECT_EQ(of.look().action, action::none);
    of.now += 1s;
    EXPECT_EQ(of.look().action, action::clear_to_none);
}

TEST(written_back, nothing_of_it_otherwise) {
    struct row {
        const char* what;
        std::function<void(observer&)> change;
    };
    const row rows[] = {
        {"one of ours relinquishes for another", [](auto& of) { of.name("hv3", 31); }},
        {"its relinquish is older than its name", [](auto& of) { of.relinquishes(20); }},
        {"it is still primary", [](auto& of) { of.hv2().router = primary; }},
        {"it takes over", [](auto& of) { of.hv2().router = takeover; }},
        {"it is secondary, and never seen to relinquish", [](auto& of) { of.hv2().router = secondary; }},
        {"this node is stopping", [](auto& of) { of.view.terminating = true; }},
        {"this node has not started", [](auto& of) { of.view.started = false; }},
        {"this node has no session", [](auto& of) { of.view.session_live = false; }},
        {"this node is no coordinator", [](auto& of) { of.view.mode = model::daemon_mode::hypervisor; }},
    };
    for (const auto& one : rows) {
        observer of;
        of.is_written_back();
        one.change(of);
        EXPECT_EQ(of.look().action, action::none) << one.what;
    }
    observer of;
    of.is_written_back();
    EXPECT_EQ(of.look().action, action::claim);
}

TEST(written_back, it_is_forgotten) {
    observer of;
    of.is_written_back();
    of.look();
    of.name("hv3", 31);
    EXPECT_FALSE((of.look(), of.view.returned)) << "a client wants another";
    of.name("hv2", 32);
    EXPECT_FALSE((of.look(), of.view.returned));

    observer late;
    late.is_written_back();
    late.look();
    late.now += 20s;
    EXPECT_FALSE((late.look(), late.view.returned)) << "rule C5' looks after it";

    observer away;
    away.is_written_back();
    away.look();
    away.view.session_live = false;
    EXPECT_FALSE((away.look(), away.view.returned));
}

// Nobody can be told; but what was seen last says that the successor has everything.
TEST(written_back, a_primary_out_of_touch_that_has_seen_its_successor_primary_gives_up) {
    observer of;
    of.view.role = primary;
    of.view.stored_role = primary;
    of.name("hv3", 20);
    of.hv2().router = secondary;
    of.hv3().router = takeover;
    of.view.session_live = false;
    EXPECT_EQ(decide(of.view).action, action::none) << "it may not have them yet";
    of.hv3().router = primary;
    EXPECT_EQ(decide(of.view).action, action::demote);
    of.view.in_transition = true;
    EXPECT_EQ(decide(of.view).action, action::demote) << "`relinquish` cannot be written";
    of.view.in_transition = false;
    of.view.session_live = true;
    EXPECT_EQ(decide(of.view).action, action::start_relinquish);
    of.view.session_live = false;
    of.view.primary.node = "hv1";
    EXPECT_EQ(decide(of.view).action, action::none);
    of.view.primary.node.reset();
    EXPECT_EQ(decide(of.view).action, action::none);
}

}  // namespace
}  // namespace pvc::policy
