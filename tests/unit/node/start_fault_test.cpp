// A start-up in which something happens to the session, at every one of its requests in turn: it ends in `run`, from S0
// anew where the session was lost (node-lifecycle.md 3.2 S6, 4).
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

enum class fault : std::uint8_t { expire, drop_before, drop_after };

class start_with_fault : public node_test, public ::testing::WithParamInterface<fault> {
protected:
    // False: the start was over before request `number`.
    bool start_once(int number, int version) {
        const std::string name = "hv" + std::to_string(number + 10);
        auto& node = add({.name = name, .coordinators = {"hv1", name}});
        sim::initialise(ensemble, version);
        ensemble.put("/config/primary_node", "none");
        int count = 0;
        bool ready_before = false;
        node.connector.link().on_request = [&](const zookeeper::request& request) {
            const bool says_run = std::ranges::any_of(request.operations, [](const auto& one) {
                return one.path.ends_with("/daemonstate") && one.data == "run";
            });
            if (count++ != number) {
                return sim::verdict::answer;
            }
            ready_before = node.is_ready() || says_run;
            if (GetParam() == fault::expire) {
                node.connector.link().expire_sessions();
                return sim::verdict::answer;
            }
            return GetParam() == fault::drop_before ? sim::verdict::drop_before : sim::verdict::drop_after;
        };
        node.start();
        EXPECT_TRUE(node.run_until_ready()) << number << '\n' << node.log();
        EXPECT_TRUE(run_until([&] { return role_of(node) == "primary"; }, 30s)) << number << '\n' << node.log();
        loop.run_for(6s);
        EXPECT_EQ(state_of(node), "run") << number;
        EXPECT_EQ(value("/config/primary_node"), name) << number;
        EXPECT_EQ(value("/schema/version"), "10") << number;
        EXPECT_EQ(value("/nodes/" + name + "/activeschema"), "10") << number;
        EXPECT_TRUE(lock_children("/schema/version").empty()) << number;
        EXPECT_TRUE(lock_children("/config/primary_node").empty()) << number;
        EXPECT_LE(node.configuration_reads, 2) << number;
        if (GetParam() == fault::expire && count > number && !ready_before) {
            EXPECT_EQ(node.configuration_reads, 2) << number << '\n' << node.log();  // S0 again
        }
        EXPECT_EQ(node.notifier.count("READY=1"), 1U) << number;
        const bool reached = count > number && !ready_before;
        node.connector.link().on_request = nullptr;
        node.stop();
        EXPECT_EQ(node.exit_status, 0) << number;
        EXPECT_EQ(state_of(node), "stop") << number;
        EXPECT_TRUE(node.complaints.empty()) << number;
        ensemble.remove_tree("/nodes/" + name);
        nodes.pop_back();
        return reached;
    }
};

TEST_P(start_with_fault, is_survived_at_every_request) {
    int number = 0;
    while (start_once(number, 10)) {
        ++number;
        ASSERT_LT(number, 300);
    }
    EXPECT_GT(number, 30);
}

TEST_P(start_with_fault, is_survived_at_every_request_while_the_version_is_raised) {
    int number = 0;
    while (start_once(number, 9)) {
        ++number;
        ASSERT_LT(number, 300);
    }
    EXPECT_GT(number, 30);
}

std::string fault_name(const ::testing::TestParamInfo<fault>& one) {
    switch (one.param) {
        case fault::expire: return "expire";
        case fault::drop_before: return "drop_before";
        case fault::drop_after: return "drop_after";
    }
    return "";
}

INSTANTIATE_TEST_SUITE_P(faults, start_with_fault,
                         ::testing::Values(fault::expire, fault::drop_before, fault::drop_after), fault_name);

}  // namespace
}  // namespace pvc::node
