// A sender before anything moves, and on its way when all goes well or the live tries end: locks, the receiver, tries,
// the shutdown, the release. What breaks in between: sending_broken_test.cpp.
#include "sending_fixture.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::guest_class;
using model::migration_method;
using model::vm_state;
using locks = held_now::locks;
using lines = std::vector<std::string>;

TEST(sending_machine, table_8_1) {
    struct line {
        vm_state state;
        migration_method method;
        bool live;
        bool offline;
    };
    for (const auto& one : {line{vm_state::migrate, migration_method::none, true, true},
                            line{vm_state::migrate, migration_method::live, true, false},
                            line{vm_state::migrate, migration_method::shutdown, false, true},
                            line{vm_state::unmigrate, migration_method::none, true, true},
                            line{vm_state::migrate_live, migration_method::none, true, false},
                            line{vm_state::migrate_live, migration_method::live, true, false},
                            line{vm_state::migrate_live, migration_method::shutdown, false, false}}) {
        const auto mode = mode_of(one.state, one.method);
        EXPECT_EQ(mode.live, one.live);
        EXPECT_EQ(mode.offline, one.offline);
    }
}

TEST(sending_machine, D58_the_last_node_that_a_rollback_restores) {
    domain_seen seen = running_here();
    domain_memory memory;
    seen.last_node = "hv2";
    EXPECT_EQ(previous_last_node(seen, memory.migration), "hv2") << "nothing is known: what is there";
    seen.last_node = "hv1";
    EXPECT_EQ(previous_last_node(seen, memory.migration), "") << "unless that is this node";
    memory.migration.noted_last_node = "hv3";
    EXPECT_EQ(previous_last_node(seen, memory.migration), "hv3") << "the daemon before noted it";
    seen.stable = {true, true, vm_state::start, "hv1", 3};
    memory.migration.stable_last_node = "hv2";
    EXPECT_EQ(previous_last_node(seen, memory.migration), "hv2") << "this daemon saw it";
    seen.stable.was_owner = false;
    EXPECT_EQ(previous_last_node(seen, memory.migration), "hv3") << "that was another's placement";
}

// ---- locks

TEST(sending_machine, D50_locks_and_the_sync_lock_are_queued_for_together_30_s) {
    auto p = to_be_sent();
    EXPECT_EQ(p.begin(), "change");
    EXPECT_EQ(p.holds().locks, p.now + 30s);
    EXPECT_EQ(p.holds().of_sync, holdings::sync::taken);
    EXPECT_EQ(p.holds().sync_by, p.now + 30s);
    EXPECT_FALSE(p.holds().follows_waiters);
    p.seen.held.of_migration = locks::pending;
    EXPECT_EQ(p.after(29s), "change");
}

TEST(sending_machine, locks_that_are_not_had_in_time) {
    auto p = to_be_sent();
    p.begin();
    p.seen.held.of_migration = locks::late;
    EXPECT_EQ(p.after(30s), "write_placement start hv1 ''");
    EXPECT_FALSE(p.holds().locks);
    expect_rolled_back(p, "the locks of the machine were not had within 30 s");
}

TEST(sending_machine, locks_that_fail_or_have_no_keys) {
    auto p = to_be_sent();
    p.begin();
    auto gone = p;
    p.seen.held.of_migration = locks::failed;
    p.seen.held.locks_text = "session expired";
    EXPECT_EQ(p.woken(), "over");
    EXPECT_TRUE(p.did("warning: migrating it: session expired"));
    EXPECT_TRUE(p.did("pause 1s"));
    gone.remove_keys();
    gone.seen.held.of_migration = locks::no_keys;
    EXPECT_EQ(gone.woken(), "over");
    EXPECT_FALSE(gone.did("warning"));
}

TEST(sending_machine, nobody_waits_for_locks_that_he_no_longer_needs) {
    auto story = to_be_sent();
    story.begin();
    story.seen.held.of_migration = locks::pending;
    for (const bool must_end : {false, true}) {
        auto p = story;
        p.seen.must_end = must_end;
        if (!must_end) {
            p.place(vm_state::start, "hv1");
        }
        EXPECT_EQ(p.woken(), "change");
        EXPECT_FALSE(p.holds().locks);
        p.seen.held.of_migration = locks::none;
        EXPECT_EQ(p.woken(), must_end ? "write_placement start hv1 ''" : "over");
    }
}

