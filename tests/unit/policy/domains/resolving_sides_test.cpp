// Who looks for the guest of a broken migration: the sender that came back, and the owner of what stands between two
// nodes (4.2 `start`/I, 4.3 `migrate`/I; ruling 29).
#include "pvcnoded/policy/domains/resolving.hpp"

#include "machine_world.hpp"

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using model::daemon_state;
using model::guest_class;
using model::vm_state;
using ours_played = played<resolving_own>;
using sent_before = played<resolving_sent>;

// ---- the sender that came back

sent_before broken(guest_class here = guest_class::incoming) {
    sent_before p;
    p.place(vm_state::migrate, "hv2");
    p.seen.guest = here;
    p.memory.migration.is_sent_by_us = true;
    EXPECT_EQ(p.begin(), "row");
    EXPECT_TRUE(p.did("warning: a migration to node hv2 broke"));
    return p;
}
std::string answers(sent_before& p, guest_class here, remote_answer there) {
    p.fresh();
    p.guest(here);
    p.target(there);
    return p.guest(here);
}

TEST(resolving_sent_machine, D65_D70_the_target_has_it) {
    auto p = broken(guest_class::absent);
    p.memory.adoption.is_adopted = true;
    EXPECT_EQ(answers(p, guest_class::absent, remote_answer::alive), "set_listed -");
    EXPECT_FALSE(p.memory.adoption.is_adopted);
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "change 10s") << "the receiver";
    EXPECT_EQ(p.at_limit(), "write_state start taken_back");
    EXPECT_EQ(p.written(), "over");
    EXPECT_TRUE(p.did("drop_record"));
}

TEST(resolving_sent_machine, the_target_has_it_and_has_said_so) {
    auto p = broken(guest_class::absent);
    answers(p, guest_class::absent, remote_answer::alive);
    p.woken();
    p.set(vm_state::start);
    EXPECT_EQ(p.woken(), "over");
    EXPECT_FALSE(p.ever_asked("write"));
}

TEST(resolving_sent_machine, it_is_nowhere) {
    auto p = broken(guest_class::absent);
    EXPECT_EQ(answers(p, guest_class::absent, remote_answer::absent), "set_listed -");
    EXPECT_FALSE(p.memory.migration.is_sent_by_us);
    EXPECT_TRUE(p.memory.migration.was_going_off);
    EXPECT_EQ(p.woken(), "end_console");
    EXPECT_EQ(p.woken(), "others") << "handed over: who else has it?";
    EXPECT_EQ(p.others({}), "change");
    EXPECT_EQ(p.holds().locks, p.now + 30s);
}

TEST(resolving_sent_machine, D64_it_stands_here_and_nobody_answers) {
    auto p = broken();
    EXPECT_EQ(answers(p, guest_class::incoming, remote_answer::silent), "change 5s");
    p.seen.must_end = true;
    EXPECT_EQ(p.woken(), "row") << "news";
    p.fresh();
    p.yes();
    p.target(remote_answer::silent);
    EXPECT_EQ(p.yes(), "over");
    EXPECT_FALSE(p.did("drop_record")) << "the daemon after this one needs it";
    EXPECT_TRUE(p.memory.migration.is_sent_by_us);
}

TEST(resolving_sent_machine, it_is_here_and_only_here) {
    auto p = broken(guest_class::alive);
    EXPECT_EQ(answers(p, guest_class::alive, remote_answer::absent), "over") << "the tables send it again";
    EXPECT_TRUE(p.did("drop_record"));
    EXPECT_TRUE(p.memory.migration.is_sent_by_us);
}

TEST(resolving_sent_machine, without_a_node_or_its_keys) {
    sent_before nowhere;
    nowhere.place(vm_state::migrate, "");
    EXPECT_EQ(nowhere.begin(), "over");
    auto gone = broken(guest_class::alive);
    gone.remove_keys();
    gone.says(row_read{row_read::end::gone, {}});
    EXPECT_EQ(gone.guest(guest_class::alive), "over");
    EXPECT_FALSE(gone.memory.migration.is_sent_by_us) << "without its keys it is asked for once";
}

