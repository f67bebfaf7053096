// What is here is shown, what is gone is tidied up: what is written of it, and of whose domain nothing is.
#include "pvcnoded/policy/domains/oversight.hpp"
#include "pvcnoded/policy/domains/settling.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;
using lines = std::vector<std::string>;

// ---- adopt

TEST(adopting_machine, D02_D13_the_running_list_the_console_and_vnc_and_no_call) {
    played<adopting> p;
    p.memory.going_down.since = p.now;
    EXPECT_EQ(p.begin(), "set_listed +");
    EXPECT_EQ(p.acts(), (lines{"tell_pause"}));
    EXPECT_EQ(p.woken(), "publish_vnc");
    EXPECT_EQ(p.acts(), (lines{"arrived_home", "follow_console"}));
    EXPECT_EQ(p.yes(), "clear_own word");
    EXPECT_EQ(p.yes(), "over");
    EXPECT_TRUE(p.memory.adoption.is_adopted);
    EXPECT_EQ(p.memory.adoption.state, p.seen.wish.state_changed);
    EXPECT_FALSE(p.memory.adoption.owes_vnc);
    EXPECT_FALSE(p.memory.going_down.since) << "nothing of a shutdown before is left";
}

TEST(adopting_machine, D71_D79_who_arrived_is_listed_first_then_start_is_written) {
    played<adopting> p(adopting{.with_state = true});
    p.place(vm_state::migrate, "hv1");
    EXPECT_EQ(p.begin(), "set_listed +");
    EXPECT_EQ(p.woken(), "write_state start");
    EXPECT_EQ(p.written(), "publish_vnc");
    EXPECT_TRUE(p.did("state: it runs here now"));
    EXPECT_EQ(p.yes(), "over") << "the receiver clears its word itself";
    EXPECT_TRUE(p.memory.adoption.is_adopted);
}

// Found by exploring two faults: what had arrived ended, and its sender sent it once more.
TEST(adopting_machine, D81_what_is_gone_or_arrives_anew_does_not_run_here) {
    for (const auto guest : {guest_class::absent, guest_class::incoming}) {
        played<adopting> p(adopting{.with_state = true});
        p.place(vm_state::migrate, "hv1");
        p.begin();
        p.seen.guest = guest;
        EXPECT_EQ(p.woken(), "over");
        EXPECT_FALSE(p.ever_asked("write_state"));
        EXPECT_FALSE(p.memory.adoption.is_adopted);
    }
}

TEST(adopting_machine, D81_a_state_that_somebody_else_wrote_is_not_overwritten) {
    for (const auto end : {write_end::overtaken, write_end::failed}) {
        played<adopting> p(adopting{.with_state = true});
        p.place(vm_state::migrate, "hv1");
        p.begin();
        p.woken();
        EXPECT_EQ(p.says(end), "over");
        EXPECT_FALSE(p.memory.adoption.is_adopted) << "the tables look again";
        EXPECT_FALSE(p.did("state:"));
        EXPECT_FALSE(p.did("follow_console"));
    }
}

// Between the look that began this and the write there is the running list (up to 2 s); what a client writes
// meanwhile is seen, and would be what the write is guarded by: his `stop` would become `start` (hazards H11, H23).
TEST(adopting_machine, D81_a_state_that_was_seen_to_change_is_not_overwritten) {
    for (const auto state : {vm_state::stop, vm_state::disable, vm_state::deleted, vm_state::start}) {
        played<adopting> p(adopting{.with_state = true});
        p.place(vm_state::migrate, "hv1");
        p.begin();
        p.set(state);
        EXPECT_EQ(p.woken(), "over") << model::to_text(state);
    }
    played<adopting> moved(adopting{.with_state = true});
    moved.place(vm_state::migrate, "hv1");
    moved.begin();
    moved.place(vm_state::migrate, "hv3");
    EXPECT_EQ(moved.woken(), "over") << "on its way to a third node";
}

