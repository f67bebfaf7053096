// The figures and the other own keys of a node, tick by tick: node-lifecycle.md 6.2, B.3, zookeeper-schema.md 3.2.
#include "unit/node/node_fixture.hpp"

#include <set>

namespace pvc::node {
namespace {

class figures_test : public node_test {
protected:
    figures_test() { sim::initialise(ensemble, 10); }

    // Calls `act` right before a request of the node reaches the server, once, when `picks` says so.
    void before_request(sim_node& node, std::function<bool(const zookeeper::request&)> picks, std::function<void()> act,
                        sim::verdict what = sim::verdict::answer) {
        node.connector.link().on_request = [picks = std::move(picks), act = std::move(act), what,
                                            done = false](const zookeeper::request& request) mutable {
            if (done || !picks(request)) {
                return sim::verdict::answer;
            }
            done = true;
            act();
            return what;
        };
    }
    static bool writes(const zookeeper::request& request, std::string_view path) {
        return std::ranges::any_of(request.operations, [&](const auto& one) { return one.path == path; });
    }
    static bool is_figures(const zookeeper::request& request) { return writes(request, "/nodes/hv1/memtotal"); }
};

TEST_F(figures_test, ac30_memory_figures) {
    auto& hv1 = add();
    hv1.host.meminfo_text = std::string(
        "MemTotal: 16384000 kB\nMemFree: 2048000 kB\nMemAvailable: 8192000 kB\nBuffers: 102400 kB\n"
        "Cached: 4096000 kB\nSReclaimable: 204800 kB\n");
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(1s);
    EXPECT_EQ(value("/nodes/hv1/memtotal"), "16000");
    EXPECT_EQ(value("/nodes/hv1/memfree"), "2000");
    EXPECT_EQ(value("/nodes/hv1/memused"), "9700");
}

TEST_F(figures_test, ac31_load_text) {
    auto& hv1 = add_running();
    loop.run_for(1s);
    for (const auto& [load, text] : std::vector<std::pair<std::string, std::string>>{
             {"0.00", "0.0"}, {"0.1", "0.1"}, {"1.50", "1.5"}, {"12.345", "12.35"}, {"100", "100.0"}}) {
        hv1.host.loadavg_text = load + " 0.20 0.30 1/200 4711\n";
        loop.run_for(5s);
        EXPECT_EQ(value("/nodes/hv1/cpuload"), text);
    }
}

TEST_F(figures_test, unreadable_figures_leave_the_last_ones_and_the_heartbeat_alone) {
    auto& hv1 = add_running();
    loop.run_for(6s);
    const std::string total = value("/nodes/hv1/memtotal");
    hv1.host.meminfo_text = failure(errc::io, "/proc/meminfo");
    hv1.host.loadavg_text = std::string("garbage");
    const auto from = loop.clock().now();
    loop.run_for(30s);
    EXPECT_EQ(value("/nodes/hv1/memtotal"), total);
    EXPECT_EQ(value("/nodes/hv1/cpuload"), "0.1");
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 6U);
}

TEST_F(figures_test, ac39_a_key_changed_between_read_and_write_delays_only_itself) {
    auto& hv1 = add_running();
    loop.run_for(6s);
    hv1.host.loadavg_text = std::string("7.00 0 0 1/1 1\n");
    hv1.host.meminfo_text = std::string("MemTotal: 16384000 kB\nMemFree: 1024000 kB\n");
    before_request(hv1, is_figures, [this] { ensemble.put("/nodes/hv1/memprov", "4711"); });
    const auto from = loop.clock().now();
    loop.run_for(5s);
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 1U);
    EXPECT_EQ(value("/nodes/hv1/cpuload"), "7.0");
    EXPECT_EQ(value("/nodes/hv1/memfree"), "1000");
    EXPECT_EQ(value("/nodes/hv1/memprov"), "4711");
    loop.run_for(5s);
    EXPECT_EQ(value("/nodes/hv1/memprov"), "0");
    EXPECT_EQ(hv1.times_logged("/nodes/hv1/memprov"), 1U);
}

TEST_F(figures_test, ac43_failing_figures_do_not_make_a_missed_heartbeat) {
    auto& hv1 = add_running();
    loop.run_for(6s);
    hv1.connector.link().on_request = [](const zookeeper::request& request) {
        return is_figures(request) ? sim::verdict::drop_before : sim::verdict::answer;
    };
    const auto from = loop.clock().now();
    loop.run_for(30s);
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 6U);
    EXPECT_FALSE(hv1.logged("missed"));
    EXPECT_TRUE(hv1.logged("figures were not written"));
    EXPECT_EQ(state_of(hv1), "run");
}

TEST_F(figures_test, zk44_foreign_changes_of_own_keys_are_restored_with_one_warning_each) {
    auto& hv1 = add_running();
    loop.run_for(6s);
    ensemble.put("/nodes/hv1/memtotal", "1");
    ensemble.remove_tree("/nodes/hv1/pvcversion");
    const auto from = loop.clock().now();
    loop.run_for(10s);
    EXPECT_EQ(value("/nodes/hv1/memtotal"), "16000");
    EXPECT_EQ(value("/nodes/hv1/pvcversion"), "0.9.82");
    EXPECT_EQ(hv1.times_logged("/nodes/hv1/memtotal"), 1U);
    EXPECT_EQ(hv1.times_logged("/nodes/hv1/pvcversion"), 1U);
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 2U);
    ensemble.clear_trace();
    loop.run_for(60s);
    std::set<std::string> written;
    for (const auto& change : changes("/")) {
        written.insert(change.path);
    }
    EXPECT_EQ(written, (std::set<std::string>{"/nodes/hv1/keepalive", "/nodes/hv1/selfreset"}));
}

