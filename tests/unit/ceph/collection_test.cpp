// Ceph's figures as the primary publishes them (storage.md 4; cases 1-8, 14-18).
#include "pvcnoded/base/text.hpp"
#include "unit/ceph/ceph_fixture.hpp"

namespace pvc::node {
namespace {

using question = policy::ceph_question;
namespace sample = policy::sample;

class ceph_collection : public ceph_node_test {
protected:
    // Two OSDs with placeholders, two pools.
    sim_node& add_cluster(int version = 10) {
        sim_node& node = add_with_ceph(version);
        add_osd("0", "hv1");
        add_osd("1", "hv2");
        add_pool("vms");
        add_pool("backup");
        return node;
    }
};

// Case 1 of storage.md, and its case 5: placeholders are replaced by the first tick.
TEST_F(ceph_collection, case_1_and_5_all_is_published_in_the_first_tick) {
    sim_node& hv1 = add_cluster();
    start(hv1);
    ASSERT_TRUE(run_until([&] { return role_of(hv1) == "primary"; }));
    loop.run_for(5500ms);
    EXPECT_EQ(value("/ceph/health"), sample::health);
    EXPECT_EQ(value("/ceph"), sample::status);
    EXPECT_EQ(value("/ceph/util"), sample::df);
    EXPECT_TRUE(says(pool("vms"), R"({"id": 2, "stored_bytes": 200, "free_bytes": 7)")) << pool("vms");
    EXPECT_EQ(osd("0"),
              R"({"uuid": "u0", "up": 1, "in": 1, "primary_affinity": 1, "utilization": 4.7, "var": 1, "pgs": 12, )"
              R"("kb": 1000, "kb_used": 47, "kb_used_data": 1, "kb_used_omap": 2, "kb_used_meta": 3, "kb_avail": 953, )"
              R"("weight": 0.5, "reweight": 1, "class": "hdd", "node": "hv1", "used": "47.0k", "avail": "953k", )"
              R"("wr_ops": "1", "wr_data": "2k", "rd_ops": "3", "rd_data": "4k", "state": "exists,up"})");
    EXPECT_EQ(cluster.asked,
              (std::vector{question::health, question::status, question::df, question::pools, question::counters,
                           question::osd_dump, question::osd_df, question::osd_status}));
    EXPECT_EQ(value("/ceph/pools/vms/pgs"), "8");
    EXPECT_EQ(value("/ceph/pools/vms/tier"), "default") << "the start's doing";
}

// Case 2 of storage.md.
TEST_F(ceph_collection, case_2_a_secondary_asks_nothing_and_writes_nothing) {
    sim_node& hv1 = add_cluster();
    put_peer("hv2", "coordinator", "run", "primary");
    ensemble.put("/config/primary_node", "hv2");
    start(hv1);
    const time_point from = loop.clock().now();
    run_with_beats(30s, {"hv2"});
    EXPECT_EQ(role_of(hv1), "secondary");
    EXPECT_EQ(writes_since(from), 0U);
    EXPECT_TRUE(cluster.asked.empty());
    EXPECT_EQ(talker->starts(), 0U) << "no connection to Ceph either";
}

// Case 2 of storage.md in the state `takeover`.
TEST_F(ceph_collection, case_2_one_that_takes_over_does_not_either) {
    slow_takeover = true;
    sim_node& hv1 = add_cluster();
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/config/primary_node", "hv2");
    start(hv1);
    ensemble.put("/config/primary_node", "hv1");
    const time_point from = loop.clock().now();
    run_with_beats(20s, {"hv2"});
    ASSERT_EQ(role_of(hv1), "takeover");
    EXPECT_EQ(writes_since(from), 0U);
    EXPECT_TRUE(cluster.asked.empty());
    run_with_beats(60s, {"hv2"});
    ASSERT_EQ(role_of(hv1), "primary");
    EXPECT_FALSE(cluster.asked.empty());
    EXPECT_EQ(value("/ceph/health"), sample::health);
}

// Cases 3 and 4 of storage.md.
TEST_F(ceph_collection, case_3_and_4_pools_have_their_own_figures) {
    sim_node& hv1 = add_cluster();
    model::pool_counters counters;
    counters.reads = 257;
    counters.read_kib = 209;
    counters.writes = 234;
    counters.written_kib = 32814;
    cluster.counted = {{"metrics", {}}, {"vms", counters}, {"backup", {}}};
    cluster.counted["backup"].reads = 3;
    start_primary(hv1);
    EXPECT_TRUE(says(pool("vms"), R"({"id": 2, )"));
    EXPECT_TRUE(
        says(pool("vms"), R"("read_ops": 257, "read_bytes": 214016, "write_ops": 234, "write_bytes": 33601536})"));
    EXPECT_TRUE(says(pool("backup"), R"({"id": 3, )"));
    EXPECT_TRUE(says(pool("backup"), R"("read_ops": 3, )"));
    EXPECT_EQ(value("/ceph/pools/metrics"), "<missing>");
}

// Case 6 of storage.md.
TEST_F(ceph_collection, case_6_a_blank_host) {
    sim_node& hv1 = add_with_ceph();
    add_osd("2", "hv2");
    cluster.answers[question::osd_dump] = R"({"osds":[)" + sample::map_row(2, 0, 0, R"(["exists"])") + "]}";
    cluster.answers[question::osd_df] = R"({"nodes":[)" + sample::room_row(2) + "]}";
    cluster.answers[question::osd_status] =
        "ID  HOST   USED  AVAIL  WR OPS  WR DATA  RD OPS  RD DATA  STATE\n"
        " 0  vm    16.0M  2031M      0        0       0        0   exists,up\n"
        " 2           0      0       0        0       0        0   exists\n";
    start_primary(hv1);
    EXPECT_TRUE(says(osd("2"), R"("up": 0, "in": 0, )")) << osd("2");
    EXPECT_TRUE(says(osd("2"), R"("node": "hv2", )"));
    EXPECT_TRUE(says(osd("2"), R"("wr_ops": "0", "wr_data": "0", "rd_ops": "0", "rd_data": "0", "state": "exists"})"));
    EXPECT_EQ(value("/ceph/osds/0"), "<missing>");
}

// Cases 7 and 8 of storage.md.
TEST_F(ceph_collection, case_7_and_8_other_layouts_of_the_status) {
    sim_node& hv1 = add_cluster();
    cluster.answers[question::osd_status] =
        "| id | host | used | avail | wr ops | wr data | rd ops | rd data | state |\n"
        "| \x1b[1m0\x1b[0m | hv1.p.example.net | 1026M | 299G | 1 | 2.00k | 3 | 4095 | exists,up |\n";
    start_primary(hv1);
    EXPECT_TRUE(says(
        osd("0"),
        R"("node": "hv1", "used": "1026M", "avail": "299G", "wr_ops": "1", "wr_data": "2.00k", "rd_ops": "3", "rd_data": "4095")"));
    cluster.answers[question::osd_status] =
        R"({"OSDs":[{"id":0,"host name":"hv1.p.example.net","kb used":48128,"kb available":2147467264,)"
        R"("write ops rate":10000.0,"write byte rate":126418944,"read ops rate":0,"read byte rate":0,)"
        R"("state":["exists","up"]}]})";
    loop.run_for(5s);
    EXPECT_TRUE(
        says(osd("0"), R"("used": "47.0k", "avail": "2047M", "wr_ops": "10.0k", "wr_data": "120M", "rd_ops": "0")"));
}

// Case 14 of storage.md; hazard 6: nothing is written for a question that failed, or has a senseless answer.
TEST_F(ceph_collection, case_14_what_failed_writes_nothing) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    const std::string before = osd("0");
    cluster.failures[question::health] = failure(errc::timed_out, "Ceph", "timed out");
    const time_point from = loop.clock().now();
    loop.run_for(20s);
    EXPECT_EQ(value("/ceph/health"), sample::health);
    EXPECT_EQ(writes_since(from), 0U);
    EXPECT_EQ(hv1.times_logged("[ceph-silent]"), 1U);
    cluster.failures.clear();
    for (const auto what : {question::health, question::pools, question::osd_dump, question::osd_df}) {
        cluster.answers[what] = "garbage \x1b[1m\xff";
    }
    cluster.answers[question::status] = cluster.answers[question::df] = "\n";
    cluster.answers[question::osd_status] = "";
    loop.run_for(20s);
    EXPECT_EQ(writes_since(from), 0U);
    EXPECT_EQ(osd("0"), before);
    EXPECT_EQ(hv1.times_logged("Ceph answers again"), 1U);
    EXPECT_EQ(hv1.times_logged("Ceph's answer to \"health\" is of no use"), 1U) << hv1.log();
    EXPECT_EQ(hv1.times_logged("[ceph-answer-unusable]"), 5U) << "one line for each, none of them twice";
    cluster.answers.clear();
    loop.run_for(10s);
    EXPECT_EQ(hv1.times_logged("is of use again"), 5U);
}

// Case 15 of storage.md.
TEST_F(ceph_collection, case_15_what_is_no_number_is_zero) {
    sim_node& hv1 = add_cluster();
    cluster.answers[question::pools] = R"({"pools":[)" + sample::pool("vms", 2, "nan") + "]}";
    start_primary(hv1);
    EXPECT_TRUE(says(pool("vms"), R"("used_percent": 0, "num_objects": 9)")) << pool("vms");
    EXPECT_EQ(pool("backup"), "{}");
}

// As `rados df` has it; what lies elsewhere counts only while the manager cannot be asked.
TEST_F(ceph_collection, objects_that_lack_a_copy_are_not_those_that_lie_elsewhere) {
    sim_node& hv1 = add_cluster();
    cluster.counted["vms"].objects_degraded = 113;
    cluster.answers[question::recovery] =
        R"([{"pool_name":"vms","pool_id":2,"recovery":{"degraded_objects":92,"misplaced_objects":21}}])";
    start_primary(hv1);
    EXPECT_TRUE(says(pool("vms"), R"("num_objects_degraded": 92,)")) << pool("vms");
    EXPECT_TRUE(says(pool("backup"), R"("num_objects_degraded": 0,)")) << pool("backup");
    cluster.delays[question::recovery] = 60s;
    loop.run_for(20s);
    EXPECT_TRUE(says(pool("vms"), R"("num_objects_degraded": 113,)")) << pool("vms");
    EXPECT_TRUE(hv1.logged("Ceph's manager does not answer")) << hv1.log();
    cluster.delays.clear();
    cluster.counted["vms"].objects_degraded = 0;
    const auto asked = cluster.times_asked(question::recovery);
    loop.run_for(60s);
    EXPECT_TRUE(says(pool("vms"), R"("num_objects_degraded": 0,)")) << pool("vms");
    EXPECT_EQ(cluster.times_asked(question::recovery), asked) << "all of them are whole";
}

// Case 16 of storage.md.
TEST_F(ceph_collection, case_16_without_osds_none_is_asked_of) {
    sim_node& hv1 = add_with_ceph();
    start_primary(hv1);
    EXPECT_EQ(cluster.asked, (std::vector{question::health, question::status, question::df}));
    EXPECT_TRUE(hv1.logged("OSDs: 0"));
}

// Case 17 of storage.md.
TEST_F(ceph_collection, case_17_what_was_deleted_meanwhile_is_not_created_anew) {
    sim_node& hv1 = add_cluster();
    cluster.on_question = [this](question what) {
        if (what == question::counters) {
            ensemble.remove_tree("/ceph/pools/vms");
        }
        if (what == question::osd_status) {
            ensemble.remove_tree("/ceph/osds/0");
        }
    };
    start_primary(hv1);
    EXPECT_EQ(value("/ceph/pools/vms"), "<missing>");
    EXPECT_EQ(value("/ceph/osds/0"), "<missing>");
    EXPECT_TRUE(says(pool("backup"), R"({"id": 3, )"));
    EXPECT_TRUE(says(osd("1"), R"("uuid": "u1")"));
    EXPECT_FALSE(hv1.logged("[ceph-unwritten]"));
}

// Case 18 of storage.md, and its exception: the first tick after becoming primary.
TEST_F(ceph_collection, case_18_what_is_unchanged_is_not_written) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    time_point from = loop.clock().now();
    loop.run_for(200s);
    EXPECT_EQ(writes_since(from), 0U);
    EXPECT_GE(cluster.times_asked(question::health), 40U);
    cluster.answers[question::status] = "  cluster: another\n";
    from = loop.clock().now();
    loop.run_for(20s);
    EXPECT_EQ(writes_since(from), 1U);
    EXPECT_EQ(value("/ceph"), "  cluster: another\n");
    // Somebody else has the role for a while, and writes what he thinks.
    put_peer("hv2", "coordinator", "run", "primary");
    ensemble.put("/config/primary_node", "hv2");
    run_with_beats(10s, {"hv2"});
    ASSERT_EQ(role_of(hv1), "secondary");
    ensemble.put("/ceph", "of hv2");
    ensemble.put("/nodes/hv2/routerstate", "secondary");
    ensemble.put("/config/primary_node", "hv1");
    run_with_beats(10s, {"hv2"});
    ASSERT_EQ(role_of(hv1), "primary");
    EXPECT_EQ(value("/ceph"), "  cluster: another\n");
}

