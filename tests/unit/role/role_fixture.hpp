// A coordinator beside two others that the test plays.
#pragma once

#include "unit/node/node_fixture.hpp"

namespace pvc::node {

inline const std::string primary_key = "/config/primary_node";

class role_fixture : public node_test {
protected:
    role_fixture() { sim::initialise(ensemble, 10); }

    // hv1 runs beside hv2 and hv3; who is named primary, and what hv2 says it is.
    sim_node& stage(const std::string& primary, const std::string& role_of_hv2 = "secondary") {
        put_peer("hv2", "coordinator", "run", role_of_hv2);
        put_peer("hv3", "coordinator", "run", "secondary");
        ensemble.put(primary_key, primary);
        sim_node& hv1 = add_running();
        beat(12s);
        EXPECT_EQ(role_of(hv1), primary == "hv1" || primary == "none" ? "primary" : "secondary");
        // Just after a tick: the next one is 4.9 s away.
        const auto beats = times("/nodes/hv1/keepalive").size();
        run_until([&] { return times("/nodes/hv1/keepalive").size() > beats; }, 6s);
        loop.run_for(100ms);
        ensemble.clear_trace();
        return hv1;
    }
    void beat(duration time) { run_with_beats(time, {"hv2", "hv3"}); }
    double seconds_until(const std::function<bool()>& done, duration limit = 200s) {
        const auto from = loop.clock().now();
        while (!done() && loop.clock().now() - from < limit) {
            beat(50ms);
        }
        EXPECT_TRUE(done());
        return std::chrono::duration<double>(loop.clock().now() - from).count();
    }
};

}  // namespace pvc::node