TEST(sending_machine, what_is_read_under_the_locks_decides) {
    struct line {
        std::string_view what;
        void (*change)(sent_played&);
    };
    for (const auto& one : {line{"ours again", [](sent_played& p) { p.place(vm_state::migrate, "hv1"); }},
                            line{"no migration any more", [](sent_played& p) { p.set(vm_state::stop); }},
                            line{"to another node", [](sent_played& p) { p.place(vm_state::migrate, "hv3"); }},
                            line{"gone", [](sent_played& p) { p.remove_keys(); }}}) {
        auto p = to_be_sent();
        p.begin();
        p.seen.held.of_migration = locks::held;
        p.woken();
        one.change(p);
        EXPECT_EQ(p.fresh(), "change") << one.what;
        expect_unlocked(p);
        EXPECT_EQ(p.last_question(), "over") << one.what;
        EXPECT_FALSE(p.ever_asked("write")) << one.what;
    }
}

TEST(sending_machine, D67_moved_home_although_it_counts_as_being_there) {
    auto p = to_be_sent();
    p.seen.last_node = "hv2";
    p.begin();
    p.seen.held.of_migration = locks::held;
    p.woken();
    EXPECT_EQ(p.fresh(), "write_last_node ''");
    auto overtaken = p;
    EXPECT_EQ(p.written(), "sending_keys hv2");
    EXPECT_TRUE(p.holds().follows_waiters);
    EXPECT_EQ(overtaken.overtaken(), "change");
    expect_unlocked(overtaken);
    EXPECT_EQ(overtaken.last_question(), "over");
}

// ---- how it is to be moved

TEST(sending_machine, a_target_that_cannot_be) {
    auto p = under_locks();
    EXPECT_EQ(p.says(wishes_read{true, false, "none", {}}), "write_placement start hv1 ''");
    expect_rolled_back(p, "there is no node hv2");
    auto name = to_be_sent();
    name.place(vm_state::migrate, "a/b");
    name.begin();
    name.seen.held.of_migration = locks::held;
    name.woken();
    EXPECT_EQ(name.fresh(), "write_placement start hv1 ''") << "no key of such a node is ever read";
}

TEST(sending_machine, keys_that_cannot_be_read_for_30_s) {
    auto p = under_locks();
    const time_point began = p.now;
    while (p.says(wishes_read{}) == "time 500ms") {
        p.at_limit();
        if (p.asked<ask::sending_keys>() == nullptr) {
            break;
        }
    }
    EXPECT_EQ(p.now - began, duration(30s));
    expect_rolled_back(p, "its migration method could not be read");
}

TEST(sending_machine, D56_live_is_enforced_and_the_method_is_shutdown) {
    auto p = under_locks(vm_state::migrate_live);
    EXPECT_EQ(wishes(p, "shutdown"), "write_placement start hv1 ''");
    expect_rolled_back(p, "it must move live, and its migration method is `shutdown`");
}

// ---- the receiver

TEST(sending_machine, D52_D58_a_receiver_that_never_queues) {
    auto p = under_locks();
    p.memory.migration.stable_last_node = "hv2";
    EXPECT_EQ(wishes(p, "none"), "change 30s");
    p.seen.held.sync_failed = true;
    EXPECT_EQ(p.after(10s), "write_placement start hv1 'hv2'");
    expect_rolled_back(p, "node hv2 did not prepare to receive it within 30 s", "'hv2'");
    EXPECT_FALSE(p.did("state: migrating"));
}

TEST(sending_machine, while_the_receiver_is_awaited) {
    auto story = under_locks();
    wishes(story, "none");
    auto stopping = story;
    stopping.seen.must_end = true;
    EXPECT_EQ(stopping.woken(), "write_placement start hv1 ''");
    auto moved = story;
    moved.place(vm_state::start, "hv3");
    EXPECT_EQ(moved.woken(), "change");
    expect_unlocked(moved);
    EXPECT_EQ(moved.last_question(), "over");
    auto again = story;
    again.place(vm_state::migrate, "hv2");
    EXPECT_EQ(again.woken(), "change 30s") << "the same placement once more is no other wish";
    auto another = story;
    ++another.seen.wish.created;
    EXPECT_EQ(another.woken(), "change") << "another incarnation is";
    auto ended = story;
    ended.seen.guest = guest_class::absent;
    EXPECT_EQ(ended.woken(), "set_listed -") << "nothing of it was sent yet: this was its end";
    EXPECT_EQ(ended.woken(), "write_state stop handed_over");
}

