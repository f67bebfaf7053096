// What a node writes of the devices of its OSDs (storage.md 5; case 33).
#include "osd_fixture.hpp"

namespace pvc::node {
namespace {

class osd_devices_test : public osd_test {
protected:
    [[nodiscard]] texts written(const std::string& id) const {
        texts all;
        for (const auto& change : changes("/ceph/osds/" + id + "/")) {
            if (change.session != 0) {
                all.push_back(change.path.substr(std::string("/ceph/osds/" + id).size()) + "=" + change.data);
            }
        }
        return all;
    }
    void lists(const std::string& device, const std::string& output) {
        program({"ceph-volume", "lvm", "list", "--format", "json", device}, output);
    }
    // Once; and how often somebody wrote then.
    void before_the_write_of(sim_node& node, const std::string& id, std::function<void()> what) {
        node.connector.link().on_request = [this, id, what = std::move(what)](const zookeeper::request& asked) {
            const bool is_of_osd = std::ranges::any_of(asked.operations, [&](const zookeeper::operation& one) {
                return one.path.starts_with("/ceph/osds/" + id + "/");
            });
            if (is_of_osd && writes_seen++ == 0) {
                what();
            }
            return sim::verdict::answer;
        };
    }

    int writes_seen = 0;
};

TEST_F(osd_devices_test, an_osd_of_this_node_gets_its_keys_at_the_start_and_when_it_appears) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    add_whole_osd(10, "4", "hv2");
    lists("/dev/sdb", listing("3", fsid_1, "/dev/sdc"));
    lists("/dev/sdd", listing("5", fsid_1, "/dev/sdd"));
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    EXPECT_EQ(written("3"),
              (texts{"/device=/dev/sdc", "/fsid/osd=" + fsid_1, "/fsid/cluster=" + std::string(cluster_fsid),
                     "/lvm/vg=ceph-3", "/lvm/lv=osd-block-3"}));
    EXPECT_EQ(written("4"), texts{});
    // One transaction: all or nothing.
    const auto all = changes("/ceph/osds/3/");
    EXPECT_EQ(all.back().zxid, all[all.size() - 5].zxid);
    add_osd("5", "hv1", "/dev/sdd");
    loop.run_for(5s);
    EXPECT_EQ(written("5").size(), 6U);  // its device is right
    EXPECT_EQ(processes.calls().size(), 2U);
    const auto& call = processes.calls().front();
    EXPECT_EQ(call.limits.time, 60s);
    EXPECT_EQ(call.what.environment,
              (std::vector<std::pair<std::string, std::string>>{{"CEPH_CONF", "/etc/ceph/ceph.conf"}}));
    loop.run_for(300s);
    EXPECT_EQ(processes.calls().size(), 2U) << "once for each";
}

TEST_F(osd_devices_test, the_volume_is_asked_about_where_it_is_known_and_what_is_right_is_left) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    ensemble.put({{"/ceph/osds/3/fsid", ""},
                  {"/ceph/osds/3/fsid/osd", fsid_1},
                  {"/ceph/osds/3/fsid/cluster", std::string(cluster_fsid)},
                  {"/ceph/osds/3/lvm", ""},
                  {"/ceph/osds/3/lvm/vg", "ceph-3"},
                  {"/ceph/osds/3/lvm/lv", "osd-block-3"}});
    lists("/dev/ceph-3/osd-block-3", listing("3", fsid_1));
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    EXPECT_EQ(processes.calls().size(), 1U);
    EXPECT_EQ(written("3"), texts{});
}

TEST_F(osd_devices_test, a_schema_without_these_keys_gets_the_device_alone) {
    sim_node& node = hv1(7);
    add_whole_osd(7, "3", "hv1");
    lists("/dev/sdb", listing("3", fsid_1, "/dev/sdc"));
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    EXPECT_EQ(written("3"), texts{"/device=/dev/sdc"});
}

TEST_F(osd_devices_test, another_uuid_is_an_error_and_nothing_is_written) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    ensemble.put({{"/ceph/osds/3/fsid", ""}, {"/ceph/osds/3/fsid/osd", "11111111-8c5a-4e7d-9f53-000000000001"}});
    lists("/dev/sdb", listing("3", fsid_1, "/dev/sdc"));
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(300s);
    EXPECT_EQ(written("3"), texts{});
    EXPECT_EQ(node.times_logged("[osd-device-foreign]"), 1U);
    EXPECT_EQ(processes.calls().size(), 1U);
}

// storage.md case 33.
TEST_F(osd_devices_test, case_33_a_program_that_hangs_is_ended_after_60_s_and_the_start_goes_on) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    program({"ceph-volume"}, listing("3", fsid_1), 0, 10min);
    node.start();
    ASSERT_TRUE(node.run_until_ready(20s));
    EXPECT_EQ(state_of(node), "run");
    loop.run_for(59s);
    EXPECT_EQ(processes.running(), 1U);
    EXPECT_FALSE(node.logged("[osd-device-slow]"));
    loop.run_for(3s);
    EXPECT_EQ(processes.running(), 0U);
    EXPECT_EQ(node.times_logged("[osd-device-slow]"), 1U);
    EXPECT_EQ(written("3"), texts{});
}

