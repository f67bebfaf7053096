// The recovery of one machine of a dead node, question by question. Acceptance cases AC62 to AC68, AC118, AC120, AC125
// to AC128; storage.md 37 in part; README rulings 12, 38, 44, 89.
#include "pvcnoded/policy/fencing/recovery.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pvc::policy {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;
using model::daemon_state;
using model::vm_state;
namespace said = recovery_said;

struct recovered_by_hand {
    guest_recovery machine;
    victim_seen victim;
    guest_keys keys;
    bool is_there = true;
    bool has_lock = true;
    planned_guest plan{planned_guest::kind::placed, "hv4", "most free memory"};
    said::others others{true, {}};
    said::cleared cleared{said::cleared::kind::clear, {}, {}, {}};
    said::proven proven{said::proven::kind::proven, {}, {}};
    fence_said::written written{fence_said::written::end::written, 77};
    bool runs = true;
    bool changes = false;
    bool is_disk_good = true;
    time_point now{1h};
    recovery_step step;
    std::vector<fence_entry::guest> notes;
    lines asked;

    recovered_by_hand() {
        machine.dead_node = "hv3";
        machine.mark_id = 11;
        machine.heartbeat_id = 20;
        victim.state = daemon_state::fenced;
        victim.state_id = 11;
        victim.heartbeat_id = 20;
        keys.state = vm_state::start;
        keys.node = "hv3";
        keys.volumes = {"vms/u1_disk0"};
        keys.are_all_rbd = true;
        keys.state_id = 5;
    }
    void resume(const said::any& what) {
        auto copy = machine;
        std::vector<fence_entry::guest> ignored;
        const auto same = copy.resume(what, now, ignored);
        step = machine.resume(what, now, notes);
        EXPECT_EQ(same.what, step.what);
        EXPECT_TRUE(step.is_over() || (!step.reason.empty() && step.until < time_point::max()));
        if (!step.is_over() && to_text(step.what) != "read" && to_text(step.what) != "wait") {
            asked.push_back(to_text(step.what));
        }
    }
    void answer() {
        if (std::holds_alternative<recovery_ask::guarded_read>(step.what)) {
            resume(said::read{victim, is_there ? std::optional(keys) : std::nullopt, has_lock});
        } else if (std::holds_alternative<recovery_ask::others>(step.what)) {
            resume(others);
        } else if (std::holds_alternative<recovery_ask::target>(step.what)) {
            resume(plan);
        } else if (std::holds_alternative<recovery_ask::clear_locks>(step.what)) {
            resume(cleared);
        } else if (std::holds_alternative<recovery_ask::prove_silent>(step.what)) {
            resume(proven);
        } else if (std::holds_alternative<recovery_ask::record>(step.what)) {
            resume(said::done{is_disk_good ? std::nullopt : std::optional<std::string>("no space left")});
        } else if (std::holds_alternative<recovery_ask::write>(step.what)) {
            resume(written);
        } else if (std::holds_alternative<recovery_ask::runs>(step.what)) {
            resume(said::seen_to_run{.is = runs, .is_changed = changes});
        } else {
            now = std::max(now, step.until);
            resume(said::woken{});
        }
    }
    // Until it asks that, or is over.
    bool reaches(const std::string& what) {
        if (asked.empty() && machine.where == guest_recovery::at::begin) {
            resume(said::woken{});
        }
        for (int i = 0; i < 200 && !step.is_over() && to_text(step.what) != what; ++i) {
            answer();
        }
        return !step.is_over();
    }
    guest_end run() {
        reaches("nothing");
        EXPECT_TRUE(step.is_over());
        return machine.end;
    }
};

TEST(recovery, AC45_locks_first_then_where_it_runs_then_that_it_runs) {
    recovered_by_hand p;
    EXPECT_EQ(p.run(), guest_end::recovered);
    EXPECT_EQ(p.asked, (lines{"clear locks", "plan", "write start on hv4, last on hv3", "see it run on hv4"}));
    EXPECT_EQ(p.notes.back().zxid, 77);
    EXPECT_EQ(p.notes.back().ran, true);
}

TEST(recovery, what_it_then_waits_for_holds_up_nobody) {
    recovered_by_hand p;
    ASSERT_TRUE(p.reaches("see it run on hv4"));
    EXPECT_FALSE(p.machine.holds_slot());
    p.runs = false;
    EXPECT_EQ(p.run(), guest_end::unseen) << "not as if it ran";
    EXPECT_EQ(p.notes.back().ran, false);
    recovered_by_hand other;
    other.runs = false;
    other.changes = true;
    EXPECT_EQ(other.run(), guest_end::recovered) << "who wrote its state goes on with it";
    EXPECT_EQ(other.notes.back().ran, false);
}

