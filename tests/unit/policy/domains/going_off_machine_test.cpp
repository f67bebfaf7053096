// A guest that goes, a shutdown to be completed, half of a migration that nobody needs: what is asked of the guest,
// what is destroyed, and what is written after it.
#include "pvcnoded/policy/domains/going_off.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using lines = std::vector<std::string>;
using reason = going_off::reason;
using off_played = played<going_off>;

off_played to_go(reason why, vm_state state, std::string_view node = "hv1") {
    off_played p(going_off{.why = why});
    p.seen.shutdown_timeout = 5s;
    p.place(state, node);
    return p;
}
std::string is_off_and_gone(off_played& p) {
    p.seen.guest = guest_class::absent;
    return p.woken();
}
// The guest is asked, and goes.
off_played off_by_itself(reason why, vm_state state) {
    auto p = to_go(why, state);
    EXPECT_EQ(p.begin(), "change 5s");
    is_off_and_gone(p);
    return p;
}

// ---- shutdown

TEST(going_off_machine, D23_stop_is_written_when_its_process_is_gone_and_it_is_not_listed) {
    auto p = to_go(reason::shutdown, vm_state::shutdown);
    p.memory.adoption.is_adopted = true;
    EXPECT_EQ(p.begin(), "change 5s");
    EXPECT_EQ(p.acts(), (lines{"state: shutting down"}));
    EXPECT_TRUE(p.holds().asks_guest_to_end);
    p.seen.guest = guest_class::ending;
    p.seen.class_since = p.now + 1s;
    EXPECT_EQ(p.after(1s), "change 4s");
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
    EXPECT_EQ(p.acts(), (lines{"forget_live"}));
    EXPECT_FALSE(p.memory.adoption.is_adopted);
    EXPECT_EQ(p.woken(), "write_state stop");
    EXPECT_EQ(p.written(), "end_console");
    EXPECT_EQ(p.acts(), (lines{"state: stopped"}));
    EXPECT_EQ(p.woken(), "clear_own vnc");
    EXPECT_EQ(p.yes(), "over");
}

TEST(going_off_machine, D24_D57_a_guest_that_ignores_it_is_destroyed_before_anything_is_written) {
    auto p = to_go(reason::shutdown, vm_state::shutdown);
    p.begin();
    EXPECT_EQ(p.after(5s), "destroy 60s");
    EXPECT_EQ(p.call(call_end::done), "change 5s");
    EXPECT_FALSE(p.ever_asked("write_state") || p.ever_asked("set_listed"));
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
    EXPECT_EQ(p.woken(), "write_state stop");
}

TEST(going_off_machine, D25_D26_D34_another_state_ends_the_wait_and_destroys_nothing) {
    struct line {
        reason why;
        vm_state state;
        vm_state other;
    };
    for (const auto& one : {line{reason::shutdown, vm_state::shutdown, vm_state::start},
                            line{reason::shutdown, vm_state::shutdown, vm_state::stop},
                            line{reason::shutdown, vm_state::shutdown, vm_state::restart},
                            line{reason::shutdown, vm_state::shutdown, vm_state::migrate},
                            line{reason::shutdown, vm_state::shutdown, vm_state::disable},
                            line{reason::shutdown, vm_state::shutdown, vm_state::deleted},
                            line{reason::restart, vm_state::restart, vm_state::stop},
                            line{reason::restart, vm_state::restart, vm_state::shutdown},
                            line{reason::restart, vm_state::restart, vm_state::start},
                            line{reason::quiet_shutdown, vm_state::disable, vm_state::start},
                            line{reason::quiet_shutdown, vm_state::mirror, vm_state::stop}}) {
        auto p = to_go(one.why, one.state);
        p.begin();
        p.set(one.other);
        EXPECT_EQ(p.after(2s), "over") << model::to_text(one.state) << " to " << model::to_text(one.other);
        EXPECT_TRUE(p.memory.going_down.since) << "a shutdown that goes on counts from its beginning";
        EXPECT_EQ(p.holds(), holdings());
    }
}

