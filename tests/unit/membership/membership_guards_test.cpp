// The own state is not written over what somebody, a fencer above all, has written since it was looked at
// (node-lifecycle.md 3.6, 6.2).
#include "unit/node/struck_write.hpp"

namespace pvc::node {
namespace {

class membership_guards : public node_test {
protected:
    membership_guards() { sim::initialise(ensemble, 10); }
    static inline const std::string state_key = "/nodes/hv1/daemonstate";
};

TEST_F(membership_guards, run_is_not_said_over_a_mark_that_has_just_come) {
    auto& hv1 = add_running();
    const struck_write write(hv1, ensemble, loop, state_key, "run", [this] { ensemble.put(state_key, "fenced"); });
    ensemble.put(state_key, "dead");
    loop.run_for(5s);
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(state_of(hv1), "run") << "it answers that one, too";
}

TEST_F(membership_guards, a_start_looks_again_when_its_node_is_marked_as_it_registers) {
    put_peer("hv1", "coordinator", "dead", "secondary");
    auto& hv1 = add();
    const struck_write write(hv1, ensemble, loop, state_key, "init", [this] { ensemble.put(state_key, "fenced"); });
    hv1.start();
    EXPECT_TRUE(hv1.run_until_ready());
    EXPECT_TRUE(write.has_struck());
    EXPECT_FALSE(write.is_made());
}

}  // namespace
}  // namespace pvc::node
