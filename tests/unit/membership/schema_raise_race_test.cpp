// A node that raises the cluster's schema version decides on what it has read: whatever of that changes before its
// write arrives keeps the version (zookeeper-schema.md 8.4 "Raising").
#include "unit/membership/schema_fixture.hpp"

namespace pvc::node {
namespace {

class schema_raise_race : public schema_fixture {
protected:
    // hv1 starts on version 9 beside hv2, which can use 10; `change` happens right before its raising write arrives.
    sim_node& race(std::function<void()> change) {
        at(9);
        put_peer("hv2", "coordinator", "run", "secondary");
        auto& hv1 = add();
        hv1.connector.link().on_request = [this, change = std::move(change)](const zookeeper::request& request) {
            const bool raises = std::ranges::any_of(request.operations, [](const auto& one) {
                return one.path == version_key && one.what == zookeeper::operation::kind::set;
            });
            if (raises && !std::exchange(has_raised, true)) {
                change();
            }
            return sim::verdict::answer;
        };
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        loop.run_for(30s);
        EXPECT_TRUE(has_raised);
        hv1.connector.link().on_request = nullptr;
        return hv1;
    }
    bool has_raised = false;
};

TEST_F(schema_raise_race, nothing_comes_between) {
    race([] {});
    EXPECT_EQ(value(version_key), "10");
}

TEST_F(schema_raise_race, a_node_is_replaced_by_one_that_can_use_less) {
    race([this] { ensemble.put("/nodes/hv2/latestschema", "9"); });
    EXPECT_EQ(value(version_key), "9");
}

TEST_F(schema_raise_race, a_node_is_removed) {
    race([this] { ensemble.remove_tree("/nodes/hv2"); });
    EXPECT_EQ(value(version_key), "9");
}

TEST_F(schema_raise_race, somebody_else_writes_the_version) {
    auto& hv1 = race([this] { ensemble.put(version_key, "11"); });
    EXPECT_EQ(value(version_key), "11");
    EXPECT_EQ(value("/nodes/hv1/activeschema"), "11");
    EXPECT_TRUE(hv1.is_running());
}

}  // namespace
}  // namespace pvc::node