TEST(going_off_machine, D37_D38_what_is_to_be_off_quietly_may_change_between_such_states) {
    auto p = to_go(reason::quiet_shutdown, vm_state::disable);
    EXPECT_EQ(p.begin(), "change 5s");
    EXPECT_TRUE(p.did("state: shutting down: its state is disable"));
    p.set(vm_state::mirror);
    EXPECT_EQ(p.woken(), "change 5s");
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "clear_own vnc");
    EXPECT_EQ(p.yes(), "clear_own word");
    EXPECT_EQ(p.yes(), "clear_reason of a wait");
    EXPECT_EQ(p.yes(), "over");
    EXPECT_FALSE(p.ever_asked("write_state")) << "no state is written, ever";
}

TEST(going_off_machine, the_same_state_once_more_changes_nothing) {
    auto p = to_go(reason::shutdown, vm_state::shutdown);
    p.begin();
    p.set(vm_state::shutdown);
    EXPECT_EQ(p.after(2s), "change 3s");
    p.place(vm_state::shutdown, "hv2");
    EXPECT_EQ(p.woken(), "change 3s") << "it is shut down wherever it is (4.3)";
}

TEST(going_off_machine, a_shutdown_that_is_another_wish_when_it_is_off_writes_nothing) {
    auto p = off_by_itself(reason::shutdown, vm_state::shutdown);
    auto removed = p;
    p.set(vm_state::disable);
    EXPECT_EQ(p.woken(), "end_console");
    removed.remove_keys();
    EXPECT_EQ(removed.woken(), "end_console");
    EXPECT_EQ(removed.woken(), "over") << "no write below what is gone";
}

TEST(going_off_machine, D29_stop_that_is_overtaken_is_not_told) {
    for (const auto end : {write_end::overtaken, write_end::failed}) {
        auto p = off_by_itself(reason::shutdown, vm_state::shutdown);
        p.woken();
        p.set(vm_state::disable);
        EXPECT_EQ(p.says(end), "end_console");
        EXPECT_FALSE(p.did("state: stopped"));
        EXPECT_EQ(p.woken(), "clear_own vnc");
    }
}

TEST(going_off_machine, whose_vnc_is_cleared) {
    struct line {
        vm_state state;
        std::string_view node;
        std::string expected;
    };
    for (const auto& one : {line{vm_state::stop, "hv1", "clear_own vnc"}, line{vm_state::stop, "hv2", "over"},
                            line{vm_state::deleted, "hv1", "over"}}) {
        auto p = off_by_itself(reason::shutdown, vm_state::shutdown);
        p.woken();
        p.place(one.state, one.node);
        p.overtaken();
        EXPECT_EQ(p.woken(), one.expected) << model::to_text(one.state) << " " << one.node;
    }
}

// ---- stop, terminate

TEST(going_off_machine, D28_D39_D45_stop_destroys_and_writes_no_state) {
    for (const auto here : {guest_class::alive, guest_class::paused, guest_class::incoming}) {
        auto p = to_go(reason::stop, vm_state::stop);
        p.seen.guest = here;
        if (here == guest_class::incoming) {
            EXPECT_EQ(p.begin(), "row") << "it comes because of a newer word, unless there is none";
            EXPECT_EQ(p.fresh(), "destroy 60s");
        } else {
            EXPECT_EQ(p.begin(), "destroy 60s");
        }
        EXPECT_EQ(p.acts(), (lines{"state: stopping"}));
        EXPECT_EQ(p.call(call_end::done), "change 5s");
        EXPECT_EQ(is_off_and_gone(p), "set_listed -");
        EXPECT_EQ(p.woken(), "end_console");
        EXPECT_EQ(p.woken(), "clear_own vnc");
        EXPECT_EQ(p.yes(), "clear_own word");
        EXPECT_EQ(p.yes(), "clear_reason of a wait");
        EXPECT_EQ(p.yes(), "over");
        EXPECT_TRUE(p.did("state: stopped"));
        EXPECT_FALSE(p.ever_asked("write_state"));
    }
}

