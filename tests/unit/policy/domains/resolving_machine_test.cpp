// Who has the guest of a broken migration: what both sides say, how often before anything is destroyed, what is proven
// before anything is resumed, and how long anybody waits (8.7; rulings 24, 29).
#include "pvcnoded/policy/domains/resolving.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using resolved = played<resolving>;
using verdict = rbd_judged::verdict;

resolved to_resolve(bool holds_locks = true, guest_class here = guest_class::incoming) {
    resolved p(resolving{.target = "hv2", .holds_locks = holds_locks});
    p.place(vm_state::migrate, "hv2");
    p.seen.guest = here;
    p.seen.class_since = p.now;
    EXPECT_EQ(p.begin(), "row");
    return p;
}
// One look: keys, here, there, and here once more.
template <class Machine>
std::string look(played<Machine>& p, guest_class here, remote_answer there) {
    EXPECT_EQ(p.last_question(), "row");
    EXPECT_EQ(p.fresh(), "own_guest 5s");
    p.guest(here);
    EXPECT_NE(p.template asked<ask::target>(), nullptr) << p.last_question();
    EXPECT_EQ(p.target(there), "own_guest 5s");
    return p.guest(here);
}
template <class Machine>
std::string destroyed(played<Machine>& p) {
    p.call(call_end::done);
    p.seen.guest = guest_class::absent;
    return p.woken();
}

TEST(resolving_machine, D62_D63_D116_what_one_look_comes_to) {
    struct line {
        guest_class here;
        remote_answer there;
        std::string next;
        resolution end = resolution::let_go;
    };
    for (const auto& one : {line{guest_class::alive, remote_answer::absent, "over", resolution::clean_failure},
                            line{guest_class::alive, remote_answer::shut_off, "over", resolution::clean_failure},
                            line{guest_class::alive, remote_answer::silent, "over", resolution::unanswered},
                            line{guest_class::alive, remote_answer::refused, "over", resolution::unanswered},
                            line{guest_class::alive, remote_answer::alive, "change 1s"},
                            line{guest_class::alive, remote_answer::halted, "change 2s"},
                            line{guest_class::alive, remote_answer::being_made, "change 2s"},
                            line{guest_class::paused, remote_answer::halted, "change 1s"},
                            line{guest_class::absent, remote_answer::alive, "over", resolution::moved},
                            line{guest_class::absent, remote_answer::incoming, "over", resolution::moved},
                            line{guest_class::absent, remote_answer::absent, "over", resolution::ended},
                            line{guest_class::absent, remote_answer::silent, "change 2s"},
                            line{guest_class::absent, remote_answer::ending, "change 2s"},
                            line{guest_class::incoming, remote_answer::alive, "change 1s"},
                            line{guest_class::incoming, remote_answer::incoming, "change 2s"},
                            line{guest_class::incoming, remote_answer::silent, "change 5s"},
                            line{guest_class::incoming, remote_answer::refused, "change 5s"},
                            line{guest_class::incoming, remote_answer::absent, "rbd_verdict 15s"},
                            line{guest_class::ending, remote_answer::alive, "change 2s"}}) {
        auto p = to_resolve();
        EXPECT_EQ(look(p, one.here, one.there), one.next)
            << model::to_text(one.here) << " / " << static_cast<int>(one.there);
        EXPECT_FALSE(p.ever_asked("destroy") || p.ever_asked("resume"));
        if (p.is_over()) {
            EXPECT_EQ(p.machine.end, one.end);
        }
    }
}

TEST(resolving_machine, D63a_two_equal_looks_a_second_apart_before_anything_is_destroyed) {
    auto p = to_resolve(true, guest_class::alive);
    EXPECT_EQ(look(p, guest_class::alive, remote_answer::alive), "change 1s");
    EXPECT_EQ(p.after(500ms), "change 500ms") << "woken by its own read: no news";
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::alive, remote_answer::alive), "destroy 14s");
    EXPECT_EQ(destroyed(p), "over");
    EXPECT_EQ(p.machine.end, resolution::moved);
    EXPECT_TRUE(p.did("info: it runs on node hv2"));
}

TEST(resolving_machine, a_look_that_comes_too_soon_or_says_something_else_confirms_nothing) {
    auto p = to_resolve();
    look(p, guest_class::incoming, remote_answer::alive);
    p.place(vm_state::migrate, "hv2");
    EXPECT_EQ(p.after(500ms), "row") << "news: looked at once";
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::alive), "change 1s") << "but not a second after the first";
    auto other = p;
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::halted), "change 1s") << "another answer";
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::alive), "change 1s");
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::incoming), "change 2s") << "forgotten";
    other.at_limit();
    other.fresh();
    other.guest(guest_class::incoming);
    other.target(remote_answer::alive);
    EXPECT_EQ(other.guest(guest_class::alive), "row") << "it moved while the target was asked: nothing counts";
    EXPECT_EQ(look(other, guest_class::alive, remote_answer::alive), "change 1s");
}