TEST(resolving_sent_machine, it_ends_in_every_step) {
    auto p = broken(guest_class::absent);
    answers(p, guest_class::absent, remote_answer::absent);
    quiet_world<resolving_sent> world(p);
    ASSERT_TRUE(world.wind_up()) << p.story();
    EXPECT_TRUE(p.ever_asked("write_state stop handed_over")) << p.story();
    const auto let_go = [](auto& one) { EXPECT_EQ(one.holds(), holdings()); };
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, let_go);
    wind_up_from_each(p, [](auto& one) { one.remove_keys(); }, let_go);
    wind_up_from_each(p, [](auto& one) { one.place(vm_state::start, "hv3"); }, let_go);
    wind_up_from_each(
        p,
        [](auto& one) {
            one.seen.guest.reset();
            one.seen.must_end = true;
        },
        let_go);
}

// ---- the owner

const std::vector<other_node> others_of_three{{"hv2", daemon_state::run, false}, {"hv3", daemon_state::run, false}};

ours_played standing_here() {
    ours_played p;
    p.seen.guest = guest_class::incoming;
    p.seen.class_since = p.now;
    EXPECT_EQ(p.begin(), "change 60s");
    return p;
}
ours_played asked_after_60_s() {
    auto p = standing_here();
    EXPECT_EQ(p.at_limit(), "others");
    EXPECT_EQ(p.others(others_of_three), "nodes hv2 hv3");
    return p;
}
std::string all_say(ours_played& p, remote_answer of_hv2, remote_answer of_hv3) {
    if (p.asked<ask::others>() != nullptr) {
        p.others(others_of_three);
    }
    return p.nodes({{"hv2", of_hv2}, {"hv3", of_hv3}});
}

TEST(resolving_own_machine, D123_resumed_after_60_s_when_nobody_has_it) {
    auto p = asked_after_60_s();
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::shut_off), "rbd_verdict 60s");
    EXPECT_EQ(p.says(rbd_judged{rbd_judged::verdict::own, {}}), "row");
    EXPECT_EQ(p.fresh(), "resume_guest 30s");
    p.call(call_end::done);
    EXPECT_EQ(p.guest(guest_class::alive), "over") << "the tables adopt it";
}

TEST(resolving_own_machine, what_was_given_back_is_started_anew) {
    auto p = asked_after_60_s();
    p.memory.migration.is_sent_by_us = true;
    p.memory.migration.sent_to = "hv2";
    p.place(vm_state::start, "hv1");
    all_say(p, remote_answer::absent, remote_answer::absent);
    EXPECT_EQ(p.asked<ask::rbd_verdict>()->target, "hv2");
    EXPECT_EQ(p.says(rbd_judged{rbd_judged::verdict::own, {}}), "change 5s");
    p.at_limit();
    all_say(p, remote_answer::absent, remote_answer::absent);
    EXPECT_EQ(p.says(rbd_judged{rbd_judged::verdict::own, {}}), "destroy 60s");
    p.call(call_end::done);
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "over") << "the tables start it";
    EXPECT_FALSE(p.memory.migration.was_going_off);
}

TEST(resolving_own_machine, what_ends_the_wait) {
    for (const auto& change :
         {+[](ours_played& p) { p.seen.guest = guest_class::alive; }, +[](ours_played& p) { p.seen.guest.reset(); },
          +[](ours_played& p) { p.seen.must_end = true; }, +[](ours_played& p) { p.remove_keys(); },
          +[](ours_played& p) { p.place(vm_state::start, "hv2"); }, +[](ours_played& p) { p.set(vm_state::stop); }}) {
        auto waiting = standing_here();
        change(waiting);
        EXPECT_EQ(waiting.woken(), "over");
        auto asking = asked_after_60_s();
        change(asking);
        EXPECT_EQ(asking.nodes({{"hv2", remote_answer::alive}}), "over");
        auto pausing = asked_after_60_s();
        all_say(pausing, remote_answer::silent, remote_answer::absent);
        change(pausing);
        EXPECT_EQ(pausing.woken(), "over");
        EXPECT_FALSE(pausing.ever_asked("destroy") || asking.ever_asked("destroy"));
    }
}

TEST(resolving_own_machine, it_runs_elsewhere_on_two_looks) {
    auto p = asked_after_60_s();
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::alive), "change 1s");
    EXPECT_EQ(p.at_limit(), "others");
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::alive), "progress 5s");
    EXPECT_EQ(p.says(progress_read{true, true}), "change 5s") << "it is on its way here";
    p.at_limit();
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::alive), "progress 5s");
    EXPECT_EQ(p.says(progress_read{true, false}), "destroy 60s");
    EXPECT_TRUE(p.did("error: it stands here between two nodes and runs on node hv3"));
    EXPECT_TRUE(p.memory.migration.is_stale_half);
    p.call(call_end::done);
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "over") << "the tables go on with nothing here";
}

