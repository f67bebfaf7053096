// Destroying a guest, and asking it first: limits, patience, and what a destroy is worth that says "done".
#include "pvcnoded/policy/domains/ending.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

using powered = told_to_go_on<powering_down>;

played<powered> shutting_down() {
    played<powered> p;
    p.seen.state = vm_state::shutdown;
    p.seen.shutdown_timeout = 5s;
    return p;
}

// ---- destroying

TEST(destroying_machine, D30_what_is_gone_already_needs_no_call) {
    played<destroying> p;
    p.seen.guest = guest_class::absent;
    p.memory.going_down.since = p.now;
    EXPECT_EQ(p.begin(), "over");
    EXPECT_EQ(p.machine.end, power_end::off);
    EXPECT_FALSE(p.memory.going_down.since) << "a shutdown that was under way has ended with it";
}

TEST(destroying_machine, D30_no_domain_is_a_success) {
    played<destroying> p;
    EXPECT_EQ(p.begin(), "destroy 60s");
    EXPECT_EQ(p.call(call_end::no_domain), "change 5s");
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.machine.end, power_end::off);
    EXPECT_FALSE(p.did("error"));
}

TEST(destroying_machine, done_is_not_gone) {
    played<destroying> p;
    p.begin();
    EXPECT_EQ(p.call(call_end::done), "change 5s");
    EXPECT_EQ(p.after(4s), "change 1s") << "the patience does not begin again";
    EXPECT_EQ(p.after(1s), "own_guest 5s");
    EXPECT_EQ(p.guest(guest_class::ending), "destroy 60s") << "however often it takes";
    EXPECT_EQ(p.call(call_end::done), "change 5s");
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.machine.end, power_end::off);
}

// Found by exploring: what was destroyed went, and the guest came back here, in a migration from the other node.
TEST(destroying_machine, what_arrives_after_a_half_went_is_another) {
    played<destroying> p;
    p.seen.guest = guest_class::incoming;
    p.begin();
    EXPECT_EQ(p.call(call_end::done), "change 5s");
    auto unseen = p;
    p.seen.guest = guest_class::alive;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.machine.end, power_end::changed);
    EXPECT_EQ(unseen.at_limit(), "own_guest 5s");
    EXPECT_EQ(unseen.guest(guest_class::alive), "over");
    EXPECT_EQ(unseen.machine.end, power_end::changed);
    EXPECT_EQ(p.count_asked("destroy"), 1);
}

TEST(destroying_machine, D31_an_error_is_tried_again_every_two_seconds_and_told_every_thirty) {
    played<destroying> p;
    EXPECT_EQ(p.begin(), "destroy 60s");
    for (int i = 0; i < 16; ++i) {
        EXPECT_EQ(p.call(call_end::other, "broken pipe"), "time 2s");
        EXPECT_EQ(p.at_limit(), "own_guest 5s");
        EXPECT_EQ(p.guest(guest_class::alive), "destroy 60s");
    }
    EXPECT_EQ(p.count("error: destroying it: broken pipe; trying again"), 2) << "at 0 s and at 30 s";
    p.call(call_end::other);
    p.at_limit();
    EXPECT_EQ(p.guest(guest_class::absent), "over");
    EXPECT_EQ(p.machine.end, power_end::off);
}

TEST(destroying_machine, it_ends_at_its_limit) {
    played<destroying> p;
    p.machine.last = p.now + 3s;
    EXPECT_EQ(p.begin(), "destroy 3s");
    EXPECT_EQ(p.call(call_end::timed_out), "time 2s");
    EXPECT_EQ(p.at_limit(), "own_guest 5s");
    EXPECT_EQ(p.guest(guest_class::alive), "destroy 1s");
    EXPECT_EQ(p.call(call_end::other), "time 1s");
    p.at_limit();
    EXPECT_EQ(p.guest(guest_class::alive), "over");
    EXPECT_EQ(p.machine.end, power_end::unknown);
}

TEST(destroying_machine, gone_at_its_limit_is_gone) {
    played<destroying> p;
    p.machine.last = p.now;
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.begin(), "over");
    EXPECT_EQ(p.machine.end, power_end::off);
}

TEST(destroying_machine, a_silent_libvirt_is_no_proof_of_anything) {
    played<destroying> p;
    p.seen.guest.reset();
    EXPECT_EQ(p.begin(), "over");
    EXPECT_EQ(p.machine.end, power_end::unknown);

    played<destroying> later;
    later.begin();
    later.seen.guest.reset();
    EXPECT_EQ(later.call(call_end::done), "own_guest 5s") << "its own word, now";
    EXPECT_EQ(later.no(), "over");
    EXPECT_EQ(later.machine.end, power_end::unknown);
    EXPECT_FALSE(later.did("error"));
}

TEST(destroying_machine, silent_in_every_step_it_ends_without_a_word) {
    played<destroying> p;
    p.begin();
    p.call(call_end::other);
    p.at_limit();
    p.guest(guest_class::alive);
    p.call(call_end::done);
    p.at_limit();
    const auto silent = [](auto& one) { one.seen.guest.reset(); };
    for (auto one : p.on_its_way()) {
        silent(one);
        quiet_world<destroying> world(one);
        world.is_libvirt_there = false;
        EXPECT_TRUE(world.wind_up()) << one.story();
        EXPECT_EQ(one.machine.end, power_end::unknown);
    }
}

// ---- asking first