TEST(resolving_machine, D64_a_half_stands_as_long_as_nobody_answers) {
    auto p = to_resolve(false);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(look(p, guest_class::incoming, remote_answer::silent), "change 5s");
        p.at_limit();
    }
    EXPECT_EQ(p.count("error"), 1);
    p.seen.must_end = true;
    EXPECT_EQ(p.fresh(), "own_guest 5s");
    EXPECT_EQ(p.yes(), "over") << "the daemon after this one goes on";
    EXPECT_EQ(p.machine.end, resolution::let_go);
}

TEST(resolving_machine, ruling_24d_no_lock_is_held_for_longer_than_15_s) {
    for (const auto there : {remote_answer::silent, remote_answer::incoming}) {
        auto p = to_resolve(true);
        const time_point began = p.now;
        while (!p.is_over()) {
            if (p.asked<ask::row>() != nullptr) {
                p.fresh();
            } else if (p.asked<ask::target>() != nullptr) {
                p.target(there);
            } else if (p.asked<ask::own_guest>() != nullptr) {
                p.guest(guest_class::incoming);
            } else {
                p.at_limit();
            }
        }
        EXPECT_EQ(p.now - began, duration(15s));
        EXPECT_EQ(p.machine.end, resolution::let_go);
        EXPECT_TRUE(p.did("warning: who has it is not clear yet"));
    }
}

TEST(resolving_machine, nothing_there_and_nobody_answers_for_10_s) {
    auto p = to_resolve(false, guest_class::absent);
    const time_point began = p.now;
    while (look(p, guest_class::absent, remote_answer::silent) == "change 2s") {
        p.at_limit();
    }
    EXPECT_EQ(p.now - began, duration(10s));
    EXPECT_EQ(p.machine.end, resolution::let_go);
}

TEST(resolving_machine, a_halted_copy_there_for_10_s) {
    auto p = to_resolve(false, guest_class::alive);
    const time_point began = p.now;
    while (look(p, guest_class::alive, remote_answer::halted) == "change 2s") {
        p.at_limit();
    }
    EXPECT_EQ(p.now - began, duration(10s));
    EXPECT_EQ(p.machine.end, resolution::kept_without_proof);
    EXPECT_TRUE(p.did("error: a copy that does not run is left on node hv2; this one goes on"));
}

TEST(resolving_machine, a_silence_takes_nothing_back) {
    auto p = to_resolve(false, guest_class::alive);
    look(p, guest_class::alive, remote_answer::alive);
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::alive, remote_answer::silent), "change 2s") << "it was heard to run there";
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::alive, remote_answer::absent), "over");
    EXPECT_EQ(p.machine.end, resolution::clean_failure);
    EXPECT_EQ(p.memory.migration.seen_there, 0);
}

TEST(resolving_machine, a_process_that_does_not_go) {
    auto p = to_resolve(false, guest_class::ending);
    EXPECT_EQ(look(p, guest_class::ending, remote_answer::absent), "change 2s");
    p.now += 58s;
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::ending, remote_answer::absent), "change 2s") << "58 s";
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::ending, remote_answer::absent), "destroy 60s");
    EXPECT_EQ(destroyed(p), "change 2s") << "and then it is looked at again";
}

// ---- what is wanted meanwhile