TEST_F(osd_devices_test, two_at_a_time) {
    sim_node& node = hv1(10);
    for (const auto* id : {"1", "2", "3", "4", "5"}) {
        add_osd(id, "hv1");
    }
    program({"ceph-volume"}, "{}", 0, 10s);
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    EXPECT_EQ(processes.running(), 2U);
    EXPECT_EQ(processes.calls().size(), 2U);
    loop.run_for(30s);
    EXPECT_EQ(processes.calls().size(), 5U);
}

TEST_F(osd_devices_test, what_is_incomplete_is_tried_once_more_after_a_minute) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "1", "hv1", "/dev/sda");
    add_whole_osd(10, "2", "hv1", "/dev/sdb");
    lists("/dev/sda", "{\"2\": []}");
    program({"ceph-volume", "lvm", "list", "--format", "json", "/dev/sdb"}, "", 1);
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    EXPECT_EQ(node.times_logged("[osd-device-incomplete]"), 2U);
    EXPECT_EQ(processes.calls().size(), 2U);
    lists("/dev/sdb", listing("2", fsid_1, "/dev/sdb"));
    loop.run_for(50s);
    EXPECT_EQ(processes.calls().size(), 2U);
    loop.run_for(15s);
    EXPECT_EQ(processes.calls().size(), 4U);
    EXPECT_EQ(written("1"), texts{});
    EXPECT_EQ(written("2").size(), 4U);
    EXPECT_EQ(node.times_logged("[osd-device-incomplete]"), 3U);
    loop.run_for(300s);
    EXPECT_EQ(processes.calls().size(), 4U);
}

TEST_F(osd_devices_test, one_without_a_device_is_said_and_looked_at_when_it_gets_one) {
    sim_node& node = hv1(10);
    ensemble.put({{"/ceph/osds/3", ""}, {"/ceph/osds/3/node", "hv1"}, {"/ceph/osds/3/stats", "{}"}});
    lists("/dev/sdb", listing("3", fsid_1));
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(30s);
    EXPECT_EQ(node.times_logged("[osd-device-unknown]"), 1U);
    EXPECT_EQ(processes.calls().size(), 0U);
    ensemble.put("/ceph/osds/3/device", "/dev/sdb");
    loop.run_for(5s);
    EXPECT_EQ(processes.calls().size(), 1U);
}

TEST_F(osd_devices_test, an_osd_that_goes_while_it_is_listed_is_not_made_again) {
    sim_node& node = hv1(10);
    add_osd("3", "hv1");
    program({"ceph-volume"}, listing("3", fsid_1), 0, 10s);
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    ensemble.remove_tree("/ceph/osds/3");
    loop.run_for(60s);
    EXPECT_EQ(value("/ceph/osds/3"), "<missing>");
    // The same number for another one.
    add_osd("3", "hv1");
    loop.run_for(60s);
    EXPECT_EQ(processes.calls().size(), 2U);
    EXPECT_EQ(value("/ceph/osds/3/fsid/osd"), fsid_1);
}

TEST_F(osd_devices_test, nor_is_one_written_that_went_to_another_node) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    program({"ceph-volume"}, listing("3", fsid_1), 0, 10s);
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    ensemble.put("/ceph/osds/3/node", "hv2");
    loop.run_for(100s);
    EXPECT_EQ(written("3"), texts{});
    EXPECT_EQ(processes.calls().size(), 1U);
}

// Between the look at its keys and the write.
TEST_F(osd_devices_test, nor_is_one_written_that_goes_to_another_node_as_its_keys_are_written) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    program({"ceph-volume"}, listing("3", fsid_1));
    before_the_write_of(node, "3", [this] { ensemble.put("/ceph/osds/3/node", "hv2"); });
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(100s);
    EXPECT_EQ(writes_seen, 1);
    EXPECT_EQ(written("3"), texts{});
}

// Whoever replaces the OSD knows better which one it is.
TEST_F(osd_devices_test, a_uuid_that_somebody_writes_meanwhile_is_not_written_over) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    program({"ceph-volume"}, listing("3", fsid_1));
    const std::string another = "0d8ea6ef-8c5a-4e7d-9f53-000000000002";
    before_the_write_of(node, "3", [&] { ensemble.put("/ceph/osds/3/fsid/osd", another); });
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(100s);
    EXPECT_EQ(writes_seen, 1);
    EXPECT_EQ(written("3"), texts{});
    EXPECT_EQ(value("/ceph/osds/3/fsid/osd"), another);
}

TEST_F(osd_devices_test, the_stop_ends_what_runs) {
    sim_node& node = hv1(10);
    add_whole_osd(10, "3", "hv1");
    program({"ceph-volume"}, listing("3", fsid_1), 0, 30s);
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    loop.run_for(5s);
    ASSERT_EQ(processes.running(), 1U);
    node.stop();
    EXPECT_EQ(node.exit_status, 0);
    EXPECT_TRUE(processes.calls().front().cancelled);
    EXPECT_EQ(written("3"), texts{});
}

}  // namespace
}  // namespace pvc::node
