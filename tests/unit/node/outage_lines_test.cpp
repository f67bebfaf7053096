// While ZooKeeper is away the log does not stand still.
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class outage_lines : public node_test {};

TEST_F(outage_lines, an_outage_is_told_of_and_its_end_too) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add_running();
    hv1.connector.link().cut();
    loop.run_for(65s);
    EXPECT_EQ(hv1.times_logged("warning: ZooKeeper has been away for 10 s"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("warning: ZooKeeper has been away for 60 s"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("failed: ZooKeeper session lost"), 1U) << hv1.log();
    EXPECT_TRUE(hv1.logged("peers may fence this node in ")) << hv1.log();
    EXPECT_TRUE(hv1.logged("peers may fence this node at any time")) << hv1.log();
    loop.run_for(10min);
    EXPECT_EQ(hv1.times_logged("ZooKeeper has been away for"), 4U) << hv1.log();  // at 6 and 11 min
    hv1.connector.link().mend();
    loop.run_for(10s);
    EXPECT_EQ(hv1.times_logged("ok: connected to ZooKeeper again after 11 min without it"), 1U) << hv1.log();
}

TEST_F(outage_lines, a_short_one_is_none) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add_running();
    hv1.connector.link().cut();
    loop.run_for(8s);
    hv1.connector.link().mend();
    loop.run_for(60s);
    EXPECT_FALSE(hv1.logged("has been away")) << hv1.log();
    EXPECT_FALSE(hv1.logged("without it")) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
