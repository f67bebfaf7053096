// Table 8.7 cell by cell, the two looks before anything is destroyed, and who need not answer.
#include "pvcnoded/policy/domains/resolve_rules.hpp"

#include "pvcnoded/policy/domains/domain_table.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::guest_class;
using model::pause_cause;
using model::run_state;
using model::vm_state;
using enum resolve_step;

constexpr std::array answers{remote_answer::absent,   remote_answer::shut_off, remote_answer::ending,
                             remote_answer::alive,    remote_answer::halted,   remote_answer::being_made,
                             remote_answer::incoming, remote_answer::refused,  remote_answer::silent};

TEST(resolve_rules, class_and_cause_come_home) {
    EXPECT_EQ(answer_of({run_state::running, pause_cause::none}), remote_answer::alive);
    EXPECT_EQ(answer_of({run_state::blocked, pause_cause::none}), remote_answer::alive);
    EXPECT_EQ(answer_of({run_state::paused, pause_cause::migration}), remote_answer::incoming);
    EXPECT_EQ(answer_of({run_state::paused, pause_cause::starting_up}), remote_answer::being_made);
    EXPECT_EQ(answer_of({run_state::paused, pause_cause::user}), remote_answer::halted);
    EXPECT_EQ(answer_of({run_state::paused, pause_cause::io_error}), remote_answer::halted);
    EXPECT_EQ(answer_of({run_state::suspended, pause_cause::none}), remote_answer::halted);
    EXPECT_EQ(answer_of({run_state::paused, pause_cause::shutting_down}), remote_answer::ending);
    EXPECT_EQ(answer_of({run_state::shutting_down, pause_cause::none}), remote_answer::ending);
    EXPECT_EQ(answer_of({run_state::shut_off, pause_cause::none}), remote_answer::shut_off);
    EXPECT_EQ(answer_of({run_state::crashed, pause_cause::none}), remote_answer::shut_off);
    EXPECT_EQ(answer_of({run_state::none, pause_cause::none}), remote_answer::shut_off);
}

TEST(resolve_rules, table_8_7) {
    struct line {
        guest_class here;
        std::array<resolve_step, 9> steps;  // in the order of `answers`
    };
    for (const auto& one : {
             line{guest_class::alive,
                  {failed, failed, halted_there, destroy_copy, halted_there, halted_there, halted_there, unanswered,
                   unanswered}},
             line{guest_class::paused,
                  {failed, failed, halted_there, destroy_copy, destroy_copy, halted_there, halted_there, unanswered,
                   unanswered}},
             line{guest_class::incoming,
                  {resume_half, resume_half, look_again, destroy_copy, destroy_copy, look_again, look_again, ask_again,
                   ask_again}},
             line{guest_class::ending,
                  {look_again, look_again, look_again, look_again, look_again, look_again, look_again, look_again,
                   look_again}},
             line{guest_class::absent,
                  {ended, ended, unknown_end, moved, moved, moved, moved, unknown_end, unknown_end}},
         }) {
        for (std::size_t i = 0; i < answers.size(); ++i) {
            EXPECT_EQ(decide_resolve(one.here, answers.at(i), false), one.steps.at(i))
                << model::to_text(one.here) << ", answer " << i;
        }
    }
}

TEST(resolve_rules, what_arrived_there_and_ended_leaves_a_stale_half) {
    EXPECT_EQ(decide_resolve(guest_class::incoming, remote_answer::absent, true), destroy_half);
    EXPECT_EQ(decide_resolve(guest_class::incoming, remote_answer::shut_off, true), destroy_half);
    EXPECT_EQ(decide_resolve(guest_class::incoming, remote_answer::silent, true), ask_again);
    EXPECT_EQ(decide_resolve(guest_class::alive, remote_answer::absent, true), failed);
}

TEST(resolve_rules, nothing_is_destroyed_on_one_look) {
    const second_look::finding runs{guest_class::incoming, remote_answer::alive};
    const second_look::finding halts{guest_class::incoming, remote_answer::halted};
    const auto at = [](duration d) { return time_point(d); };
    second_look before;
    EXPECT_FALSE(before.confirms(runs, at(10s), at(10100ms)));
    EXPECT_FALSE(before.confirms(runs, at(11s), at(11100ms))) << "begun 0.9 s after the first was answered";
    EXPECT_TRUE(before.confirms(runs, at(11100ms), at(11200ms)));
    EXPECT_FALSE(before.confirms(halts, at(13s), at(13s))) << "another answer";
    EXPECT_FALSE(before.confirms(runs, at(14s), at(14s))) << "and the old one again";
    EXPECT_TRUE(before.confirms(runs, at(15s), at(15s)));
    before.forget();
    EXPECT_FALSE(before.confirms(runs, at(17s), at(17s)));
}

TEST(resolve_rules, who_need_not_answer) {
    using model::daemon_state;
    EXPECT_TRUE(may_be_silent({daemon_state::stop, false, false}, remote_answer::silent));
    EXPECT_FALSE(may_be_silent({daemon_state::stop, true, false}, remote_answer::silent)) << "it lists it";
    EXPECT_FALSE(may_be_silent({daemon_state::stop, false, true}, remote_answer::silent)) << "it had it";
    EXPECT_TRUE(may_be_silent({daemon_state::run, false, false}, remote_answer::refused)) << "no hypervisor";
    for (const auto state : {daemon_state::run, daemon_state::init, daemon_state::shutdown, daemon_state::dead}) {
        EXPECT_FALSE(may_be_silent({state, false, false}, remote_answer::silent));
    }
}

TEST(ending_limit, a_guest_that_is_off_does_not_keep_its_process_for_ever) {
    for (const auto state : {vm_state::start, vm_state::migrate, vm_state::migrate_live, vm_state::unmigrate}) {
        EXPECT_EQ(ending_limit({state, true, guest_class::ending}), duration(60s));
        EXPECT_EQ(ending_limit({state, false, guest_class::ending}), duration(60s));
    }
    for (const auto state : {vm_state::stop, vm_state::shutdown, vm_state::restart, vm_state::disable, vm_state::mirror,
                             vm_state::deleted}) {
        EXPECT_EQ(ending_limit({state, true, guest_class::ending}), duration(30s));
        EXPECT_EQ(ending_limit({state, false, guest_class::ending}), duration(60s));
    }
    EXPECT_EQ(ending_limit({vm_state::unknown, true, guest_class::ending}), std::nullopt);
    EXPECT_EQ(ending_limit({vm_state::unknown, false, guest_class::ending}), std::nullopt);
    EXPECT_EQ(ending_limit({vm_state::fail, true, guest_class::ending}), std::nullopt);
    EXPECT_EQ(ending_limit({vm_state::start, true, guest_class::alive}), std::nullopt);
}

}  // namespace
}  // namespace pvc::policy
