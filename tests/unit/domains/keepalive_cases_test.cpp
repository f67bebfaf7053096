// Acceptance cases of node-lifecycle.md B.3 with virtual machines: AC39, AC43.
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

class keepalive_cases : public effects_test {
protected:
    static bool writes(const zookeeper::request& request, std::string_view path) {
        return std::ranges::any_of(request.operations, [&](const auto& one) {
            return one.path == path && one.what == zookeeper::operation::kind::set;
        });
    }
};

TEST_F(keepalive_cases, AC39_the_running_list_is_changed_between_read_and_write) {
    define_running();
    auto& hv1 = settled_host();
    pass(10s);
    const std::string list = "/nodes/hv1/runningdomains";
    ASSERT_EQ(value(list), to_text(u1));
    hv1.host.loadavg_text = std::string("7.00 0 0 1/1 1\n");
    bool is_done = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& request) {
        if (writes(request, "/nodes/hv1/cpuload") && !std::exchange(is_done, true)) {
            ensemble.put(list, "somebody-elses-word");
        }
        return sim::verdict::answer;
    };
    const auto from = loop.clock().now();
    pass(5s);
    EXPECT_TRUE(is_done);
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 1U);
    EXPECT_EQ(value("/nodes/hv1/cpuload"), "7.0");
    pass(10s);
    EXPECT_EQ(value(list), to_text(u1));
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 3U);
    EXPECT_FALSE(hv1.logged("missed"));
}

TEST_F(keepalive_cases, AC43_the_statistics_of_machines_cannot_be_written) {
    define_running();
    auto& hv1 = settled_host();
    pass(10s);
    hv1.connector.link().on_request = [](const zookeeper::request& request) {
        return writes(request, key("/stats")) ? sim::verdict::drop_before : sim::verdict::answer;
    };
    const auto from = loop.clock().now();
    pass(30s);
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 6U);
    EXPECT_FALSE(hv1.logged("missed"));
    EXPECT_TRUE(hv1.logged("statistics"));
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "run");
    EXPECT_EQ(value("/nodes/hv1/routerstate"), "primary");
    hv1.connector.link().on_request = nullptr;
    const auto before = times(key("/stats")).size();
    pass(6s);
    EXPECT_GT(times(key("/stats")).size(), before);
}

}  // namespace
}  // namespace pvc::node