// Row a, by state and node.
TEST(recovery, AC62_AC63_AC127_it_goes_by_state_and_node_and_not_by_the_list) {
    struct row {
        vm_state state;
        std::string node;
        guest_end end;
    };
    const row rows[] = {
        {vm_state::start, "hv3", guest_end::recovered},    {vm_state::restart, "hv3", guest_end::recovered},
        {vm_state::start, "hv2", guest_end::left_alone},   {vm_state::restart, "hv2", guest_end::left_alone},
        {vm_state::shutdown, "hv3", guest_end::stopped},   {vm_state::shutdown, "hv2", guest_end::left_alone},
        {vm_state::stop, "hv3", guest_end::left_alone},    {vm_state::disable, "hv3", guest_end::left_alone},
        {vm_state::fail, "hv3", guest_end::left_alone},    {vm_state::provision, "hv3", guest_end::left_alone},
        {vm_state::import, "hv3", guest_end::left_alone},  {vm_state::restore, "hv3", guest_end::left_alone},
        {vm_state::mirror, "hv3", guest_end::left_alone},  {vm_state::deleted, "hv3", guest_end::left_alone},
        {vm_state::unknown, "hv3", guest_end::left_alone},
    };
    for (const auto& one : rows) {
        SCOPED_TRACE(std::string(model::to_text(one.state)) + " " + one.node);
        recovered_by_hand p;
        p.keys.state = one.state;
        p.keys.node = one.node;
        EXPECT_EQ(p.run(), one.end);
        if (one.end != guest_end::recovered) {
            EXPECT_EQ(p.asked, one.end == guest_end::stopped ? lines{"write stop"} : lines{});
        }
    }
}

TEST(recovery, AC63_one_that_is_shut_down_is_not_stopped_while_another_lists_it) {
    recovered_by_hand p;
    p.keys.state = vm_state::shutdown;
    p.keys.listed_by = {"hv2"};
    EXPECT_EQ(p.run(), guest_end::left_alone);
}

TEST(recovery, AC65_without_a_node_it_is_parked_and_without_room_it_is_kept) {
    recovered_by_hand p;
    p.plan = {planned_guest::kind::nobody, {}, "nobody"};
    EXPECT_EQ(p.run(), guest_end::parked);
    EXPECT_EQ(p.asked.back(), "write stop and autostart");
    recovered_by_hand q;
    q.plan = {planned_guest::kind::no_room, {}, "it lacks 1000 MiB"};
    EXPECT_EQ(q.run(), guest_end::kept);
    EXPECT_EQ(q.machine.why, "it lacks 1000 MiB");
    EXPECT_EQ(q.asked.back(), "plan");
    recovered_by_hand silent;
    silent.plan = {planned_guest::kind::silent, {}, "no heartbeat"};
    EXPECT_EQ(silent.run(), guest_end::kept) << "such a node is soon dead, or back";
}

TEST(recovery, R44_one_that_was_parked_is_started_again_while_that_stands) {
    const auto parked = [](std::int64_t state_id, std::int64_t autostart_id, bool may_revive) {
        recovered_by_hand p;
        p.keys.state = vm_state::stop;
        p.keys.autostart = true;
        p.keys.state_id = state_id;
        p.keys.autostart_id = autostart_id;
        p.machine.may_revive = may_revive;
        p.machine.proof_id = 11;
        const auto end = p.run();
        EXPECT_EQ(end == guest_end::recovered, std::ranges::find(p.asked, "write start again on hv4") != p.asked.end());
        return end;
    };
    EXPECT_EQ(parked(30, 30, true), guest_end::recovered);
    EXPECT_EQ(parked(30, 30, false), guest_end::left_alone);
    EXPECT_EQ(parked(30, 29, true), guest_end::left_alone) << "a client stopped it";
    EXPECT_EQ(parked(10, 10, true), guest_end::left_alone) << "older than the fence";
}

TEST(recovery, AC66_without_disks_no_lock_is_asked_for) {
    recovered_by_hand p;
    p.keys.volumes.clear();
    EXPECT_EQ(p.run(), guest_end::recovered);
    EXPECT_EQ(p.asked.front(), "plan");
}

