// The rule of operators' words is broken once in each way, by events that nobody made.
#include "fence_rules_fixture.hpp"

namespace pvc::sim {

class word_rules_told : public fence_rules_told {
protected:
    word_rules_told() {
        give_lock(hv(1));
        pass(100s);
        all_beat(1s, 60s, 1s);  // hv2 is silent
    }
    void orders_on(const std::string& by) {
        for (const auto& told : powers_of(world).on_command) {
            told(by, "hv2", "on");
        }
    }
    std::shared_ptr<core::awaited_explanation> say_word() {
        auto answer = std::make_shared<core::awaited_explanation>();
        for (const auto& told : powers_of(world).on_word) {
            told("hv1", "hv2", answer);
        }
        return answer;
    }
    void look() {
        for (const auto* rule : world.known.rules()) {
            if (rule->name == "fence_word_holds") {
                rule->on_second(of);
            }
        }
    }
    void power_key_says(const std::string& data) { change(recorded_kind::set, "/nodes/hv2/fencepower", data, hv(3)); }
};

TEST_F(word_rules_told, nobody_is_switched_on_after_a_word_that_was_taken) {
    const auto word = say_word();
    pass(10s);
    word->give(core::explanation());
    look();
    EXPECT_EQ(broken(), "");
    orders_on("hv3");
    EXPECT_EQ(broken(), "fence_word_holds");
}

TEST_F(word_rules_told, who_has_beaten_since_may_be) {
    const auto word = say_word();
    word->give(core::explanation());
    look();
    pass(60s);
    beats("hv2", 1s);
    orders_on("hv3");
    EXPECT_EQ(broken(), "");
}

TEST_F(word_rules_told, a_word_that_was_refused_says_nothing) {
    const auto word = say_word();
    word->give(failure(errc::refused, "hv2", "its board says that it is on"));
    look();
    orders_on("hv3");
    EXPECT_EQ(broken(), "");
}

TEST_F(word_rules_told, what_was_ordered_before_the_word_is_known_to_who_takes_it) {
    orders_on("hv3");
    pass(50s);
    const auto word = say_word();
    word->give(core::explanation());
    look();
    EXPECT_EQ(broken(), "fence_word_holds");
}

TEST_F(word_rules_told, what_came_of_an_older_order_is_known) {
    orders_on("hv3");
    pass(58s);
    const auto word = say_word();
    word->give(core::explanation());
    look();
    EXPECT_EQ(broken(), "");
}

TEST_F(word_rules_told, what_was_ordered_between_the_word_and_its_answer_is_seen) {
    const auto word = say_word();
    pass(5s);
    orders_on("hv3");
    EXPECT_EQ(broken(), "");
    word->give(core::explanation());
    look();
    EXPECT_EQ(broken(), "fence_word_holds");
}

TEST_F(word_rules_told, nobody_is_switched_on_after_a_word_that_was_noted) {
    power_key_says("off hv3");
    pass(4s);
    orders_on("hv1");
    EXPECT_EQ(broken(), "fence_word_holds");
}

TEST_F(word_rules_told, a_word_that_was_taken_back_is_none) {
    power_key_says("off hv3");
    pass(4s);
    power_key_says("none");
    orders_on("hv1");
    EXPECT_EQ(broken(), "");
}

TEST_F(word_rules_told, what_takes_a_word_back_takes_no_other_back) {
    power_key_says("off hv1");
    pass(4s);
    power_key_says("off hv3");
    power_key_says("none");
    orders_on("hv3");
    EXPECT_EQ(broken(), "fence_word_holds");
}

TEST_F(word_rules_told, a_word_that_another_gave_way_to_may_be_taken_back) {
    power_key_says("off hv1");
    power_key_says("off hv3");
    power_key_says("off hv1");
    power_key_says("none");
    orders_on("hv3");
    EXPECT_EQ(broken(), "");
}

TEST_F(word_rules_told, an_order_that_was_written_first_is_on_its_way_when_the_word_is_noted) {
    power_key_says("on hv1");
    pass(1s);
    power_key_says("off hv3 1700000000123 hv1");
    pass(1s);
    orders_on("hv1");
    EXPECT_EQ(broken(), "");
    pass(3s);
    orders_on("hv1");
    EXPECT_EQ(broken(), "fence_word_holds") << "that one is another";
}

TEST_F(word_rules_told, anothers_order_is_no_excuse) {
    power_key_says("on hv1");
    power_key_says("off hv3 1700000000123 hv1");
    orders_on("hv3");
    EXPECT_EQ(broken(), "fence_word_holds");
}

}  // namespace pvc::sim
