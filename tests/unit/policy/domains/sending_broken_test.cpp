// A sender whose live call breaks, is ended, or comes to nothing: who has the guest then, and what becomes of the move.
#include "sending_fixture.hpp"

#include <functional>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;

// The call is ended by us.
std::string is_aborted(sent_played& p) {
    EXPECT_EQ(p.last_question(), "abort_call 10s");
    p.seen.held.call_outcome = call_end::other;
    p.seen.held.call_text = "aborted";
    p.seen.held.call_is_over = true;
    const std::string next = p.call(call_end::done);
    p.seen.held.call_outcome.reset();
    p.seen.held.call_begun.reset();
    p.seen.held.call_is_over = false;
    return next;
}
// It copies, and comes no further.
void stand_still_until_aborted(sent_played& p) {
    for (int i = 0; i < 10000 && p.last_question() != "abort_call 10s"; ++i) {
        if (p.asked<ask::progress>() != nullptr) {
            p.says(progress_read{true, true, 1 << 20, 1 << 21, 0, 0});
        } else {
            p.at_limit();
        }
    }
}
void expect_let_go_without_a_write(sent_played& p) {
    expect_unlocked(p);
    EXPECT_EQ(p.last_question(), "over");
    EXPECT_FALSE(p.ever_asked("write")) << p.story();
}

TEST(sending_machine, D61_recovered_elsewhere_during_the_call) {
    auto p = moving_live();
    p.place(vm_state::start, "hv3");
    p.woken();
    EXPECT_EQ(is_aborted(p), "row");
    EXPECT_EQ(p.fresh(), "own_guest 5s");
    EXPECT_EQ(p.guest(guest_class::alive), "change") << "the tables terminate what is here";
    expect_let_go_without_a_write(p);
    EXPECT_FALSE(p.ever_asked("destroy") || p.ever_asked("resume"));
}

TEST(sending_machine, D61a_the_receiver_is_faster_than_the_answer) {
    auto p = moving_live();
    p.set(vm_state::start);
    EXPECT_EQ(p.woken(), "change 1s") << "no abort";
    EXPECT_EQ(call_ends(p, call_end::done), "change 10s");
    EXPECT_EQ(guest_gone(p), "set_listed -");
    p.woken();
    EXPECT_EQ(p.woken(), "change 2s");
    p.seen.held.sync_released = true;
    EXPECT_EQ(p.woken(), "change") << "nobody is awaited";
    expect_let_go_without_a_write(p);
    EXPECT_TRUE(p.did("drop_record"));
}

TEST(sending_machine, D62_D63a_error_and_the_target_runs_it) {
    for (const auto here : {guest_class::incoming, guest_class::alive, guest_class::paused}) {
        auto p = moving_live();
        call_ends(p, call_end::other);
        EXPECT_EQ(both_say(p, here, remote_answer::alive), "change 1s") << "not on one look (ruling 24 c)";
        p.at_limit();
        const bool is_half = here == guest_class::incoming;
        EXPECT_EQ(both_say(p, here, remote_answer::alive), is_half ? "progress 5s" : "destroy 14s");
        if (is_half) {
            EXPECT_EQ(p.says(progress_read{true, false}), "destroy 14s");
        }
        EXPECT_EQ(p.memory.migration.is_stale_half, here == guest_class::incoming);
        p.call(call_end::done);
        EXPECT_EQ(guest_gone(p), "set_listed -") << "a success";
        expect_sent(p);
    }
}

TEST(sending_machine, D63_error_and_the_target_does_not_have_it) {
    auto p = moving_live();
    call_ends(p, call_end::other);
    EXPECT_EQ(both_say(p, guest_class::incoming, remote_answer::absent), "rbd_verdict 15s");
    EXPECT_EQ(p.says(rbd_judged{rbd_judged::verdict::own, {}}), "row");
    EXPECT_EQ(p.fresh(), "resume_guest 15s");
    p.seen.guest = guest_class::alive;
    EXPECT_EQ(p.call(call_end::done), "own_guest 5s");
    EXPECT_EQ(p.yes(), "time 500ms") << "the next try";
    p.at_limit();
    begin_call(p);
}