TEST(resolving_own_machine, on_two_nodes_one_after_the_other) {
    auto p = asked_after_60_s();
    all_say(p, remote_answer::alive, remote_answer::absent);
    p.at_limit();
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::alive), "change 1s") << "that is another finding";
    p.at_limit();
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::silent), "change 5s");
    p.at_limit();
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::alive), "change 1s") << "forgotten in between";
}

TEST(resolving_own_machine, ruling_29_who_must_answer) {
    struct line {
        std::string_view what;
        other_node node;
        remote_answer said;
        bool is_resumed;
    };
    for (const auto& one :
         {line{"silent", {"hv3", daemon_state::run, false}, remote_answer::silent, false},
          line{"half there too", {"hv3", daemon_state::run, false}, remote_answer::incoming, false},
          line{"halted there", {"hv3", daemon_state::run, false}, remote_answer::halted, false},
          line{"going down there", {"hv3", daemon_state::run, false}, remote_answer::ending, false},
          line{"no hypervisor", {"hv3", daemon_state::run, false}, remote_answer::refused, true},
          line{"switched off", {"hv3", daemon_state::stop, false}, remote_answer::silent, true},
          line{"switched off and lists it", {"hv3", daemon_state::stop, true}, remote_answer::silent, false},
          line{"switched off and is its last node", {"hv2", daemon_state::stop, false}, remote_answer::silent, false},
          line{"off there", {"hv2", daemon_state::run, false}, remote_answer::shut_off, true}}) {
        auto p = standing_here();
        p.seen.last_node = "hv2";
        p.at_limit();
        p.others({one.node});
        EXPECT_EQ(p.nodes({{one.node.name, one.said}}), one.is_resumed ? "rbd_verdict 60s" : "change 5s") << one.what;
        EXPECT_EQ(p.did("error: it stands here between two nodes, and not every"), !one.is_resumed) << one.what;
    }
    auto fenced = standing_here();
    fenced.at_limit();
    EXPECT_EQ(fenced.others({{"hv2", daemon_state::fenced, true}}), "nodes") << "nobody asks a fenced node";
    EXPECT_EQ(fenced.nodes({}), "rbd_verdict 60s");
}

TEST(resolving_own_machine, a_foreign_lock_is_looked_at_twice) {
    auto p = asked_after_60_s();
    const rbd_judged foreign{rbd_judged::verdict::foreign, {}};
    all_say(p, remote_answer::absent, remote_answer::absent);
    EXPECT_EQ(p.says(foreign), "change 5s");
    p.at_limit();
    all_say(p, remote_answer::absent, remote_answer::absent);
    EXPECT_EQ(p.says(foreign), "destroy 60s");
}

TEST(resolving_own_machine, other_nodes_that_cannot_be_read) {
    auto p = standing_here();
    p.at_limit();
    EXPECT_EQ(p.says(others_read{}), "change 5s");
    EXPECT_EQ(p.at_limit(), "others");
}

// ---- half of it, to go elsewhere, and the record of it is lost

ours_played found_here() {
    ours_played p(resolving_own{.is_found = true});
    p.place(vm_state::migrate, "hv2");
    p.seen.guest = guest_class::incoming;
    p.seen.class_since = p.now;
    EXPECT_EQ(p.begin(), "change 60s");
    EXPECT_EQ(p.at_limit(), "others");
    EXPECT_EQ(p.others(others_of_three), "nodes hv2 hv3");
    return p;
}

TEST(resolving_found_machine, it_is_resumed_after_60_s_when_nobody_has_it) {
    auto p = found_here();
    EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::absent), "rbd_verdict 60s");
    EXPECT_EQ(p.says(rbd_judged{rbd_judged::verdict::own, {}}), "row");
    EXPECT_EQ(p.fresh(), "resume_guest 30s");
    p.call(call_end::done);
    EXPECT_EQ(p.guest(guest_class::alive), "over") << "the tables send it again";
    EXPECT_FALSE(p.memory.migration.was_going_off);
}

ours_played found_and_runs_on_hv2() {
    auto p = found_here();
    EXPECT_EQ(all_say(p, remote_answer::alive, remote_answer::absent), "change 1s");
    EXPECT_EQ(p.at_limit(), "others");
    EXPECT_EQ(all_say(p, remote_answer::alive, remote_answer::absent), "progress 5s");
    return p;
}

