// Log shipping: zookeeper-schema.md 11 and 14.
#include "unit/node/node_fixture.hpp"

#include "pvcnoded/base/text.hpp"

namespace pvc::node {
namespace {

const std::string messages = "/logs/hv1/messages";

class log_shipping_test : public node_test {
protected:
    log_shipping_test() { sim::initialise(ensemble, 10); }

    static logger& log_of(sim_node& node) { return node.daemon().context().log; }
    [[nodiscard]] std::vector<std::string> shipped() const {
        std::vector<std::string> lines;
        const std::string all = value(messages);
        for (const auto line : split(all, '\n')) {
            lines.emplace_back(line);
        }
        return lines;
    }
    [[nodiscard]] std::size_t shipped_with(std::string_view text) const {
        const auto lines = shipped();
        return static_cast<std::size_t>(std::ranges::count_if(
            lines, [text](const std::string& line) { return line.find(text) != std::string::npos; }));
    }
};

TEST_F(log_shipping_test, zk28_a_flood_is_coalesced_and_capped) {
    auto& hv1 = add_running({.zookeeper_logging = true, .log_keepalives = false, .node_log_lines = 100});
    loop.run_for(10s + 500ms);
    const auto from = loop.clock().now();
    for (int i = 0; i < 5000; ++i) {
        log_of(hv1).info("line " + std::to_string(i));
        if (i % 100 == 0) {
            loop.run_for(20ms);
        }
    }
    loop.run_for(10ms);
    EXPECT_LE(times(messages, from).size(), 4U);
    loop.run_for(2s);
    const auto lines = shipped();
    ASSERT_EQ(lines.size(), 100U);
    EXPECT_TRUE(lines.back().ends_with("info: line 4999")) << lines.back();
    EXPECT_TRUE(lines.front().ends_with("info: line 4900")) << lines.front();
}

// Each write replaces the key, of half a megabyte at most, in every server's log.
TEST_F(log_shipping_test, lines_of_ticks_wait_for_company_and_others_do_not) {
    auto& hv1 = add_running({.zookeeper_logging = true, .node_log_lines = 1000});
    loop.run_for(60s);
    const auto from = loop.clock().now();
    loop.run_for(5min);
    EXPECT_LE(times(messages, from).size(), 10U);
    EXPECT_GE(shipped_with("keepalive"), 60U);
    const std::size_t ticks = hv1.times_logged("keepalive");
    log_of(hv1).error(message::start_degraded, "something broke");
    loop.run_for(1s + 100ms);
    EXPECT_EQ(shipped_with("something broke"), 1U);
    EXPECT_GE(shipped_with("keepalive"), ticks) << "what waited goes along";
}

TEST_F(log_shipping_test, zk29_long_lines_stay_below_the_limit_and_never_cost_a_session) {
    auto& hv1 = add_running({.zookeeper_logging = true, .node_log_lines = 1000});
    loop.run_for(2s);
    const auto sessions = [&] {
        return std::ranges::count(ensemble.trace(), recorded_kind::open_session, &recorded_change::what);
    };
    const auto before = sessions();
    const auto from = loop.clock().now();
    for (int i = 0; i < 60; ++i) {
        log_of(hv1).info(std::to_string(i) + std::string(100UL * 1024, static_cast<char>('a' + i % 26)));
        loop.run_for(100ms);
        EXPECT_LE(value(messages).size(), 512UL * 1024);
    }
    loop.run_for(3s);
    EXPECT_GT(value(messages).size(), 400UL * 1024);
    log_of(hv1).info(std::string(3UL * 1024 * 1024, 'z'));
    loop.run_for(3s);
    EXPECT_LE(value(messages).size(), 512UL * 1024);
    log_of(hv1).info("the end");
    loop.run_for(3s);
    EXPECT_EQ(shipped_with("the end"), 1U);
    EXPECT_EQ(sessions(), before);
    EXPECT_FALSE(hv1.logged("session lost"));
    EXPECT_LE(beat_gaps("hv1", from).front(), 5.1);
}

TEST_F(log_shipping_test, zk30_two_writers_under_the_lock_lose_nothing) {
    sim::initialise(ensemble, 11);
    auto& hv1 = add_running({.zookeeper_logging = true});
    hv1.connector.link().latency = 40ms;
    loop.run_for(3s);
    const auto session = ensemble.open_session();
    const auto is_first = [&](const std::string& own) {
        const auto others = lock_children(messages);
        const auto number = [](const std::string& name) { return name.substr(name.size() - 10); };
        return std::ranges::all_of(others, [&](const auto& name) { return number(own) <= number(name); });
    };
    for (int i = 0; i < 100; ++i) {
        log_of(hv1).info("ours " + std::to_string(i));
        const auto child = ensemble.create(messages + "/6f892bb59b4541c699e870a841d1568b__lock__", "kazoo",
                                           zookeeper::create_mode::ephemeral_sequential, session);
        ASSERT_TRUE(child);
        ASSERT_TRUE(run_until([&] { return is_first(*child); }, 5s));
        const std::string old = value(messages);
        loop.run_for(30ms);  // it reads, thinks and writes
        ASSERT_EQ(value(messages), old);
        ASSERT_TRUE(ensemble.set(messages, old + "\ntheirs " + std::to_string(i)));
        ASSERT_TRUE(ensemble.remove(*child));
        loop.run_for(70ms);
    }
    loop.run_for(5s);
    EXPECT_EQ(shipped_with("theirs "), 100U);
    EXPECT_EQ(shipped_with("ours "), 100U);
    EXPECT_EQ(shipped_with("pvcnoded:   info: ours "), 100U);
    EXPECT_TRUE(lock_children(messages).empty());
}

TEST_F(log_shipping_test, zk31_an_outage_keeps_the_lines) {
    auto& hv1 = add_running({.zookeeper_logging = true, .node_log_lines = 100'000});
    loop.run_for(5s);
    ensemble.stop();
    for (int i = 0; i < 6000; ++i) {
        log_of(hv1).info("line " + std::to_string(i) + ".");
        loop.run_for(10ms);
    }
    ensemble.start();
    loop.run_for(15s);
    for (int i = 0; i < 6000; i += 59) {
        EXPECT_EQ(shipped_with("line " + std::to_string(i) + "."), 1U) << i;
    }
    EXPECT_FALSE(shipped_with("log lines were lost"));
    // Beyond the limit the oldest go, counted.
    ensemble.stop();
    for (int i = 0; i < 12'000; ++i) {
        log_of(hv1).info("second " + std::to_string(i) + ".");
    }
    loop.run_for(30s);
    ensemble.start();
    loop.run_for(15s);
    EXPECT_EQ(shipped_with("second 0."), 0U);
    EXPECT_EQ(shipped_with("second 11999."), 1U);
    EXPECT_EQ(shipped_with("log lines were lost while ZooKeeper was away"), 1U);
}

TEST_F(log_shipping_test, what_was_stored_is_continued_and_the_banner_and_the_last_lines_are_there) {
    ensemble.put(messages, "an old line");
    auto& hv1 = add_running({.zookeeper_logging = true});
    loop.run_for(5s);
    hv1.stop();
    const auto lines = shipped();
    EXPECT_EQ(lines.front(), "an old line");
    EXPECT_EQ(shipped_with("system: pvcnoded starts on hv1"), 1U);
    EXPECT_EQ(shipped_with("ok: registered as coordinator"), 1U);
    EXPECT_EQ(shipped_with("ok: left the cluster"), 1U);
    EXPECT_FALSE(value(messages).ends_with("\n"));
}

TEST_F(log_shipping_test, lines_from_before_the_version_is_known_carry_the_tag_too) {
    sim::initialise(ensemble, 11);
    add_running({.zookeeper_logging = true});
    loop.run_for(3s);
    EXPECT_EQ(shipped_with("pvcnoded:   system: pvcnoded starts on hv1"), 1U);
}

TEST_F(log_shipping_test, below_version_4_there_are_no_log_keys) {
    sim::initialise(ensemble, 3);
    put_peer("hv2", "coordinator", "run", "secondary");
    ensemble.put("/nodes/hv2/latestschema", "3");
    ensemble.remove_tree("/logs");
    add_running({.zookeeper_logging = true});
    run_with_beats(20s, {"hv2"});
    EXPECT_EQ(value("/nodes/hv1/activeschema"), "3");
    EXPECT_FALSE(ensemble.exists("/logs"));
    ensemble.put("/schema/version", "4");
    run_with_beats(5s, {"hv2"});
    EXPECT_EQ(shipped_with("ok: registered as coordinator"), 1U);
}

TEST_F(log_shipping_test, an_expired_log_session_is_replaced_without_a_trace_in_the_node) {
    auto& hv1 = add_running({.zookeeper_logging = true});
    loop.run_for(5s);
    for (const auto id : ensemble.sessions()) {
        if (std::ranges::any_of(ensemble.trace_of(id), [](const auto& one) { return one.path == messages; })) {
            ensemble.expire_session(id);
        }
    }
    log_of(hv1).info("after the expiry");
    loop.run_for(10s);
    EXPECT_EQ(shipped_with("after the expiry"), 1U);
    EXPECT_FALSE(hv1.logged("session lost"));
    EXPECT_FALSE(hv1.logged("missed"));
}

}  // namespace
}  // namespace pvc::node