TEST(sending_machine, D64_error_and_the_target_is_out_of_reach) {
    auto p = moving_live();
    call_ends(p, call_end::other);
    EXPECT_EQ(both_say(p, guest_class::incoming, remote_answer::silent), "change 5s");
    EXPECT_TRUE(p.did("error: it stands between here and node hv2"));
    p.at_limit();
    EXPECT_EQ(both_say(p, guest_class::incoming, remote_answer::refused), "change 5s");
    p.at_limit();
    EXPECT_EQ(both_say(p, guest_class::incoming, remote_answer::silent), "change 5s") << "at 10 s";
    p.at_limit();
    EXPECT_EQ(p.fresh(), "own_guest 5s");
    EXPECT_EQ(p.yes(), "change") << "ruling 24 d: no lock is held for longer than 15 s";
    EXPECT_TRUE(p.did("warning: who has it is not clear yet"));
    expect_let_go_without_a_write(p);
    EXPECT_EQ(p.count("error"), 1) << "told once";
    EXPECT_FALSE(p.did("drop_record")) << "the tables come back to it";
    EXPECT_TRUE(p.memory.migration.is_sent_by_us);
    EXPECT_FALSE(p.ever_asked("destroy") || p.ever_asked("resume"));
}

TEST(sending_machine, it_runs_here_and_the_target_does_not_answer) {
    struct line {
        std::string_view what;
        duration lasted;
        bool tries_again;
    };
    for (const auto& one : {line{"what could not even begin may be tried again", 5s, true},
                            line{"what broke on its way may not", 6s, false}}) {
        auto p = moving_live();
        while (p.now < *p.seen.held.call_begun + one.lasted) {
            p.at_limit();
            p.says(progress_read{});
        }
        call_ends(p, call_end::unavailable, "gone");
        const auto next = both_say(p, guest_class::alive, remote_answer::silent);
        EXPECT_EQ(next, one.tries_again ? "time 500ms" : "write_placement start hv1 ''") << one.what;
        if (one.tries_again) {
            p.at_limit();
            begin_call(p);
            call_ends(p, call_end::unsafe, "no");
            EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::silent), "write_placement start hv1 ''")
                << "no fallback: it must not go off for a node that says nothing";
        }
    }
}

TEST(sending_machine, D116_the_target_is_still_making_it) {
    auto p = moving_live();
    call_ends(p, call_end::other);
    EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::being_made), "change 2s");
    p.at_limit();
    EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::incoming), "change 2s");
    p.at_limit();
    EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), "time 500ms") << "the next try";
    EXPECT_FALSE(p.ever_asked("destroy"));
}

TEST(sending_machine, a_halted_copy_that_stays_there) {
    auto p = moving_live();
    call_ends(p, call_end::other, "38");
    const time_point began = p.now;
    while (both_say(p, guest_class::alive, remote_answer::halted) == "change 2s") {
        p.at_limit();
    }
    EXPECT_EQ(p.now - began, duration(10s));
    EXPECT_TRUE(p.did("error: a copy that does not run is left on node hv2"));
    expect_rolled_back(p, "live migration failed: 38");
    EXPECT_FALSE(p.ever_asked("destroy"));
}

TEST(sending_machine, the_guest_ended_on_its_way) {
    auto p = moving_live();
    call_ends(p, call_end::other);
    EXPECT_EQ(both_say(p, guest_class::absent, remote_answer::absent), "set_listed -");
    EXPECT_FALSE(p.memory.migration.is_sent_by_us);
    expect_handed_over(p);
}

TEST(sending_machine, it_is_gone_here_and_the_target_has_it) {
    for (const auto there : {remote_answer::alive, remote_answer::halted, remote_answer::incoming}) {
        auto p = moving_live();
        call_ends(p, call_end::unavailable);
        EXPECT_EQ(both_say(p, guest_class::absent, there), "set_listed -");
        expect_sent(p);
    }
}

