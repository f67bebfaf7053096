#include "pvcnoded/hypervisor/domain_numbers.hpp"

#include <gtest/gtest.h>

namespace pvc::hypervisor {
namespace {

using model::class_of;
using model::guest_class;
using model::guest_status;
using model::pause_cause;
using model::run_state;

guest_class class_of_numbers(int state, int reason) {
    return class_of(status_from_numbers(state, reason));
}

TEST(domain_numbers, states_give_the_classes_of_the_table) {
    EXPECT_EQ(class_of_numbers(1, 1), guest_class::alive);
    EXPECT_EQ(class_of_numbers(2, 0), guest_class::alive);
    EXPECT_EQ(class_of_numbers(3, 1), guest_class::paused);
    EXPECT_EQ(class_of_numbers(3, 2), guest_class::incoming);
    EXPECT_EQ(class_of_numbers(3, 5), guest_class::paused);
    EXPECT_EQ(class_of_numbers(3, 8), guest_class::ending);
    EXPECT_EQ(class_of_numbers(3, 999), guest_class::paused);
    EXPECT_EQ(class_of_numbers(4, 0), guest_class::ending);
    EXPECT_EQ(class_of_numbers(5, 0), guest_class::absent);
    EXPECT_EQ(class_of_numbers(6, 0), guest_class::absent);
    EXPECT_EQ(class_of_numbers(7, 0), guest_class::paused);
    EXPECT_EQ(class_of_numbers(0, 0), guest_class::absent);
    EXPECT_EQ(class_of_numbers(-7, 0), guest_class::absent);
}

TEST(domain_numbers, causes_of_a_pause) {
    EXPECT_EQ(status_from_numbers(3, 6).cause, pause_cause::watchdog);
    EXPECT_EQ(status_from_numbers(3, 10).cause, pause_cause::crashed);
    EXPECT_EQ(status_from_numbers(3, 11).cause, pause_cause::starting_up);
    EXPECT_EQ(status_from_numbers(3, 0).cause, pause_cause::other);
}

TEST(domain_numbers, events) {
    const guest_status running{run_state::running, pause_cause::none};
    EXPECT_EQ(status_from_event(2, 0), running);
    EXPECT_EQ(status_from_event(2, 1), (guest_status{run_state::paused, pause_cause::migration}));
    EXPECT_EQ(status_from_event(3, 0), (guest_status{run_state::paused, pause_cause::user}));
    EXPECT_EQ(status_from_event(3, 1), (guest_status{run_state::paused, pause_cause::migration}));
    EXPECT_EQ(status_from_event(3, 2), (guest_status{run_state::paused, pause_cause::io_error}));
    EXPECT_EQ(status_from_event(3, 3), (guest_status{run_state::paused, pause_cause::watchdog}));
    EXPECT_EQ(status_from_event(3, 77), (guest_status{run_state::paused, pause_cause::other}));
    EXPECT_EQ(status_from_event(4, 1), running);
    EXPECT_EQ(status_from_event(5, 5)->state, run_state::shut_off);
    EXPECT_EQ(status_from_event(6, 1)->state, run_state::shutting_down);
    EXPECT_EQ(status_from_event(7, 0)->state, run_state::suspended);
    EXPECT_EQ(status_from_event(8, 0)->state, run_state::crashed);
    for (const int other : {0, 1, 9, -1}) {
        EXPECT_FALSE(status_from_event(other, 0)) << other;
    }
}

TEST(domain_numbers, texts) {
    EXPECT_EQ(event_text(5, 3), "stopped (3)");
    EXPECT_EQ(event_text(99, 0), "event 99 (0)");
    EXPECT_EQ(event_text(-1, 0), "event -1 (0)");
}

}  // namespace
}  // namespace pvc::hypervisor
