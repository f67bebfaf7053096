// One live call: what ends it early, what an abort is worth, and what is made of libvirt's words.
#include "pvcnoded/policy/domains/live_move.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using moved = played<live_move>;

constexpr std::uint64_t mib = 1024 * 1024;

moved under_way() {
    moved p(live_move{.target = "hv2"});
    p.place(vm_state::migrate, "hv2");
    EXPECT_EQ(p.begin(), "change 0s");
    EXPECT_EQ(p.holds().call_to, "hv2");
    EXPECT_EQ(p.holds().follows_daemon_of, "hv2");
    p.seen.held.call_begun = p.now;
    EXPECT_EQ(p.woken(), "change 1s");
    return p;
}
std::string ends(moved& p, call_end end, std::string_view text = "") {
    p.seen.held.call_outcome = end;
    p.seen.held.call_text = text;
    p.seen.held.call_is_over = true;
    return p.woken();
}
std::string copied(moved& p, std::uint64_t left, bool is_running = true) {
    return p.says(progress_read{true, is_running, left, 1024 * mib, 0, 256});
}
// It copies for so long, and comes no further.
void stand_still(moved& p, duration time) {
    const time_point last = p.now + time;
    while (p.now < last && p.asked<ask::change>() != nullptr) {
        if (p.at_limit() == "progress 5s") {
            copied(p, 500 * mib);
        }
    }
}

TEST(live_move_machine, D50_it_has_moved) {
    auto p = under_way();
    EXPECT_EQ(p.at_limit(), "progress 5s");
    EXPECT_EQ(copied(p, 500 * mib), "change 1s");
    EXPECT_EQ(ends(p, call_end::done), "over");
    EXPECT_EQ(p.machine.end, live_end::moved);
    EXPECT_EQ(p.holds(), holdings()) << "nothing of the call is held any more";
}

TEST(live_move_machine, it_is_moved_although_it_was_to_end) {
    auto p = under_way();
    p.seen.must_end = true;
    EXPECT_EQ(p.woken(), "abort_call 10s");
    p.seen.held.call_outcome = call_end::done;
    p.seen.held.call_is_over = true;
    EXPECT_EQ(p.call(call_end::other), "over");
    EXPECT_EQ(p.machine.end, live_end::moved) << "the abort came too late: the call's own end says what became of it";
}

TEST(live_move_machine, D53_libvirts_words_and_whether_another_try_may_help) {
    struct line {
        call_end end;
        live_end expected;
    };
    for (const auto& one :
         {line{call_end::other, live_end::failed}, line{call_end::unavailable, live_end::failed},
          line{call_end::timed_out, live_end::failed}, line{call_end::too_late, live_end::failed},
          line{call_end::wrong_state, live_end::hopeless}, line{call_end::unsafe, live_end::hopeless},
          line{call_end::unsupported, live_end::hopeless}, line{call_end::no_domain, live_end::hopeless}}) {
        auto p = under_way();
        EXPECT_EQ(ends(p, one.end, "words"), "over");
        EXPECT_EQ(p.machine.end, one.expected) << static_cast<int>(one.end);
        EXPECT_EQ(p.machine.text, "words");
    }
}

TEST(live_move_machine, an_earlier_job_that_runs_on_is_seen_by_the_guest) {
    for (const auto& [here, is_busy] :
         {std::pair{guest_class::alive, true}, std::pair{guest_class::paused, true},
          std::pair{guest_class::incoming, false}, std::pair{guest_class::absent, false}}) {
        auto p = under_way();
        p.seen.guest = here;
        ends(p, call_end::wrong_state);
        EXPECT_EQ(p.machine.was_busy, is_busy) << model::to_text(here);
    }
}

TEST(live_move_machine, what_ended_before_anything_was_copied_was_short) {
    auto p = under_way();
    auto late = p;
    auto copying = p;
    p.now += 5500ms;
    ends(p, call_end::unavailable);
    EXPECT_TRUE(p.machine.was_short) << "the time that is granted to reach the target";
    late.now += 5501ms;
    ends(late, call_end::unavailable);
    EXPECT_FALSE(late.machine.was_short);
    copying.at_limit();
    copied(copying, 500 * mib);
    ends(copying, call_end::unavailable);
    EXPECT_FALSE(copying.machine.was_short);
}

TEST(live_move_machine, nothing_is_decided_before_nothing_of_the_call_is_under_way) {
    auto p = under_way();
    p.seen.held.call_outcome = call_end::other;
    EXPECT_EQ(p.woken(), "change 1s");
    EXPECT_FALSE(p.holds().gives_up_call);
    EXPECT_EQ(p.after(60s), "change 1s");
    p.seen.held.call_is_over = true;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.machine.end, live_end::failed);
}