// The word of the receiver of the next migration is not what the last one left.
TEST(adopting_machine, the_word_of_the_next_migration_is_not_ours_to_clear) {
    played<adopting> p;
    p.begin();
    p.woken();
    p.place(vm_state::migrate, "hv2");
    EXPECT_EQ(p.yes(), "over");
    played<cleaning_up> off(cleaning_up{.with_keys = true});
    off.seen.guest = guest_class::absent;
    off.begin();
    off.woken();
    off.woken();
    off.place(vm_state::migrate, "hv2");
    EXPECT_EQ(off.yes(), "over");
}

TEST(adopting_machine, a_reason_that_is_owed_is_cleared_once) {
    for (const bool is_cleared : {true, false}) {
        played<adopting> p;
        p.memory.adoption.owes_reason = true;
        p.begin();
        EXPECT_EQ(p.woken(), "clear_reason");
        EXPECT_EQ(is_cleared ? p.yes() : p.no(), "publish_vnc");
        EXPECT_EQ(p.memory.adoption.owes_reason, !is_cleared);
    }
}

// No start sees it that comes while it waits to be started.
TEST(adopting_machine, what_waited_to_be_started_waits_no_more) {
    played<adopting> p;
    p.memory.waits = {.cause = start_cause::libvirt, .text = "libvirt of this node is away", .is_written = true};
    p.begin();
    EXPECT_EQ(p.woken(), "clear_reason");
    EXPECT_EQ(p.memory.waits, hindrance());
    p.yes();
    EXPECT_FALSE(p.memory.adoption.owes_reason);
}

TEST(adopting_machine, a_live_definition_that_cannot_be_read_is_owed) {
    played<adopting> p;
    p.begin();
    p.woken();
    EXPECT_EQ(p.no(), "clear_own word");
    EXPECT_TRUE(p.memory.adoption.owes_vnc);
    EXPECT_EQ(p.acts(), (lines{"pause 1s"})) << "not at once again";
    EXPECT_EQ(p.nobody_knows(), "over");
}

// Found by exploring: it was asked for once, and stayed for ever when that was refused.
TEST(adopting_machine, the_word_of_a_migration_is_owed_until_it_is_cleared) {
    played<adopting> p;
    p.begin();
    p.woken();
    p.yes();
    EXPECT_EQ(p.nobody_knows(), "over");
    EXPECT_TRUE(p.memory.adoption.owes_word);
    EXPECT_EQ(p.acts(), (lines{"pause 1s"})) << "not at once again";
    EXPECT_FALSE(is_done_already(domain_action::adopt, p.seen, p.memory, p.now));
    played<adopting> again;
    again.memory = p.memory;
    again.begin();
    again.woken();
    again.yes();
    EXPECT_EQ(again.yes(), "over");
    EXPECT_TRUE(is_done_already(domain_action::adopt, again.seen, again.memory, again.now));
}

TEST(adopting_machine, it_ends_whatever_comes_between) {
    played<adopting> p(adopting{.with_state = true});
    p.place(vm_state::migrate, "hv1");
    p.memory.adoption.owes_reason = true;
    p.begin();
    p.woken();
    p.written();
    p.yes();
    p.yes();
    const auto nothing = [](auto& /*one*/) {};
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, nothing);
    wind_up_from_each(p, [](auto& one) { one.seen.guest.reset(); }, nothing);
    wind_up_from_each(p, [](auto& one) { one.place(vm_state::stop, "hv3"); }, nothing);
}

// ---- keep

TEST(keeping_machine, D47_the_copy_of_another_node_is_listed_and_nothing_is_written) {
    played<keeping> p;
    p.place(vm_state::fail, "hv2");
    EXPECT_EQ(p.begin(), "set_listed +");
    EXPECT_EQ(p.woken(), "live_xml") << "no VNC: it is another's";
    EXPECT_FALSE(p.did("follow_console"));
    EXPECT_EQ(p.yes(), "over");
    EXPECT_TRUE(p.memory.adoption.owes_vnc) << "should it become ours again";
    EXPECT_TRUE(p.memory.adoption.is_adopted);
    EXPECT_TRUE(is_done_already(domain_action::report_fail, p.seen, p.memory, p.now));
    // An unflush brings it home, still in `fail`.
    p.place(vm_state::fail, p.seen.self);
    EXPECT_FALSE(is_done_already(domain_action::keep, p.seen, p.memory, p.now));
    auto home = played<keeping>();
    home.memory = p.memory;
    home.set(vm_state::fail);
    home.begin();
    EXPECT_EQ(home.woken(), "publish_vnc");
    EXPECT_EQ(home.acts(), (lines{"follow_console"}));
    EXPECT_EQ(home.yes(), "over");
    EXPECT_TRUE(is_done_already(domain_action::keep, home.seen, home.memory, home.now));
}

