// A `stop` during a migration: a sender's or a client's (vm-domains.md 8.4, README ruling 26).
#include "pvcnoded/policy/domains/hand_over.hpp"

#include <gtest/gtest.h>

namespace pvc::policy {
namespace {

const uuid u1 = *parse_uuid("11111111-aaaa-4bbb-8ccc-000000000001");
const uuid u2 = *parse_uuid("22222222-aaaa-4bbb-8ccc-000000000001");

TEST(hand_over, the_mark_of_the_same_transaction_says_it) {
    EXPECT_EQ(hand_over_mark(u1), "11111111-aaaa-4bbb-8ccc-000000000001 handed over");
    EXPECT_TRUE(is_hand_over(u1, 70, hand_over_mark(u1), 70));
}

TEST(hand_over, anything_else_is_a_clients) {
    EXPECT_FALSE(is_hand_over(u1, 71, hand_over_mark(u1), 70)) << "`stop` was written again";
    EXPECT_FALSE(is_hand_over(u1, 69, hand_over_mark(u1), 70));
    EXPECT_FALSE(is_hand_over(u1, 70, to_text(u1), 70)) << "what a receiver writes";
    EXPECT_FALSE(is_hand_over(u1, 70, "", 70));
    EXPECT_FALSE(is_hand_over(u1, 70, hand_over_mark(u2), 70));
    EXPECT_FALSE(is_hand_over(u1, 0, hand_over_mark(u1), 0)) << "neither key is there";
}

TEST(hand_over, a_reference_sender_is_known_by_its_locks) {
    const sender_locks seen{"s__lock__0000000007", 15};
    EXPECT_TRUE(held_it_then(seen, {{"s__lock__0000000007"}, 15, 60}, 70)) << "it has the lock";
    EXPECT_TRUE(held_it_then(seen, {{"s__lock__0000000007", "c__lock__0000000008"}, 16, 80}, 70)) << "a client waits";
    EXPECT_TRUE(held_it_then(seen, {{}, 16, 71}, 70)) << "it gave the lock back after the write";
    const sender_locks with_client{"s__lock__0000000007", 16};
    EXPECT_TRUE(held_it_then(with_client, {{"c__lock__0000000008"}, 17, 71}, 70));
}

TEST(hand_over, where_both_are_possible_it_is_the_clients) {
    const sender_locks seen{"s__lock__0000000007", 15};
    EXPECT_FALSE(held_it_then(seen, {{"c__lock__0000000008"}, 17, 69}, 70)) << "gone before a client wrote";
    EXPECT_FALSE(held_it_then(seen, {{}, 18, 90}, 70)) << "a client came and went as well";
    EXPECT_FALSE(held_it_then(seen, {{}, 16, 69}, 70)) << "gone, then written without the lock";
    EXPECT_FALSE(held_it_then(seen, {{"c__lock__0000000006", "s__lock__0000000007"}, 15, 60}, 70)) << "not its turn";
    // The client wrote under its lock, and gave it back: whose turn came then had nothing when that was written.
    EXPECT_FALSE(held_it_then({"s__lock__0000000007", 16, 71}, {{"s__lock__0000000007"}, 16, 71}, 70));
    EXPECT_FALSE(held_it_then({"s__lock__0000000007", 16, 71}, {{}, 17, 75}, 70));
}

}  // namespace
}  // namespace pvc::policy
