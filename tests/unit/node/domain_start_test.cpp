// Start and adopt (vm-domains.md B.1).
#include "domain_fixture.hpp"

namespace pvc::node {
namespace {

using domain_start = domain_test;

TEST_F(domain_start, D01_started_at_daemon_start) {
    define("start", "hv1");
    add_running_host();
    ASSERT_TRUE(run_until([&] { return value(key("/vnc")) == "127.0.0.1:5900"; })) << nodes.front().log();
    EXPECT_EQ(calls(), std::vector<std::string>{"create U1"});
    EXPECT_EQ(running(), to_text(u1));
    EXPECT_TRUE(values_written(key("/state")).size() == 1 && values_written(key("/failedreason")).size() == 1);
}

TEST_F(domain_start, D02_adopted_at_daemon_start) {
    define_running();
    add_running_host();
    ASSERT_TRUE(run_until([&] { return value(key("/vnc")) == "127.0.0.1:5900"; })) << nodes.front().log();
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(running(), to_text(u1));
}

}  // namespace
}  // namespace pvc::node