TEST(keeping_machine, our_own_is_shown) {
    played<keeping> p;
    p.set(vm_state::fail);
    p.begin();
    EXPECT_EQ(p.woken(), "publish_vnc");
    EXPECT_EQ(p.acts(), (lines{"follow_console"}));
    auto unread = p;
    EXPECT_EQ(p.yes(), "over");
    EXPECT_FALSE(p.memory.adoption.owes_vnc);
    EXPECT_EQ(unread.no(), "over");
    EXPECT_TRUE(unread.memory.adoption.owes_vnc);
    EXPECT_EQ(unread.acts(), (lines{"pause 1s"}));
}

TEST(keeping_machine, whose_it_was_when_it_was_asked_counts) {
    played<keeping> p;
    p.set(vm_state::fail);
    p.begin();
    p.woken();
    p.place(vm_state::fail, "hv2");
    EXPECT_EQ(p.yes(), "over");
    EXPECT_FALSE(p.memory.adoption.owes_vnc);
}

// ---- clean up

TEST(cleaning_up_machine, D28_D30_the_list_the_console_and_the_keys_of_a_guest) {
    played<cleaning_up> p(cleaning_up{.with_keys = true});
    p.set(vm_state::stop);
    p.seen.guest = guest_class::absent;
    p.memory.adoption.is_adopted = true;
    p.memory.going_down.since = p.now;
    EXPECT_EQ(p.begin(), "set_listed -");
    EXPECT_FALSE(p.memory.adoption.is_adopted);
    EXPECT_FALSE(p.memory.going_down.since);
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "clear_own vnc");
    EXPECT_EQ(p.no(), "clear_own word");
    EXPECT_EQ(p.nobody_knows(), "clear_reason of a wait");
    EXPECT_EQ(p.yes(), "over");
    p.memory.adoption.is_clean = true;
    EXPECT_FALSE(is_done_already(domain_action::clean_up, p.seen, p.memory, p.now)) << "the word is still there";
    EXPECT_FALSE(p.ever_asked("write_state"));
}

TEST(cleaning_up_machine, D46_D82_of_whom_nothing_is_written) {
    struct line {
        std::string_view what;
        bool with_keys;
        bool is_present;
        bool is_owner;
        vm_state state;
    };
    for (const auto& one : {line{"forgotten", false, true, true, vm_state::stop},
                            line{"its keys are gone", true, false, false, vm_state::unknown},
                            line{"another's", true, true, false, vm_state::stop},
                            line{"being deleted", true, true, true, vm_state::deleted}}) {
        played<cleaning_up> p(cleaning_up{.with_keys = one.with_keys});
        p.seen.is_present = one.is_present;
        p.seen.is_owner = one.is_owner;
        p.seen.state = one.state;
        p.begin();
        EXPECT_EQ(p.woken(), "end_console") << one.what;
        EXPECT_EQ(p.woken(), "over") << one.what;
    }
}

TEST(cleaning_up_machine, it_ends_whatever_comes_between) {
    played<cleaning_up> p(cleaning_up{.with_keys = true});
    p.begin();
    p.woken();
    p.woken();
    p.yes();
    const auto nothing = [](auto& /*one*/) {};
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
    wind_up_from_each(p, [](auto& one) { one.seen.guest.reset(); }, nothing);
    wind_up_from_each(
        p, [](auto& one) { one.remove_keys(); },
        [](auto& one) { EXPECT_FALSE(one.count_asked("clear_own vnc") > 0) << one.story(); });
}

}  // namespace
}  // namespace pvc::policy
