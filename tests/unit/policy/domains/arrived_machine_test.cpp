// What is here already, or was handed over, when a daemon begins to look.
#include "pvcnoded/policy/domains/receiving.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::guest_class;
using model::vm_state;

// ---- arrived before

TEST(having_arrived_machine, it_runs_here_already) {
    played<having_arrived> p;
    p.place(vm_state::migrate, "hv1");
    EXPECT_EQ(p.begin(), "set_listed +");
    EXPECT_EQ(p.woken(), "write_state start");
    auto overtaken = p;
    EXPECT_EQ(p.written(), "publish_vnc");
    EXPECT_EQ(p.yes(), "clear_own word");
    EXPECT_TRUE(p.did("note_arrival"));
    EXPECT_EQ(p.yes(), "over");
    EXPECT_TRUE(p.did("drop_record"));
    overtaken.place(vm_state::stop, "hv1");
    EXPECT_EQ(overtaken.overtaken(), "clear_own word");
    EXPECT_FALSE(overtaken.did("note_arrival"));
    EXPECT_EQ(overtaken.yes(), "over");
}

// Somebody writes `migrate` and leaves `node` as it is: nothing has come, and whoever emptied the node has no new work.
TEST(having_arrived_machine, what_was_never_away_has_not_come) {
    struct line {
        std::string_view what;
        void (*change)(played<having_arrived>&);
        bool comes;
    };
    const auto is_seen_to = [](auto& p) { p.memory.adoption.is_adopted = true; };
    const auto was_placed_here = [](auto& p) { p.seen.stable = {true, true, vm_state::start, "hv1", 3}; };
    const auto was_sent = [](auto& p) {
        p.seen.stable = {true, true, vm_state::start, "hv1", 3};
        p.memory.migration.is_sent_by_us = true;
    };
    const auto was_placed_elsewhere = [](auto& p) { p.seen.stable = {true, false, vm_state::start, "hv2", 3}; };
    const auto was_off = [](auto& p) { p.seen.stable = {true, true, vm_state::stop, "hv1", 3}; };
    for (const auto& one : {line{"seen to here", is_seen_to, false}, line{"it was to run here", was_placed_here, false},
                            line{"sent, and sent back", was_sent, true}, line{"elsewhere", was_placed_elsewhere, true},
                            line{"off", was_off, true}}) {
        played<having_arrived> p;
        one.change(p);
        p.place(vm_state::migrate, "hv1");
        EXPECT_EQ(p.begin(), "set_listed +") << one.what;
        EXPECT_EQ(p.woken(), "write_state start") << one.what;
        EXPECT_EQ(p.written(), "publish_vnc") << one.what;
        EXPECT_EQ(p.yes(), "clear_own word") << one.what;
        EXPECT_EQ(p.did("note_arrival"), one.comes) << one.what;
    }
}

TEST(having_arrived_machine, it_ends_in_every_step) {
    played<having_arrived> p;
    p.place(vm_state::migrate, "hv1");
    p.begin();
    p.woken();
    p.written();
    p.yes();
    p.no();
    p.yes();
    const auto nothing = [](auto& /*one*/) {};
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, nothing);
    wind_up_from_each(p, [](auto& one) { one.place(vm_state::migrate, "hv3"); }, nothing);
}

// ---- handed over before

TEST(taking_over_machine, ruling_26_what_was_handed_over_is_started_by_whoever_comes_back) {
    struct line {
        std::string_view what;
        void (*change)(played<taking_over>&);
        bool writes;
    };
    for (const auto& one :
         {line{"as it is", [](auto&) {}, true}, line{"another's", [](auto& p) { p.seen.is_owner = false; }, false},
          line{"no mark", [](auto& p) { p.seen.is_handed_over = false; }, false},
          line{"start already", [](auto& p) { p.set(vm_state::start); }, false},
          line{"here", [](auto& p) { p.seen.guest = guest_class::alive; }, false},
          line{"libvirt silent", [](auto& p) { p.seen.guest.reset(); }, false},
          line{"the daemon stops", [](auto& p) { p.seen.must_end = true; }, false}}) {
        played<taking_over> p;
        p.set(vm_state::stop);
        p.seen.guest = guest_class::absent;
        p.seen.is_handed_over = true;
        one.change(p);
        EXPECT_EQ(p.begin(), one.writes ? "write_state start taken_back" : "over") << one.what;
        if (one.writes) {
            auto late = p;
            EXPECT_EQ(p.written(), "over");
            EXPECT_TRUE(p.did("note_arrival"));
            EXPECT_EQ(late.overtaken(), "over");
            EXPECT_FALSE(late.did("note_arrival"));
        }
        EXPECT_TRUE(p.did("drop_record"));
    }
}

}  // namespace
}  // namespace pvc::policy
