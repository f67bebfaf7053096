// vm-domains.md 4.1.
#include "pvcnoded/model/guest_class.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pvc::model {
namespace {

TEST(guest_class, states_without_a_cause) {
    EXPECT_EQ(class_of({run_state::running, {}}), guest_class::alive);
    EXPECT_EQ(class_of({run_state::blocked, {}}), guest_class::alive);
    EXPECT_EQ(class_of({run_state::paused, {}}), guest_class::paused);
    EXPECT_EQ(class_of({run_state::suspended, {}}), guest_class::paused);
    EXPECT_EQ(class_of({run_state::shutting_down, {}}), guest_class::ending);
    EXPECT_EQ(class_of({run_state::shut_off, {}}), guest_class::absent);
    EXPECT_EQ(class_of({run_state::crashed, {}}), guest_class::absent);
    EXPECT_EQ(class_of({run_state::none, {}}), guest_class::absent);
}

TEST(guest_class, a_paused_guest_is_told_by_its_cause) {
    EXPECT_EQ(class_of({run_state::paused, pause_cause::migration}), guest_class::incoming);
    EXPECT_EQ(class_of({run_state::paused, pause_cause::shutting_down}), guest_class::ending);
    for (const auto cause : {pause_cause::none, pause_cause::user, pause_cause::io_error, pause_cause::watchdog,
                             pause_cause::starting_up, pause_cause::crashed, pause_cause::other}) {
        EXPECT_EQ(class_of({run_state::paused, cause}), guest_class::paused) << to_text(cause);
    }
}

TEST(guest_class, a_cause_counts_for_paused_guests_only) {
    EXPECT_EQ(class_of({run_state::running, pause_cause::migration}), guest_class::alive);
    EXPECT_EQ(class_of({run_state::shut_off, pause_cause::migration}), guest_class::absent);
    EXPECT_EQ(class_of({run_state::suspended, pause_cause::migration}), guest_class::paused);
}

TEST(guest_class, every_class_has_words_of_its_own) {
    std::set<std::string> words;
    for (const auto which :
         {guest_class::alive, guest_class::paused, guest_class::incoming, guest_class::ending, guest_class::absent}) {
        EXPECT_FALSE(to_text(which).empty());
        words.emplace(to_text(which));
    }
    EXPECT_EQ(words.size(), 5U);
}

}  // namespace
}  // namespace pvc::model