TEST(resolving_machine, D61_D125_another_wish) {
    struct line {
        std::string_view what;
        void (*change)(resolved&);
        guest_class here;
        std::string next;
    };
    const auto elsewhere = [](resolved& p) { p.place(vm_state::start, "hv3"); };
    for (const auto& one :
         {line{"D61 recovered elsewhere, it runs", elsewhere, guest_class::alive, "over"},
          line{"D125 recovered elsewhere, a half", elsewhere, guest_class::incoming, "destroy 15s"},
          line{"stop, a half", [](resolved& p) { p.set(vm_state::stop); }, guest_class::incoming, "destroy 15s"},
          line{"nobody knows where it belongs", [](resolved& p) { p.place(vm_state::start, ""); },
               guest_class::incoming, "over"},
          line{"off wherever it belongs", [](resolved& p) { p.place(vm_state::stop, ""); }, guest_class::incoming,
               "destroy 15s"},
          line{"defined again", [](resolved& p) { ++p.seen.wish.created; }, guest_class::alive, "over"},
          line{"its keys are gone, it runs", [](resolved& p) { p.remove_keys(); }, guest_class::alive, "over"},
          line{"its keys are gone, a half", [](resolved& p) { p.remove_keys(); }, guest_class::incoming,
               "target hv2 15s"},
          line{"done there", [](resolved& p) { p.set(vm_state::start); }, guest_class::incoming, "target hv2 15s"},
          line{"ours again", [](resolved& p) { p.place(vm_state::start, "hv1"); }, guest_class::incoming,
               "target hv2 15s"}}) {
        auto p = to_resolve();
        one.change(p);
        p.says(row_read{p.seen.is_present ? row_read::end::fresh : row_read::end::gone, {}});
        EXPECT_EQ(p.guest(one.here), one.next) << one.what;
        EXPECT_EQ(p.memory.migration.is_stale_half, p.asked<ask::destroy>() != nullptr) << one.what;
        if (p.asked<ask::destroy>() != nullptr) {
            EXPECT_EQ(destroyed(p), "over");
            EXPECT_EQ(p.machine.end, resolution::overtaken);
        }
        EXPECT_FALSE(p.ever_asked("resume"));
    }
}

TEST(resolving_machine, without_its_keys_a_half_is_not_resumed) {
    auto p = to_resolve(false);
    p.remove_keys();
    p.says(row_read{row_read::end::gone, {}});
    p.yes();
    p.target(remote_answer::absent);
    EXPECT_EQ(p.yes(), "over");
    EXPECT_EQ(p.machine.end, resolution::overtaken);
}

TEST(resolving_machine, it_arrived_there_and_ended_there) {
    auto p = to_resolve(false);
    p.set(vm_state::start);
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::absent), "change 1s");
    p.at_limit();
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::absent), "progress 5s");
    EXPECT_EQ(p.says(progress_read{true, false}), "destroy 60s") << "its memory is stale";
    EXPECT_EQ(destroyed(p), "over");
    EXPECT_EQ(p.machine.end, resolution::moved);
    EXPECT_FALSE(p.ever_asked("resume"));
}

// Found by exploring two writes: sent there and back, and there once more while it is on its way back.
TEST(resolving_machine, what_is_on_its_way_here_is_not_what_was_left_behind) {
    for (const auto& job : {progress_read{}, progress_read{true, true}}) {
        auto p = to_resolve(false);
        look(p, guest_class::incoming, remote_answer::alive);
        p.at_limit();
        EXPECT_EQ(look(p, guest_class::incoming, remote_answer::alive), "progress 5s");
        EXPECT_EQ(p.says(job), "change 1s") << "the target's answer was old when it came";
        EXPECT_FALSE(p.memory.migration.is_stale_half);
        EXPECT_EQ(p.at_limit(), "row");
        p.fresh();
        p.guest(guest_class::alive);
        EXPECT_FALSE(p.ever_asked("destroy"));
    }
    auto p = to_resolve(false);
    look(p, guest_class::incoming, remote_answer::alive);
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::alive);
    p.seen.guest = guest_class::alive;
    EXPECT_EQ(p.says(progress_read{true, false}), "change 1s") << "it has arrived";
    EXPECT_FALSE(p.ever_asked("destroy"));
}

TEST(resolving_machine, neither_zookeeper_nor_libvirt_says_anything) {
    auto p = to_resolve(false);
    EXPECT_EQ(p.unread(), "own_guest 5s");
    EXPECT_EQ(p.guest(guest_class::incoming), "change 2s");
    EXPECT_EQ(p.at_limit(), "row");
    p.fresh();
    EXPECT_EQ(p.libvirt_silent(), "change 2s");
    p.at_limit();
    p.fresh();
    p.guest(guest_class::incoming);
    p.target(remote_answer::absent);
    EXPECT_EQ(p.libvirt_silent(), "row") << "not the same as before the target was asked";
    EXPECT_FALSE(p.ever_asked("rbd_verdict"));
}

TEST(resolving_machine, the_daemon_stops) {
    auto p = to_resolve(false);
    p.seen.must_end = true;
    const time_point began = p.now;
    while (look(p, guest_class::incoming, remote_answer::incoming) == "change 2s" && p.now - began < 10s) {
        p.at_limit();
    }
    p.at_limit();
    p.fresh();
    EXPECT_EQ(p.yes(), "over") << "more than 10 s after it began";
    EXPECT_EQ(p.machine.end, resolution::let_go);
}

