// What the service manager sees: config.md 5.6, 7.2 and 9.
#include "unit/node/node_fixture.hpp"

#include "pvcnoded/node/watchdog.hpp"

namespace pvc::node {
namespace {

class supervisor : public node_test {
protected:
    supervisor() { sim::initialise(ensemble, 10); }

    static std::vector<std::string> texts(const sim_node& node, const std::string& beginning) {
        std::vector<std::string> found;
        for (const auto& one : node.notifier.messages()) {
            if (one.text.starts_with(beginning)) {
                found.push_back(one.text);
            }
        }
        return found;
    }
    // The longest time without WATCHDOG=1 between two moments, in seconds.
    static double longest_silence(const sim_node& node, time_point from, time_point to) {
        time_point last = from;
        duration longest{};
        for (const auto& one : node.notifier.messages()) {
            if (one.text == "WATCHDOG=1" && one.at >= from && one.at <= to) {
                longest = std::max<duration>(longest, one.at - last);
                last = one.at;
            }
        }
        return std::chrono::duration<double>(std::max<duration>(longest, to - last)).count();
    }
};

TEST_F(supervisor, config33_directories) {
    auto& hv1 = add_running();
    for (const auto* path : {"/run/pvc", "/run/pvc/dnsmasq", "/run/pvc/pdns", "/run/pvc/nft/networks",
                             "/run/pvc/nft/static", "/var/log/pvc", "/var/log/pvc/dnsmasq"}) {
        ASSERT_TRUE(hv1.host.directories.contains(path)) << path;
        const bool is_pdns = std::string(path) == "/run/pvc/pdns";
        EXPECT_EQ(hv1.host.directories[path].mode, is_pdns ? 0700U : 0755U) << path;
        EXPECT_EQ(hv1.host.directories[path].owner, is_pdns ? "pdns" : "") << path;
    }
}

TEST_F(supervisor, a_directory_that_cannot_be_made_ends_the_start) {
    auto& hv1 = add();
    hv1.host.broken.emplace("/run/pvc/dnsmasq", failure(errc::io, "/run/pvc/dnsmasq", "Read-only file system"));
    hv1.start();
    ASSERT_TRUE(run_until([&] { return hv1.exit_status.has_value(); }));
    EXPECT_EQ(hv1.exit_status, 1);
    ASSERT_EQ(hv1.complaints.size(), 1U);
    EXPECT_NE(hv1.complaints.front().find("Read-only file system"), std::string::npos);
}

// What only a log needs keeps no node out of its cluster.
TEST_F(supervisor, a_full_log_disk_is_a_warning) {
    auto& hv1 = add();
    const failure full(errc::io, "/var/log/pvc/pvc.log", "No space left on device");
    hv1.host.broken.emplace("/var/log/pvc/nft", failure(errc::io, "/var/log/pvc/nft", "No space left on device"));
    hv1.log_file->fails = full;
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_TRUE(hv1.complaints.empty());
    EXPECT_EQ(
        hv1.times_logged(
            "opening the log file: /var/log/pvc/pvc.log: input/output error: No space left on device, trying again"),
        1U)
        << hv1.log();
    EXPECT_EQ(hv1.times_logged("/var/log/pvc/nft: input/output error: No space left on device, going on without it"),
              1U)
        << hv1.log();
    hv1.log_file->fails.reset();
    loop.run_for(10s);
    EXPECT_NE(hv1.log_file->text().find("keepalive"), std::string::npos);
}

// Somebody writes it just when a node that waits for its cluster reads it anew.
TEST_F(supervisor, a_later_reading_of_a_broken_configuration_keeps_the_last_one) {
    ensemble.stop();
    auto& hv1 = add();
    hv1.start();
    loop.run_for(10s);
    const std::string whole = configuration_text(hv1.settings);
    hv1.configuration = whole.substr(0, whole.size() / 2);
    loop.run_for(60s);
    EXPECT_FALSE(hv1.exit_status);
    EXPECT_GE(hv1.configuration_reads, 4);
    EXPECT_EQ(hv1.times_logged("the configuration is not valid, going on with the last one that was: "),
              static_cast<std::size_t>(hv1.configuration_reads - 1))
        << hv1.log();
    hv1.configuration = whole;
    ensemble.start();
    EXPECT_TRUE(hv1.run_until_ready());
}

TEST_F(supervisor, config35_ready_after_the_phases_and_a_status_for_each) {
    auto& hv1 = add_running();
    const auto phases = texts(hv1, "STATUS=S");
    std::vector<std::string> numbers;
    for (const auto& text : phases) {
        numbers.push_back(text.substr(7, text.find(':') - 7));
    }
    EXPECT_EQ(numbers, (std::vector<std::string>{"S0", "S1", "S2", "S5", "S6", "S8", "S12", "S13"}));
    const auto& all = hv1.notifier.messages();
    const auto ready = std::ranges::find_if(all, [](const auto& one) { return one.text.starts_with("READY=1"); });
    ASSERT_NE(ready, all.end());
    EXPECT_EQ(ready->text, "READY=1\nSTATUS=running");
    EXPECT_TRUE(
        std::ranges::none_of(ready + 1, all.end(), [](const auto& one) { return one.text.starts_with("STATUS=S"); }));
    EXPECT_EQ(changes("/nodes/hv1/daemonstate").back().data, "run");
    EXPECT_LE(changes("/nodes/hv1/daemonstate").back().when, ready->at);
    // Neither a new session nor an update makes it ready anew.
    hv1.connector.link().expire_sessions();
    loop.run_for(10s);
    ensemble.put("/schema/version", "11");
    loop.run_for(10s);
    EXPECT_EQ(hv1.notifier.count("READY=1"), 1U);
    EXPECT_EQ(texts(hv1, "STATUS=").back(), "STATUS=running");
    EXPECT_EQ(hv1.notifier.count("RELOADING=1"), 0U);
}

TEST_F(supervisor, config35_exit_78_never_says_ready) {
    auto& hv1 = add();
    hv1.configuration = "pvc: [";
    hv1.start();
    ASSERT_TRUE(run_until([&] { return hv1.exit_status.has_value(); }));
    EXPECT_EQ(hv1.exit_status, 78);
    EXPECT_EQ(hv1.notifier.count("READY=1"), 0U);
    EXPECT_FALSE(hv1.complaints.empty());
    EXPECT_TRUE(hv1.services.calls().empty());
    EXPECT_EQ(ensemble.counters().connection_attempts, 0U);
}

TEST_F(supervisor, status_says_what_is_waited_for) {
    ensemble.stop();
    auto& hv1 = add();
    hv1.start();
    loop.run_for(16s);
    const auto again = texts(hv1, "STATUS=starting again: ");
    ASSERT_EQ(again.size(), 1U);
    EXPECT_NE(again.front().find("hv1:2181, hv2:2181, hv3:2181"), std::string::npos);
    EXPECT_NE(again.front().find("attempt 1"), std::string::npos);
    ensemble.start();
    ensemble.remove_tree("/schema");
    loop.run_for(30s);
    EXPECT_EQ(texts(hv1, "STATUS=").back(), "STATUS=waiting for the cluster to be initialised");
}

TEST_F(supervisor, config36_pings_go_on_without_zookeeper) {
    auto& hv1 = add_running();
    EXPECT_EQ(hv1.notifier.count("WATCHDOG_USEC=30000000"), 1U);
    loop.run_for(12s);
    const auto from = loop.clock().now();
    ensemble.stop();
    loop.run_for(10min);
    EXPECT_LE(longest_silence(hv1, from, loop.clock().now()), 10.1);
    EXPECT_FALSE(hv1.exit_status);
    ensemble.start();
    loop.run_for(10s);
    EXPECT_EQ(state_of(hv1), "run");
}

TEST_F(supervisor, pings_go_on_from_the_first_second_in_every_phase) {
    auto& hv1 = add();
    ensemble.stop();
    hv1.start();
    loop.run_for(5min);
    EXPECT_LE(longest_silence(hv1, time_point{}, loop.clock().now()), 10.1);
    ensemble.start();
    ensemble.remove_tree("/schema");
    const auto from = loop.clock().now();
    loop.run_for(5min);
    EXPECT_LE(longest_silence(hv1, from, loop.clock().now()), 10.1);
}

TEST_F(supervisor, config38_a_long_interval_does_not_stretch_the_pings) {
    auto& hv1 = add_running({.keepalive_interval = 3600});
    EXPECT_EQ(hv1.notifier.count("WATCHDOG_USEC=60000000"), 1U);
    const auto from = loop.clock().now();
    loop.run_for(3h);
    EXPECT_LE(longest_silence(hv1, from, loop.clock().now()), 15.0);
    EXPECT_EQ(beat_gaps("hv1", from).front(), 3600.0);
}

TEST_F(supervisor, a_server_that_answers_late_is_no_stuck_tick) {
    auto& hv1 = add_running({.keepalive_interval = 60});
    loop.run_for(61s);
    auto& link = hv1.connector.link();
    link.on_request = [&link](const zookeeper::request& request) {
        const bool is_figures =
            std::ranges::any_of(request.operations, [](const auto& one) { return one.path == "/nodes/hv1/cpuload"; });
        link.write_answer_delay = is_figures ? duration(50s) : duration(0s);
        return sim::verdict::answer;
    };
    const auto from = loop.clock().now();
    for (int i = 0; i < 10; ++i) {
        hv1.host.loadavg_text = fmt::format("{}.00 0 0 1/1 1\n", i);
        loop.run_for(60s);
    }
    EXPECT_LE(longest_silence(hv1, from, loop.clock().now()), 10.1);
}

TEST_F(supervisor, config39_no_ping_when_the_loop_does_not_turn_or_the_keepalive_is_stuck) {
    auto& hv1 = add();
    bool turns = true;
    std::uint64_t count = 0;
    hv1.loop_turns = [&] { return turns ? ++count : count; };
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(60s);
    const auto before = hv1.notifier.count("WATCHDOG=1");
    EXPECT_GE(before, 5U);
    turns = false;
    loop.run_for(60s);
    EXPECT_LE(hv1.notifier.count("WATCHDOG=1"), before + 1);
    turns = true;
    loop.run_for(30s);
    EXPECT_GE(hv1.notifier.count("WATCHDOG=1"), before + 2);
}

TEST_F(supervisor, config40_a_service_that_never_becomes_active_costs_at_most_5_s) {
    auto& hv1 = add({.api = true});
    hv1.services["zookeeper.service"].never_active = true;
    hv1.services["keydb-server.service"].never_active = true;
    hv1.start();
    ASSERT_TRUE(run_until([&] { return ensemble.counters().connection_attempts > 0; }));
    EXPECT_LE(loop.clock().now() - time_point{}, 5200ms);
    EXPECT_GE(loop.clock().now() - time_point{}, 4500ms);
    for (const auto* unit : {"zookeeper.service", "keydb-server.service", "pvcworkerd.service"}) {
        EXPECT_EQ(hv1.services.times("start", unit).size(), 1U) << unit;
    }
    const auto polls = hv1.services.times("is-active", "zookeeper.service");
    ASSERT_GE(polls.size(), 8U);
    EXPECT_LE(polls[1] - polls[0], 120ms);
    for (std::size_t i = 1; i < polls.size(); ++i) {
        EXPECT_GE(polls[i] - polls[i - 1], 50ms);
        EXPECT_LE(polls[i] - polls[i - 1], 520ms);
    }
    EXPECT_TRUE(hv1.run_until_ready());
    EXPECT_TRUE(hv1.logged("zookeeper.service"));
}

TEST_F(supervisor, a_service_manager_that_is_gone_or_hangs_does_not_stop_the_start) {
    for (const bool hangs : {false, true}) {
        auto& node = add({.name = hangs ? "hv2" : "hv1", .api = true});
        if (hangs) {
            node.services.set_answer_time(1h);
        } else {
            node.services.set_present(false);
        }
        const auto from = loop.clock().now();
        node.start();
        ASSERT_TRUE(node.run_until_ready());
        EXPECT_LE(loop.clock().now() - from, 11s);
    }
}

TEST_F(supervisor, config37_without_self_reset_the_lease_is_off_and_said_so) {
    for (const int intervals : {6, 11}) {
        auto& hv1 = add_running({.suicide_intervals = intervals});
        loop.run_for(6s);
        EXPECT_EQ(value("/nodes/hv1/selfreset"), "off");
        EXPECT_GE(hv1.times_logged("failed: suicide_intervals"), 1U);
        hv1.stop();
        EXPECT_EQ(hv1.exit_status, 0);
        nodes.pop_back();
    }
}

}  // namespace
}  // namespace pvc::node
