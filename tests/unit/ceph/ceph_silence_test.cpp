// A Ceph that hangs, refuses, or has no manager (storage.md 4.7; cases 9, 10, 12, 13; node-lifecycle.md AC34).
#include "unit/ceph/ceph_fixture.hpp"

namespace pvc::node {
namespace {

using question = policy::ceph_question;
namespace sample = policy::sample;

class ceph_silence : public ceph_node_test {
protected:
    sim_node& add_cluster() {
        sim_node& node = add_with_ceph();
        add_osd("0", "hv1");
        add_osd("1", "hv2");
        add_pool("vms");
        return node;
    }
    void expect_exact_beats(const sim_node& node, time_point from) {
        const auto gaps = beat_gaps(node.settings.name, from);
        ASSERT_FALSE(gaps.empty());
        EXPECT_NEAR(gaps.front(), 5.0, 0.01);
        EXPECT_NEAR(gaps.back(), 5.0, 0.01);
    }
    void lose_manager() { cluster.delays = {{question::osd_df, 1h}, {question::osd_status, 1h}}; }
    const std::string dump_with_one_down = R"({"osds":[)" + sample::map_row(0, 1, 1, R"(["exists","up"])") + "," +
                                           sample::map_row(1, 0, 1, R"(["exists","up"])") + "]}";
};

// Case 9 of storage.md.
TEST_F(ceph_silence, case_9_without_a_manager_up_and_in_are_published_all_the_same) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    std::string wanted = osd("1");
    wanted.replace(wanted.find(R"("up": 1)"), 7, R"("up": 0)");
    lose_manager();
    cluster.answers[question::osd_dump] = dump_with_one_down;
    const time_point from = loop.clock().now();
    loop.run_for(8s);
    EXPECT_EQ(osd("1"), wanted);
    EXPECT_EQ(cluster.times_asked(question::osd_df), 2U);
    EXPECT_EQ(cluster.times_asked(question::osd_status), 1U) << "it needs the manager as well";
    loop.run_for(24s);
    EXPECT_EQ(cluster.times_asked(question::osd_df), 2U) << "a pause of 30 s";
    loop.run_for(10s);
    EXPECT_EQ(cluster.times_asked(question::osd_df), 3U);
    EXPECT_EQ(hv1.times_logged("[ceph-manager-silent]"), 1U) << hv1.log();
    EXPECT_FALSE(hv1.logged("[ceph-silent]"));
    EXPECT_FALSE(hv1.logged("in 5.")) << "a tick is shorter than KI";
    expect_exact_beats(hv1, from);
    cluster.delays.clear();
    loop.run_for(40s);
    EXPECT_EQ(hv1.times_logged("Ceph's manager answers again"), 1U);
}

// Case 10 of storage.md.
TEST_F(ceph_silence, case_10_without_a_record_nothing_is_written) {
    sim_node& hv1 = add_cluster();
    lose_manager();
    start_primary(hv1);
    loop.run_for(30s);
    EXPECT_EQ(osd("0"), "|");
    EXPECT_EQ(osd("1"), "|");
    EXPECT_EQ(value("/ceph/health"), sample::health);
}

// Case 12 of storage.md, its simulated half.
TEST_F(ceph_silence, case_12_clients_are_told_after_a_minute_and_the_real_health_follows) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    cluster.is_frozen = true;
    const time_point from = loop.clock().now();
    const std::size_t written = values_written("/ceph/health").size();
    loop.run_for(55s);
    EXPECT_EQ(value("/ceph/health"), sample::health);
    loop.run_for(15s);
    EXPECT_TRUE(says(value("/ceph/health"), "PVC_CEPH_UNREACHABLE")) << value("/ceph/health");
    EXPECT_TRUE(says(value("/ceph/health"), "no answer from Ceph for 6"));
    EXPECT_EQ(values_written("/ceph/health").size(), written + 1);
    loop.run_for(60s);
    EXPECT_EQ(values_written("/ceph/health").size(), written + 2) << "repeated every minute";
    EXPECT_TRUE(says(value("/ceph/health"), "no answer from Ceph for 12"));
    cluster.is_frozen = false;
    loop.run_for(10s);
    EXPECT_EQ(value("/ceph/health"), sample::health) << "within two ticks";
    EXPECT_EQ(cluster.most_at_once, 1);
    expect_exact_beats(hv1, from);
    EXPECT_EQ(hv1.times_logged("Ceph answers again"), 1U);
}

