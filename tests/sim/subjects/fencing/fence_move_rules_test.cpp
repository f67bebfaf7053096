// The rule of proofs, for machines that were on their way when a node died.
#include "fence_rules_fixture.hpp"

namespace pvc::sim {

namespace {

// A machine that was on its way from hv2 to hv3, whose daemon alone is silent, and that hv1 starts.
struct move_row {
    std::string state;
    bool is_sender_off;
    bool is_proven;
    bool is_there;
    std::string broken;
};
class fence_rules_of_moves : public fence_rules_told, public ::testing::WithParamInterface<move_row> {};

}  // namespace

TEST_F(fence_rules_told, a_machine_that_was_migrating_needs_a_proof_too) {
    give_lock(hv(1));
    world.ensemble.put("/nodes/hv2/daemonstate", "dead");
    const std::string state = guest_key(the_machine, "/state");
    const std::string node = guest_key(the_machine, "/node");
    world.ensemble.put(state, "migrate");
    change(recorded_kind::set, node, "hv2", hv(1));
    world.ensemble.put(state + "/0__lock__0000000001", "hv1:1000:unflush:placing");
    change(recorded_kind::set, node, "hv3", hv(1));
    EXPECT_EQ(broken(), "") << "its flush is taken back";
    change(recorded_kind::set, node, "hv2", hv(1));
    world.ensemble.remove_tree(state + "/0__lock__0000000001");
    change(recorded_kind::set, node, "hv3", hv(1));
    EXPECT_EQ(broken(), "fence_has_proof");
}

TEST_P(fence_rules_of_moves, a_machine_that_never_arrived_needs_the_proof_of_its_sender) {
    const auto& one = GetParam();
    const auto key = [](const char* suffix) { return guest_key(the_machine, suffix); };
    give_lock(hv(1));
    world.ensemble.put("/nodes/hv3/daemonstate", "dead");
    change(recorded_kind::set, key("/state"), one.state, hv(2));
    change(recorded_kind::set, key("/node"), "hv3", hv(2));
    change(recorded_kind::set, key("/lastnode"), "hv2", hv(2));
    if (one.is_sender_off) {
        lose_power(hv(2));
    }
    if (one.is_proven) {
        record(hv(1), true);
    }
    if (one.is_there) {
        hv(3).node.guests().put_running(guest_id(the_machine), "vm1", "<domain/>");
    }
    change(recorded_kind::set, key("/state"), "start", hv(1));
    begins_no_transaction();
    change(recorded_kind::set, key("/node"), "hv1", hv(1));
    EXPECT_EQ(broken(), one.broken);
}

INSTANTIATE_TEST_SUITE_P(all, fence_rules_of_moves,
                         ::testing::Values(move_row{"migrate", true, true, false, ""},
                                           move_row{"migrate-live", true, true, false, ""},
                                           move_row{"unmigrate", true, true, false, ""},
                                           move_row{"start", true, true, false, "fence_has_proof"},
                                           move_row{"migrate-live", false, true, false, "fence_has_proof"},
                                           move_row{"migrate-live", true, false, false, "fence_has_proof"},
                                           move_row{"migrate-live", true, true, true, "fence_has_proof"}));

// 10.5 a2: what never left its sender is his, also where nothing is proven of the node that it was to come to.
TEST_F(fence_rules_told, a_machine_goes_back_to_a_sender_that_has_it_and_is_not_dead) {
    const auto give_back = [this](member& by) {
        world.ensemble.put("/nodes/hv3/daemonstate", "run");
        change(recorded_kind::set, guest_key(the_machine, "/node"), "hv3", by);
        world.ensemble.put("/nodes/hv3/daemonstate", "dead");
        change(recorded_kind::set, guest_key(the_machine, "/node"), "hv2", by);
    };
    give_lock(hv(1));
    hv(2).node.guests().put_running(guest_id(the_machine), "vm1", "<domain/>");
    give_back(hv(1));
    EXPECT_EQ(broken(), "");
    world.ensemble.put("/nodes/hv2/daemonstate", "dead");
    change(recorded_kind::set, guest_key(the_machine, "/node"), "hv3", hv(2));
    give_back(hv(1));
    EXPECT_EQ(broken(), "fence_has_proof") << "without its keys nothing tells that hv2 may still send it";
}

TEST_F(fence_rules_told, a_machine_goes_back_to_no_sender_that_has_nothing_of_it) {
    give_lock(hv(1));
    world.ensemble.put("/nodes/hv3/daemonstate", "dead");
    change(recorded_kind::set, guest_key(the_machine, "/node"), "hv3", hv(2));
    change(recorded_kind::set, guest_key(the_machine, "/node"), "hv2", hv(1));
    EXPECT_EQ(broken(), "fence_has_proof");
}

}  // namespace pvc::sim