TEST_F(ceph_collection, an_object_that_was_made_anew_has_figures_with_the_next_tick) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    const std::string of_osd = osd("0");
    const std::string of_pool = pool("vms");
    ensemble.remove_tree("/ceph/osds/0");
    add_osd("0", "hv1");
    ensemble.remove_tree("/ceph/pools/vms");
    loop.run_for(100ms);
    add_pool("vms");
    loop.run_for(5s);
    EXPECT_EQ(osd("0"), of_osd);
    EXPECT_EQ(pool("vms"), of_pool);
    EXPECT_FALSE(hv1.logged("somebody else wrote"));
}

// Every key filled with garbage or deleted: it is noticed within a minute, said once, and published anew.
TEST_F(ceph_collection, what_others_wrote_or_deleted_is_published_anew) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    const std::string of_osd = osd("0");
    const std::string of_pool = pool("vms");
    for (const char* key : {"/ceph", "/ceph/health", "/ceph/osds/0/stats"}) {
        ensemble.put(key, "\xff garbage");
    }
    for (const char* key : {"/ceph/util", "/ceph/pools/vms/stats"}) {
        ensemble.remove_tree(key);
    }
    loop.run_for(72s);
    EXPECT_EQ(value("/ceph"), sample::status);
    EXPECT_EQ(value("/ceph/health"), sample::health);
    EXPECT_EQ(value("/ceph/util"), sample::df);
    EXPECT_EQ(osd("0"), of_osd);
    EXPECT_EQ(pool("vms"), of_pool);
    EXPECT_EQ(hv1.times_logged("somebody else wrote"), 1U) << "one line";
    EXPECT_TRUE(hv1.logged("somebody else wrote /ceph, /ceph/health, /ceph/osds/0/stats: it is published anew"));
}