// Found by exploring: `stop`, and at once `migrate`: what arrived was destroyed for the older word.
TEST(going_off_machine, D39_what_arrives_is_stopped_on_keys_that_were_just_read) {
    auto p = to_go(reason::stop, vm_state::stop);
    p.seen.guest = guest_class::incoming;
    EXPECT_EQ(p.begin(), "row");
    p.set(vm_state::migrate);
    EXPECT_EQ(p.fresh(), "over");
    EXPECT_FALSE(p.ever_asked("destroy"));
}

TEST(going_off_machine, D31_it_stays_listed_until_the_destroy_has_worked) {
    auto p = to_go(reason::stop, vm_state::stop);
    p.begin();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(p.call(call_end::other, "no"), "time 2s");
        p.at_limit();
        EXPECT_EQ(p.guest(guest_class::alive), "destroy 60s");
    }
    EXPECT_FALSE(p.ever_asked("set_listed"));
    p.call(call_end::done);
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
}

TEST(going_off_machine, D29_a_stop_goes_on_whatever_is_written_meanwhile) {
    auto p = to_go(reason::stop, vm_state::stop);
    p.begin();
    p.set(vm_state::start);
    EXPECT_EQ(p.call(call_end::done), "change 5s");
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
    EXPECT_FALSE(p.ever_asked("write_state"));
}

TEST(going_off_machine, D82_what_is_deleted_is_destroyed_without_a_write) {
    auto p = to_go(reason::terminate, vm_state::deleted);
    EXPECT_EQ(p.begin(), "destroy 60s");
    EXPECT_EQ(p.acts(), (lines{"state: destroying: it is being deleted"}));
    p.call(call_end::done);
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "over");
}

TEST(going_off_machine, D46_what_runs_elsewhere_is_destroyed_when_the_cluster_has_that_node) {
    auto p = to_go(reason::terminate, vm_state::start, "hv2");
    EXPECT_EQ(p.begin(), "node_exists hv2");
    EXPECT_EQ(p.yes(), "row");
    EXPECT_EQ(p.fresh(), "destroy 60s");
    EXPECT_EQ(p.acts(), (lines{"state: terminating: it belongs to node hv2"}));
    p.call(call_end::done);
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "over") << "nothing below the domain";
}

TEST(going_off_machine, a_slip_of_the_pen_in_node_ends_no_guest) {
    auto p = to_go(reason::terminate, vm_state::restart, "hv2");
    EXPECT_EQ(p.begin(), "node_exists hv2");
    auto unknown = p;
    auto changed = p;
    EXPECT_EQ(p.no(), "over");
    EXPECT_TRUE(p.did("error: it belongs to node `hv2`, which the cluster does not have"));
    EXPECT_EQ(p.memory.told.nowhere_until, p.now + 30s);
    EXPECT_EQ(p.memory.told.nowhere, p.seen.wish.node_changed);
    p.machine = going_off{.why = reason::terminate};
    p.begin();
    p.no();
    EXPECT_EQ(p.count("error"), 1) << "told once";
    EXPECT_EQ(unknown.nobody_knows(), "over");
    EXPECT_EQ(unknown.acts(), (lines{"pause 1s"}));
    changed.place(vm_state::start, "hv3");
    EXPECT_EQ(changed.yes(), "over") << "what was asked is about another wish";
    EXPECT_FALSE(changed.ever_asked("destroy") || changed.did("error"));
}

// Found by exploring: it came back here in a migration, faster than the news of its keys.
TEST(going_off_machine, nothing_is_destroyed_on_keys_of_before) {
    auto p = to_go(reason::terminate, vm_state::start, "hv2");
    p.begin();
    EXPECT_EQ(p.yes(), "row");
    auto unread = p;
    auto removed = p;
    p.place(vm_state::migrate, "hv1");
    EXPECT_EQ(p.fresh(), "over") << "the tables look again";
    EXPECT_EQ(unread.unread(), "over");
    EXPECT_EQ(unread.acts(), (lines{"pause 1s"}));
    removed.remove_keys();
    EXPECT_EQ(removed.says(row_read{row_read::end::gone, {}}), "over");
    EXPECT_FALSE(p.ever_asked("destroy") || unread.ever_asked("destroy") || removed.ever_asked("destroy"));
}