TEST(sending_machine, D59_the_receiver_was_there_before_the_locks_were) {
    auto p = to_be_sent();
    p.begin();
    p.seen.held.sync_granted = true;
    p.seen.held.of_migration = locks::held;
    EXPECT_EQ(p.after(3s), "row");
    EXPECT_EQ(p.fresh(), "sending_keys hv2");
    EXPECT_EQ(wishes(p, "none"), "change 0s") << "nothing was awaited since the read: its turn";
}

TEST(sending_machine, what_is_read_once_more_when_the_receiver_is_there) {
    auto p = with_the_receiver("none");
    auto unread = p;
    p.place(vm_state::start, "hv3");
    EXPECT_EQ(p.fresh(), "change");
    EXPECT_EQ(unread.unread(), "change");
    EXPECT_FALSE(p.holds().locks || unread.holds().locks);
}

// ---- its turn

TEST(sending_machine, it_waits_for_its_turn) {
    auto p = with_the_receiver("none");
    p.fresh();
    EXPECT_EQ(p.woken(), "change 1s");
    EXPECT_TRUE(p.did("info: it moves when others have"));
    for (int i = 0; i < 300; ++i) {
        ASSERT_EQ(p.at_limit(), "change 1s");
    }
    EXPECT_EQ(p.count("info"), 1);
    auto ended = p;
    ended.seen.guest = guest_class::absent;
    EXPECT_EQ(ended.woken(), "set_listed -");
    auto stopping = p;
    stopping.seen.must_end = true;
    EXPECT_EQ(stopping.woken(), "write_placement start hv1 ''");
    auto withdrawn = p;
    withdrawn.set(vm_state::stop);
    EXPECT_EQ(withdrawn.woken(), "change");
    EXPECT_EQ(withdrawn.holds().of_turn, holdings::turn::none);
    p.seen.held.somebody_waits = true;
    const time_point since = p.now;
    while (p.at_limit() == "change 1s") {
    }
    EXPECT_EQ(p.now - since, duration(30s));
    expect_rolled_back(p, "other machines move before it, and somebody waits for it");
}

TEST(sending_machine, D51_the_maximum_downtime_is_set_before_the_tries_and_its_failure_is_none_of_the_move) {
    for (const auto end : {call_end::done, call_end::timed_out, call_end::unsupported}) {
        auto p = under_locks();
        EXPECT_EQ(wishes(p, "none", "500"), "change 30s");
        p.seen.held.sync_granted = true;
        p.woken();
        p.fresh();
        p.seen.held.has_turn = true;
        EXPECT_EQ(p.woken(), "set_downtime 500 5s");
        EXPECT_EQ(p.call(end, "no"), "change 0s");
        EXPECT_EQ(p.did("warning: its maximum downtime could not be set: no"), end != call_end::done);
        begin_call(p);
    }
}

// ---- live

TEST(sending_machine, D50_D69_D70_moved_listed_no_more_and_the_locks_go_last) {
    auto p = moving_live();
    p.memory.adoption.is_adopted = true;
    EXPECT_TRUE(p.did("state: migrating to node hv2"));
    EXPECT_TRUE(p.did("record sender hv2 live"));
    EXPECT_TRUE(p.memory.migration.is_sent_by_us);
    EXPECT_EQ(call_ends(p, call_end::done), "change 10s") << "its guest goes in a moment";
    EXPECT_EQ(p.holds().of_turn, holdings::turn::to_migrate);
    EXPECT_EQ(guest_gone(p), "set_listed -");
    EXPECT_EQ(p.holds().of_turn, holdings::turn::none);
    EXPECT_FALSE(p.memory.adoption.is_adopted);
    expect_sent(p);
    EXPECT_TRUE(p.did("state: moved to node hv2"));
    p.set(vm_state::start);
    EXPECT_EQ(p.woken(), "change");
    expect_unlocked(p);
    EXPECT_EQ(p.last_question(), "over");
    EXPECT_TRUE(p.did("drop_record"));
    EXPECT_FALSE(p.did("warning"));
    EXPECT_FALSE(p.ever_asked("write")) << "the state is the receiver's to write";
}