TEST(powering_down_machine, D23_off_means_that_the_domain_is_gone) {
    auto p = shutting_down();
    EXPECT_EQ(p.begin(), "change 5s");
    EXPECT_TRUE(p.holds().asks_guest_to_end);
    p.seen.guest = guest_class::ending;
    p.now += 1s;
    p.seen.class_since = p.now;
    EXPECT_EQ(p.woken(), "change 4s") << "the guest is off, its process still has the disks";
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.after(1600ms), "over");
    EXPECT_EQ(p.machine.part.end, power_end::off);
    EXPECT_FALSE(p.holds().asks_guest_to_end);
    EXPECT_FALSE(p.memory.going_down.since);
}

TEST(powering_down_machine, D24_a_guest_that_ignores_it_is_destroyed_when_the_time_is_over) {
    auto p = shutting_down();
    p.begin();
    EXPECT_EQ(p.after(4999ms), "change 1ms");
    EXPECT_EQ(p.after(1ms), "destroy 60s");
    EXPECT_TRUE(p.did("warning: it did not shut down within 5 s, destroying it"));
    EXPECT_FALSE(p.holds().asks_guest_to_end) << "nobody asks what is being destroyed";
    EXPECT_EQ(p.call(call_end::done), "change 5s");
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.machine.part.end, power_end::off);
}

TEST(powering_down_machine, D24_the_time_counts_over_machines) {
    auto p = shutting_down();
    p.memory.going_down = {.since = p.now - 3s, .was_asked = true};
    EXPECT_EQ(p.begin(), "change 2s");
    EXPECT_FALSE(p.holds().asks_guest_to_end) << "the guest has got it";

    auto again = shutting_down();
    again.memory.going_down = {.since = again.now - 3s, .was_asked = false};
    EXPECT_EQ(again.begin(), "change 2s");
    EXPECT_TRUE(again.holds().asks_guest_to_end) << "it may not have got it";

    auto anew = shutting_down();
    anew.memory.going_down = {.since = std::nullopt, .was_asked = true};
    EXPECT_EQ(anew.begin(), "change 5s");
    EXPECT_TRUE(anew.holds().asks_guest_to_end) << "that was another shutdown";
    EXPECT_EQ(anew.memory.going_down.since, anew.now);
}

TEST(powering_down_machine, a_process_that_does_not_go_is_destroyed_after_30_s_as_the_owner_60_s_elsewhere) {
    for (const bool is_owner : {true, false}) {
        auto p = shutting_down();
        p.seen.shutdown_timeout = 180s;
        p.seen.is_owner = is_owner;
        p.seen.guest = guest_class::ending;
        p.seen.class_since = p.now;
        const duration limit = is_owner ? 30s : 60s;
        EXPECT_EQ(p.begin(), "change " + text_of(limit));
        EXPECT_EQ(p.after(limit), "destroy 60s");
        EXPECT_TRUE(p.did("warning: its guest is off, and its process has not gone for " + std::to_string(limit / 1s) +
                          " s: destroying it"));
        p.call(call_end::done);
        p.seen.guest = guest_class::absent;
        EXPECT_EQ(p.woken(), "over");
        EXPECT_EQ(p.machine.part.end, power_end::off);
    }
}

TEST(powering_down_machine, no_state_that_wants_it_off_no_limit_of_its_own) {
    auto p = shutting_down();
    p.seen.state = vm_state::unknown;
    p.seen.guest = guest_class::ending;
    p.seen.class_since = p.now - 300s;
    EXPECT_EQ(p.begin(), "change 5s");
}

TEST(powering_down_machine, it_ends_when_it_is_not_wanted_any_more_and_when_the_daemon_stops) {
    auto p = shutting_down();
    p.begin();
    auto unwanted = p;
    unwanted.machine.goes_on = false;
    EXPECT_EQ(unwanted.woken(), "over");
    EXPECT_EQ(unwanted.machine.part.end, power_end::changed);
    EXPECT_TRUE(unwanted.memory.going_down.since) << "it may still go down: the clock goes on";
    auto stopping = p;
    stopping.seen.must_end = true;
    EXPECT_EQ(stopping.woken(), "over");
    EXPECT_EQ(stopping.machine.part.end, power_end::changed);
    auto silent = p;
    silent.seen.guest.reset();
    EXPECT_EQ(silent.woken(), "over");
    EXPECT_EQ(silent.machine.part.end, power_end::unknown);
    auto gone = unwanted = p;
    gone.machine.goes_on = false;
    gone.seen.guest = guest_class::absent;
    EXPECT_EQ(gone.woken(), "over");
    EXPECT_EQ(gone.machine.part.end, power_end::off) << "gone is gone, wanted or not";
}

TEST(powering_down_machine, what_is_being_destroyed_is_destroyed) {
    auto p = shutting_down();
    p.begin();
    p.after(5s);
    p.machine.goes_on = false;
    EXPECT_EQ(p.call(call_end::done), "change 5s") << "half destroyed is no state to leave it in";
}

// ---- what does not go

TEST(ending_hung_machine, it_says_so_once_and_destroys) {
    played<ending_hung> p;
    p.seen.guest = guest_class::ending;
    p.seen.class_since = p.now - 30s;
    EXPECT_EQ(p.begin(), "destroy 60s");
    EXPECT_EQ(
        p.acts(),
        (std::vector<std::string>{"warning: its guest is off, and its process has not gone for 30 s: destroying it"}));
    p.call(call_end::other);
    p.at_limit();
    EXPECT_EQ(p.guest(guest_class::ending), "destroy 60s");
    p.call(call_end::done);
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.count("warning"), 1);
}

TEST(ending_hung_machine, a_silent_libvirt_ends_it) {
    played<ending_hung> p;
    p.seen.guest = guest_class::ending;
    p.begin();
    p.seen.guest.reset();
    p.call(call_end::unavailable);
    p.at_limit();
    EXPECT_EQ(p.no(), "over");
}

}  // namespace
}  // namespace pvc::policy