TEST(going_off_machine, what_is_off_elsewhere_needs_no_question) {
    auto p = to_go(reason::terminate, vm_state::stop, "hv2");
    EXPECT_EQ(p.begin(), "row");
    EXPECT_EQ(p.fresh(), "destroy 60s");
    auto nowhere = to_go(reason::terminate, vm_state::stop, "");
    EXPECT_EQ(nowhere.begin(), "row");
    EXPECT_EQ(nowhere.fresh(), "destroy 60s");
    EXPECT_EQ(nowhere.acts(), (lines{"state: terminating"}));
}

TEST(going_off_machine, what_came_here_since_its_keys_were_read_is_not_ended) {
    auto p = to_go(reason::terminate, vm_state::stop, "hv2");
    EXPECT_EQ(p.begin(), "row");
    auto unread = p;
    p.place(vm_state::migrate, "hv1");
    EXPECT_EQ(p.fresh(), "over") << "a sender of the reference does not wait for us: the tables look again";
    EXPECT_TRUE(p.acts().empty());
    EXPECT_EQ(unread.unread(), "over");
    EXPECT_EQ(unread.acts(), (lines{"pause 1s"}));
    EXPECT_FALSE(p.ever_asked("destroy") || unread.ever_asked("destroy"));
}

// ---- restart

TEST(going_off_machine, D32_D33_a_restart_ends_the_guest_and_writes_no_stop) {
    auto p = to_go(reason::restart, vm_state::restart);
    EXPECT_EQ(p.begin(), "change 5s");
    EXPECT_EQ(p.acts(), (lines{"state: restarting"}));
    auto ignored = p;
    EXPECT_EQ(is_off_and_gone(p), "set_listed -");
    EXPECT_EQ(p.woken(), "over") << "the table goes on with the start";
    EXPECT_EQ(ignored.after(5s), "destroy 60s");
    ignored.call(call_end::done);
    EXPECT_EQ(is_off_and_gone(ignored), "set_listed -");
    EXPECT_EQ(ignored.woken(), "over");
    EXPECT_FALSE(p.ever_asked("write_state") || ignored.ever_asked("write_state"));
}

TEST(going_off_machine, a_paused_guest_is_restarted_by_destroying_it) {
    auto p = to_go(reason::restart, vm_state::restart);
    p.seen.guest = guest_class::paused;
    EXPECT_EQ(p.begin(), "destroy 60s");
}

TEST(going_off_machine, D40_a_paused_guest_is_asked_when_it_is_shut_down) {
    auto p = to_go(reason::shutdown, vm_state::shutdown);
    p.seen.guest = guest_class::paused;
    EXPECT_EQ(p.begin(), "change 5s") << "the request resumes it first; else the time decides";
    EXPECT_TRUE(p.holds().asks_guest_to_end);
    EXPECT_EQ(p.at_limit(), "destroy 60s");
}

TEST(going_off_machine, a_restart_that_moves_away_is_given_up) {
    auto p = to_go(reason::restart, vm_state::restart);
    p.begin();
    p.place(vm_state::restart, "hv2");
    EXPECT_EQ(p.woken(), "over");
}

