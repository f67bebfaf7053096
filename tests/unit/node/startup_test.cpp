#include "unit/node/node_fixture.hpp"

#include <fstream>
#include <iterator>

namespace pvc::node {
namespace {

class startup : public node_test {};

TEST_F(startup, ac01_zk03_new_node_in_one_transaction) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    const auto written = changes("/nodes/hv1");
    ASSERT_FALSE(written.empty());
    std::map<std::string, std::string> record;
    for (const auto& change : written) {
        if (change.zxid == written.front().zxid) {
            EXPECT_EQ(change.what, recorded_kind::create);
            record[change.path] = change.data;
        }
    }
    EXPECT_EQ(record["/nodes/hv1"], "coordinator");
    EXPECT_EQ(record["/nodes/hv1/daemonstate"], "init");
    EXPECT_EQ(record["/nodes/hv1/domainstate"], "flushed");
    EXPECT_EQ(record["/nodes/hv1/routerstate"], "secondary");
    EXPECT_EQ(record["/nodes/hv1/runningdomains"], "");
    EXPECT_EQ(record["/nodes/hv1/cpuload"], "0.0");
    EXPECT_EQ(record["/nodes/hv1/activeschema"], "10");
    EXPECT_EQ(record["/nodes/hv1/latestschema"], "10");
    EXPECT_EQ(record["/nodes/hv1/staticdata"], "16 5.10.0-26-amd64 GNU/Linux x86_64");  // AC04, AC15
    EXPECT_TRUE(record.contains("/nodes/hv1/monitoring_health"));
    EXPECT_TRUE(record.contains("/nodes/hv1/sriov/vf"));
    EXPECT_FALSE(record.contains("/nodes/hv1/network_stats"));  // version 12 and up
    const auto identity = ensemble.exists("/nodes/hv1")->czxid;
    for (const auto& [path, text] : record) {
        EXPECT_EQ(ensemble.exists(path)->czxid, identity) << path;
    }
}

TEST_F(startup, ac02_zk04_existing_node_keeps_what_is_not_of_the_start) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    hv1.stop();
    ensemble.put({{"/nodes/hv1/domainstate", "ready"},
                  {"/nodes/hv1/runningdomains", "6f892bb5-9b45-41c6-99e8-70a841d1568b"},
                  {"/nodes/hv1/memalloc", "512"}});
    const std::string keepalive = value("/nodes/hv1/keepalive");
    hv1.host.machine.kernel_release = "6.1.0-13-amd64";
    ensemble.clear_trace();
    hv1.start();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv1/daemonstate") == "init"; }));
    const auto written = changes("/nodes/hv1");
    for (const auto& change : written) {
        EXPECT_EQ(change.zxid, written.front().zxid) << change.text();
    }
    EXPECT_EQ(value("/nodes/hv1/staticdata"), "16 6.1.0-13-amd64 GNU/Linux x86_64");
    EXPECT_EQ(value("/nodes/hv1/domainstate"), "ready");
    EXPECT_EQ(value("/nodes/hv1/runningdomains"), "6f892bb5-9b45-41c6-99e8-70a841d1568b");
    EXPECT_EQ(value("/nodes/hv1/memalloc"), "512");
    EXPECT_EQ(value("/nodes/hv1/keepalive"), keepalive);
}

TEST_F(startup, ac03_ac12_a_hypervisor_is_a_client_and_never_claims) {
    sim::initialise(ensemble, 10);
    ensemble.clear_trace();
    auto& hv4 = add({.name = "hv4"});
    hv4.start();
    loop.run_for(30s);
    EXPECT_EQ(value("/nodes/hv4/daemonmode"), "hypervisor");
    EXPECT_EQ(value("/nodes/hv4/routerstate"), "client");
    EXPECT_TRUE(changes("/config/primary_node").empty());
}

// Which units a node starts is what its configuration enables, and nothing else.
TEST_F(startup, ac06_a_hypervisor_that_is_no_coordinator_starts_its_own_services_only) {
    sim::initialise(ensemble, 10);
    sim::sim_hardware hardware(loop.clock());
    sim_node& node = nodes.emplace_back(loop, ensemble,
                                        sim::node_settings{.name = "hv4", .api = true, .hypervisor = true}, &hardware);
    node.start();
    ASSERT_TRUE(node.run_until_ready());
    std::vector<std::string> started;
    for (const auto& call : node.services.calls()) {
        if (call.verb == "start") {
            started.push_back(call.unit);
        }
    }
    EXPECT_EQ(started, (std::vector<std::string>{"libvirtd.service", "pvcworkerd.service"}));
    node.stop();
    nodes.clear();
}

