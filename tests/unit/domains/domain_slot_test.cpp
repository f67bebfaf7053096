// The slot of a machine's operation is given back whatever ends the operation, also before its first step.
#include "domain_effects.hpp"

namespace pvc::node {
namespace {

class domain_slot : public effects_test {};

// A session lost at every step around the beginning of an operation, with ready work in many orders: the machine is
// looked after in the next session.
TEST_F(domain_slot, it_is_free_after_a_session_that_was_lost_at_any_step) {
    define("stop", "hv1");
    auto& hv1 = settled_host();
    loop.context().shuffle(17);
    for (std::size_t i = 0; i < 120; ++i) {
        const bool is_on = i % 2 == 0;
        set(is_on ? "start" : "stop");
        for (std::size_t step = 0; step < i / 2; ++step) {
            loop.step();
        }
        hv1.connector.link().expire_sessions();
        pass(8s);
        ASSERT_TRUE(run_until([&] { return guest().executes() == is_on; }, 30s)) << i << "\n" << hv1.log();
    }
}

}  // namespace
}  // namespace pvc::node
