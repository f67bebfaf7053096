// Foreign nodes and the scripted client against the recorded traces: the same writes by the same writers, in the same
// transactions and order, at most 50 ms apart. The durations that the defaults do not hold for are pinned by each case;
// what follows from them (who waits for whom, the deadlock) is not.
#include "sim/foreign/foreign_fixture.hpp"
#include "sim/foreign/recorded_trace.hpp"

#include <array>
#include <iostream>

namespace pvc::sim {
namespace {

constexpr double tolerance = 0.050;
constexpr duration lead = 25s;  // from readiness to the start of the scenario: a whole number of ticks

duration seconds(double value) {
    return duration(static_cast<duration::rep>(value * 1e9));
}

class foreign_traces : public foreign_test {
protected:
    void load(const std::string& scenario) {
        recorded = read_trace(std::string(PVC_SOURCE_DIR) + "/docs/spec/traces/" + scenario + ".jsonl");
        ASSERT_FALSE(recorded.empty());
    }
    // The value that a recording shows first, with what was cut from it replaced.
    [[nodiscard]] std::string recorded_value(const std::string& path) const {
        const auto found = std::ranges::find(recorded, path, &trace_event::path);
        if (found == recorded.end()) {
            return "";
        }
        std::string text = found->value;
        if (text.size() < found->length) {
            text.resize(text.size() - 3);
            text.resize(found->length, '.');
        }
        return text;
    }
    // Three nodes with the figures of the recording, each with its tick at the recorded time.
    void stage(const std::vector<double>& tick_starts) {
        ensemble.put("/config/primary_node", "pvchv1");
        ensemble.put("/config/upstream_ip", foreign_settings().upstream_address);
        ensemble.put("/config/migration_target_selector", "mem");
        ensemble.put("/ceph/pools/vms/stats", "");
        ensemble.put("/ceph/osds/0/stats", "");
        for (std::size_t i = 0; i < tick_starts.size(); ++i) {
            foreign_settings settings{.name = "pvchv" + std::to_string(i + 1)};
            const std::string root = "/nodes/" + settings.name;
            settings.figures = {.memory_total = recorded_value(root + "/memtotal"),
                                .memory_used = recorded_value(root + "/memused"),
                                .memory_free = recorded_value(root + "/memfree"),
                                .memory_allocated = recorded_value(root + "/memalloc"),
                                .memory_provisioned = recorded_value(root + "/memprov"),
                                .vcpus_allocated = recorded_value(root + "/vcpualloc"),
                                .cpu_load = recorded_value(root + "/cpuload"),
                                .domains_count = recorded_value(root + "/domainscount"),
                                .running_domains = recorded_value(root + "/runningdomains")};
            settings.ceph = {.status = recorded_value("/ceph"),
                             .health = recorded_value("/ceph/health"),
                             .usage = recorded_value("/ceph/util"),
                             .pools = {{"vms", recorded_value("/ceph/pools/vms/stats")}},
                             .osds = {{"0", recorded_value("/ceph/osds/0/stats")}}};
            settings.first_tick = seconds(tick_starts[i]);
            settings.seed = i + 1;
            add(std::move(settings));
        }
    }
    foreign_node& node(std::size_t number) { return *std::next(foreign.begin(), static_cast<long>(number) - 1); }
    // Starts the nodes and lets time pass until the scenario begins.
    void begin() {
        for (auto& one : foreign) {
            one.start();
        }
        EXPECT_TRUE(run_until([&] { return std::ranges::all_of(foreign, &foreign_node::is_ready); }));
        start = loop.clock().now() + lead;
        loop.run_for(lead);
        EXPECT_EQ(value("/nodes/pvchv1/routerstate"), "primary");
        ensemble.clear_trace();
    }
    void compare(const std::string& scenario, duration length) {
        loop.run_for(start + length - loop.clock().now());
        std::map<std::int64_t, std::string> writers{{client.link().session_id(), "client"}};
        for (auto& one : foreign) {
            writers[one.link().session_id()] = one.settings.name;
        }
        const auto result = compare_traces(recorded, written_since(ensemble, start, writers), tolerance);
        EXPECT_EQ(result.difference, "");
        EXPECT_EQ(result.events, recorded.size());
        std::cout << scenario << ": " << result.events << " events, largest difference " << result.largest_delay
                  << " s at " << result.largest_at << "\n";
    }