// A client that deletes an object key by key: one that is created meanwhile would keep it from deleting the object.
TEST_F(ceph_collection, nothing_is_created_below_an_object_that_is_being_deleted) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    model::pool_counters more;
    more.reads = 5;
    cluster.counted["vms"] = more;
    cluster.on_question = [this](question what) {
        if (what == question::osd_status) {
            ensemble.remove_tree("/ceph/pools/vms/stats");
        }
    };
    ASSERT_TRUE(run_until([&] { return pool("vms") == "<missing>"; }));
    loop.run_for(1s);
    ASSERT_EQ(pool("vms"), "<missing>");
    cluster.on_question = nullptr;
    ensemble.remove_tree("/ceph/pools/vms");
    loop.run_for(15s);
    EXPECT_EQ(value("/ceph/pools/vms"), "<missing>");
    // And one that was deleted alone comes back.
    cluster.counted["backup"] = more;
    ensemble.remove_tree("/ceph/pools/backup/stats");
    loop.run_for(11s);
    EXPECT_TRUE(says(pool("backup"), R"("read_ops": 5)"));
}

TEST_F(ceph_collection, objects_full_of_garbage_do_no_harm) {
    sim_node& hv1 = add_cluster();
    ensemble.put({{"/ceph/osds/seven", ""},
                  {"/ceph/osds/1/node", "\xff\x1b[1m"},
                  {"/ceph/osds/99999999999999999999", ""},
                  {"/ceph/pools/\xff", ""}});
    ensemble.remove_tree("/ceph/osds/0/node");
    cluster.answers[question::osd_status] = "ID STATE\n";
    start_primary(hv1);
    EXPECT_TRUE(says(osd("0"), R"("node": "", "used": "47.0k")")) << osd("0");
    EXPECT_TRUE(says(osd("1"), R"("node": "\ufffd\u001b[1m")")) << osd("1");
    EXPECT_TRUE(says(pool("vms"), R"({"id": 2, )"));
}

// The key that names the primary guards each write: one that was named before, and still thinks so, changes nothing.
TEST_F(ceph_collection, a_primary_that_is_no_longer_named_writes_nothing) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    cluster.answers[question::status] = "late";
    cluster.on_question = [this](question what) {
        if (what == question::osd_status) {
            ensemble.put("/config/primary_node", "hv2");
        }
    };
    // It hears of it after its writes only.
    hv1.connector.link().watch_delay = 3s;
    const time_point from = loop.clock().now();
    run_until([&] { return value("/config/primary_node") == "hv2"; });
    loop.run_for(1s);
    EXPECT_EQ(role_of(hv1), "primary");
    EXPECT_EQ(writes_since(from), 0U);
    EXPECT_EQ(value("/ceph"), sample::status);
    EXPECT_FALSE(hv1.logged("[ceph-unwritten]"));
}

