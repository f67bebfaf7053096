// Each rule of fences is broken once, by events that nobody made, and what it lets pass is let pass for its reason
// alone.
#include "fence_rules_fixture.hpp"

namespace pvc::sim {

TEST_F(fence_rules_told, who_beats_is_not_switched_off) {
    give_lock(hv(1));
    pass(60s);
    beats("hv2", 2'100ms);  // a guarded read is no older than two seconds
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced");
}

TEST_F(fence_rules_told, who_beats_is_not_marked_dead_whatever_clocks_say) {
    const auto marks = [&](duration ago) {
        beats("hv2", ago);
        change(recorded_kind::set, "/nodes/hv2/daemonstate", "dead", hv(1));
        return broken();
    };
    give_lock(hv(1));
    pass(60s);
    EXPECT_EQ(marks(29s), "") << "clocks drift";
    lose_power(hv(2));
    EXPECT_EQ(marks(12s), "") << "ruling 76";
    hv(2).is_powered = true;
    EXPECT_EQ(marks(12s), "") << "it had no power since it beat";
    pass(60s);
    EXPECT_EQ(marks(20s), "living_not_fenced");
}

TEST_F(fence_rules_told, who_has_said_run_and_not_beaten_yet_is_not_switched_off) {
    give_lock(hv(1));
    beats("hv2", 0s);
    pass(100s);
    of.state<fences_seen>().said_run["hv2"] = world.now() - 3s;
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced");
}

TEST_F(fence_rules_told, a_heartbeat_since_the_last_look_could_not_be_known) {
    give_lock(hv(1));
    pass(60s);
    all_beat(1s, 1'900ms, 1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
}

TEST_F(fence_rules_told, a_board_that_lies_since_its_last_probe_is_excused_and_counted) {
    give_lock(hv(1));
    pass(60s);
    board_of(world, "hv2")->is_booting = true;
    powers_of(world).trait_since["hv2"] = world.now();
    pass(6s);
    all_beat(1s, 3s, 1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(std::ranges::count_if(of.transitions, [](const auto& one) { return one.first.starts_with("excused: "); }),
              1);
}

TEST_F(fence_rules_told, a_board_that_has_just_ended_its_lie_is_excused_as_long_as_an_answer_counts) {
    give_lock(hv(1));
    pass(60s);
    beats("hv2", 0s);
    ASSERT_TRUE(world.perform(*parse_action("board hv2 booting for 15s")));
    pass(18s);
    ASSERT_FALSE(board_of(world, "hv2")->is_booting);
    beats("hv1", 1s);
    beats("hv3", 1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
    pass(2s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced");
}

TEST_F(fence_rules_told, who_asks_for_the_name_of_a_board_that_is_anothers_may_ask_that_one_until_the_next_probe) {
    give_lock(hv(1));
    pass(60s);
    ASSERT_TRUE(world.perform(*parse_action("board hv2 of hv3 for 100s")));
    pass(200s);
    ASSERT_TRUE(powers_of(world).leads_to.empty());
    all_beat(1s, 12s, 1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
    pass(500s);
    beats("hv2", 12s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced");
}

// Off, and on again with a board that boots, too: it has said off without a break.
TEST_F(fence_rules_told, a_board_that_boots_under_a_running_node_is_not_excused) {
    give_lock(hv(1));
    pass(60s);
    beats("hv2", 1s);
    pass(12s);
    beats("hv1", 1s);
    beats("hv3", 1s);
    board_of(world, "hv2")->is_booting = true;
    powers_of(world).trait_since["hv2"] = world.now();
    pass(1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced") << "it was on throughout";
}

TEST_F(fence_rules_told, a_board_that_boots_with_its_node_is_excused_where_that_lost_its_power) {
    give_lock(hv(1));
    pass(60s);
    beats("hv2", 1s);
    pass(3s);
    lose_power(hv(2));
    pass(9s);
    hv(2).is_powered = true;
    beats("hv1", 1s);
    beats("hv3", 1s);
    board_of(world, "hv2")->is_booting = true;
    powers_of(world).trait_since["hv2"] = world.now();
    pass(1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
}

TEST_F(fence_rules_told, a_board_that_a_probe_could_see_through_is_not_excused) {
    give_lock(hv(1));
    pass(1s);
    board_of(world, "hv2")->is_booting = true;
    powers_of(world).trait_since["hv2"] = world.now();
    pass(700s);
    beats("hv2", 3s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced");
}

// Ruling 76: two answers, and it is switched on just after the second one.
TEST_F(fence_rules_told, who_is_on_since_its_board_said_off_twice_could_not_be_known) {
    give_lock(hv(1));
    pass(60s);
    all_beat(1s, 12s, 1s);
    answers(9s, true);
    answers(3'900ms, true);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
}

TEST_F(fence_rules_told, who_is_on_for_longer_than_an_answer_is_good_for_is_not_switched_off) {
    give_lock(hv(1));
    pass(60s);
    beats("hv2", 12s);
    answers(9s, true);
    answers(4'100ms, true);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced");
}

TEST_F(fence_rules_told, answers_that_are_older_than_its_heartbeat_excuse_nobody) {
    give_lock(hv(1));
    pass(60s);
    beats("hv2", 12s);
    answers(15s, true);
    answers(1s, true);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced") << "the first one is older than its heartbeat";
}

TEST_F(fence_rules_told, one_answer_and_one_that_is_not_true_excuse_nobody) {
    give_lock(hv(1));
    pass(60s);
    beats("hv2", 12s);
    answers(9s, true);
    answers(8s, false);
    answers(1s, true);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "living_not_fenced");
}

TEST(healing, ends_what_a_switch_kept_from_a_reference_node) {
    cluster_settings wanted;
    wanted.boards = wanted.has_foreign_guests = true;
    wanted.nodes.push_back({.name = "hv1", .coordinators = {"hv1", "ref1"}, .hypervisor = true});
    wanted.foreign = {"ref1"};
    cluster world(std::move(wanted));
    ASSERT_TRUE(world.perform(*parse_action("break-switch ref1 for 300s")));
    ASSERT_FALSE(world.hardware.centre.is_reachable("hv1", "ref1"));
    ASSERT_TRUE(world.hardware.rbd.cut_off.contains("ref1"));
    ASSERT_TRUE(world.perform(*parse_action("heal")));
    EXPECT_TRUE(world.hardware.centre.is_reachable("hv1", "ref1"));
    EXPECT_TRUE(world.hardware.rbd.cut_off.empty());
}

TEST_F(fence_rules_told, who_does_not_have_the_lock_switches_nobody_off) {
    give_lock(hv(3));
    pass(60s);
    beats("hv2", 40s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "one_fencer");
}

TEST_F(fence_rules_told, a_majority_is_left_by_the_first_power_off) {
    give_lock(hv(1));
    pass(100s);
    all_beat(1s, 40s, 40s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "majority_stays");
}

// It was seen to move an interval later, and the order is two seconds younger than its read.
TEST_F(fence_rules_told, a_coordinator_that_has_just_fallen_silent_may_be_counted) {
    give_lock(hv(1));
    pass(100s);
    all_beat(1s, 40s, 37s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
}

TEST_F(fence_rules_told, a_coordinator_that_was_known_to_be_silent_is_not_counted) {
    give_lock(hv(1));
    pass(100s);
    beats("hv1", 1s);
    beats("hv2", 40s);
    beats("hv3", 37s + 100ms);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "majority_stays");
}

TEST_F(fence_rules_told, the_majority_is_not_counted_again_within_a_sequence) {
    give_lock(hv(1));
    pass(100s);
    all_beat(1s, 40s, 1s);
    switches_off("hv1", "hv2");
    pass(40s);
    beats("hv1", 1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "");
    pass(150s);
    beats("hv1", 1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "majority_stays");
}

TEST_F(fence_rules_told, a_sequence_is_of_one_lock) {
    give_lock(hv(1));
    pass(100s);
    all_beat(1s, 40s, 1s);
    switches_off("hv1", "hv2");
    pass(150s);
    beats("hv1", 1s);
    beats("hv3", 1s);
    change(recorded_kind::create, "/config/fence_lock/abc__lock__0000000002", "hv1:1:fencing:a dead node", hv(1));
    switches_off("hv1", "hv2");
    pass(40s);
    beats("hv1", 1s);
    switches_off("hv1", "hv2");
    EXPECT_EQ(broken(), "") << "more than three minutes after the first, and 40 s after that of this lock";
}

TEST_F(fence_rules_told, nothing_is_written_without_a_proof) {
    give_lock(hv(1));
    lose_power(hv(2));
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "fence_has_proof");
}

TEST_F(fence_rules_told, nothing_is_written_on_a_proof_that_is_not_on_the_disk) {
    give_lock(hv(1));
    lose_power(hv(2));
    record(hv(1), false);
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "fence_has_proof");
}

TEST_F(fence_rules_told, a_proof_is_true) {
    give_lock(hv(1));
    record(hv(1), true);
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "fence_has_proof");
}

TEST_F(fence_rules_told, what_rests_on_a_boards_lie_is_excused_also_when_it_tells_the_truth_again) {
    give_lock(hv(1));
    beats("hv2", 0s);
    pass(60s);
    board_of(world, "hv2")->is_booting = true;
    powers_of(world).trait_since["hv2"] = world.now();
    pass(6s);
    record(hv(1), true);
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "");
    board_of(world, "hv2")->is_booting = false;
    pass(1s);
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "") << "on the same proof";
    beats("hv2", 0s);
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "fence_has_proof");
}

TEST_F(fence_rules_told, a_true_proof_on_the_disk_is_one) {
    give_lock(hv(1));
    lose_power(hv(2));
    record(hv(1), true);
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "");
}

TEST_F(fence_rules_told, a_proof_of_an_earlier_fence_is_none) {
    give_lock(hv(1));
    lose_power(hv(2));
    record(hv(1), true);
    world.ensemble.put("/nodes/hv2/keepalive", "1700000005");
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "fence_has_proof");
}

TEST_F(fence_rules_told, an_operators_word_needs_not_be_true_of_the_power) {
    give_lock(hv(1));
    record(hv(1), true, model::fence_proof_kind::operator_word);
    write_fenced(hv(1));
    EXPECT_EQ(broken(), "");
}

TEST_F(fence_rules_told, anothers_proof_in_the_store_is_one_until_the_node_is_back) {
    give_lock(hv(1));
    lose_power(hv(2));
    record(hv(3), true);
    world.ensemble.put("/nodes/hv2/daemonstate", "fenced");
    world.ensemble.put("/nodes/hv2/fenceproof", to_text(model::fence_proof_key{
                                                    model::fence_record_id(wall_time(1'700'000'000s), "hv2"), "hv3"}));
    const std::string node = guest_key(the_machine, "/node");
    change(recorded_kind::set, node, "hv2", hv(1));
    change(recorded_kind::set, node, "hv3", hv(1));
    EXPECT_EQ(broken(), "");
    world.ensemble.put("/nodes/hv2/daemonstate", "dead");
    change(recorded_kind::set, node, "hv2", hv(1));
    change(recorded_kind::set, node, "hv3", hv(1));
    EXPECT_EQ(broken(), "fence_has_proof") << "it has written since";
}

TEST_F(fence_rules_told, only_a_fencer_takes_the_lock_of_another_ones_state) {
    change(recorded_kind::create, "/nodes/hv2/daemonstate/0__lock__0000000001", "hv1", hv(1));
    EXPECT_EQ(broken(), "") << "what is created is nobody's key yet";
    change(recorded_kind::remove, "/nodes/hv2/daemonstate/0__lock__0000000001", "", hv(1));
    EXPECT_EQ(broken(), "") << "its own";
    change(recorded_kind::remove, "/nodes/hv2/daemonstate/1__lock__0000000002", "", hv(1));
    EXPECT_EQ(broken(), "own_keys_only");
}

TEST_F(fence_rules_told, locks_of_disks_are_the_fencers_where_nobody_who_lives_has_the_machine) {
    const std::string image = guest_image(the_machine);
    EXPECT_FALSE(may_break_for_fence(of, hv(1), image, "10.254.0.2:0/1")) << "without the lock";
    give_lock(hv(1));
    EXPECT_FALSE(may_break_for_fence(of, hv(1), image, "10.254.0.2:0/1")) << "of a node that runs";
    world.ensemble.put("/nodes/hv2/daemonstate", "fenced");
    EXPECT_TRUE(may_break_for_fence(of, hv(1), image, "10.254.0.2:0/1"));
    EXPECT_TRUE(may_break_for_fence(of, hv(1), image, "10.254.0.3:0/1")) << "left by a guest that died there";
    hv(3).node.guests().put_running(guest_id(the_machine), "vm1", "<domain/>");
    EXPECT_FALSE(may_break_for_fence(of, hv(1), image, "10.254.0.3:0/1")) << "it lives there";
    world.ensemble.put(guest_key(the_machine, "/node"), "hv3");
    EXPECT_FALSE(may_break_for_fence(of, hv(1), "vms/other", "10.254.0.3:0/1"));
}

TEST_F(fence_rules_told, a_lock_may_be_broken_by_a_look_from_before_the_node_was_back) {
    const std::string image = guest_image(the_machine);
    const std::string state = "/nodes/hv2/daemonstate";
    give_lock(hv(1));
    change(recorded_kind::set, state, "dead", hv(1));
    change(recorded_kind::set, state, "run", hv(2));
    EXPECT_TRUE(may_break_for_fence(of, hv(1), image, "10.254.0.2:0/1"));
    pass(4s);
    EXPECT_FALSE(may_break_for_fence(of, hv(1), image, "10.254.0.2:0/1"));
}

TEST_F(fence_rules_told, two_copies_are_one_where_ceph_refuses_the_dead_ones) {
    const uuid id = guest_id(the_machine);
    hv(2).node.guests().put_running(id, "vm1", "<domain/>");
    hv(3).node.guests().put_running(id, "vm1", "<domain/>");
    const std::string told = "hv2 and hv3 run " + world.hardware.centre.name_of(id) + " at 1.000 s";
    EXPECT_FALSE(only_one_can_write(of, told));
    world.ensemble.put("/nodes/hv2/daemonstate", "dead");
    EXPECT_FALSE(only_one_can_write(of, told)) << "Ceph takes what it writes";
    bool is_blocked = false;
    sim_rbd_locks ceph(world.hardware.rbd, "hv1", world.loop.clock());
    world.loop.run([&]() -> async::awaitable<void> {
        const auto done = co_await ceph.blocklist("10.254.0.2:0/1", 60s, boot_time::max(), world.now() + 60s);
        is_blocked = done.has_value();
    });
    ASSERT_TRUE(is_blocked);
    EXPECT_TRUE(only_one_can_write(of, told));
    world.ensemble.put("/nodes/hv2/daemonstate", "run");
    EXPECT_FALSE(only_one_can_write(of, told)) << "it is back: its next client is another";
}

TEST_F(fence_rules_told, no_recovery_is_left_half_done) {
    const auto& all = world.known.conditions();
    const auto found = std::ranges::find_if(all, [](const auto* one) { return one->name == "nothing_forgotten"; });
    ASSERT_NE(found, all.end());
    EXPECT_FALSE((*found)->missing(of));
    world.ensemble.put("/nodes/hv2/domainstate", "fence-flush");
    EXPECT_TRUE((*found)->missing(of));
}

}  // namespace pvc::sim