TEST(sending_machine, it_is_gone_here_and_the_target_says_nothing_for_10_s) {
    auto p = moving_live();
    call_ends(p, call_end::unavailable);
    const time_point began = p.now;
    while (both_say(p, guest_class::absent, remote_answer::silent) == "change 2s") {
        p.at_limit();
    }
    EXPECT_EQ(p.now - began, duration(10s));
    expect_let_go_without_a_write(p);
}

TEST(sending_machine, D117_the_target_was_fenced_and_had_the_disks) {
    auto p = moving_live();
    call_ends(p, call_end::other);
    const rbd_judged foreign{rbd_judged::verdict::foreign, {}};
    EXPECT_EQ(both_say(p, guest_class::incoming, remote_answer::absent), "rbd_verdict 15s");
    EXPECT_EQ(p.says(foreign), "change 2s") << "ruling 24 c: two looks";
    p.at_limit();
    both_say(p, guest_class::incoming, remote_answer::absent);
    EXPECT_EQ(p.says(foreign), "destroy 13s");
    EXPECT_TRUE(p.memory.migration.is_stale_half);
    p.call(call_end::done);
    EXPECT_EQ(guest_gone(p), "set_listed -");
    expect_handed_over(p);
    EXPECT_EQ(p.at_limit(), "write_state start taken_back");
    EXPECT_FALSE(p.ever_asked("resume"));
}

TEST(sending_machine, D117_the_target_was_fenced_and_the_disks_are_ours) {
    auto p = moving_live("live");
    p.seen.held.target_daemon = daemon_state::fenced;
    p.woken();
    EXPECT_EQ(is_aborted(p), "row");
    both_say(p, guest_class::incoming, remote_answer::absent);
    p.says(rbd_judged{rbd_judged::verdict::no_disks, {}});
    p.fresh();
    p.seen.guest = guest_class::alive;
    p.call(call_end::done);
    EXPECT_EQ(p.yes(), "write_placement start hv1 ''");
    expect_rolled_back(p, "node hv2 died");
}

TEST(sending_machine, D118_a_target_that_died_is_no_place_to_be_shut_down_for) {
    auto p = moving_live("none");
    p.seen.held.target_daemon = daemon_state::dead;
    p.woken();
    is_aborted(p);
    EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), "write_placement start hv1 ''");
    expect_rolled_back(p, "node hv2 died");
}

TEST(sending_machine, D125_recovered_elsewhere_while_a_half_stands_here) {
    auto p = moving_live();
    p.place(vm_state::start, "hv3");
    p.woken();
    EXPECT_EQ(is_aborted(p), "row");
    EXPECT_EQ(p.fresh(), "own_guest 5s");
    EXPECT_EQ(p.guest(guest_class::incoming), "destroy 15s");
    EXPECT_TRUE(p.did("warning: it was recovered elsewhere meanwhile"));
    p.call(call_end::done);
    EXPECT_EQ(guest_gone(p), "change");
    expect_let_go_without_a_write(p);
    EXPECT_FALSE(p.ever_asked("resume"));
}

TEST(sending_machine, D66_the_daemon_is_told_to_stop_during_the_call) {
    auto p = moving_live();
    p.memory.adoption.is_adopted = false;
    p.seen.must_end = true;
    p.woken();
    EXPECT_EQ(is_aborted(p), "row");
    EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), "write_placement start hv1 ''");
    p.written();
    EXPECT_TRUE(p.did("error: it was not moved to node hv2 and stays here: the daemon stops"));
    EXPECT_TRUE(p.memory.adoption.is_adopted) << "nobody adopts it any more: its keys stay as they are";
}

TEST(sending_machine, D115_no_progress) {
    for (const auto& [method, next] :
         {std::pair{"none", "daemon_runs hv2"}, std::pair{"live", "write_placement start hv1 ''"}}) {
        auto p = moving_live(method);
        const time_point began = p.now;
        stand_still_until_aborted(p);
        EXPECT_EQ(p.now - began, duration(301s));
        is_aborted(p);
        EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), next) << "no other live try";
    }
}