TEST_F(ceph_collection, a_write_that_fails_is_said_once_and_tried_again) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    cluster.answers[question::status] = std::string(600UL * 1024, 'a');
    cluster.answers[question::df] = "small";
    loop.run_for(21s);
    EXPECT_EQ(value("/ceph"), sample::status);
    EXPECT_EQ(value("/ceph/util"), "small") << "others go on";
    EXPECT_EQ(hv1.times_logged("[ceph-unwritten]"), 1U) << hv1.log();
    EXPECT_TRUE(hv1.logged("Ceph's figures could not be written: /ceph: ")) << hv1.log();
    cluster.answers[question::status] = "small again";
    loop.run_for(5s);
    EXPECT_EQ(value("/ceph"), "small again");
}

// All that there is: one line, not one for each key.
TEST_F(ceph_collection, the_top_of_the_tree_deleted_is_said_in_one_line) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    ensemble.remove_tree("/ceph");
    loop.run_for(66s);
    EXPECT_EQ(value("/ceph"), "<missing>") << "that is the start's to create";
    EXPECT_EQ(hv1.times_logged("[ceph-unwritten]"), 1U) << hv1.log();
    EXPECT_EQ(state_of(hv1), "run");
}

TEST_F(ceph_collection, without_zookeeper_nothing_is_taken_for_written) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    cluster.answers[question::status] = "while it was away";
    // The answers to writes are lost, whatever became of them.
    hv1.connector.link().on_request = [](const zookeeper::request& what) {
        const bool is_figure = std::ranges::any_of(
            what.operations, [](const zookeeper::operation& one) { return one.path.starts_with("/ceph"); });
        return is_figure ? sim::verdict::drop_before : sim::verdict::answer;
    };
    loop.run_for(20s);
    EXPECT_EQ(value("/ceph"), sample::status);
    hv1.connector.link().on_request = nullptr;
    loop.run_for(10s);
    EXPECT_EQ(value("/ceph"), "while it was away");
    EXPECT_EQ(hv1.times_logged("[ceph-unwritten]"), 1U) << hv1.log();
}