TEST(going_off_machine, it_ends_in_every_step_and_writes_only_what_it_may) {
    for (const auto why : {reason::shutdown, reason::quiet_shutdown, reason::stop, reason::restart}) {
        auto p = to_go(why, why == reason::shutdown         ? vm_state::shutdown
                            : why == reason::quiet_shutdown ? vm_state::disable
                            : why == reason::restart        ? vm_state::restart
                                                            : vm_state::stop);
        p.begin();
        quiet_world<going_off> world(p);
        ASSERT_TRUE(world.wind_up());
        const auto nothing = [](auto& /*one*/) {};
        wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
        wind_up_from_each(
            p, [](auto& one) { one.remove_keys(); },
            [](auto& one) { EXPECT_FALSE(one.ever_asked("write") || one.ever_asked("clear_own vnc")) << one.story(); });
        wind_up_from_each(
            p, [](auto& one) { one.place(vm_state::start, "hv2"); },
            [](auto& one) { EXPECT_FALSE(one.ever_asked("write")) << one.story(); });
        for (auto one : p.on_its_way()) {
            one.seen.guest.reset();
            quiet_world<going_off> silent(one);
            silent.is_libvirt_there = false;
            EXPECT_TRUE(silent.wind_up()) << one.story();
        }
    }
}

TEST(going_off_machine, the_daemon_stops_and_the_guest_that_was_asked_stays) {
    auto p = to_go(reason::shutdown, vm_state::shutdown);
    p.begin();
    p.seen.must_end = true;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_FALSE(p.ever_asked("destroy"));
}

// ---- a shutdown to be completed

using settled = played<settling_shutdown>;

settled off_in_shutdown() {
    settled p;
    p.set(vm_state::shutdown);
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.begin(), "set_listed -");
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "others");
    return p;
}

TEST(settling_shutdown_machine, D27_stop_once_nobody_else_runs_it) {
    auto p = off_in_shutdown();
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, false}}), "own_guest 5s") << "it may have arrived just now";
    EXPECT_EQ(p.yes(), "write_state stop");
    EXPECT_EQ(p.written(), "clear_own vnc");
    EXPECT_EQ(p.acts(), (lines{"state: stopped"}));
    EXPECT_EQ(p.yes(), "over");
}

TEST(settling_shutdown_machine, D40a_it_is_still_going_down_elsewhere) {
    auto p = off_in_shutdown();
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "change 10s");
    EXPECT_EQ(p.holds().lists, (lines{"hv2"}));
    EXPECT_EQ(p.after(4s), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, false}}), "own_guest 5s");
    EXPECT_EQ(p.holds(), holdings());
    EXPECT_EQ(p.yes(), "write_state stop");
}

TEST(settling_shutdown_machine, what_arrived_just_now_is_not_written_off) {
    auto p = off_in_shutdown();
    p.others({});
    p.seen.guest = guest_class::alive;
    EXPECT_EQ(p.yes(), "over");
    auto silent = off_in_shutdown();
    silent.others({});
    EXPECT_EQ(silent.no(), "over") << "libvirt does not say: asked again in a second";
}

TEST(settling_shutdown_machine, D40a_the_other_node_writes_it_first) {
    auto p = off_in_shutdown();
    p.others({{"hv2", daemon_state::run, true}});
    p.set(vm_state::stop);
    EXPECT_EQ(p.woken(), "over");
    auto late = off_in_shutdown();
    late.others({});
    late.yes();
    EXPECT_EQ(late.overtaken(), "over");
    EXPECT_FALSE(late.did("state: stopped"));
}

TEST(settling_shutdown_machine, D114_a_list_that_nobody_keeps_and_a_hypervisor_that_is_silent) {
    auto p = off_in_shutdown();
    p.others({{"hv2", daemon_state::dead, true}});
    EXPECT_EQ(p.last_question(), "change 10s") << "the list of a dead node counts too: nobody says that it is off";
    p.at_limit();
    EXPECT_EQ(p.others({{"hv2", daemon_state::dead, true}}), "nodes hv2");
    auto silent = p;
    p.nodes({{"hv2", remote_answer::absent}});
    EXPECT_EQ(p.others({{"hv2", daemon_state::dead, true}}), "own_guest 5s") << "10 s after it began";
    EXPECT_EQ(silent.nodes({{"hv2", remote_answer::silent}}), "change 5s");
    auto fenced = off_in_shutdown();
    EXPECT_EQ(fenced.others({{"hv2", daemon_state::fenced, true}}), "own_guest 5s");
}