TEST_F(ceph_silence, a_primary_that_never_heard_ceph_says_so_after_a_minute) {
    sim_node& hv1 = add_cluster();
    ensemble.put("/ceph/health", sample::health);
    cluster.is_frozen = true;
    start_primary(hv1);
    loop.run_for(50s);
    EXPECT_EQ(value("/ceph/health"), sample::health);
    loop.run_for(20s);
    EXPECT_TRUE(says(value("/ceph/health"), "PVC_CEPH_UNREACHABLE"));
}

// Case 13 of storage.md.
TEST_F(ceph_silence, case_13_a_wrong_keyring) {
    sim_node& hv1 = add_cluster();
    cluster.failures[question::health] =
        failure(errc::unavailable, "Ceph", "permission denied with the keyring /etc/ceph/ceph.client.admin.keyring");
    start(hv1);
    ASSERT_TRUE(run_until([&] { return role_of(hv1) == "primary"; }));
    const time_point from = loop.clock().now();
    loop.run_for(55s);
    EXPECT_EQ(hv1.times_logged("[ceph-silent]"), 1U) << hv1.log();
    EXPECT_TRUE(
        hv1.logged("failed: Ceph does not answer, its figures stay as they are: permission denied with the "
                   "keyring /etc/ceph/ceph.client.admin.keyring"))
        << hv1.log();
    EXPECT_EQ(cluster.asked.size(), 6U) << "every second tick, after the first two";
    expect_exact_beats(hv1, from);
    loop.run_for(20s);
    EXPECT_EQ(hv1.times_logged("[ceph-silent]"), 2U) << "and then once a minute";
    cluster.failures.clear();
    loop.run_for(11s);
    EXPECT_EQ(value("/ceph/health"), sample::health);
}

// AC34 of node-lifecycle.md, as storage.md 4.1 has it: the count is that of the objects.
TEST_F(ceph_silence, ac34_ten_minutes_of_a_hanging_ceph) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    cluster.is_frozen = true;
    loop.run_for(60s);
    const time_point from = loop.clock().now();
    const std::size_t asked = cluster.asked.size();
    const std::size_t lines = static_cast<std::size_t>(std::ranges::count(hv1.log(), '\n'));
    const auto tasks = hv1.tasks()->tasks_begun();
    loop.run_for(600s);
    expect_exact_beats(hv1, from);
    EXPECT_EQ(cluster.most_at_once, 1) << "one question at a time";
    EXPECT_LE(cluster.asked.size() - asked, 121U);
    EXPECT_GE(cluster.asked.size() - asked, 118U);
    EXPECT_EQ(hv1.tasks()->tasks_begun(), tasks);
    EXPECT_EQ(talker->starts(), 1U);
    EXPECT_LE(helper->view().waiting, 1U);
    const std::size_t more = static_cast<std::size_t>(std::ranges::count(hv1.log(), '\n')) - lines;
    EXPECT_LE(more, 120U * 2 + 12U) << "the ticks' two lines, and one a minute";
    // Figures of the node are late by no more than the questions may take.
    for (const double at : times("/nodes/hv1/cpuload", from)) {
        EXPECT_LE(at - 5.0 * std::floor(at / 5.0), 4.0);
    }
    EXPECT_TRUE(hv1.logged("OSDs: 1"));
}

// The helper itself says nothing: it is killed and started again, and nothing else waits for it.
TEST_F(ceph_silence, a_frozen_helper_is_replaced) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    helper_of_cluster.is_frozen = true;
    const time_point from = loop.clock().now();
    loop.run_for(40s);
    helper_of_cluster.is_frozen = false;
    loop.run_for(60s);
    expect_exact_beats(hv1, from);
    EXPECT_GE(helper->view().killed, 1U);
    cluster.answers[question::status] = "after it";
    loop.run_for(10s);
    EXPECT_EQ(value("/ceph"), "after it");
}

// A round goes on into the stop: the stop does not wait for Ceph.
TEST_F(ceph_silence, a_stop_in_the_middle_of_a_question) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    cluster.is_frozen = true;
    loop.run_for(6s);
    hv1.stop();
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(talker->running(), 0);
}

}  // namespace
}  // namespace pvc::node