TEST(recovery, AC67_AC118_locks_that_cannot_be_cleared_leave_it_for_another_try) {
    recovered_by_hand p;
    p.cleared = {said::cleared::kind::refused, "permission denied", {}, {}};
    EXPECT_EQ(p.run(), guest_end::kept);
    EXPECT_EQ(p.asked, lines{"clear locks"});
    recovered_by_hand q;
    q.cleared = {said::cleared::kind::no_ceph, "the storage function is off here", {}, {}};
    EXPECT_EQ(q.run(), guest_end::needs_ceph);
}

TEST(recovery, AC68_the_last_node_is_kept_and_cleared_where_it_goes_home) {
    for (const auto& [last, target, wanted] :
         {std::tuple("", "hv4", "hv3"), std::tuple("hv2", "hv4", "hv2"), std::tuple("hv2", "hv2", "")}) {
        recovered_by_hand p;
        p.keys.last_node = last;
        p.plan.node = target;
        p.run();
        EXPECT_EQ(p.machine.wanted.last_node, wanted);
    }
}

TEST(recovery, AC120_a_node_that_is_back_ends_it_at_every_read) {
    for (const bool beats : {true, false}) {
        for (const std::string at : {"clear locks", "plan", "write start on hv4, last on hv3"}) {
            recovered_by_hand p;
            ASSERT_TRUE(p.reaches(at));
            (beats ? p.victim.heartbeat_id : p.victim.state_id) = 99;
            if (at.starts_with("write")) {
                p.written = {fence_said::written::end::overtaken, 0};
            }
            EXPECT_EQ(p.run(), guest_end::node_back) << at;
        }
    }
    recovered_by_hand p;
    p.victim.is_gone = true;
    EXPECT_EQ(p.run(), guest_end::node_back);
    recovered_by_hand lost;
    lost.has_lock = false;
    EXPECT_EQ(lost.run(), guest_end::abandoned);
    EXPECT_TRUE(lost.asked.empty());
}

// Who writes it meanwhile is heeded.
TEST(recovery, keys_that_change_are_decided_on_anew) {
    recovered_by_hand p;
    ASSERT_TRUE(p.reaches("plan"));
    p.keys.state = vm_state::disable;
    p.keys.state_id = 50;
    EXPECT_EQ(p.run(), guest_end::left_alone);
    recovered_by_hand gone;
    ASSERT_TRUE(gone.reaches("plan"));
    gone.is_there = false;
    EXPECT_EQ(gone.run(), guest_end::left_alone);
}

TEST(recovery, a_write_of_which_nobody_knows_counts_if_it_is_there) {
    recovered_by_hand p;
    ASSERT_TRUE(p.reaches("write start on hv4, last on hv3"));
    p.resume(fence_said::written{});
    p.keys.node = "hv4";
    p.keys.state_id = 78;
    EXPECT_EQ(p.run(), guest_end::recovered);
    EXPECT_EQ(p.machine.zxid, 78);
}

TEST(recovery, a_target_that_is_gone_is_planned_again_and_not_for_ever) {
    recovered_by_hand p;
    p.written = {fence_said::written::end::overtaken, 0};
    EXPECT_EQ(p.run(), guest_end::kept);
    EXPECT_EQ(std::ranges::count(p.asked, "plan again"), recovery_limits::tries);
}

said::other_node_said answered(const std::string& node, remote_answer answer, bool lists = false,
                               daemon_state daemon = daemon_state::run) {
    return {node, daemon, lists, answer};
}

struct migrating : recovered_by_hand {
    migrating(const std::string& node, const std::string& last) {
        keys.state = vm_state::migrate;
        keys.node = node;
        keys.last_node = last;
    }
};

// D125: its sender still waits for the end of the call. Without the lock of its dead node that half would go on.
TEST(recovery, D125_what_another_node_lists_is_not_begun_anew_before_that_one_has_nothing_of_it) {
    for (const auto answer : {remote_answer::incoming, remote_answer::hanging}) {
        recovered_by_hand p;
        p.keys.listed_by = {"hv2"};
        p.others.nodes = {{"hv1", daemon_state::run, false, remote_answer::absent},
                          {"hv2", daemon_state::run, true, answer}};
        EXPECT_EQ(p.run(), guest_end::kept);
        EXPECT_EQ(p.asked, lines{"ask the others"}) << "no lock is touched";
    }
    recovered_by_hand gone;
    gone.keys.listed_by = {"hv2"};
    gone.others.nodes = {{"hv2", daemon_state::run, true, remote_answer::absent}};
    EXPECT_EQ(gone.run(), guest_end::recovered);
    recovered_by_hand there;
    there.keys.listed_by = {"hv2"};
    there.others.nodes = {{"hv2", daemon_state::run, true, remote_answer::alive}};
    EXPECT_EQ(there.run(), guest_end::recovered);
    EXPECT_EQ(there.asked, (lines{"ask the others", "write start on hv2, where it is", "see it run on hv2"}));
}