// Between the look at who is named and the write another one is: the check of the key is all that there is.
TEST_F(ceph_collection, who_is_no_longer_named_as_it_writes_publishes_nothing) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    cluster.answers[question::status] = "news of one that was named before";
    bool is_struck = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& what) {
        const bool is_it = std::ranges::any_of(
            what.operations, [](const zookeeper::operation& one) { return one.path == "/ceph" && !one.data.empty(); });
        if (is_it && !std::exchange(is_struck, true)) {
            ensemble.put("/config/primary_node", "hv2");
        }
        return sim::verdict::answer;
    };
    ASSERT_TRUE(run_until([&] { return is_struck; }, 20s));
    loop.run_for(200ms);
    EXPECT_EQ(value("/ceph"), sample::status);
    hv1.connector.link().on_request = nullptr;
}

TEST_F(ceph_collection, a_schema_without_the_key_of_health_goes_without_it) {
    sim_node& hv1 = add_cluster(8);
    put_peer("hv3", "coordinator", "run", "secondary");
    ensemble.put("/nodes/hv3/latestschema", "8");  // so it is not raised
    start_primary(hv1);
    EXPECT_EQ(value("/ceph/health"), "<missing>");
    EXPECT_EQ(value("/ceph"), sample::status);
    EXPECT_TRUE(says(osd("0"), R"("uuid": "u0")"));
    cluster.is_frozen = true;
    loop.run_for(130s);
    EXPECT_EQ(value("/ceph/health"), "<missing>");
}

