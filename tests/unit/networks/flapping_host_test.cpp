// What a host can cause many times a second is told once, and then counted.
#include "unit/networks/network_fixture.hpp"

namespace pvc::node {
namespace {

class flapping_host_test : public network_fixture {};

TEST_F(flapping_host_test, an_address_that_goes_again_and_again_is_told_once_and_counted) {
    auto& hv1 = stage();
    const auto own = *parse_host_address("10.98.0.1/24");
    ASSERT_TRUE(hv1.kernel.has("brcluster", own)) << addresses(hv1, "brcluster");
    constexpr int times = 20;
    for (int again = 0; again < times; ++again) {
        hv1.kernel.remove("brcluster", own);
        ASSERT_TRUE(within(2s, [&] { return hv1.kernel.has("brcluster", own); })) << again;
    }
    const std::string line = "host network: address 10.98.0.1/24 on brcluster is not as it was, setting it up again";
    EXPECT_EQ(hv1.times_logged(line), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("address 10.98.0.1/24 on brcluster is set up"), 1U) << "at the start";
    beat(65s);
    EXPECT_EQ(hv1.times_logged(line), 2U);
    EXPECT_EQ(hv1.times_logged("more time(s) in the last minute"), 1U) << hv1.log();
    beat(65s);
    EXPECT_EQ(hv1.times_logged(line), 2U) << "a quiet minute is not told of";
    hv1.kernel.remove("brcluster", own);
    ASSERT_TRUE(within(2s, [&] { return hv1.kernel.has("brcluster", own); }));
    beat(1s);
    EXPECT_EQ(hv1.times_logged(line), 3U);
}

TEST_F(flapping_host_test, a_device_that_comes_and_goes_is_told_of_once_and_at_the_end_as_it_is) {
    auto& hv1 = stage();
    const std::string line = "device ens6 is missing: what needs it is set up when it comes";
    const auto is_there = [&] { return index_of(hv1, "ens6") != 0; };
    ASSERT_TRUE(is_there());
    for (int again = 0; again < 10; ++again) {
        hv1.kernel.remove_device("ens6");
        beat(1s);
        hv1.kernel.add_device("ens6");
        beat(1s);
    }
    EXPECT_EQ(hv1.times_logged(line), 2U) << "that it is, and that this is over\n" << hv1.log();
    hv1.kernel.remove_device("ens6");
    beat(65s);
    EXPECT_EQ(hv1.times_logged(line + ": 10 more time(s) in the last minute, and so it is now"), 1U) << hv1.log();
    hv1.kernel.add_device("ens6");
    beat(125s);
    EXPECT_EQ(hv1.times_logged("this is over: " + line), 2U) << hv1.log();
    EXPECT_EQ(hv1.times_logged(line), 4U) << hv1.log();
}

}  // namespace
}  // namespace pvc::node