// ---- what ends it early

TEST(live_move_machine, D61_D61a_D66_who_wants_it_to_end) {
    struct line {
        std::string_view what;
        void (*change)(moved&);
        std::optional<live_end> end;
    };
    for (const auto& one : {
             line{"D66 the daemon stops", [](moved& p) { p.seen.must_end = true; }, live_end::must_end},
             line{"D61 recovered elsewhere", [](moved& p) { p.place(vm_state::start, "hv3"); }, live_end::withdrawn},
             line{"ours again", [](moved& p) { p.place(vm_state::start, "hv1"); }, live_end::withdrawn},
             line{"to another node", [](moved& p) { p.place(vm_state::migrate, "hv3"); }, live_end::withdrawn},
             line{"stop", [](moved& p) { p.set(vm_state::stop); }, live_end::withdrawn},
             line{"its keys are gone", [](moved& p) { p.remove_keys(); }, live_end::withdrawn},
             line{"D118 dead", [](moved& p) { p.seen.held.target_daemon = daemon_state::dead; }, live_end::target_dead},
             line{"fenced", [](moved& p) { p.seen.held.target_daemon = daemon_state::fenced; }, live_end::target_dead},
             line{"D61a the receiver was faster", [](moved& p) { p.set(vm_state::start); }, std::nullopt},
             line{"the same once more", [](moved& p) { p.place(vm_state::migrate, "hv2"); }, std::nullopt},
             line{"live is enforced", [](moved& p) { p.set(vm_state::migrate_live); }, std::nullopt},
             line{"a daemon that restarts", [](moved& p) { p.seen.held.target_daemon = daemon_state::stop; },
                  std::nullopt},
             line{"libvirt says nothing", [](moved& p) { p.seen.guest.reset(); }, std::nullopt},
         }) {
        auto p = under_way();
        one.change(p);
        EXPECT_EQ(p.woken(), one.end ? "abort_call 10s" : "change 1s") << one.what;
        if (one.end) {
            p.call(call_end::done);
            EXPECT_EQ(ends(p, call_end::other, "aborted"), "over") << one.what;
            EXPECT_EQ(p.machine.end, *one.end) << one.what;
        }
    }
}

TEST(live_move_machine, D115_no_progress_for_the_stall_limit) {
    auto p = under_way();
    const time_point began = p.now;
    p.at_limit();
    copied(p, 500 * mib);
    stand_still(p, 1000s);
    EXPECT_EQ(p.last_question(), "abort_call 10s");
    EXPECT_EQ(p.now - began, duration(301s)) << "300 s after the last new minimum";
    EXPECT_EQ(p.count("warning: its live migration does not converge"), 1);
    EXPECT_EQ(p.count("info: migrating for"), 10) << "every 30 s";
    EXPECT_EQ(p.machine.why, live_end::no_progress);
}

TEST(live_move_machine, D115_somebody_waits_and_nothing_is_gained_for_30_s) {
    auto p = under_way();
    const time_point began = p.now;
    p.at_limit();
    copied(p, 500 * mib);
    p.seen.held.somebody_waits = true;
    stand_still(p, 1000s);
    EXPECT_EQ(p.now - began, duration(31s));
    EXPECT_EQ(p.machine.why, live_end::somebody_waits);
}

TEST(live_move_machine, what_is_gained_counts_from_the_new_minimum) {
    auto p = under_way();
    p.at_limit();
    copied(p, 500 * mib);
    p.seen.held.somebody_waits = true;
    stand_still(p, 29s);
    EXPECT_EQ(p.machine.why, std::nullopt);
    p.at_limit();
    EXPECT_EQ(copied(p, 400 * mib), "change 1s");
    stand_still(p, 29s);
    EXPECT_EQ(p.machine.why, std::nullopt);
}

TEST(live_move_machine, a_figure_that_is_not_known_is_no_progress) {
    auto p = under_way();
    const time_point began = p.now;
    while (p.last_question() != "abort_call 10s") {
        p.at_limit();
        p.says(progress_read{});
    }
    EXPECT_EQ(p.now - began, duration(300s));
    EXPECT_FALSE(p.did("warning") || p.did("info"));
}

