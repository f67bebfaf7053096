// What is written of client networks is not written over what came since (networking.md 5, case 22).
#include "unit/networks/network_fixture.hpp"
#include "unit/node/struck_write.hpp"

namespace pvc::node {
namespace {

class network_guards : public network_fixture {};

TEST_F(network_guards, an_mtu_that_a_client_has_just_written_stays) {
    auto& hv1 = stage_primary();
    const std::string key = "/networks/1001/mtu";
    const struck_write write(hv1, ensemble, loop, key, "1450", [this, key] { ensemble.put(key, "1400"); });
    put_network(1001);
    ASSERT_TRUE(within(5s, [&] { return write.has_struck(); }));
    beat(2s);
    EXPECT_FALSE(write.is_made());
    EXPECT_EQ(value(key), "1400");
}

}  // namespace
}  // namespace pvc::node
