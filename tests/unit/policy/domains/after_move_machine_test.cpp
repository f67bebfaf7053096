// What a sender does when the guest has left, or is off: it sees that the receiver goes on with it, goes on in its
// place, and hands over what ended on its way (8.3 S8, S9; 8.6; hazard H02).
#include "pvcnoded/policy/domains/after_move.hpp"

#include "pvcnoded/policy/domains/sending.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using locks = held_now::locks;
using lines = std::vector<std::string>;

// ---- the receiver is awaited

using awaited_played = played<awaiting_receiver>;

awaited_played awaited(vm_state state = vm_state::migrate) {
    awaited_played p;
    p.place(state, "hv2");
    p.machine = {.target = "hv2", .handed = p.seen.wish};
    EXPECT_EQ(p.begin(), "change 10s");
    return p;
}

TEST(awaiting_receiver_machine, D60_in_its_place_after_10_s_or_3_s_when_the_daemon_stops) {
    for (const auto state : {vm_state::migrate, vm_state::migrate_live, vm_state::unmigrate, vm_state::stop}) {
        auto p = awaited(state);
        EXPECT_EQ(p.after(9999ms), "change 1ms");
        EXPECT_EQ(p.at_limit(), "write_state start taken_back");
        EXPECT_TRUE(p.did("warning: its new node did not take over within 10 s"));
        EXPECT_EQ(p.says(write_end::failed), "over");
    }
    auto stopping = awaited();
    stopping.seen.must_end = true;
    EXPECT_EQ(stopping.after(1s), "change 2s");
    EXPECT_EQ(stopping.at_limit(), "write_state start taken_back");
    EXPECT_TRUE(stopping.did("warning: its new node did not take over within 3 s"));
    auto late = awaited();
    late.after(5s);
    late.seen.must_end = true;
    EXPECT_EQ(late.woken(), "write_state start taken_back");
}

TEST(awaiting_receiver_machine, D69_anything_else_is_somebodys_word) {
    for (const auto& change :
         {+[](awaited_played& p) { p.set(vm_state::start); }, +[](awaited_played& p) { p.set(vm_state::stop); },
          +[](awaited_played& p) { p.set(vm_state::migrate); }, +[](awaited_played& p) { p.remove_keys(); },
          +[](awaited_played& p) { p.place(vm_state::migrate, "hv3"); },
          +[](awaited_played& p) { p.place(vm_state::start, "hv1"); },
          +[](awaited_played& p) { ++p.seen.wish.created; }}) {
        auto p = awaited();
        change(p);
        p.now += 60s;
        EXPECT_EQ(p.woken(), "over");
        EXPECT_TRUE(p.acts().empty());
    }
    auto before = awaited();
    before.machine = {.target = "hv2", .handed = before.seen.wish};
    before.set(vm_state::stop);
    EXPECT_EQ(before.begin(), "over") << "changed before it began";
}

TEST(awaiting_receiver_machine, a_silent_libvirt_is_of_no_concern) {
    auto p = awaited();
    p.seen.guest.reset();
    EXPECT_EQ(p.after(5s), "change 5s");
}

// ---- does it start?

using seen_played = played<seeing_start>;

seen_played seeing() {
    seen_played p;
    p.place(vm_state::start, "hv2");
    p.machine.target = "hv2";
    EXPECT_EQ(p.begin(), "row");
    EXPECT_EQ(p.holds().follows_list_of, "hv2");
    EXPECT_EQ(p.fresh(), "change 10s");
    return p;
}

TEST(seeing_start_machine, H02_the_same_state_once_more_after_10_s) {
    auto p = seeing();
    EXPECT_EQ(p.after(4s), "change 6s");
    EXPECT_EQ(p.at_limit(), "daemon_runs hv2");
    auto dead = p;
    EXPECT_EQ(p.yes(), "write_state start");
    EXPECT_EQ(p.acts(), (lines{"info: node hv2 has not started it yet, asking once more"}));
    EXPECT_EQ(p.written(), "over") << "once";
    EXPECT_EQ(dead.no(), "over");
    EXPECT_EQ(dead.acts(), lines());
}