// It may be on its way from there: an answer is old when it comes.
TEST(resolving_found_machine, what_runs_elsewhere_may_be_arriving) {
    for (const auto& job : {progress_read{}, progress_read{true, true}}) {
        auto p = found_and_runs_on_hv2();
        EXPECT_EQ(p.says(job), "change 5s");
        EXPECT_FALSE(p.memory.migration.is_sent_by_us);
        EXPECT_FALSE(p.ever_asked("destroy"));
        EXPECT_EQ(p.at_limit(), "others");
        EXPECT_EQ(all_say(p, remote_answer::absent, remote_answer::absent), "rbd_verdict 60s");
    }
}

TEST(resolving_found_machine, what_nothing_arrives_for_was_sent_there) {
    auto p = found_and_runs_on_hv2();
    EXPECT_EQ(p.says(progress_read{true, false}), "over") << "the tables resolve what we sent";
    EXPECT_TRUE(p.memory.migration.is_sent_by_us);
    EXPECT_EQ(p.memory.migration.sent_to, "hv2");
    EXPECT_FALSE(p.ever_asked("destroy"));

    auto late = found_and_runs_on_hv2();
    late.seen.guest = guest_class::alive;
    EXPECT_EQ(late.says(progress_read{true, false}), "over");
    EXPECT_FALSE(late.memory.migration.is_sent_by_us) << "it has arrived meanwhile";
}

TEST(resolving_found_machine, where_it_is_to_go_must_answer) {
    for (const auto said : {remote_answer::refused, remote_answer::silent, remote_answer::incoming}) {
        auto p = found_here();
        EXPECT_EQ(all_say(p, said, remote_answer::absent), "change 5s");
    }
}

TEST(resolving_found_machine, a_stale_half_is_handed_over) {
    auto p = found_here();
    const rbd_judged foreign{rbd_judged::verdict::foreign, {}};
    all_say(p, remote_answer::absent, remote_answer::absent);
    EXPECT_EQ(p.says(foreign), "change 5s");
    p.at_limit();
    all_say(p, remote_answer::absent, remote_answer::absent);
    EXPECT_EQ(p.says(foreign), "destroy 60s");
    p.call(call_end::done);
    p.seen.guest = guest_class::absent;
    EXPECT_EQ(p.woken(), "over");
    EXPECT_TRUE(p.memory.migration.was_going_off) << "the tables write `stop`, and its new node starts it";
}

TEST(resolving_found_machine, what_ends_it) {
    for (const auto& change :
         {+[](ours_played& p) { p.seen.guest = guest_class::alive; }, +[](ours_played& p) { p.seen.guest.reset(); },
          +[](ours_played& p) { p.seen.must_end = true; }, +[](ours_played& p) { p.remove_keys(); },
          +[](ours_played& p) { p.seen.is_half_made = true; }, +[](ours_played& p) { p.set(vm_state::start); },
          +[](ours_played& p) { p.memory.migration.is_sent_by_us = true; },
          +[](ours_played& p) { p.place(vm_state::migrate, p.seen.self); }}) {
        auto p = found_here();
        change(p);
        EXPECT_EQ(p.nodes({{"hv2", remote_answer::absent}, {"hv3", remote_answer::absent}}), "over");
    }
}

TEST(resolving_own_machine, it_ends_in_every_step) {
    auto p = asked_after_60_s();
    all_say(p, remote_answer::silent, remote_answer::absent);
    p.at_limit();
    quiet_world<resolving_own> world(p);
    ASSERT_TRUE(world.wind_up());
    const auto nothing = [](auto& /*one*/) {};
    wind_up_from_each(p, [](auto& one) { one.seen.must_end = true; }, nothing);
    wind_up_from_each(
        p, [](auto& one) { one.remove_keys(); },
        [](auto& one) { EXPECT_FALSE(one.ever_asked("resume_guest")) << one.story(); });
    wind_up_from_each(
        p, [](auto& one) { one.place(vm_state::start, "hv3"); },
        [](auto& one) { EXPECT_FALSE(one.ever_asked("resume_guest")) << one.story(); });
    wind_up_from_each(
        p, [](auto& one) { one.seen.guest.reset(); },
        [](auto& one) { EXPECT_FALSE(one.ever_asked("destroy")) << one.story(); });
}

}  // namespace
}  // namespace pvc::policy