TEST_F(startup, ac07_no_server_answers_starts_again_in_the_same_process) {
    ensemble.stop();
    auto& hv1 = add();
    hv1.start();
    loop.run_for(14s);
    EXPECT_EQ(hv1.configuration_reads, 1);
    loop.run_for(4s);
    EXPECT_EQ(hv1.configuration_reads, 2);  // 15 s budget, 2 s pause, S0 again
    EXPECT_FALSE(hv1.exit_status);
    EXPECT_TRUE(hv1.logged("no ZooKeeper server of hv1:2181, hv2:2181, hv3:2181 answered within 15 s (attempt 1"));
    EXPECT_TRUE(ensemble.dump().empty());
    ensemble.start();
    sim::initialise(ensemble, 10);
    EXPECT_TRUE(hv1.run_until_ready());
}

TEST_F(startup, ac08_a_server_that_answers_after_14_s_is_in_time) {
    sim::initialise(ensemble, 10);
    ensemble.stop();
    auto& hv1 = add();
    hv1.start();
    loop.run_for(9s);
    ensemble.start();
    EXPECT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(hv1.configuration_reads, 1);
}

TEST_F(startup, ac11_the_vacant_role_is_claimed_and_taken_after_run) {
    sim::initialise(ensemble, 10);
    ensemble.put("/config/primary_node", "none");
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv1/routerstate") == "primary"; }));
    EXPECT_EQ(value("/config/primary_node"), "hv1");
    const auto& trace = ensemble.trace();
    const auto run =
        std::ranges::find_if(trace, [](const auto& c) { return c.text() == "set /nodes/hv1/daemonstate = run"; });
    const auto role =
        std::ranges::find_if(trace, [](const auto& c) { return c.text() == "set /nodes/hv1/routerstate = primary"; });
    ASSERT_NE(run, trace.end());
    ASSERT_NE(role, trace.end());
    EXPECT_LT(run->zxid, role->zxid);
}

TEST_F(startup, ac13_two_coordinators_claim_exactly_one_wins) {
    sim::initialise(ensemble, 10);
    ensemble.clear_trace();
    auto& hv1 = add();
    auto& hv2 = add({.name = "hv2"});
    hv1.start();
    hv2.start();
    loop.run_for(20s);
    const auto winners = values_written("/config/primary_node");
    ASSERT_EQ(winners.size(), 1U);
    const bool first_won = winners.front() == "hv1";
    auto& loser = first_won ? hv2 : hv1;
    EXPECT_EQ(value("/nodes/" + winners.front() + "/routerstate"), "primary");
    EXPECT_EQ(value("/nodes/" + loser.settings.name + "/routerstate"), "secondary");
}

TEST_F(startup, ac14_run_and_keepalive_in_one_transaction) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    const auto states = changes("/nodes/hv1/daemonstate");
    ASSERT_EQ(states.back().data, "run");
    const auto beats = changes("/nodes/hv1/keepalive");
    EXPECT_TRUE(std::ranges::any_of(beats, [&](const auto& beat) { return beat.zxid == states.back().zxid; }));
}

TEST_F(startup, ac16_a_peer_without_latestschema_blocks_the_raise_and_nothing_else) {
    sim::initialise(ensemble, 9);
    put_peer("hv3", "coordinator", "run", "secondary");
    ensemble.put("/nodes/hv3/latestschema", "");
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(20s);
    EXPECT_EQ(value("/schema/version"), "9");
}

TEST_F(startup, ac113_a_lease_of_the_previous_boot_is_off_before_anything_else) {
    sim::initialise(ensemble, 10);
    put_peer("hv1", "coordinator", "stop", "secondary");
    ensemble.put("/nodes/hv1/selfreset", "armed 40");
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv1/daemonstate") == "init"; }));
    EXPECT_EQ(value("/nodes/hv1/selfreset"), "off");
}

