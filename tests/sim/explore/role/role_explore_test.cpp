// The explorer of the role is held to the truth: small bounds are exhausted with nothing broken, states that differ are
// told apart, and what must not be is found when it is put there.
#include "sim/explore/role/role_search.hpp"

#include <gtest/gtest.h>

namespace pvc::explore::roles {
namespace {

using model::router_state;

TEST(role_explorer, small_bounds_are_exhausted_and_nothing_is_broken) {
    for (const auto& of : {bounds{2, 0, 1}, bounds{3, 0, 0}, bounds{2, 1, 0}}) {
        const auto out = search(of);
        EXPECT_TRUE(out.is_exhausted);
        EXPECT_FALSE(out.broken) << out.broken->what.rule << ": " << out.broken->what.text;
        EXPECT_GE(out.settled, 1U);
    }
}

TEST(role_explorer, beside_a_reference_node_nothing_of_ours_is_broken) {
    for (const std::int8_t side : {std::int8_t{0}, std::int8_t{1}}) {
        const auto out = search({2, 0, 0, side});
        EXPECT_TRUE(out.is_exhausted);
        EXPECT_FALSE(out.broken) << out.broken->what.rule << ": " << out.broken->what.text;
    }
}

// AC72, AC73 in their ordinary course: the first step that offers itself, again and again.
TEST(role_explorer, AC72_AC73_it_ends_with_one_primary_who_has_everything) {
    for (const std::int8_t side : {nobody, std::int8_t{0}, std::int8_t{1}}) {
        world now = beginning({2, 0, 0, side});
        for (int steps = 0; steps < 400 && !(is_at_rest(now) && now.named == 1); ++steps) {
            ASSERT_FALSE(moves_of(now).empty());
            ASSERT_FALSE(apply(now, moves_of(now).front()));
        }
        EXPECT_TRUE(is_at_rest(now));
        if (side == nobody) {
            EXPECT_EQ(now.at(1).held, everything);
        }
    }
}

TEST(role_explorer, what_matters_makes_another_state_and_numbers_do_not) {
    const world one = beginning({});
    world other = one;
    other.at(0).held = addresses;
    EXPECT_NE(identity_of(other), identity_of(one));
    other = one;
    other.queue(role_lock::sync).push_back({1, false, false, 3});
    EXPECT_NE(identity_of(other), identity_of(one));
    world later = other;
    later.queue(role_lock::sync).front().sequence = 9;
    later.last_sequence = 9;
    EXPECT_EQ(identity_of(later), identity_of(other));
}

TEST(role_explorer, two_holders_are_seen) {
    world now = beginning({});
    now.at(1).held = addresses;
    ASSERT_TRUE(wrong_now(now));
    EXPECT_EQ(wrong_now(now)->rule, "one_holder");
    now.at(0).role = router_state::relinquish;
    EXPECT_FALSE(wrong_now(now));
}

// Whoever was cut off after another began to take his addresses keeps them until his isolation limit: that the other's
// next transition begins before it changes nothing about that. Who never was in touch has no such excuse.
TEST(role_explorer, who_was_cut_off_gives_way_at_his_limit_whatever_begins_meanwhile) {
    for (const bool was_in_touch : {true, false}) {
        world now = beginning({});
        member& gone = now.at(0);
        gone.to_zookeeper = link::cut;
        member& taken = now.at(1);
        taken.role = taken.stored = router_state::primary;
        taken.held = everything;
        taken.up_since = was_in_touch ? 1 : 0;
        EXPECT_EQ(wrong_now(now).has_value(), !was_in_touch);
        now.named = 0;
        EXPECT_FALSE(follow_rule(now, 1, false));
        ASSERT_TRUE(taken.does) << "it relinquishes";
        EXPECT_EQ(wrong_now(now).has_value(), !was_in_touch);
    }
}

TEST(role_explorer, it_says_when_there_is_too_much) {
    EXPECT_FALSE(search({}, 1000).is_exhausted);
}

}  // namespace
}  // namespace pvc::explore::roles
