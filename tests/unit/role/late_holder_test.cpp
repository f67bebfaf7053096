// A primary that comes late to its own hand-over: it finds out by the servers' clock, and takes part in no phase then
// (node-lifecycle.md 7.4).
#include "unit/role/role_fixture.hpp"
#include "unit/role/test_part.hpp"

namespace pvc::node {
namespace {

const std::string lock_name = "/6f892bb59b4541c699e870a841d1568b__lock__";
const std::string late_line = "giving everything up without waiting for its turns";
const std::string all_given_up = "-A-B-B'-C-D-E-F-G";

class late_holder_test : public role_fixture {
protected:
    // hv1 has the role; the test is hv2.
    sim_node& primary_with_parts() {
        put_peer("hv2", "coordinator", "run", "secondary");
        put_peer("hv3", "coordinator", "run", "secondary");
        ensemble.put(primary_key, "hv1");
        sim_node& hv1 = add({.name = "hv1", .coordinators = {"hv1", "hv2", "hv3"}});
        plug_in(hv1, steps);
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        EXPECT_TRUE(run_until([&] { return steps.steps.ends_with("+G"); }));
        beat(6s);
        EXPECT_EQ(role_of(hv1), "primary");
        steps.steps.clear();
        return hv1;
    }
    std::string queue(const std::string& data, bool is_orphan = false) {
        const auto mode = is_orphan ? zookeeper::create_mode::persistent : zookeeper::create_mode::ephemeral_sequential;
        auto made = ensemble.create(primary_key + lock_name + (is_orphan ? "0000000000" : ""), data, mode,
                                    is_orphan ? 0 : ensemble.open_session());
        EXPECT_TRUE(made);
        return made ? *made : std::string();
    }
    // hv2 is on its way, and hears of hv1 only now. The rules wait for half a second.
    void name_hv2() {
        ensemble.put("/nodes/hv2/routerstate", "takeover");
        ensemble.put(primary_key, "hv2");
    }
    [[nodiscard]] bool gives_all_up_within(sim_node& hv1, duration limit) {
        return run_until([&] { return role_of(hv1) == "secondary" && steps.steps == all_given_up; }, limit);
    }

    part_log steps;
};

TEST_F(late_holder_test, it_gives_everything_up_at_once) {
    auto& hv1 = primary_with_parts();
    queue("hv2:7:coordinator:this node is named primary");
    beat(6s);
    ensemble.clear_trace();
    name_hv2();
    EXPECT_TRUE(gives_all_up_within(hv1, 700ms)) << steps.steps;
    EXPECT_TRUE(hv1.logged("the candidate began 6.5 s ago: " + late_line));
    EXPECT_TRUE(changes(primary_key + "/sync_lock").empty()) << "it queues for no lock";
}

// Of a reference node, which does not say who it is.
TEST_F(late_holder_test, a_lock_without_a_name_is_the_candidates) {
    auto& hv1 = primary_with_parts();
    queue("");
    beat(7s);
    name_hv2();
    EXPECT_TRUE(gives_all_up_within(hv1, 700ms)) << steps.steps;
    EXPECT_TRUE(hv1.logged("the candidate began 7.5 s ago"));
}

TEST_F(late_holder_test, one_that_has_just_begun_is_waited_for) {
    auto& hv1 = primary_with_parts();
    queue("hv2:7:coordinator:this node is named primary");
    beat(3s);
    name_hv2();
    EXPECT_FALSE(gives_all_up_within(hv1, 4s));
    EXPECT_EQ(role_of(hv1), "relinquish");
    EXPECT_EQ(steps.steps, "");
    EXPECT_FALSE(hv1.logged(late_line));
}

// Who has left a lock behind, or is another node's candidate that is on its way back, has not begun for this node.
TEST_F(late_holder_test, locks_of_others_do_not_count) {
    auto& hv1 = primary_with_parts();
    queue("hv2:7:coordinator:this node is named primary", true);
    queue("hv3:7:coordinator:this node is named primary");
    queue("hv1:7:coordinator:this node is named primary");
    beat(20s);
    queue("hv2:7:coordinator:this node is named primary");
    name_hv2();
    EXPECT_FALSE(gives_all_up_within(hv1, 4s));
    EXPECT_FALSE(hv1.logged(late_line));
}

TEST_F(late_holder_test, a_lock_that_goes_as_it_is_looked_at_says_nothing) {
    auto& hv1 = primary_with_parts();
    const auto lock = queue("hv2:7:coordinator:this node is named primary");
    beat(6s);
    bool done = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& one) {
        if (one.what == zookeeper::request::kind::get && one.path == lock && !std::exchange(done, true)) {
            EXPECT_TRUE(ensemble.remove(lock));
        }
        return sim::verdict::answer;
    };
    name_hv2();
    EXPECT_TRUE(gives_all_up_within(hv1, 4s)) << "nobody is there any more";
    EXPECT_TRUE(done);
    EXPECT_FALSE(hv1.logged(late_line));
}

}  // namespace
}  // namespace pvc::node