TEST_F(startup, zk01_an_empty_ensemble_is_waited_for_and_not_touched) {
    auto& hv1 = add();
    hv1.start();
    loop.run_for(200s);
    EXPECT_TRUE(changes("/").empty());
    EXPECT_EQ(hv1.times_logged("not initialised"), 4U);
    sim::initialise(ensemble, 10);
    EXPECT_TRUE(hv1.run_until_ready(5s));
    EXPECT_EQ(hv1.configuration_reads, 1);
}

TEST_F(startup, zk02_a_fresh_cluster_is_raised_to_10_while_the_heartbeat_goes_on) {
    sim::initialise(ensemble, 0);
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(run_until([&] { return value("/nodes/hv1/activeschema") == "10"; }));
    loop.run_for(30s);
    EXPECT_EQ(value("/schema/version"), "10");
    EXPECT_EQ(value("/nodes/hv1/latestschema"), "10");
    EXPECT_TRUE(ensemble.exists("/logs") && ensemble.exists("/ceph/health"));
    EXPECT_FALSE(ensemble.exists("/cmd"));
    EXPECT_FALSE(ensemble.exists("/sriov") || ensemble.exists("/tags") || ensemble.exists("/mtu"));
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "run");
    const auto beats = times("/nodes/hv1/keepalive");
    for (std::size_t i = 1; i < beats.size(); ++i) {
        EXPECT_LE(beats[i] - beats[i - 1], 10.0);
    }
}

TEST_F(startup, zk05_version_15) {
    sim::initialise(ensemble, 15);
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(10s);
    EXPECT_EQ(value("/nodes/hv1/latestschema"), "15");
    EXPECT_TRUE(ensemble.exists("/config/fence_lock"));
    EXPECT_EQ(value("/nodes/hv1/network_stats"), "{}");
    EXPECT_EQ(value("/nodes/hv1/pvcversion"), "1.0.3");
}

TEST_F(startup, zk06_a_newer_schema_ends_the_process_without_a_write) {
    sim::initialise(ensemble, 10);
    ensemble.put("/schema/version", "16");
    ensemble.clear_trace();
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(run_until([&] { return hv1.exit_status.has_value(); }));
    EXPECT_EQ(hv1.exit_status, 1);
    EXPECT_TRUE(changes("/").empty());
    EXPECT_TRUE(hv1.logged("16") && hv1.logged("15"));
}

TEST_F(startup, zk26_two_nodes_repair_one_tree_every_key_once) {
    sim::initialise(ensemble, 10);
    for (int i = 0; i < 20; ++i) {
        ensemble.put("/domains/6f892bb5-9b45-41c6-99e8-70a841d156" + std::to_string(10 + i), "vm");
    }
    ensemble.clear_trace();
    auto& hv1 = add();
    auto& hv2 = add({.name = "hv2"});
    hv1.start();
    hv2.start();
    ASSERT_TRUE(hv1.run_until_ready());
    ASSERT_TRUE(hv2.run_until_ready());
    std::map<std::string, int> created;
    for (const auto& change : changes("/domains")) {
        if (change.what == recorded_kind::create) {
            ++created[change.path];
        }
    }
    EXPECT_GE(created.size(), 20U * 10);
    for (const auto& [path, count] : created) {
        EXPECT_EQ(count, 1) << path;
    }
}

TEST_F(startup, a_second_daemon_on_the_machine_is_refused_and_names_the_first) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add();
    auto held = hv1.host.lock("/run/pvc/pvcnoded.lock");
    hv1.host.machine.pid = 4711;
    hv1.start();
    ASSERT_TRUE(run_until([&] { return hv1.exit_status.has_value(); }));
    EXPECT_EQ(hv1.exit_status, 1);
    ASSERT_EQ(hv1.complaints.size(), 1U);
    EXPECT_NE(hv1.complaints.front().find("already running as process"), std::string::npos);
}

TEST_F(startup, a_twin_on_another_host_is_refused) {
    sim::initialise(ensemble, 10);
    auto& first = add();
    first.start();
    ASSERT_TRUE(first.run_until_ready());
    auto& twin = add();
    twin.start();
    ASSERT_TRUE(run_until([&] { return twin.exit_status.has_value(); }));
    EXPECT_EQ(twin.exit_status, 1);
    EXPECT_TRUE(twin.logged("alive on another host"));
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "run");
}

}  // namespace
}  // namespace pvc::node