TEST_F(figures_test, every_own_key_overwritten_with_garbage_comes_back) {
    auto& hv1 = add_running();
    loop.run_for(6s);
    // Requests of clients and findings of others: not ours to restore.
    const std::set<std::string> of_others{"/nodes/hv1/domainstate", "/nodes/hv1/runningdomains",
                                          "/nodes/hv1/monitoring_health", "/nodes/hv1/monitoring_plugins"};
    auto expected = ensemble.dump();
    for (const auto& [path, text] : ensemble.dump()) {
        if (path.starts_with("/nodes/hv1") && !of_others.contains(path)) {
            ensemble.put(path, "\xff\xfe\x01garbage \xc3");
            loop.run_for(12s);
            if (path != "/nodes/hv1/keepalive") {
                EXPECT_EQ(value(path), expected[path]) << path;
            } else {
                EXPECT_NE(value(path), "\xff\xfe\x01garbage \xc3");
            }
        }
    }
    EXPECT_EQ(state_of(hv1), "run");
    EXPECT_FALSE(hv1.logged("missed"));
}

TEST_F(figures_test, every_own_key_deleted_comes_back) {
    auto& hv1 = add_running();
    loop.run_for(6s);
    auto expected = ensemble.dump();
    for (const auto* name :
         {"keepalive", "daemonstate", "routerstate", "selfreset", "memtotal", "cpuload", "daemonmode", "staticdata",
          "ipmipassword", "activeschema", "latestschema", "domainscount"}) {
        const std::string path = std::string("/nodes/hv1/") + name;
        ensemble.remove_tree(path);
        loop.run_for(12s);
        EXPECT_TRUE(ensemble.exists(path)) << path;
        if (path != "/nodes/hv1/keepalive") {
            EXPECT_EQ(value(path), expected[path]) << path;
        }
    }
    EXPECT_FALSE(hv1.logged("missed"));
    EXPECT_EQ(hv1.exit_status, std::nullopt);
}

TEST_F(figures_test, keepalive_and_selfreset_deleted_together_cost_no_beat) {
    add_running();
    loop.run_for(6s);
    ensemble.remove_tree("/nodes/hv1/keepalive");
    ensemble.remove_tree("/nodes/hv1/selfreset");
    ensemble.remove_tree("/nodes/hv1/daemonstate");
    loop.run_for(5s);
    EXPECT_EQ(value("/nodes/hv1/daemonstate"), "run");
    EXPECT_EQ(value("/nodes/hv1/selfreset"), "off");
    EXPECT_TRUE(ensemble.exists("/nodes/hv1/keepalive"));
}

TEST_F(figures_test, zk45_memfree_before_and_from_version_14) {
    for (const int version : {13, 14}) {
        sim::initialise(ensemble, version);
        auto& node = add({.name = version == 13 ? "hv1" : "hv2"});
        node.host.meminfo_text = std::string("MemTotal: 16384000 kB\nMemFree: 2048000 kB\nMemAvailable: 8192000 kB\n");
        node.start();
        ASSERT_TRUE(node.run_until_ready());
        loop.run_for(1s);
        EXPECT_EQ(value("/nodes/" + node.settings.name + "/memfree"), version == 13 ? "2000" : "8000");
        node.stop();
    }
}

TEST_F(figures_test, ten_thousand_domains_do_not_delay_a_beat) {
    std::map<std::string, std::string> domains;
    for (int i = 0; i < 10'000; ++i) {
        domains[fmt::format("/domains/6f892bb5-9b45-41c6-99e8-70a841d{:05}", i)] = "vm";
    }
    ensemble.put(domains);
    auto& hv1 = add_running();
    const auto from = loop.clock().now();
    loop.run_for(60s);
    EXPECT_EQ(times("/nodes/hv1/keepalive", from).size(), 12U);
    EXPECT_FALSE(hv1.logged("missed"));
    EXPECT_TRUE(ensemble.exists("/domains/6f892bb5-9b45-41c6-99e8-70a841d09999/state"));
}

// The version of a recreated key may be the one that is checked: only the entry's count of children tells.
TEST_F(figures_test, a_key_deleted_and_created_again_with_another_value_is_restored) {
    sim::initialise(ensemble, 10);
    auto& hv1 = add();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(10s);
    const std::string before = value("/nodes/hv1/staticdata");
    ASSERT_TRUE(ensemble.remove("/nodes/hv1/staticdata"));
    ASSERT_TRUE(ensemble.create("/nodes/hv1/staticdata", "WRONG"));
    loop.run_for(11s);
    EXPECT_EQ(value("/nodes/hv1/staticdata"), before);
    ensemble.put("/nodes/hv1/runningdomains", "junk");
    loop.run_for(11s);
    EXPECT_EQ(value("/nodes/hv1/runningdomains"), "");
}

}  // namespace
}  // namespace pvc::node