TEST(seeing_start_machine, what_ends_it) {
    for (const auto& change :
         {+[](seen_played& p) { p.seen.held.target_lists_it = true; }, +[](seen_played& p) { p.seen.must_end = true; },
          +[](seen_played& p) { p.set(vm_state::stop); }, +[](seen_played& p) { p.remove_keys(); },
          +[](seen_played& p) { p.place(vm_state::start, "hv3"); },
          +[](seen_played& p) { p.place(vm_state::start, "hv1"); }}) {
        auto p = seeing();
        change(p);
        p.now += 60s;
        EXPECT_EQ(p.woken(), "over");
    }
    seen_played unread;
    unread.place(vm_state::start, "hv2");
    unread.machine.target = "hv2";
    unread.begin();
    EXPECT_EQ(unread.unread(), "over");
}

// While it is read whether the new node runs, a client may write `stop`; the write that follows is guarded
// by what is seen when it is asked for: his `stop` would become `start`.
TEST(seeing_start_machine, a_state_that_was_seen_to_change_is_not_overwritten) {
    for (const auto state : {vm_state::stop, vm_state::shutdown, vm_state::disable, vm_state::deleted}) {
        auto p = seeing();
        EXPECT_EQ(p.at_limit(), "daemon_runs hv2");
        p.set(state);
        EXPECT_EQ(p.yes(), "over") << model::to_text(state);
    }
}

// ---- it ended on its way

using handed_played = played<handing_over>;

handed_played ended() {
    handed_played p;
    p.place(vm_state::migrate, "hv2");
    p.seen.guest = guest_class::absent;
    return p;
}
handed_played ended_and_locked() {
    auto p = ended();
    EXPECT_EQ(p.begin(), "others");
    EXPECT_EQ(p.others({{"hv2", daemon_state::run, true}}), "change") << "the receiver's own list does not count";
    EXPECT_EQ(p.holds().locks, p.now + 30s);
    p.seen.held.of_migration = locks::pending;
    EXPECT_EQ(p.woken(), "change");
    p.seen.held.of_migration = locks::held;
    EXPECT_EQ(p.woken(), "row");
    return p;
}

TEST(handing_over_machine, D68b_stop_with_our_mark_under_the_locks_on_libvirts_own_word) {
    auto p = ended_and_locked();
    EXPECT_EQ(p.fresh(), "own_guest 5s");
    EXPECT_EQ(p.yes(), "write_state stop handed_over");
    EXPECT_EQ(p.acts(), (lines{"record sender hv2 offline"}));
    EXPECT_EQ(p.written(), "change 10s");
    EXPECT_TRUE(p.did("state: it ended on its way: handed over to be started there"));
    EXPECT_TRUE(p.holds().locks) << "as long as the receiver is awaited";
    auto alone = p;
    p.set(vm_state::start);
    EXPECT_EQ(p.woken(), "change");
    EXPECT_FALSE(p.holds().locks);
    p.seen.held.of_migration = locks::none;
    EXPECT_EQ(p.woken(), "row");
    EXPECT_TRUE(p.did("drop_record"));
    EXPECT_EQ(p.holds().follows_list_of, "hv2");
    EXPECT_EQ(p.fresh(), "change 10s");
    p.seen.held.target_lists_it = true;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_EQ(alone.at_limit(), "write_state start taken_back");
}

TEST(handing_over_machine, D68b_somebody_else_has_it) {
    auto p = ended();
    p.begin();
    EXPECT_EQ(p.others({{"hv3", daemon_state::run, true}}), "change 15s");
    EXPECT_EQ(p.holds().lists, (lines{"hv3"}));
    auto changed = p;
    EXPECT_EQ(p.at_limit(), "others");
    EXPECT_EQ(p.others({{"hv3", daemon_state::run, true}}), "nodes hv3");
    EXPECT_EQ(p.nodes({{"hv3", remote_answer::silent}}), "change 5s");
    p.now += 600s;
    p.woken();
    p.others({{"hv3", daemon_state::run, true}});
    EXPECT_EQ(p.nodes({{"hv3", remote_answer::alive}}), "change 5s") << "no limit: it waits";
    changed.place(vm_state::start, "hv3");
    EXPECT_EQ(changed.woken(), "over");
}