TEST(settling_shutdown_machine, what_ends_the_wait) {
    auto story = off_in_shutdown();
    story.others({{"hv2", daemon_state::run, true}});
    const auto ended = [&](void (*change)(settled&)) {
        auto one = story;
        change(one);
        return one.woken() == "over";
    };
    EXPECT_TRUE(ended([](settled& p) { p.seen.must_end = true; }));
    EXPECT_TRUE(ended([](settled& p) { p.remove_keys(); }));
    EXPECT_TRUE(ended([](settled& p) { p.place(vm_state::shutdown, "hv2"); }));
    EXPECT_TRUE(ended([](settled& p) { p.seen.guest.reset(); }));
    EXPECT_TRUE(ended([](settled& p) { p.seen.guest = guest_class::alive; }));
}

// ---- half of a migration

using dropped = played<dropping_half>;

dropped half_left(vm_state state = vm_state::start, std::string_view node = "hv2") {
    dropped p;
    p.place(state, node);
    p.seen.guest = guest_class::incoming;
    p.seen.class_since = p.now;
    return p;
}

TEST(dropping_half_machine, it_has_ten_seconds_to_go_by_itself) {
    auto p = half_left();
    p.now += 3s;
    EXPECT_EQ(p.begin(), "change 7s") << "from when it came into its class";
    EXPECT_EQ(p.at_limit(), "destroy 60s");
    EXPECT_TRUE(p.did("warning: half of a broken migration is left here"));
    EXPECT_TRUE(p.memory.migration.is_stale_half);
    p.call(call_end::done);
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "set_listed -");
    EXPECT_TRUE(p.did("forget_live"));
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "over") << "nothing below the domain";
}

TEST(dropping_half_machine, what_ends_the_wait) {
    const auto ended = [](void (*change)(dropped&)) {
        auto p = half_left();
        p.begin();
        change(p);
        p.now += 60s;
        return p.woken() == "over";
    };
    EXPECT_TRUE(ended([](dropped& p) { p.seen.guest = guest_class::alive; })) << "it arrived after all";
    EXPECT_TRUE(ended([](dropped& p) { p.seen.guest = guest_class::absent; }));
    EXPECT_TRUE(ended([](dropped& p) { p.seen.guest.reset(); }));
    EXPECT_TRUE(ended([](dropped& p) { p.seen.must_end = true; }));
    EXPECT_TRUE(ended([](dropped& p) { p.remove_keys(); }));
    EXPECT_TRUE(ended([](dropped& p) { p.place(vm_state::start, "hv1"); })) << "it is ours";
    EXPECT_TRUE(ended([](dropped& p) { p.place(vm_state::migrate, "hv2"); })) << "somebody needs it";
    EXPECT_TRUE(ended([](dropped& p) { p.place(vm_state::start, ""); })) << "nobody knows where it belongs";
    EXPECT_FALSE(ended([](dropped& p) { p.place(vm_state::stop, ""); })) << "it is off wherever it belongs";
}

TEST(dropping_half_machine, a_half_that_cannot_be_destroyed_is_not_tidied_up) {
    auto p = half_left();
    p.begin();
    p.at_limit();
    p.seen.guest.reset();
    EXPECT_EQ(p.call(call_end::unavailable), "time 2s");
    p.at_limit();
    EXPECT_EQ(p.no(), "over");
    EXPECT_FALSE(p.ever_asked("set_listed"));
    EXPECT_TRUE(p.memory.migration.is_stale_half) << "proven stays proven";
}

TEST(dropping_half_machine, it_ends_in_every_step) {
    auto p = half_left();
    p.begin();
    quiet_world<dropping_half> world(p);
    ASSERT_TRUE(world.wind_up());
    const auto nothing = [](auto& /*one*/) {};
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, nothing);
}

}  // namespace
}  // namespace pvc::policy