TEST(recovery, AC125_from_a_living_source_to_a_dead_target_it_stays_where_it_lives) {
    migrating p("hv3", "hv2");
    p.others.nodes = {answered("hv1", remote_answer::absent), answered("hv2", remote_answer::alive)};
    EXPECT_EQ(p.run(), guest_end::recovered);
    EXPECT_EQ(p.asked, (lines{"ask the others", "write start on hv2, where it is", "see it run on hv2"}));
    EXPECT_EQ(p.machine.wanted.last_node, "");
    migrating silent("hv3", "hv2");
    silent.others.nodes = {answered("hv1", remote_answer::absent), answered("hv2", remote_answer::silent)};
    EXPECT_EQ(silent.run(), guest_end::kept);
    EXPECT_EQ(silent.asked, lines{"ask the others"});
}

TEST(recovery, AC126_on_its_living_target_it_is_left_alone) {
    migrating p("hv2", "hv3");
    p.others.nodes = {answered("hv2", remote_answer::alive)};
    EXPECT_EQ(p.run(), guest_end::left_alone);
    EXPECT_EQ(p.asked, lines{"ask the others"});
}

TEST(recovery, a_machine_that_nobody_has_goes_to_its_target_first) {
    migrating p("hv2", "hv3");
    p.others.nodes = {answered("hv1", remote_answer::absent), answered("hv2", remote_answer::absent)};
    ASSERT_TRUE(p.reaches("plan"));
    EXPECT_EQ(std::get<recovery_ask::target>(p.step.what).preferred, "hv2");
    migrating to("hv3", "hv2");
    to.others.nodes = {answered("hv2", remote_answer::absent)};
    ASSERT_TRUE(to.reaches("plan"));
    EXPECT_EQ(std::get<recovery_ask::target>(to.step.what).preferred, "");
}

// Each answer of the others, to a machine that was migrating to the dead node.
TEST(recovery, R89_what_others_say_of_a_migrating_machine) {
    struct row {
        said::other_node_said of;
        guest_end end;
    };
    const row rows[] = {
        {answered("hv1", remote_answer::absent), guest_end::recovered},
        {answered("hv1", remote_answer::halted), guest_end::recovered},
        {answered("hv1", remote_answer::being_made), guest_end::kept},
        {answered("hv1", remote_answer::incoming), guest_end::kept},
        {answered("hv1", remote_answer::ending), guest_end::kept},
        {answered("hv1", remote_answer::shut_off), guest_end::kept},
        {answered("hv1", remote_answer::silent), guest_end::kept},
        {answered("hv1", remote_answer::hanging), guest_end::kept},
        {answered("hv1", remote_answer::refused), guest_end::recovered},
        {answered("hv1", remote_answer::refused, true), guest_end::kept},
        {answered("hv1", remote_answer::silent, false, daemon_state::stop), guest_end::recovered},
        {answered("hv1", remote_answer::silent, true, daemon_state::stop), guest_end::kept},
        {answered("hv1", remote_answer::silent, false, daemon_state::dead), guest_end::kept},
        {answered("hv1", remote_answer::silent, false, daemon_state::fenced), guest_end::recovered},
        {answered("hv1", remote_answer::silent, true, daemon_state::fenced), guest_end::kept},
        {answered("hv2", remote_answer::refused), guest_end::kept},
    };
    for (const auto& one : rows) {
        migrating p("hv3", "hv2");
        p.others.nodes = {one.of};
        EXPECT_EQ(p.run(), one.end) << one.of.node << " " << static_cast<int>(one.of.answer) << one.of.lists_it;
    }
    migrating two("hv3", "hv2");
    two.others.nodes = {answered("hv1", remote_answer::alive), answered("hv2", remote_answer::alive)};
    EXPECT_EQ(two.run(), guest_end::kept);
    migrating stale("hv2", "hv1");
    stale.others.nodes = {answered("hv1", remote_answer::alive), answered("hv2", remote_answer::incoming)};
    EXPECT_EQ(stale.run(), guest_end::kept) << "between two others: a stale list must not call that off";
}