TEST(handing_over_machine, what_is_read_under_the_locks) {
    for (const auto& change :
         {+[](handed_played& p) { p.place(vm_state::migrate, "hv1"); },
          +[](handed_played& p) { p.set(vm_state::stop); }, +[](handed_played& p) { p.place(vm_state::migrate, ""); },
          +[](handed_played& p) { p.remove_keys(); }}) {
        auto p = ended_and_locked();
        change(p);
        EXPECT_EQ(p.fresh(), "change");
        p.seen.held.of_migration = locks::none;
        EXPECT_EQ(p.woken(), "over");
        EXPECT_FALSE(p.ever_asked("write"));
    }
    auto unread = ended_and_locked();
    EXPECT_EQ(unread.unread(), "change");
}

TEST(handing_over_machine, a_libvirt_that_is_silent_or_has_it_hands_nothing_over) {
    auto p = ended_and_locked();
    p.fresh();
    auto here = p;
    EXPECT_EQ(p.libvirt_silent(), "change");
    EXPECT_EQ(p.acts(), (lines{"pause 1s"}));
    EXPECT_EQ(here.guest(guest_class::ending), "change");
    here.seen.held.of_migration = locks::none;
    EXPECT_EQ(here.woken(), "over");
    EXPECT_FALSE(here.did("drop_record")) << "the tables come back to it";
}

TEST(handing_over_machine, locks_that_are_not_had) {
    for (const auto how : {locks::late, locks::failed, locks::no_keys}) {
        auto p = ended();
        p.begin();
        p.others({});
        p.seen.held.of_migration = how;
        p.seen.held.locks_text = "not in time";
        EXPECT_EQ(p.woken(), "over");
        EXPECT_EQ(p.did("warning: handing it over: not in time"), how != locks::no_keys);
        EXPECT_EQ(p.did("pause 1s"), how != locks::no_keys);
    }
}

TEST(handing_over_machine, a_hand_over_that_is_overtaken) {
    auto p = ended_and_locked();
    p.fresh();
    p.yes();
    p.place(vm_state::start, "hv3");
    EXPECT_EQ(p.overtaken(), "change");
    p.seen.held.of_migration = locks::none;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_TRUE(p.did("drop_record")) << "it is no migration any more";
}

// Clients keep to the lock of `state`, fence recovery and flush of a reference node do not (H36): what they
// write while libvirt is asked is seen, and would be what the hand-over is guarded by.
TEST(handing_over_machine, what_came_while_libvirt_was_asked_is_not_overwritten) {
    for (const char* node : {"hv3", "hv1"}) {
        auto p = ended_and_locked();
        EXPECT_EQ(p.fresh(), "own_guest 5s");
        p.place(vm_state::start, node);
        EXPECT_EQ(p.yes(), "change") << "to " << node;
    }
}

// What was heard last of a libvirt that does not answer is no news: the guest may have been started since.
TEST(handing_over_machine, a_silent_libvirt_hands_nothing_over) {
    for (const auto said : {std::optional(false), std::optional<bool>()}) {
        auto p = ended_and_locked();
        EXPECT_EQ(p.fresh(), "own_guest 5s");
        EXPECT_EQ(p.seen.guest, guest_class::absent);
        EXPECT_EQ(p.says(yes{said}), "change") << "its locks are given back";
        EXPECT_FALSE(p.holds().locks);
        EXPECT_TRUE(p.did("pause 1s")) << p.story();
        EXPECT_FALSE(p.did("record")) << p.story();
    }
    auto here = ended_and_locked();
    EXPECT_EQ(here.fresh(), "own_guest 5s");
    here.seen.guest = guest_class::alive;
    EXPECT_EQ(here.yes(), "change") << "it is here after all";
}