TEST(sending_machine, a_guest_that_does_not_leave_is_moved_all_the_same) {
    auto p = moving_live();
    call_ends(p, call_end::done);
    auto silent = p;
    EXPECT_EQ(p.at_limit(), "set_listed -") << "the call said so";
    silent.seen.guest.reset();
    EXPECT_EQ(silent.woken(), "set_listed -");
}

TEST(sending_machine, D59a_D60_a_receiver_that_does_not_write_start) {
    auto p = moving_live();
    call_ends(p, call_end::done);
    guest_gone(p);
    expect_sent(p);
    auto stopping = p;
    EXPECT_EQ(p.at_limit(), "write_state start taken_back");
    EXPECT_TRUE(p.did("warning: its new node did not take over within 10 s, doing it in its place"));
    EXPECT_EQ(p.written(), "change");
    stopping.seen.must_end = true;
    EXPECT_EQ(stopping.after(1s), "change 2s") << "a daemon that stops waits 3 s";
    EXPECT_EQ(stopping.at_limit(), "write_state start taken_back");
}

TEST(sending_machine, D69_a_client_that_was_faster_than_the_receiver_is_not_overwritten) {
    auto p = moving_live();
    call_ends(p, call_end::done);
    guest_gone(p);
    expect_sent(p);
    p.set(vm_state::stop);
    EXPECT_EQ(p.woken(), "change");
    EXPECT_FALSE(p.ever_asked("write"));
}

TEST(sending_machine, the_sync_lock_is_waited_for_two_seconds) {
    auto p = moving_live();
    call_ends(p, call_end::done);
    guest_gone(p);
    p.woken();
    EXPECT_EQ(p.woken(), "change 2s");
    EXPECT_EQ(p.at_limit(), "change 10s");
}

TEST(sending_machine, D53_three_tries_half_a_second_apart_then_through_a_shutdown) {
    auto p = moving_live();
    for (int i = 1; i <= 3; ++i) {
        EXPECT_EQ(call_ends(p, call_end::other, "38"), "row");
        if (i < 3) {
            EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), "time 500ms");
            p.at_limit();
            begin_call(p);
        }
    }
    EXPECT_EQ(p.count("warning: live migration: 38"), 3);
    EXPECT_EQ(p.count("state: migrating"), 1);
    EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), "daemon_runs hv2");
    EXPECT_EQ(p.yes(), "change 5s");
    EXPECT_TRUE(p.holds().asks_guest_to_end);
    EXPECT_EQ(p.holds().of_turn, holdings::turn::none) << "others may move meanwhile";
    EXPECT_FALSE(p.memory.migration.is_sent_by_us) << "it is here and nowhere else";
    EXPECT_EQ(guest_gone(p), "set_listed -");
    expect_handed_over(p);
}

TEST(sending_machine, D54_three_tries_then_back) {
    for (const auto& [method, state] :
         {std::pair{"live", vm_state::migrate}, std::pair{"none", vm_state::migrate_live}}) {
        auto p = moving_live(method, state);
        for (int i = 1; i <= 3; ++i) {
            call_ends(p, call_end::other, "38");
            both_say(p, guest_class::alive, remote_answer::absent);
            if (i < 3) {
                p.at_limit();
                begin_call(p);
            }
        }
        expect_rolled_back(p, "live migration failed: 38");
        EXPECT_FALSE(p.did("state: moving to node hv2 through a shutdown"));
    }
}

TEST(sending_machine, D53_what_another_try_cannot_help_is_not_tried_again) {
    for (const auto end : {call_end::unsafe, call_end::unsupported, call_end::no_domain}) {
        auto p = moving_live();
        call_ends(p, end);
        EXPECT_EQ(both_say(p, guest_class::alive, remote_answer::absent), "daemon_runs hv2");
        EXPECT_EQ(p.no(), "write_placement start hv1 ''") << "8.6: its new node is not there";
    }
}

