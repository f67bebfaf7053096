// Statistics of network cards on a simulated daemon (networking.md 13, cases 87 to 89).
#include "unit/node/node_fixture.hpp"

namespace pvc::node {
namespace {

class link_statistics_test : public node_test {
protected:
    sim_node& stage(int schema_version = 15) {
        sim::initialise(ensemble, schema_version);
        sim_node& hv1 = add({.coordinators = {"hv1"}, .networking = true});
        hv1.traffic.speeds = {{"ens4", 10'000}, {"ens5", -1}};
        hv1.traffic.set_flow("ens4", {1000, 300, 10, 4});
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        return hv1;
    }
    [[nodiscard]] std::string stats() const { return value("/nodes/hv1/network_stats"); }
    [[nodiscard]] bool has(std::string_view text) const { return stats().find(text) != std::string::npos; }
    bool becomes(const std::function<bool()>& done) { return run_until(done, 30s); }
};

constexpr std::string_view ens4 =
    R"("ens4": {"rx_bps": 8000, "rx_pps": 10, "tx_bps": 2400, "tx_pps": 4, "total_bps": 10400, "total_pps": 14, )"
    R"("link_speed": 10000000000, "state": "up"})";

TEST_F(link_statistics_test, case_87_with_each_keepalive_what_passed_since_the_one_before) {
    auto& hv1 = stage();
    EXPECT_TRUE(becomes([&] { return has(ens4); })) << stats();
    EXPECT_TRUE(has(R"("ens5": {"rx_bps": 0,)")) << stats();
    EXPECT_TRUE(has(R"("link_speed": 0, "state": "up"}, "ens6")")) << stats();  // case 88: -1
    EXPECT_FALSE(has("br") || has("\"lo\"")) << stats();
    hv1.traffic.set_flow("ens4", {2000, 0, 20, 0});
    EXPECT_TRUE(becomes([&] { return has(R"("ens4": {"rx_bps": 16000, "rx_pps": 20, "tx_bps": 0,)"); })) << stats();
    EXPECT_FALSE(hv1.logged("network statistics"));
}

TEST_F(link_statistics_test, case_88_a_card_vanishes_and_comes_back_and_the_daemon_stops) {
    auto& hv1 = stage();
    ASSERT_TRUE(becomes([&] { return has(ens4); }));
    hv1.kernel.remove_device("ens4");
    EXPECT_TRUE(becomes([&] { return !has("ens4"); })) << stats();
    EXPECT_TRUE(has("ens5"));
    hv1.kernel.add_device("ens4");
    EXPECT_TRUE(becomes([&] { return has(ens4); })) << stats();
    EXPECT_EQ(hv1.times_logged("counters of the network cards"), 0U);
    hv1.stop();
    EXPECT_EQ(stats(), "{}");
    loop.run_for(30s);
    EXPECT_EQ(stats(), "{}");
}

TEST_F(link_statistics_test, case_89_a_schema_without_the_key_has_none_and_nothing_is_counted) {
    auto& hv1 = stage(10);
    hv1.traffic.broken.insert_or_assign("count", failure(errc::io, "ens4", "refused"));
    loop.run_for(30s);
    EXPECT_FALSE(ensemble.exists("/nodes/hv1/network_stats"));
    EXPECT_TRUE(values_written("/nodes/hv1/network_stats").empty());
    EXPECT_FALSE(hv1.logged("cannot be read"));
    hv1.stop();
    EXPECT_FALSE(ensemble.exists("/nodes/hv1/network_stats"));
}

TEST_F(link_statistics_test, what_cannot_be_read_is_told_once_and_left_out_until_it_can) {
    auto& hv1 = stage();
    ASSERT_TRUE(becomes([&] { return has(ens4); }));
    hv1.traffic.broken.insert_or_assign("count", failure(errc::io, "ens4", "Nothing"));
    EXPECT_TRUE(becomes([&] { return stats() == "{}"; })) << stats();
    loop.run_for(60s);
    EXPECT_EQ(hv1.times_logged("the counters of the network cards cannot be read: ens4: input/output error: Nothing"),
              1U)
        << hv1.log();
    hv1.traffic.broken.clear();
    EXPECT_TRUE(becomes([&] { return has(ens4); })) << stats();
    EXPECT_EQ(hv1.times_logged("this is over: the counters of the network cards"), 1U) << hv1.log();
    // Which cards there are is another question: what is known of them goes on.
    hv1.traffic.broken.insert_or_assign("hardware", failure(errc::timed_out, "network cards"));
    hv1.traffic.set_flow("ens4", {2000, 0, 20, 0});
    loop.run_for(60s);
    EXPECT_TRUE(has(R"("ens4": {"rx_bps": 16000,)")) << stats();
    EXPECT_EQ(hv1.times_logged("which network cards there are"), 1U) << hv1.log();
    hv1.traffic.broken.clear();
}

TEST_F(link_statistics_test, a_kernel_that_hangs_delays_no_heartbeat) {
    auto& hv1 = stage();
    ASSERT_TRUE(becomes([&] { return has(ens4); }));
    const auto from = loop.clock().now();
    hv1.traffic.hang();
    loop.run_for(60s);
    EXPECT_EQ(stats(), "{}");
    EXPECT_NEAR(beat_gaps("hv1", from).front(), 5.0, 0.1);
    hv1.traffic.end_hang();
    EXPECT_TRUE(becomes([&] { return has(R"("ens4": {"rx_bps": 8000,)"); })) << stats();
    EXPECT_LE(hv1.times_logged("which network cards there are"), 2U) << hv1.log();
}

TEST_F(link_statistics_test, counting_goes_on_over_a_lost_session) {
    auto& hv1 = stage();
    ASSERT_TRUE(becomes([&] { return has(ens4); }));
    hv1.connector.link().expire_sessions();
    const auto from = loop.clock().now();
    loop.run_for(20s);
    EXPECT_TRUE(has(ens4)) << stats();
    for (const auto& change : changes("/nodes/hv1/network_stats")) {
        EXPECT_TRUE(change.when < from || change.data != "{}") << "what was counted was forgotten";
    }
}

}  // namespace
}  // namespace pvc::node