TEST(resolving_machine, it_winds_up_in_every_step) {
    auto p = to_resolve(false);
    look(p, guest_class::incoming, remote_answer::silent);
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::absent);
    p.says(rbd_judged{verdict::own, {}});
    p.fresh();
    p.call(call_end::other);
    p.guest(guest_class::incoming);
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::alive);
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::alive);
    p.says(progress_read{true, false});
    destroyed(p);
    ASSERT_TRUE(p.is_over());
    const auto nothing = [](auto& /*one*/) {};
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
    wind_up_from_each(p, [](auto& one) { one.place(vm_state::start, "hv3"); }, nothing);
    wind_up_from_each(
        p, [](auto& one) { one.remove_keys(); },
        [](auto& one) { EXPECT_FALSE(one.ever_asked("resume")) << one.story(); });
    for (auto one : p.on_its_way()) {
        one.seen.guest.reset();
        one.seen.must_end = true;
        quiet_world<resolving> world(one);
        world.is_libvirt_there = false;
        EXPECT_TRUE(world.wind_up()) << one.story();
        EXPECT_FALSE(one.ever_asked("destroy")) << one.story();
    }
}

// ---- the half here

resolved before_the_locks() {
    auto p = to_resolve(false);
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::absent), "rbd_verdict 60s");
    return p;
}

TEST(resuming_half_machine, D63_resumed_on_a_guarded_read) {
    for (const auto locks : {verdict::own, verdict::no_disks}) {
        auto p = before_the_locks();
        EXPECT_EQ(p.says(rbd_judged{locks, {}}), "row");
        EXPECT_EQ(p.fresh(), "resume_guest 30s");
        EXPECT_EQ(p.asked<ask::resume_guest>()->proof, boot_time(7s));
        EXPECT_EQ(p.call(call_end::done), "own_guest 5s");
        EXPECT_EQ(p.guest(guest_class::alive), "over");
        EXPECT_EQ(p.machine.end, resolution::clean_failure);
    }
}

TEST(resuming_half_machine, what_was_resumed_must_be_seen_to_run) {
    auto p = before_the_locks();
    p.says(rbd_judged{verdict::own, {}});
    p.fresh();
    p.call(call_end::done);
    EXPECT_EQ(p.guest(guest_class::incoming), "change 2s");
    auto refused = before_the_locks();
    refused.says(rbd_judged{verdict::own, {}});
    refused.fresh();
    refused.call(call_end::too_late, "no");
    EXPECT_TRUE(refused.did("warning: resuming it after a broken migration: no"));
    EXPECT_EQ(refused.guest(guest_class::alive), "change 2s") << "not by us: looked at again";
}

TEST(resuming_half_machine, D125_the_guarded_read_finds_something_else) {
    for (const auto& change :
         {+[](resolved& p) { p.place(vm_state::start, "hv3"); }, +[](resolved& p) { p.set(vm_state::stop); },
          +[](resolved& p) { p.set(vm_state::start); }, +[](resolved& p) { ++p.seen.wish.created; },
          +[](resolved& p) { p.seen.is_connected = false; }, +[](resolved& p) { p.remove_keys(); }}) {
        auto p = before_the_locks();
        p.says(rbd_judged{verdict::own, {}});
        change(p);
        const auto next = p.fresh();
        EXPECT_EQ(next, p.machine.seen == p.seen.wish ? "change 2s" : "row") << "looked at again";
        EXPECT_FALSE(p.ever_asked("resume_guest"));
    }
    auto unread = before_the_locks();
    unread.says(rbd_judged{verdict::own, {}});
    EXPECT_EQ(unread.unread(), "change 2s");
    auto ours = before_the_locks();
    ours.says(rbd_judged{verdict::own, {}});
    ours.place(vm_state::start, "hv1");
    EXPECT_EQ(ours.fresh(), "resume_guest 30s");
    for (const auto* where : {"hv3", "hv1"}) {  // sent on, or back: whoever did so wants it to live
        auto sent_on = before_the_locks();
        sent_on.says(rbd_judged{verdict::own, {}});
        sent_on.place(vm_state::migrate, where);
        EXPECT_EQ(sent_on.fresh(), "resume_guest 30s") << where;
    }
}

TEST(resuming_half_machine, D117_a_foreign_lock_is_looked_at_twice) {
    auto p = before_the_locks();
    EXPECT_EQ(p.says(rbd_judged{verdict::foreign, {}}), "change 2s");
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::absent);
    EXPECT_EQ(p.says(rbd_judged{verdict::foreign, {}}), "destroy 60s");
    EXPECT_TRUE(p.did("error: a disk of it is locked by another host"));
    EXPECT_TRUE(p.memory.migration.is_stale_half);
    EXPECT_EQ(destroyed(p), "over");
    EXPECT_EQ(p.machine.end, resolution::ended);
}