TEST(sending_machine, D115_no_progress_and_a_client_waits) {
    auto p = moving_live("none");
    EXPECT_TRUE(p.holds().follows_waiters);
    p.seen.held.somebody_waits = true;
    const time_point began = p.now;
    stand_still_until_aborted(p);
    EXPECT_EQ(p.now - began, duration(31s));
    is_aborted(p);
    EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), "write_placement start hv1 ''");
    expect_rolled_back(p, "it did not converge, and somebody waits for the machine");
}

TEST(sending_machine, D59a_alone_it_moves_live_or_not_at_all) {
    auto p = moving_live("none", vm_state::migrate, true);
    EXPECT_TRUE(p.did("info: node hv2 has gone on without it"));
    for (int i = 1; i <= 3; ++i) {
        call_ends(p, call_end::other, "38");
        both_say(p, guest_class::alive, remote_answer::absent);
        if (i < 3) {
            p.at_limit();
            begin_call(p);
        }
    }
    expect_rolled_back(p, "live migration failed: 38");
    auto off = with_the_receiver("shutdown", vm_state::migrate, true);
    EXPECT_EQ(off.fresh(), "write_placement start hv1 ''");
    expect_rolled_back(off, "node hv2 has gone on without it");
}

TEST(sending_machine, a_rollback_that_is_overtaken) {
    auto p = moving_live("live");
    call_ends(p, call_end::unsafe, "81");
    both_say(p, guest_class::alive, remote_answer::absent);
    p.place(vm_state::start, "hv3");
    EXPECT_EQ(p.overtaken(), "change 2s");
    EXPECT_TRUE(p.did("warning: it was not moved to node hv2: live migration failed: 81"));
    EXPECT_FALSE(p.did("error"));
}

TEST(sending_machine, somebody_decided_otherwise_before_the_rollback) {
    auto p = moving_live("live");
    call_ends(p, call_end::unsafe, "81");
    p.fresh();
    p.yes();
    p.target(remote_answer::absent);
    p.place(vm_state::start, "hv1");
    EXPECT_EQ(p.guest(guest_class::alive), "change");
    expect_let_go_without_a_write(p);
}

TEST(sending_machine, who_stays_is_adopted_once_more) {
    auto p = moving_live("live");
    p.memory.adoption.is_adopted = true;
    call_ends(p, call_end::unsafe, "81");
    both_say(p, guest_class::alive, remote_answer::absent);
    expect_rolled_back(p, "live migration failed: 81");
    EXPECT_FALSE(p.memory.adoption.is_adopted) << "who adopts it clears what its receiver left";
}

// ---- in every step

// Everything that can come: live that fails, the shutdown, the hand-over.
sent_played long_story() {
    auto p = moving_live();
    p.at_limit();
    p.says(progress_read{true, true, 1 << 20, 1 << 21, 0, 0});
    call_ends(p, call_end::unsafe, "81");
    both_say(p, guest_class::alive, remote_answer::absent);
    p.yes();
    guest_gone(p);
    expect_handed_over(p);
    p.at_limit();
    p.written();
    expect_unlocked(p);
    p.fresh();
    p.at_limit();
    p.yes();
    p.written();
    EXPECT_TRUE(p.is_over());
    p.is_late_by_a_look = true;
    return p;
}

TEST(sending_machine, the_daemon_stops_in_every_step) {
    wind_up_from_each(
        long_story(), [](auto& one) { one.seen.must_end = true; },
        [](auto& one) {
            EXPECT_EQ(one.holds(), holdings());
            EXPECT_FALSE(one.ever_asked("destroy")) << one.story();
        });
}

// But for one step in which it writes without another look: after_move_machine_test.cpp.
bool asks_for_the_new_node(const sent_played& p) {
    return p.machine.seen.where == seeing_start::at::asking;
}