// As a sender.
TEST(handing_over_machine, nobody_waits_for_locks_that_he_no_longer_needs) {
    for (const bool must_end : {true, false}) {
        auto p = ended();
        p.begin();
        p.others({});
        p.seen.held.of_migration = locks::pending;
        p.seen.must_end = must_end;
        if (!must_end) {
            p.place(vm_state::start, "hv3");
        }
        p.woken();
        EXPECT_FALSE(p.holds().locks);
    }
}

TEST(handing_over_machine, it_ends_in_every_step) {
    auto p = ended_and_locked();
    quiet_world<handing_over> world(p);
    ASSERT_TRUE(world.wind_up());
    const auto let_go = [](auto& one) {
        EXPECT_EQ(one.holds(), holdings());
        EXPECT_FALSE(one.ever_asked("destroy")) << one.story();
    };
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, let_go);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, let_go);
    wind_up_from_each(p, [](auto& one) { one.set(vm_state::stop); }, let_go);
    wind_up_from_each(p, [](auto& one) { one.seen.guest.reset(); }, let_go);
}

TEST(handing_over_ended_machine, D68b_nothing_of_it_was_seen_to_yet) {
    played<handing_over_ended> p;
    p.place(vm_state::migrate, "hv2");
    p.seen.guest = guest_class::absent;
    p.memory.adoption.is_adopted = true;
    EXPECT_EQ(p.begin(), "set_listed -");
    EXPECT_FALSE(p.memory.adoption.is_adopted);
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "others");
    EXPECT_EQ(p.others({}), "change");
    EXPECT_EQ(p.holds().locks, p.now + 30s);
    quiet_world<handing_over_ended> world(p);
    EXPECT_TRUE(world.wind_up());
    EXPECT_TRUE(p.ever_asked("write_state stop handed_over"));
    EXPECT_EQ(p.holds(), holdings());
}

// ---- handed over by an operation before

played<seeing_taken_over> handed_over_before() {
    played<seeing_taken_over> p;
    p.place(vm_state::stop, "hv2");
    p.seen.guest = guest_class::absent;
    p.seen.is_handed_over = true;
    return p;
}

TEST(seeing_taken_over_machine, ruling_26_the_sender_that_came_back_sees_it_started) {
    auto p = handed_over_before();
    EXPECT_EQ(p.begin(), "set_listed -");
    EXPECT_EQ(p.woken(), "change 10s");
    EXPECT_EQ(p.at_limit(), "write_state start taken_back");
    EXPECT_EQ(p.written(), "row");
    EXPECT_TRUE(p.did("drop_record"));
    EXPECT_EQ(p.fresh(), "change 10s");
    EXPECT_EQ(p.holds().follows_list_of, "hv2");
    EXPECT_EQ(p.at_limit(), "daemon_runs hv2");
    EXPECT_EQ(p.no(), "over");
}

TEST(seeing_taken_over_machine, what_is_not_its_to_see) {
    using one_played = played<seeing_taken_over>;
    for (const auto& change :
         {+[](one_played& p) { p.seen.must_end = true; }, +[](one_played& p) { p.seen.is_handed_over = false; },
          +[](one_played& p) { p.place(vm_state::stop, "hv1"); }, +[](one_played& p) { p.place(vm_state::stop, ""); },
          +[](one_played& p) { p.set(vm_state::start); }}) {
        auto p = handed_over_before();
        change(p);
        EXPECT_EQ(p.begin(), "over");
    }
    auto changed = handed_over_before();
    changed.begin();
    changed.set(vm_state::stop);
    EXPECT_EQ(changed.woken(), "row") << "a client's `stop`: nothing is awaited";
    EXPECT_EQ(changed.fresh(), "over");
    EXPECT_FALSE(changed.ever_asked("write"));
}

TEST(seeing_taken_over_machine, it_ends_in_every_step) {
    auto p = handed_over_before();
    p.begin();
    quiet_world<seeing_taken_over> world(p);
    ASSERT_TRUE(world.wind_up());
    const auto nothing = [](auto& /*one*/) {};
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, nothing);
    wind_up_from_each(p, [](auto& one) { one.seen.guest.reset(); }, nothing);
}

}  // namespace
}  // namespace pvc::policy
