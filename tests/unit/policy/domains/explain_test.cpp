// What an operation would do next is asked of a copy: every question has answers that fit, and asking changes nothing.
#include "pvcnoded/policy/domains/explain.hpp"

#include "machine_fixture.hpp"

#include <gtest/gtest.h>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <type_traits>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

domain_seen a_machine_that_is_to_move() {
    domain_seen seen;
    seen.is_present = true;
    seen.state = vm_state::migrate;
    seen.node = "hv2";
    seen.self = "hv1";
    seen.wish = {1, 5, 5};
    seen.guest = guest_class::alive;
    seen.stall_limit = 300s;
    seen.shutdown_timeout = 180s;
    return seen;
}

TEST(explain, a_wait_for_locks_ends_with_its_time) {
    domain_machine machine = sending{};
    domain_memory memory;
    const domain_seen seen = a_machine_that_is_to_move();
    const time_point now(1h);
    const auto begun = resume(machine, {seen, {}, now}, memory);
    const domain_machine before = machine;
    const auto next = next_steps(machine, begun.next, seen, memory, now);
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next.front().answer, "its time is over");
    EXPECT_EQ(machine, before) << "a copy was asked";
}

TEST(explain, who_has_it_decides_what_comes_next) {
    resolving who{.target = "hv2"};
    who.where = resolving::at::asking_here_again;
    who.here = guest_class::alive;
    who.there = remote_answer::alive;
    domain_seen seen = a_machine_that_is_to_move();
    who.created = seen.wish.created;
    who.seen = seen.wish;
    resolving_sent machine;
    machine.where = resolving_sent::at::resolving;
    machine.who = who;
    const step pending{ask::own_guest{}, time_point(1h) + 5s, "libvirt, what is here"};
    const auto next = next_steps(domain_machine(machine), pending, seen, {}, time_point(1h));
    ASSERT_EQ(next.size(), 3U);
    EXPECT_EQ(next[0], (what_if{"yes", "another look at both sides of a migration"}))
        << "two looks before one is ended";
    EXPECT_EQ(next[1], (what_if{"no", "its keys"}));
}

TEST(explain, whose_lock_a_start_waits_for) {
    domain_seen seen = a_machine_that_is_to_move();
    seen.state = vm_state::start;
    seen.is_owner = true;
    seen.guest = guest_class::absent;
    const time_point now(1h);
    domain_machine machine = starting{};
    domain_memory memory;
    const auto said = [&](const answer& one) { return resume(machine, {seen, one, now}, memory).next; };
    said({});
    said(others_read{true, {}});
    said(definition_read{definition_read::end::read, {}, {"vms/web_sda"}});
    seen.held.has_turn = true;
    said({});
    const step lists = said(call_answer{call_end::done, {}});
    EXPECT_EQ(awaited(machine, lists), "the locks of its disks");
    EXPECT_EQ(next_steps(machine, lists, seen, memory, now),
              (std::vector<what_if>{{"free", "the running list, before it is created"},
                                    {"this host has one", "libvirt, whether it is here already"},
                                    {"another host has one", "the RBD lock of 10.0.0.2 on vms/web_sda"},
                                    {"they cannot be read", "another attempt to list the locks of its disks"}}));
    const held_lock foreign{"auto 7", "client.7", "10.254.0.2:0/7"};
    const step waits = said(rbd_listed{{{"vms/web_sda", {foreign}, {}}}, {"10.254.0.1"}});
    EXPECT_EQ(awaited(machine, waits), "the RBD lock of 10.254.0.2 on vms/web_sda");
    EXPECT_EQ(waits.until, now + 1s);
    EXPECT_EQ(next_steps(machine, waits, seen, memory, now),
              (std::vector<what_if>{{"its time is over", "its keys, before a lock of its disks is dealt with"}}));
}

TEST(explain, every_question_has_an_answer_that_fits) {
    // Of each machine, along whatever comes first.
    for (const auto action :
         {domain_action::adopt, domain_action::start, domain_action::shutdown, domain_action::stop, domain_action::send,
          domain_action::receive, domain_action::resolve_sent, domain_action::resolve_own, domain_action::resolve_found,
          domain_action::hand_over_ended, domain_action::clean_up}) {
        auto machine = machine_for(action);
        ASSERT_TRUE(machine);
        domain_memory memory;
        const domain_seen seen = a_machine_that_is_to_move();
        time_point now(1h);
        answer said;
        for (int i = 0; i < 20; ++i) {
            const auto out = resume(*machine, {seen, said, now}, memory);
            if (out.next.is_over()) {
                break;
            }
            const auto next = next_steps(*machine, out.next, seen, memory, now);
            ASSERT_FALSE(next.empty()) << to_text(action) << ": " << out.next.reason;
            EXPECT_TRUE(std::ranges::none_of(next, [](const what_if& one) { return one.next.empty(); }));
            said = possible_answers(out.next.what).front().second;
            now = out.next.until == time_point::max() ? now + 1s : std::max(now, out.next.until);
        }
    }
}

// Whoever asks for this must not end the daemon by an answer that its machine does not know.
TEST(explain, the_answers_to_every_question_are_of_its_kind) {
    boost::mp11::mp_for_each<ask::any>([](const auto& one) {
        using question = std::decay_t<decltype(one)>;
        ask::any what = one;
        if constexpr (std::is_same_v<question, ask::list_rbd_locks>) {
            std::get<question>(what).volumes = {"vms/web_sda"};
        }
        for (const auto& [words, said] : possible_answers(what)) {
            EXPECT_EQ(said.index(), fitting_answer(what)) << what.index() << ": " << words;
        }
    });
}

}  // namespace
}  // namespace pvc::policy