TEST(sending_machine, overtaken_or_without_its_keys_in_every_step) {
    const auto moved = [](const char* node) { return [node](sent_played& p) { p.place(vm_state::start, node); }; };
    for (const std::function<void(sent_played&)>& change :
         {std::function<void(sent_played&)>(moved("hv1")), std::function<void(sent_played&)>(moved("hv3")),
          std::function<void(sent_played&)>([](sent_played& p) { p.remove_keys(); })}) {
        bool is_exempt = false;
        wind_up_from_each(
            long_story(),
            [&](auto& one) {
                is_exempt = asks_for_the_new_node(one);
                change(one);
            },
            [&](auto& one) {
                EXPECT_EQ(one.holds(), holdings());
                EXPECT_FALSE(one.ever_asked("destroy")) << one.story();
                EXPECT_FALSE(!is_exempt && one.ever_asked("write")) << one.story();
            });
    }
}

TEST(sending_machine, libvirt_is_silent_in_every_step) {
    for (auto one : long_story().on_its_way()) {
        SCOPED_TRACE(text_of(one.next, one.now));
        const bool was_gone = one.seen.guest == guest_class::absent;
        one.seen.guest.reset();
        one.seen.must_end = true;
        quiet_world<sending> world(one);
        world.is_libvirt_there = false;
        EXPECT_TRUE(world.wind_up()) << one.story();
        EXPECT_EQ(one.holds(), holdings());
        EXPECT_FALSE(one.ever_asked("destroy")) << one.story();
        EXPECT_FALSE(!was_gone && one.ever_asked("write_state stop")) << one.story();
    }
}

// Ruling 78: what a libvirt answers is about the machine; who does not answer is at fault himself.
TEST(sending_machine, whose_fault_it_is_that_it_stays) {
    const struct {
        call_end end;
        remote_answer there;
        std::string_view noted;  // empty: nobody's
    } table[] = {
        {call_end::other, remote_answer::absent, "note_stay hv2 the machine's"},
        {call_end::unsupported, remote_answer::absent, "note_stay hv2 the machine's"},
        {call_end::unsafe, remote_answer::absent, "note_stay hv2 the machine's"},
        {call_end::no_target, remote_answer::absent, "note_stay hv2 the target's"},
        {call_end::timed_out, remote_answer::absent, "note_stay hv2 the target's"},
        {call_end::no_target, remote_answer::silent, "note_stay hv2 the target's"},
        {call_end::other, remote_answer::silent, "note_stay hv2 the target's"},
        {call_end::unavailable, remote_answer::absent, ""},  // the libvirt here
    };
    for (const auto& row : table) {
        auto p = moving_live("live");
        for (int i = 0; i < 3 && !p.last_question().starts_with("write_placement"); ++i) {
            if (i > 0) {
                p.at_limit();
                begin_call(p);
            }
            call_ends(p, row.end);
            both_say(p, guest_class::alive, row.there);
        }
        EXPECT_EQ(p.last_question(), "write_placement start hv1 ''");
        EXPECT_EQ(p.did("note_stay"), !row.noted.empty()) << p.story();
        EXPECT_TRUE(row.noted.empty() || p.did(std::string(row.noted))) << p.story();
    }
    auto stuck = moving_live("live");
    stand_still_until_aborted(stuck);
    is_aborted(stuck);
    both_say(stuck, guest_class::alive, remote_answer::absent);
    EXPECT_TRUE(stuck.did("note_stay hv2 the target's")) << "no progress";
    auto waited_for = moving_live("live");
    waited_for.seen.held.somebody_waits = true;
    stand_still_until_aborted(waited_for);
    is_aborted(waited_for);
    both_say(waited_for, guest_class::alive, remote_answer::absent);
    EXPECT_FALSE(waited_for.did("note_stay")) << "a client's";
    auto unprepared = under_locks();
    wishes(unprepared, "none");
    unprepared.seen.held.sync_failed = true;
    unprepared.after(10s);
    EXPECT_TRUE(unprepared.did("note_stay hv2 the target's"));
}

}  // namespace
}  // namespace pvc::policy
