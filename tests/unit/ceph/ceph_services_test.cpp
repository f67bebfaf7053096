// Which of Ceph's services a node starts (storage.md 9, case 34; node-lifecycle.md 3.5, AC05).
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class ceph_services : public node_test {
protected:
    std::vector<std::string> started(const std::string& coordinator) {
        sim::initialise(ensemble, 10);
        sim::node_settings settings;
        settings.coordinators = {coordinator};
        settings.storage = true;
        sim_node& hv1 = add(std::move(settings));
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        std::vector<std::string> all;
        for (const auto& call : hv1.services.calls()) {
            if (call.unit.starts_with("ceph") && call.verb != "is-active") {
                all.push_back(call.verb + " " + call.unit);
            }
        }
        return all;
    }
};

TEST_F(ceph_services, case_34_a_coordinator_starts_its_monitor_and_then_its_manager_and_no_osd) {
    EXPECT_EQ(started("hv1"), (std::vector<std::string>{"start ceph-mon@hv1.service", "start ceph-mgr@hv1.service"}));
}

TEST_F(ceph_services, case_34_any_other_node_starts_neither) {
    EXPECT_TRUE(started("hv9").empty());
}

}  // namespace
}  // namespace pvc::node