TEST(recovery, R12_without_a_power_off_each_machine_is_proven_by_storage) {
    recovered_by_hand p;
    p.machine.proof = fence_proof::storage;
    EXPECT_EQ(p.run(), guest_end::recovered);
    EXPECT_EQ(p.asked, (lines{"plan", "prove by storage", "record the proof", "clear locks",
                              "write start on hv4, last on hv3", "see it run on hv4"}));
    recovered_by_hand full;
    full.machine.proof = fence_proof::storage;
    full.is_disk_good = false;
    EXPECT_EQ(full.run(), guest_end::kept);
    EXPECT_EQ(full.asked.back(), "record the proof");
    for (const int what : {0, 1, 2}) {
        recovered_by_hand q;
        q.machine.proof = what == 2 ? fence_proof::none : fence_proof::storage;
        q.keys.are_all_rbd = what != 0;
        if (what == 1) {
            q.keys.volumes.clear();
        }
        EXPECT_EQ(q.run(), guest_end::kept);
        EXPECT_TRUE(q.asked.empty());
    }
    recovered_by_hand refused;
    refused.machine.proof = fence_proof::storage;
    refused.proven = {said::proven::kind::refused, "nobody has it open", {}};
    EXPECT_EQ(refused.run(), guest_end::kept);
}

// Who is sent it later has a client that nobody kept from writing. What came to the dead node has his client.
TEST(recovery, R12_no_proof_by_storage_of_a_machine_that_may_still_be_sent) {
    for (const bool is_sent : {true, false}) {
        migrating p(is_sent ? "hv2" : "hv3", is_sent ? "hv3" : "hv2");
        p.machine.proof = fence_proof::storage;
        p.others.nodes = {answered("hv2", remote_answer::absent)};
        EXPECT_EQ(p.run(), is_sent ? guest_end::kept : guest_end::recovered) << p.machine.why;
    }
}

// Given back, it would be one that nobody sends, and proven by its client there. Who is off receives nothing.
TEST(recovery, R12_what_a_dead_node_may_still_send_is_not_given_back_to_it) {
    struct row {
        fence_proof proof;
        daemon_state sender;
        remote_answer answer;
        guest_end end;
    };
    const row rows[] = {
        {fence_proof::storage, daemon_state::dead, remote_answer::alive, guest_end::kept},
        {fence_proof::storage, daemon_state::dead, remote_answer::halted, guest_end::kept},
        {fence_proof::none, daemon_state::dead, remote_answer::alive, guest_end::kept},
        {fence_proof::storage, daemon_state::run, remote_answer::alive, guest_end::recovered},
        {fence_proof::none, daemon_state::run, remote_answer::alive, guest_end::recovered},
        {fence_proof::power, daemon_state::dead, remote_answer::alive, guest_end::recovered},
        {fence_proof::lease, daemon_state::dead, remote_answer::alive, guest_end::recovered},
        {fence_proof::operators_word, daemon_state::dead, remote_answer::alive, guest_end::recovered},
    };
    for (const auto& one : rows) {
        for (const auto state : {vm_state::migrate, vm_state::migrate_live, vm_state::unmigrate, vm_state::start}) {
            migrating p("hv3", "hv2");
            p.keys.state = state;
            p.keys.listed_by = {"hv2"};
            p.machine.proof = one.proof;
            p.others.nodes = {answered("hv1", remote_answer::absent), answered("hv2", one.answer, true, one.sender)};
            EXPECT_EQ(p.run(), one.end) << to_text(one.proof) << ' ' << model::to_text(state) << p.machine.why;
            if (one.end == guest_end::kept) {
                EXPECT_EQ(p.asked, lines{"ask the others"});
                EXPECT_EQ(p.machine.why, "without proof that hv2 is off, which has it and may still send it");
            }
        }
    }
}

// Whom nobody takes is left as it is, and his clients too.
TEST(recovery, R12_a_node_is_found_before_a_proof_by_storage) {
    for (const auto what : {planned_guest::kind::no_room, planned_guest::kind::nobody, planned_guest::kind::no_figures,
                            planned_guest::kind::silent}) {
        recovered_by_hand p;
        p.machine.proof = fence_proof::storage;
        p.plan = {what, {}, "it lacks 1000 MiB"};
        EXPECT_EQ(p.run(), guest_end::kept);
        EXPECT_EQ(p.asked, lines{"plan"});
        EXPECT_EQ(p.machine.why, "it lacks 1000 MiB");
    }
}

