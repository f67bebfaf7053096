// The rules about virtual functions see what they are about, and nothing else.
#include "sim/subjects/domains/guests.hpp"
#include "sim/subjects/networks/networks.hpp"
#include "sim/world/judged_cluster.hpp"

namespace pvc::sim {

using namespace std::chrono_literals;

class function_rules_test : public judged_cluster {
protected:
    function_rules_test() : judged_cluster(two_nodes({.networking = true, .sriov = {{"ens8", 2, {}}}})) {}

    void SetUp() override {
        perform("start hv1");
        pass(10s);
        perform("start hv2");
        pass(90s);
        assert_calm();
    }
    static constexpr auto key = "/nodes/hv2/sriov/vf/ens8v1";

    sim_node& hv2 = world.members[1]->node;
};

TEST_F(function_rules_test, a_driver_that_does_not_follow) {
    hv2.functions.broken.insert_or_assign("set", failure(errc::refused, "set", "No"));
    perform("function hv2 1 set vlan_id 101");
    pass(25s);
    EXPECT_EQ(broken(), "");
    EXPECT_FALSE(misses("ens8v1")) << "it has its time";
    pass(20s);  // it is asked every tenth second
    EXPECT_EQ(broken(), "functions_follow");
    EXPECT_TRUE(misses("ens8v1 is not set to VLAN 101, QoS 0"));
}

TEST_F(function_rules_test, one_that_does_and_clients_that_use_it) {
    world.ensemble.put("/domains/" + to_text(guest_id(1)), "vm1");
    perform("function hv2 1 set vlan_id 101");
    perform("function hv2 1 set link_state on");
    perform("function hv2 1 use 1");
    perform("function hv2 0 use nobody");
    pass(60s);
    EXPECT_EQ(broken(), "");
    EXPECT_EQ(hv2.functions.function("ens8", 1)->vlan, (model::function_vlan{101, 0}));
    EXPECT_EQ(world.ensemble.get(std::string(key) + "/used"), "True");
    EXPECT_EQ(world.ensemble.get("/nodes/hv2/sriov/vf/ens8v0/used"), "False");
    perform("function hv2 1 free");
    perform("tamper-with-function hv2 1");
    pass(60s);
    EXPECT_EQ(broken(), "");
    EXPECT_TRUE(watch.missing().empty());
}

TEST_F(function_rules_test, keys_that_are_not_there) {
    hv2.functions.broken.insert_or_assign("look", failure(errc::not_found, "look", "No such device"));
    hv2.network.lose_events();
    pass(8s);
    world.ensemble.remove_tree(key);
    pass(35s);
    EXPECT_EQ(broken(), "functions_follow");
    EXPECT_TRUE(misses("ens8v1 is not there"));
}

}  // namespace pvc::sim