// Its clocks run from when the call has its thread; one that waits for another's end stands in nobody's way.
TEST(live_move_machine, a_call_without_a_thread) {
    moved p(live_move{.target = "hv2"});
    p.place(vm_state::migrate, "hv2");
    p.begin();
    for (int i = 0; i < 500; ++i) {
        ASSERT_EQ(p.at_limit(), "change 1s") << "nobody asks how far it is";
    }
    p.seen.held.somebody_waits = true;
    const time_point since = p.now;
    while (p.at_limit() == "change 1s") {
    }
    EXPECT_EQ(p.last_question(), "abort_call 10s");
    EXPECT_EQ(p.now - since, duration(30s));
    EXPECT_EQ(p.machine.why, live_end::somebody_waits);
}

TEST(live_move_machine, the_guest_is_gone_and_the_call_does_not_end) {
    auto p = under_way();
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.after(500ms), "change 500ms");
    p.seen.guest = guest_class::alive;
    EXPECT_EQ(p.after(500ms), "progress 5s");
    p.seen.guest = guest_class::absent;
    copied(p, 500 * mib);
    EXPECT_EQ(p.at_limit(), "progress 5s");
    EXPECT_EQ(copied(p, 500 * mib), "change 1s");
    EXPECT_EQ(p.at_limit(), "abort_call 10s") << "2 s after it was seen last";
    EXPECT_EQ(p.machine.why, live_end::gone);
    p.call(call_end::done);
    while (p.at_limit() == "change 1s" && !p.holds().gives_up_call) {
    }
    p.seen.held.call_is_over = true;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.machine.end, live_end::gone);
    EXPECT_EQ(p.machine.text, "the guest is gone, and the call does not end");
}

// ---- the abort

TEST(live_move_machine, an_abort_that_is_refused_is_tried_again_every_second_for_20_s) {
    auto p = under_way();
    const time_point began = p.now;
    p.seen.must_end = true;
    EXPECT_EQ(p.woken(), "abort_call 10s");
    int aborts = 0;
    while (p.asked<ask::abort_call>() != nullptr) {
        ++aborts;
        EXPECT_EQ(p.call(call_end::wrong_state), "change 1s");
        EXPECT_FALSE(p.holds().gives_up_call);
        p.at_limit();
    }
    EXPECT_EQ(aborts, 20);
    EXPECT_EQ(p.now - began, duration(20s));
    EXPECT_TRUE(p.holds().gives_up_call) << "it is ended, whatever libvirt says";
    EXPECT_EQ(p.last_question(), "change 1s");
    p.seen.held.call_is_over = true;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(p.machine.end, live_end::must_end);
    EXPECT_EQ(p.machine.text, "the call did not end after it was aborted");
}

TEST(live_move_machine, an_abort_that_is_taken_is_waited_for) {
    auto p = under_way();
    p.seen.must_end = true;
    p.woken();
    EXPECT_EQ(p.call(call_end::done), "change 20s");
    EXPECT_EQ(p.after(3s), "change 17s") << "and not asked for again";
    EXPECT_EQ(ends(p, call_end::other, "aborted"), "over");
    EXPECT_EQ(p.machine.end, live_end::must_end);
    EXPECT_EQ(p.machine.text, "aborted");
    EXPECT_FALSE(p.machine.was_short) << "we ended it";
}

TEST(live_move_machine, it_winds_up_in_every_step) {
    auto p = under_way();
    p.at_limit();
    copied(p, 500 * mib);
    p.at_limit();
    copied(p, 400 * mib);
    p.seen.held.target_daemon = daemon_state::dead;
    p.woken();
    p.call(call_end::other);
    p.at_limit();
    p.call(call_end::done);
    p.is_late_by_a_look = true;  // see below
    const auto is_let_go = [](auto& one) { EXPECT_EQ(one.holds(), holdings()); };
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, is_let_go);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, is_let_go);
    wind_up_from_each(p, [](auto& one) { one.place(vm_state::start, "hv3"); }, is_let_go);
}

// What changes while libvirt is asked how far it is has woken it already: the wait that follows returns at once.
TEST(live_move_machine, what_came_while_libvirt_was_asked_is_seen_right_after_its_answer) {
    auto p = under_way();
    EXPECT_EQ(p.at_limit(), "progress 5s");
    p.seen.must_end = true;
    p.is_late_by_a_look = true;
    EXPECT_EQ(copied(p, 500 * mib), "change 1s");
    EXPECT_EQ(p.woken(), "abort_call 10s");
}

TEST(live_move_machine, a_silent_libvirt_ends_nothing) {
    auto p = under_way();
    p.seen.guest.reset();
    for (int i = 0; i < 60; ++i) {
        ASSERT_EQ(p.at_limit(), "progress 5s");
        ASSERT_EQ(p.says(progress_read{}), "change 1s");
    }
}

}  // namespace
}  // namespace pvc::policy