TEST(recovery, R12_a_proof_by_storage_can_be_taken_again_with_what_it_saw) {
    const clients_before seen{{"vms/u1_disk0"}, {"10.0.0.3:0/77"}};
    recovered_by_hand p;
    p.machine.proof = fence_proof::storage;
    p.proven.clients = seen.addresses;
    ASSERT_TRUE(p.reaches("clear locks"));
    p.resume(said::cleared{});  // something was another
    ASSERT_TRUE(p.reaches("prove by storage"));
    EXPECT_EQ(std::get<recovery_ask::prove_silent>(p.step.what).before, seen);
    EXPECT_EQ(std::ranges::count(p.asked, "plan"), 2);
    EXPECT_EQ(p.run(), guest_end::recovered);
    // One that did not come to its end is noted all the same, for a later try.
    recovered_by_hand half;
    half.machine.proof = fence_proof::storage;
    half.machine.before = {{"vms/u1_disk0"}, {"10.0.0.3:0/76"}};
    half.proven = {said::proven::kind::refused, "the blocklist cannot be read", seen.addresses};
    ASSERT_TRUE(half.reaches("prove by storage"));
    EXPECT_EQ(std::get<recovery_ask::prove_silent>(half.step.what).before.addresses, lines{"10.0.0.3:0/76"});
    EXPECT_EQ(half.run(), guest_end::kept);
    ASSERT_EQ(half.notes.size(), 2U);
    EXPECT_EQ(half.notes[0].volumes, seen.volumes);
    EXPECT_EQ(half.notes[0].clients, seen.addresses);
}

// Some librados send the time as a text, which Ceph refuses.
TEST(recovery, a_break_that_ceph_does_not_understand_is_made_after_a_blocklisting_by_command) {
    const std::string client = "10.0.0.3:0/77";
    const auto up_to_the_command = [&client](recovered_by_hand& p) {
        p.cleared = {said::cleared::kind::not_understood, "invalid argument", client, {}};
        ASSERT_TRUE(p.reaches("blocklist " + client));
        p.cleared = {said::cleared::kind::clear, {}, {}, {}};
        p.resume(said::done{});
        ASSERT_EQ(to_text(p.step.what), "read the blocklist");
    };
    recovered_by_hand p;
    up_to_the_command(p);
    p.resume(said::blocklist_read{{client}, {}});
    ASSERT_TRUE(p.reaches("clear locks, of blocked clients too"));
    EXPECT_EQ(std::get<recovery_ask::clear_locks>(p.step.what).blocked, std::vector<std::string>{client});
    EXPECT_EQ(p.run(), guest_end::recovered);
    recovered_by_hand unseen;
    up_to_the_command(unseen);
    unseen.resume(said::blocklist_read{{"10.0.0.3:0/78"}, {}});
    EXPECT_EQ(unseen.machine.end, guest_end::kept);
    EXPECT_TRUE(unseen.step.is_over());
    recovered_by_hand back;
    back.cleared = {said::cleared::kind::not_understood, "invalid argument", client, {}};
    ASSERT_TRUE(back.reaches("clear locks"));
    back.victim.heartbeat_id = 99;
    EXPECT_EQ(back.run(), guest_end::node_back) << "read right before the command";
}

TEST(recovery, bad_keys_leave_that_machine_as_it_is) {
    recovered_by_hand p;
    p.keys.unreadable = "line 3: no such thing";
    EXPECT_EQ(p.run(), guest_end::kept);
    EXPECT_TRUE(p.asked.empty());
}

TEST(recovery, what_is_not_answered_in_time_has_failed) {
    for (const std::string at : {"clear locks", "plan", "write start on hv4, last on hv3"}) {
        recovered_by_hand p;
        ASSERT_TRUE(p.reaches(at));
        p.written = {};
        for (int i = 0; i < 200 && !p.step.is_over(); ++i) {
            to_text(p.step.what) == at ? p.resume(said::woken{}) : p.answer();
        }
        EXPECT_EQ(p.machine.end, guest_end::kept) << at;
    }
}

// ---- leftovers

}  // namespace
}  // namespace pvc::policy