// A fencer of the reference takes all locks away, asks nobody, and may choose the sender.
TEST(resuming_half_machine, what_was_given_back_to_its_sender_is_not_resumed) {
    auto p = to_resolve(false);
    p.memory.migration.is_sent_by_us = true;
    p.place(vm_state::start, "hv1");
    EXPECT_EQ(look(p, guest_class::incoming, remote_answer::absent), "rbd_verdict 60s");
    EXPECT_EQ(p.says(rbd_judged{.what = verdict::own, .reason = {}, .is_unlocked = true}), "change 2s");
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::absent);
    EXPECT_EQ(p.says(rbd_judged{verdict::no_disks, {}}), "destroy 60s");
    EXPECT_TRUE(p.did("error: it was recovered after its new node died, and given back to this one"));
    EXPECT_EQ(destroyed(p), "over");
    EXPECT_EQ(p.machine.end, resolution::ended) << "the tables start it";
    EXPECT_FALSE(p.ever_asked("resume_guest"));

    auto late = before_the_locks();
    late.memory.migration.is_sent_by_us = true;
    late.says(rbd_judged{verdict::own, {}});
    late.place(vm_state::start, "hv1");
    late.fresh();
    EXPECT_FALSE(late.ever_asked("resume_guest")) << "found by the guarded read";

    auto sent_back = before_the_locks();
    sent_back.memory.migration.is_sent_by_us = true;
    sent_back.place(vm_state::unmigrate, "hv1");
    sent_back.says(rbd_judged{verdict::own, {}});
    EXPECT_EQ(sent_back.fresh(), "resume_guest 30s") << "a client's word";
}

TEST(resuming_half_machine, no_lock_says_nothing_of_a_target_that_has_fallen) {
    const rbd_judged cleared{.what = verdict::own, .reason = {}, .is_unlocked = true, .has_target_fallen = true};
    auto p = before_the_locks();
    EXPECT_EQ(p.asked<ask::rbd_verdict>()->target, "hv2");
    EXPECT_EQ(p.says(cleared), "change 2s");
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::absent);
    EXPECT_EQ(p.says(cleared), "destroy 60s");
    EXPECT_TRUE(p.did("error: node hv2, to which it was sent, has been down since"));
    EXPECT_EQ(destroyed(p), "over");
    EXPECT_EQ(p.machine.end, resolution::ended);
    for (const auto& as_it_was : {rbd_judged{.what = verdict::own, .reason = {}, .is_unlocked = true},
                                  rbd_judged{.what = verdict::own, .reason = {}}}) {
        auto stays = before_the_locks();
        EXPECT_EQ(stays.says(as_it_was), "row");
        EXPECT_EQ(stays.fresh(), "resume_guest 30s");
    }
}

TEST(resuming_half_machine, ruling_24a_locks_that_cannot_be_listed_are_asked_for_again) {
    for (const auto between : {verdict::unreadable, verdict::own}) {
        auto p = before_the_locks();
        p.says(rbd_judged{verdict::foreign, {}});
        p.at_limit();
        look(p, guest_class::incoming, remote_answer::absent);
        if (between == verdict::own) {
            p.says(rbd_judged{verdict::own, {}});
            EXPECT_EQ(p.unread(), "change 2s");
        } else {
            EXPECT_EQ(p.says(rbd_judged{verdict::unreadable, "no cluster"}), "change 2s");
            EXPECT_TRUE(p.did("warning: what is left of a broken migration can be neither resumed nor ended yet"));
        }
        p.at_limit();
        look(p, guest_class::incoming, remote_answer::absent);
        EXPECT_EQ(p.says(rbd_judged{verdict::foreign, {}}), "change 2s") << "two in a row";
    }
}

TEST(resuming_half_machine, a_verdict_that_is_not_had_forgets_nothing) {
    auto p = before_the_locks();
    p.says(rbd_judged{verdict::foreign, {}});
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::absent);
    EXPECT_EQ(p.says(rbd_judged{verdict::not_read, {}}), "change 2s");
    p.at_limit();
    look(p, guest_class::incoming, remote_answer::absent);
    EXPECT_EQ(p.says(rbd_judged{verdict::foreign, {}}), "destroy 60s");
}

}  // namespace
}  // namespace pvc::policy