    std::vector<trace_event> recorded;
    time_point start{};
};

TEST_F(foreign_traces, primary_hand_over_1) {
    load("primary-pvchv1-to-pvchv2-1");
    stage({2.918, 3.012, 2.868});
    begin();
    client.set_primary("pvchv2");
    compare("primary-pvchv1-to-pvchv2-1", 7453ms);
    EXPECT_EQ(lock_children("/config/primary_node"), 0U);
    EXPECT_EQ(lock_children("/config/primary_node/sync_lock"), 0U);
}

TEST_F(foreign_traces, primary_hand_over_4_ends_in_a_deadlock) {
    load("primary-pvchv1-to-pvchv2-4");
    stage({0.4355, 0.540, 0.404});
    // A tick in the very moment of the change, with a busy storage cluster.
    node(1).settings.timings.storage_usage = 60ms;
    node(1).settings.timings.storage_pools = 68ms;
    node(1).settings.timings.collect = 35ms;
    node(1).settings.timings.relinquish_starts = 270ms;
    node(2).settings.timings.take_over_starts = 18ms;
    node(2).settings.timings.lock_setup = 12ms;
    // The old primary looks at the queue 4 ms after the writer has left it, the new one is back in it after 3 ms.
    node(1).settings.timings.reading(hand_over_phase::upstream).wake = 3ms;
    // Health checks of all nodes at once.
    for (auto& one : foreign) {
        auto& health = one.settings.health;
        health.first = lead + 20'420ms;
        health.interval = 100s;
        const std::string source = one.settings.name == "pvchv3" ? "pvchv2" : one.settings.name;
        const std::string root = "/nodes/" + source + "/monitoring_data/";
        for (const auto& event : recorded) {
            const std::string name(last_part_of(event.path));
            if (event.path == root + name && event.value == name) {
                health.plugins.push_back({.name = name,
                                          .health_delta = recorded_value(root + name + "/health_delta"),
                                          .message = recorded_value(root + name + "/message"),
                                          .data = recorded_value(root + name + "/data"),
                                          .runtime = recorded_value(root + name + "/runtime"),
                                          .takes = seconds(event.seconds) - 20'427ms});
            }
        }
        EXPECT_EQ(health.plugins.size(), 8U);
        health.value = "50";
        ensemble.put("/nodes/" + one.settings.name + "/monitoring_health", "50");
        ensemble.remove_tree("/nodes/" + one.settings.name);
    }
    begin();
    // The entries of one node are incomplete in the recording: what it writes there is rolled back.
    ensemble.remove_tree("/nodes/pvchv3/monitoring_data");
    for (auto& one : foreign) {
        ensemble.put("/nodes/" + one.settings.name + "/monitoring_health", "50");
    }
    for (auto& plugin : node(3).settings.health.plugins) {
        plugin.takes -= std::min<duration>(plugin.takes, 130ms);
    }
    ensemble.clear_trace();
    client.set_primary("pvchv2");
    loop.run_for(20s);
    // The checks keep the processors busy: the ticks beside them take longer.
    const std::vector<duration> usual{node(1).settings.timings.collect, node(2).settings.timings.collect,
                                      node(3).settings.timings.collect};
    node(1).settings.timings.collect += 140ms;
    node(2).settings.timings.collect += 225ms;
    node(3).settings.timings.collect += 350ms;
    loop.run_for(2s);
    for (std::size_t i = 0; i < usual.size(); ++i) {
        node(i + 1).settings.timings.collect = usual[i];
    }
    compare("primary-pvchv1-to-pvchv2-4", 61s);
    // Both wait for each other: the writer for the reader in front of it, the reader for the writer behind it.
    EXPECT_EQ(value("/nodes/pvchv1/routerstate"), "relinquish");
    EXPECT_EQ(value("/nodes/pvchv2/routerstate"), "takeover");
    EXPECT_EQ(lock_children("/config/primary_node/sync_lock"), 2U);
    loop.run_for(300s);
    EXPECT_EQ(lock_children("/config/primary_node/sync_lock"), 2U);
}

TEST_F(foreign_traces, empty_nodes_become_ready) {
    load("ready-empty-nodes");
    stage({1.576, 1.822, 2.168});
    node(1).settings.timings.unflush = 604ms;
    begin();
    for (const auto* name : {"pvchv1", "pvchv2", "pvchv3"}) {
        client.ready_node(name);
    }
    compare("ready-empty-nodes", 4038ms);
}

// What a fencer writes: the mark under its lock, the end of the power cycle, the machines of the list.
TEST_F(foreign_traces, a_secondary_with_three_machines_is_fenced) {
    load("fence-secondary-3vms");
    const auto is_of_fence = [](const trace_event& one) {
        const std::string_view path = one.path;
        const bool is_machine = path.starts_with("/domains/") &&
                                (path.ends_with("/state") || path.ends_with("/node") || path.ends_with("/lastnode"));
        return one.by == "pvchv3" && (is_machine || path.starts_with("/nodes/pvchv1/"));
    };
    std::erase_if(recorded, [&](const trace_event& one) { return !is_of_fence(one); });
    std::string list;
    for (int number = 1; number <= 3; ++number) {
        const std::string id =
            "0000000" + std::to_string(number) + "-aaaa-4bbb-8ccc-00000000000" + std::to_string(number);
        const std::string root = "/domains/" + id;
        ensemble.put({{root, "vm"}, {root + "/state", "start"}, {root + "/node", "pvchv1"}, {root + "/lastnode", ""}});
        list += (list.empty() ? "" : " ") + id;
    }
    ensemble.put("/config/primary_node", "pvchv3");
    std::vector<std::string> board;
    const auto answer = [&](const async::command& what) {
        board.push_back(what.arguments.back());
        const bool is_off = board.size() == 2;
        return std::optional(sim_program{.output = is_off ? "Chassis Power is off\n" : "Chassis Power is on\n",
                                         .takes = what.arguments.back() == "off" ? 35ms : 45ms});
    };
    for (int i = 1; i <= 3; ++i) {
        foreign_settings settings{.name = "pvchv" + std::to_string(i), .storage = false};
        settings.first_tick = seconds(i == 3 ? 6.19 : i == 2 ? 6.37 : 6.0);
        settings.boards = answer;
        settings.figures.memory_free = i == 3 ? "20000" : "18000";
        add(std::move(settings));
    }
    for (auto& one : foreign) {
        one.start();
    }
    EXPECT_TRUE(run_until([&] { return std::ranges::all_of(foreign, &foreign_node::is_ready); }));
    loop.run_for(1s);
    for (const auto* name : {"pvchv1", "pvchv2", "pvchv3"}) {
        ensemble.put(std::string("/nodes/") + name + "/domainstate", "ready");
    }
    ensemble.put("/nodes/pvchv1/runningdomains", list);
    loop.run_for(29s);
    start = loop.clock().now();
    ensemble.clear_trace();
    node(1).kill();
    loop.run_for(90s);
    std::map<std::int64_t, std::string> writers;
    for (auto& one : foreign) {
        writers[one.link().session_id()] = one.settings.name;
    }
    auto written = written_since(ensemble, start, writers);
    std::erase_if(written, [&](const trace_event& one) { return !is_of_fence(one); });
    const auto result = compare_traces(recorded, written, 0.25);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.events, recorded.size());
    EXPECT_EQ(board, (std::vector<std::string>{"off", "status", "on", "status"}));
}

// The node that was fenced comes back: its entry, `run`, and its ticks, with the list that it had. Neither its domain
// state nor its role is looked at: it stays `flushed`.
TEST_F(foreign_traces, a_node_that_was_fenced_returns) {
    load("fenced-node-returns");
    const std::string root = "/nodes/pvchv1";
    constexpr std::array left_out{"/activeschema", "/latestschema", "/monitoring"};
    std::erase_if(recorded, [&](const trace_event& one) {
        return one.by != "pvchv1" || !one.path.starts_with(root) ||
               std::ranges::any_of(left_out, [&](const char* which) { return one.path.starts_with(root + which); });
    });
    ASSERT_FALSE(recorded.empty());
    const auto host = std::ranges::find(recorded, root + "/ipmihostname", &trace_event::path);
    ASSERT_NE(host, recorded.end());
    host->value = "pvchv1-lom";  // as the script's board is called
    host->length = host->value.size();
    stage({0.05, 1.643, 1.997});
    node(1).settings.static_data = recorded_value(root + "/staticdata");
    node(1).settings.timings.objects += 6'446ms;  // it had just booted
    node(2).start();
    node(3).start();
    loop.run_for(20s);
    ensemble.put({{root, "coordinator"},
                  {root + "/activeschema", "10"},
                  {root + "/keepalive", "1700000000"},
                  {root + "/daemonmode", "coordinator"},
                  {root + "/daemonstate", "fenced"},
                  {root + "/staticdata", ""},
                  {root + "/pvcversion", ""},
                  {root + "/ipmihostname", ""},
                  {root + "/ipmiusername", ""},
                  {root + "/ipmipassword", ""},
                  {root + "/domainstate", "flushed"},
                  {root + "/routerstate", "secondary"},
                  {root + "/runningdomains", recorded_value(root + "/runningdomains")}});
    for (const auto* figure :
         {"memtotal", "memused", "memfree", "memalloc", "memprov", "vcpualloc", "cpuload", "domainscount"}) {
        ensemble.put(root + "/" + figure, "0");
    }
    ensemble.put("/config/primary_node", "pvchv2");
    ensemble.clear_trace();
    node(1).start();
    EXPECT_TRUE(run_until([&] { return node(1).is_ready(); }));
    loop.run_for(7s);
    auto written = written_since(ensemble, {}, {{node(1).link().session_id(), "pvchv1"}});
    std::erase_if(written, [&](const trace_event& one) {
        return one.by != "pvchv1" || !one.path.starts_with(root) || one.path.starts_with(root + "/monitoring") ||
               one.path == root + "/latestschema";
    });
    ASSERT_FALSE(written.empty());
    const double shift = recorded.front().seconds - written.front().seconds;  // it was started at any time
    for (auto& one : written) {
        one.seconds += shift;
    }
    const auto result = compare_traces(recorded, written, 0.25);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.events, recorded.size());
    EXPECT_EQ(value(root + "/domainstate"), "flushed");
}

// The same with the deadlock's cause taken away: only the time at which the reader looks.
TEST_F(foreign_traces, without_the_late_look_hand_over_4_succeeds) {
    load("primary-pvchv1-to-pvchv2-4");
    stage({0.4355, 0.540, 0.404});
    begin();
    client.set_primary("pvchv2");
    EXPECT_TRUE(run_until_role("pvchv2", "primary", 15s));
    // Its own tick has put the old primary's name back meanwhile: nothing happens until the name changes again.
    EXPECT_EQ(values_written("/config/primary_node").back(), "pvchv1");
}

}  // namespace
}  // namespace pvc::sim
