// Who goes next, and who keeps off whom.
#include "pvcnoded/async/fair_turns.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace pvc::async {
namespace {

using groups = std::vector<std::string>;

class fair_turns_test : public testing::Test {
protected:
    fair_turns turns{8};
    wakeup wake;
    std::vector<std::unique_ptr<fair_turns::place>> all;

    fair_turns::place& want(groups of) {
        return *all.emplace_back(std::make_unique<fair_turns::place>(turns, std::move(of), wake));
    }
    std::vector<fair_turns::place*> want(std::size_t count, const groups& of) {
        std::vector<fair_turns::place*> made;
        for (std::size_t i = 0; i < count; ++i) {
            made.push_back(&want(of));
        }
        return made;
    }
    void give_back(const fair_turns::place& which) {
        std::erase_if(all, [&which](const auto& one) { return one.get() == &which; });
    }
    static std::size_t with_turn(const std::vector<fair_turns::place*>& some) {
        std::size_t count = 0;
        for (const auto* one : some) {
            count += one->has_turn() ? 1 : 0;
        }
        return count;
    }
};

TEST_F(fair_turns_test, so_many_at_once_in_their_order) {
    const auto some = want(10, {});
    EXPECT_EQ(with_turn(some), 8U);
    EXPECT_FALSE(some[8]->has_turn());
    give_back(*some[3]);
    EXPECT_TRUE(some[8]->has_turn());
    EXPECT_FALSE(some[9]->has_turn());
    EXPECT_EQ(turns.used(), 8U);
    EXPECT_EQ(turns.waiting(), 1U);
}

TEST_F(fair_turns_test, at_most_half_for_those_with_groups) {
    const auto first = want(10, {"vms"});
    const auto second = want(10, {"fast"});
    EXPECT_EQ(with_turn(first) + with_turn(second), 4U);
    EXPECT_EQ(with_turn(first), 3U) << "one group leaves one to others";
    EXPECT_EQ(with_turn(want(10, {})), 4U) << "who has none is not kept off by them";
}

TEST_F(fair_turns_test, the_group_with_fewer_comes_first) {
    const auto sick = want(10, {"sick"});
    const auto well = want(2, {"well"});
    EXPECT_EQ(with_turn(well), 1U);
    give_back(*sick[0]);
    EXPECT_EQ(with_turn(well), 2U) << "although eight of the other have waited for longer";
    EXPECT_EQ(with_turn({sick.begin() + 1, sick.end()}), 2U);
}

TEST_F(fair_turns_test, one_in_two_groups_counts_in_both) {
    want(2, {"a"});
    const auto both = want(2, {"a", "b"});
    EXPECT_EQ(with_turn(both), 1U);
    EXPECT_TRUE(want({"b"}).has_turn());
}

// Which of the two is sick cannot be told.
TEST_F(fair_turns_test, who_is_in_one_of_two_full_groups_alone_is_not_held_back) {
    const auto both = want(5, {"sick", "well"});
    EXPECT_EQ(with_turn(both), 3U);
    EXPECT_TRUE(want({"well"}).has_turn());
    EXPECT_FALSE(want({"sick"}).has_turn());
}

TEST_F(fair_turns_test, few_turns) {
    turns.allow(1);
    auto& of_pool = want({"vms"});
    auto& other = want({});
    EXPECT_TRUE(of_pool.has_turn()) << "there is always one";
    EXPECT_FALSE(other.has_turn());
    turns.allow(2);
    EXPECT_TRUE(other.has_turn());
}

TEST_F(fair_turns_test, who_steps_aside_makes_room_for_another) {
    const auto sick = want(3, {"sick"});
    auto& next = want({"sick"});
    EXPECT_FALSE(next.has_turn());
    next.step_aside();  // it has none
    sick[0]->step_aside();
    sick[0]->step_aside();
    EXPECT_TRUE(sick[0]->has_turn());
    EXPECT_TRUE(next.has_turn());
    EXPECT_EQ(turns.used(), 3U);
    auto& another = want({"sick"});
    give_back(*sick[0]);
    EXPECT_FALSE(another.has_turn()) << "its turn was given back already";
}

TEST_F(fair_turns_test, as_many_step_aside_as_have_turns) {
    turns.allow(2);
    const auto some = want(6, {});
    for (auto* one : some) {
        one->step_aside();
    }
    EXPECT_EQ(with_turn(some), 4U);
    give_back(*some[0]);
    some[2]->step_aside();
    EXPECT_TRUE(some[4]->has_turn());
    EXPECT_EQ(turns.used(), 2U);
}

TEST_F(fair_turns_test, who_leaves_the_queue_is_forgotten) {
    const auto some = want(9, {});
    auto& last = want({});
    give_back(*some[8]);
    give_back(*some[0]);
    EXPECT_TRUE(last.has_turn());
    all.clear();
    EXPECT_EQ(turns.used(), 0U);
    EXPECT_EQ(turns.waiting(), 0U);
}

}  // namespace
}  // namespace pvc::async
