// What a node with the storage function follows below /ceph, and when it has a helper (storage.md 2, 3.2; cases 16,
// 38).
#include "unit/ceph/ceph_fixture.hpp"

namespace pvc::node {
namespace {

using ceph_subject_test = ceph_node_test;

TEST_F(ceph_subject_test, lists_are_told_with_each_change_and_the_osds_of_this_node_are_counted) {
    sim_node& hv1 = add_with_ceph();
    add_osd("0", "hv1");
    add_osd("1", "hv2");
    start(hv1);
    EXPECT_TRUE(hv1.logged("OSD list: 0 1"));
    EXPECT_TRUE(hv1.logged("Pool list:"));
    add_osd("12", "hv1");
    loop.run_for(6s);
    EXPECT_TRUE(hv1.logged("OSD list: 0 1 12"));
    EXPECT_TRUE(hv1.logged("OSDs: 2")) << hv1.log();
}

// Hazard 12 of storage.md: one list each, and none of a pool that has gone.
TEST_F(ceph_subject_test, each_pool_has_one_list_of_volumes) {
    sim_node& hv1 = add_with_ceph();
    start(hv1);
    ensemble.put({{"/ceph/pools/vms", ""}, {"/ceph/volumes/vms", ""}});
    ensemble.put({{"/ceph/pools/backup", ""}, {"/ceph/volumes/backup", ""}});
    loop.run_for(1s);
    ensemble.put("/ceph/volumes/vms/web", "");
    loop.run_for(1s);
    EXPECT_EQ(hv1.times_logged("Volume list [vms]: web"), 1U);
    EXPECT_EQ(hv1.times_logged("Volume list [backup]: web"), 0U);
    ensemble.remove_tree("/ceph/pools/vms");
    loop.run_for(1s);
    ensemble.put("/ceph/volumes/vms/db", "");
    loop.run_for(1s);
    EXPECT_EQ(hv1.times_logged("Volume list [vms]: db"), 0U);
}

TEST_F(ceph_subject_test, a_schema_without_some_keys_and_a_tree_with_others_do_no_harm) {
    sim_node& hv1 = add_with_ceph(4);
    ensemble.put({{"/ceph/osds/seven", ""}, {"/ceph/osds/8", ""}});
    start(hv1);
    EXPECT_TRUE(hv1.logged("OSD list: 8 seven"));
    EXPECT_FALSE(hv1.logged("[start-ceph-slow]"));
}

TEST_F(ceph_subject_test, the_helper_is_there_when_somebody_asks_and_ends_with_the_daemon) {
    // No primary: it has no figures to ask for.
    sim_node& hv1 = add_with_ceph(10, {.coordinators = {"hv2", "hv3"}}, [](services::stream_connection&) {
        return []() -> async::awaitable<std::string> {
            async::wakeup never;
            co_await never.wait(async::wait_note::work("a question"));
            co_return std::string();
        }();
    });
    start(hv1);
    loop.run_for(30s);
    EXPECT_EQ(talker->starts(), 0U) << "nobody asked";
    loop.run([&]() -> async::awaitable<void> {
        // This one says nothing: it is given up, and said so.
        const auto got = co_await helper->list("vms/web", loop.clock().now() + 7s);
        EXPECT_EQ(got.error().code(), errc::timed_out);
    });
    EXPECT_EQ(talker->starts(), 2U) << "the question waits, so there is another one after the first pause";
    EXPECT_TRUE(hv1.logged("it did not say that it is there [ceph-helper-gone]"));
    hv1.stop();
    EXPECT_EQ(hv1.exit_status, 0);
    EXPECT_EQ(talker->running(), 0);
}

}  // namespace
}  // namespace pvc::node