TEST(sending_machine, an_earlier_job_is_waited_for_30_s_without_counting_as_a_try) {
    auto p = moving_live("live");
    const time_point began = p.now;
    int calls = 0;
    while (!p.ever_asked("write_placement") && calls < 1000) {
        ++calls;
        EXPECT_EQ(call_ends(p, call_end::wrong_state, "55"), "row");
        if (both_say(p, guest_class::alive, remote_answer::absent) == "time 500ms") {
            p.at_limit();
            begin_call(p);
        }
    }
    EXPECT_EQ(p.now - began, duration(30s));
    EXPECT_EQ(calls, 61);
    expect_rolled_back(p, "live migration failed: 55");
}

// ---- through a shutdown

sent_played powering_off() {
    auto p = with_the_receiver("shutdown");
    EXPECT_EQ(p.fresh(), "change 5s");
    return p;
}

TEST(sending_machine, D55_the_method_shutdown) {
    auto p = powering_off();
    EXPECT_FALSE(p.did("warning"));
    EXPECT_TRUE(p.did("state: moving to node hv2 through a shutdown"));
    EXPECT_TRUE(p.holds().asks_guest_to_end);
    EXPECT_EQ(p.holds().call_to, "");
    EXPECT_EQ(guest_gone(p), "set_listed -");
    EXPECT_TRUE(p.memory.migration.was_going_off) << "whatever becomes of the write, the tables hand it over";
    expect_handed_over(p);
    p.set(vm_state::start);
    EXPECT_EQ(p.woken(), "change");
    expect_unlocked(p);
    EXPECT_TRUE(p.did("drop_record"));
    EXPECT_EQ(p.last_question(), "row") << "does it start it?";
    EXPECT_EQ(p.fresh(), "change 10s");
    EXPECT_EQ(p.holds().follows_list_of, "hv2");
    p.seen.held.target_lists_it = true;
    EXPECT_EQ(p.woken(), "over");
}

TEST(sending_machine, D57_the_guest_ignores_the_request_to_shut_down) {
    auto p = powering_off();
    EXPECT_EQ(p.at_limit(), "destroy 60s");
    EXPECT_EQ(p.call(call_end::done), "change 5s");
    EXPECT_FALSE(p.ever_asked("write")) << "nothing is handed over before it is gone (H08)";
    EXPECT_EQ(guest_gone(p), "set_listed -");
    expect_handed_over(p);
}

TEST(sending_machine, D60_off_and_the_receiver_is_dead) {
    auto p = powering_off();
    guest_gone(p);
    expect_handed_over(p);
    EXPECT_EQ(p.at_limit(), "write_state start taken_back");
    EXPECT_EQ(p.written(), "change");
}

TEST(sending_machine, a_clients_stop_after_our_own_is_no_hand_over) {
    auto p = powering_off();
    guest_gone(p);
    expect_handed_over(p);
    p.set(vm_state::stop);
    EXPECT_EQ(p.woken(), "change") << "somebody's word: nothing is written in its place";
    EXPECT_FALSE(p.ever_asked("write_state start"));
}

TEST(sending_machine, a_shutdown_that_is_not_wanted_any_more) {
    auto p = powering_off();
    auto stopping = p;
    auto enforced = p;
    p.place(vm_state::start, "hv1");
    EXPECT_EQ(p.woken(), "change");
    expect_unlocked(p);
    EXPECT_EQ(p.last_question(), "over");
    stopping.seen.must_end = true;
    EXPECT_EQ(stopping.woken(), "write_placement start hv1 ''");
    expect_rolled_back(stopping, "the daemon stops");
    enforced.set(vm_state::migrate_live);
    EXPECT_EQ(enforced.woken(), "change") << "it must not go through a shutdown any more";
    EXPECT_FALSE(p.ever_asked("destroy") || stopping.ever_asked("destroy"));
}

TEST(sending_machine, a_hand_over_that_cannot_be_written_is_left_to_the_tables) {
    auto p = powering_off();
    guest_gone(p);
    EXPECT_EQ(p.woken(), "write_state stop handed_over");
    EXPECT_EQ(p.write_failed(), "end_console");
    p.woken();
    p.seen.held.sync_released = true;
    EXPECT_EQ(p.woken(), "change") << "there is nothing to await";
    expect_unlocked(p);
    EXPECT_EQ(p.last_question(), "over");
    EXPECT_FALSE(p.did("drop_record")) << "the daemon after this one needs it";
    EXPECT_TRUE(p.memory.migration.was_going_off);
}

}  // namespace
}  // namespace pvc::policy
