// Between the decision and the write of the role, or of who has it, somebody else writes: the write is not made
// (node-lifecycle.md 7.2; zookeeper-schema.md 3).
#include "unit/node/struck_write.hpp"
#include "unit/role/role_fixture.hpp"

namespace pvc::node {
namespace {

class role_guards : public role_fixture {
protected:
    // Right before hv1 writes this, the other value is written there.
    struck_write strike(sim_node& hv1, const std::string& path, const std::string& data, const std::string& other) {
        return struck_write(hv1, ensemble, loop, path, data, [this, path, other] { ensemble.put(path, other); });
    }
    static inline const std::string role_key = "/nodes/hv1/routerstate";
};

TEST_F(role_guards, an_unknown_name_is_not_taken_back_from_who_was_named_meanwhile) {
    auto& hv1 = stage("hv1");
    const auto write = strike(hv1, primary_key, "hv1", "hv2");
    ensemble.put(primary_key, "hv9");
    beat(20s);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(value(primary_key), "hv2");
}

TEST_F(role_guards, a_name_is_not_cleared_once_another_is_there) {
    auto& hv1 = stage("hv2");
    const auto write = strike(hv1, primary_key, "none", "hv3");
    ensemble.put(primary_key, "garbage");
    beat(6s);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(value(primary_key), "hv3");
}

// It had not begun for twenty seconds.
TEST_F(role_guards, a_name_is_not_cleared_once_its_node_takes_the_role) {
    auto& hv1 = stage("hv2");
    const struck_write write(hv1, ensemble, loop, primary_key, "none",
                             [this] { ensemble.put("/nodes/hv2/routerstate", "takeover"); });
    beat(45s);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
}

TEST_F(role_guards, a_vacancy_is_not_claimed_once_another_is_named) {
    auto& hv1 = stage("hv2");
    const auto write = strike(hv1, primary_key, "hv1", "hv3");
    ensemble.put(primary_key, "none");
    beat(6s);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(value(primary_key), "hv3");
}

TEST_F(role_guards, a_vacancy_is_not_claimed_without_the_lock) {
    auto& hv1 = stage("hv2");
    const struck_write write(hv1, ensemble, loop, primary_key, "hv1", [this] {
        for (const auto& child : lock_children(primary_key)) {
            ensemble.remove_tree(primary_key + "/" + child);
        }
    });
    ensemble.put(primary_key, "none");
    beat(6s);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
}

TEST_F(role_guards, an_order_to_demote_that_comes_as_the_role_is_restored_is_followed) {
    auto& hv1 = stage("hv1");
    const auto write = strike(hv1, role_key, "primary", "secondary");
    ensemble.put(role_key, "client");
    loop.run_for(500ms);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(hv1.daemon().context().role.now(), model::router_state::secondary);
}

TEST_F(role_guards, a_transition_is_not_written_over_what_somebody_wrote) {
    auto& hv1 = stage("hv2");
    const auto write = strike(hv1, role_key, "primary", "client");
    ensemble.put(primary_key, "hv1");
    beat(2s);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
}

TEST_F(role_guards, who_stops_does_not_clear_the_name_of_another) {
    auto& hv1 = stage("hv1");
    const auto write = strike(hv1, primary_key, "none", "hv2");
    hv1.stop();
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(value(primary_key), "hv2");
}

}  // namespace
}  // namespace pvc::node