TEST_F(ceph_collection, a_new_session_writes_all_once_more) {
    sim_node& hv1 = add_cluster();
    start_primary(hv1);
    const time_point from = loop.clock().now();
    hv1.connector.link().expire_sessions();
    ASSERT_TRUE(run_until([&] { return writes_since(from) > 0; }));
    loop.run_for(10s);
    EXPECT_EQ(writes_since(from), 7U) << "three texts, two pools, two OSDs";
    EXPECT_EQ(role_of(hv1), "primary");
}

TEST_F(ceph_collection, the_ticks_line_and_the_report_tell_what_is_known) {
    sim_node& hv1 = add_cluster();
    hv1.settings.storage_details = true;
    start_primary(hv1);
    EXPECT_TRUE(hv1.logged("Ceph: HEALTH_OK, OSDs: 2, up 2, in 2, here 1, pools: 2, age 0 s")) << hv1.log();
    cluster.is_frozen = true;
    loop.run_for(20s);
    EXPECT_TRUE(hv1.logged("Ceph: HEALTH_OK, OSDs: 2, up 2, in 2, here 1, pools: 2, age 1")) << hv1.log();
    std::vector<std::string> lines;
    subject->report(lines);
    const std::string all = pvc::join(lines, "\n");
    EXPECT_TRUE(says(all, "figures: HEALTH_OK, ")) << all;
    EXPECT_TRUE(says(all, " s: Ceph does not answer, its figures stay as they are")) << all;
}

}  // namespace
}  // namespace pvc::node
