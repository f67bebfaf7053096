// The explorer of fences is held to the truth: small bounds are exhausted with nothing broken, states that differ are
// told apart, and what must not be is found when it is put there.
#include "sim/explore/fence/fence_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::explore::fences {
namespace {

using kind = move::kind;

void expect_clean(const bounds& of) {
    const auto out = search(of);
    EXPECT_TRUE(out.is_exhausted);
    EXPECT_FALSE(out.broken) << out.broken->what.rule << ": " << out.broken->what.text << "\n"
                             << out.broken->said.back();
    EXPECT_GE(out.settled, 1U);
}

TEST(fence_explorer, small_bounds_are_exhausted_and_nothing_is_broken) {
    expect_clean({.faults = 0, .writes = 0});
    expect_clean({.faults = 0, .writes = 1});
}

TEST(fence_explorer, beside_a_reference_fencer_nothing_of_ours_is_broken) {
    expect_clean({.faults = 0, .writes = 1, .reference = true});
}

// AC45, AC62, AC125, AC126 in their ordinary course: the first step that offers itself, again and again.
TEST(fence_explorer, AC45_AC62_AC125_it_ends_with_the_machine_running_once) {
    for (std::int8_t power = 0; power < 2; ++power) {
        for (std::int8_t how = 0; how < 4; ++how) {
            world now = beginning({.faults = 0, .writes = 0});
            ASSERT_FALSE(apply(now, {kind::choose, power, how}));
            for (int steps = 0; steps < 400 && !is_at_rest(now); ++steps) {
                ASSERT_FALSE(moves_of(now).empty());
                ASSERT_FALSE(apply(now, moves_of(now).front()));
            }
            EXPECT_TRUE(is_at_rest(now));
            EXPECT_EQ(now.keys.state, model::daemon_state::fenced);
            const bool stays = how == 1 || how == 2;
            EXPECT_EQ(now.guest.runs_beside, stays ? 1 : taker) << static_cast<int>(how);
            EXPECT_LE(now.now - now.fell_silent, power == 1 ? std::chrono::seconds(35) : std::chrono::seconds(70));
        }
    }
}

TEST(fence_explorer, two_that_write_are_seen) {
    world now = beginning({});
    ASSERT_FALSE(apply(now, {kind::choose, 0, 0}));
    EXPECT_FALSE(wrong_now(now));
    now.guest.runs_beside = taker;
    ASSERT_TRUE(wrong_now(now));
    EXPECT_EQ(wrong_now(now)->rule, "never_twice");
    now.dead.is_blocked = true;
    EXPECT_FALSE(wrong_now(now)) << "Ceph refuses the old one";
}

TEST(fence_explorer, what_matters_makes_another_state_and_numbers_do_not) {
    const world one = beginning({});
    world other = one;
    other.dead.has_guest = true;
    EXPECT_NE(identity_of(other), identity_of(one));
    other = one;
    other.lock = 0;
    EXPECT_NE(identity_of(other), identity_of(one));
    other = one;
    other.keys.state_id += 1000;
    other.keys.heartbeat_id += 1000;
    other.guest.state_id += 1000;
    for (auto& own : other.fencers) {
        own.seen_heartbeat += 1000;
    }
    EXPECT_EQ(identity_of(other), identity_of(one));
}

// What one of them does the other might have done: these are one state, unless the other fences as the reference does.
TEST(fence_explorer, two_coordinators_of_ours_may_exchange_their_names) {
    const auto begun_by = [](const bounds& of, std::int8_t who, beginning_of how) {
        world now = beginning(of);
        EXPECT_FALSE(apply(now, {kind::choose, 0, static_cast<std::int8_t>(how)}));
        while (!attempt_to_begin(now, who)) {
            EXPECT_FALSE(apply(now, {kind::pass_time}));
        }
        EXPECT_FALSE(apply(now, {kind::begin, who}));
        EXPECT_FALSE(apply(now, {kind::grant, who}));
        return now;
    };
    const world first = begun_by({}, 0, beginning_of::own);
    const world second = begun_by({}, 1, beginning_of::own);
    EXPECT_EQ(identity_of(first), identity_of(second));
    world other = second;
    other.lock = 0;
    EXPECT_NE(identity_of(other), identity_of(second)) << "it has the lock that its fellow asks under";
    EXPECT_NE(identity_of(begun_by({}, 0, beginning_of::listed_only)),
              identity_of(begun_by({}, 1, beginning_of::listed_only)))
        << "the machine is on hv2";
    const bounds of{.reference = true};
    world crashed = beginning(of);
    crashed.fencers[0].is_up = false;
    world other_crashed = beginning(of);
    other_crashed.fencers[1].is_up = false;
    EXPECT_NE(identity_of(crashed), identity_of(other_crashed));
}

TEST(fence_explorer, it_says_when_there_is_too_much) {
    EXPECT_FALSE(search({}, 1000).is_exhausted);
}

}  // namespace
}  // namespace pvc::explore::fences
