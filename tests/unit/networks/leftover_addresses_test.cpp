// Addresses of the primary that a daemon finds when it starts (networking.md 6 "Stale addresses", cases 39, 95, 96;
// node-lifecycle.md 4).
#include "unit/role/role_fixture.hpp"

namespace pvc::node {
namespace {

class leftovers_test : public role_fixture {
protected:
    leftovers_test() {
        put_peer("hv2", "coordinator", "run", "secondary");
        put_peer("hv3", "coordinator", "run", "secondary");
    }
    // hv1 was primary and is killed; its addresses stay.
    sim_node& killed_primary(std::size_t beats_as_primary = 1) {
        ensemble.put(primary_key, "hv1");
        sim_node& hv1 = add({.networking = true});
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready());
        seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
        const auto beats = times("/nodes/hv1/keepalive").size();
        if (beats_as_primary > 0) {
            run_until([&] { return times("/nodes/hv1/keepalive").size() > beats + beats_as_primary; }, 20s);
        }
        loop.run_for(100ms);  // the note of it is written
        EXPECT_EQ(times("/nodes/hv1/keepalive").size() > beats, beats_as_primary > 0);
        hv1.kill();
        hv1.addresses.calls.clear();
        EXPECT_EQ(count(hv1), 4U);
        return hv1;
    }
    void expect_kept(sim_node& hv1) {
        hv1.start();
        run_until([&] {
            EXPECT_EQ(count(hv1), 4U);
            return role_of(hv1) == "primary" && hv1.is_ready();
        });
        for (const auto& call : hv1.addresses.calls) {
            EXPECT_TRUE(call.starts_with("add ")) << call;
        }
        EXPECT_EQ(hv1.addresses.calls.size(), 4U);
    }
    static std::size_t count(const sim_node& node) {
        const std::string all = node.kernel.text();
        constexpr std::size_t own = 2;  // of the node, cluster and storage
        const auto found = static_cast<std::size_t>(std::ranges::count(all, '/'));
        return found < own ? 0 : found - own;
    }
    [[nodiscard]] double seconds_since(time_point from) const {
        return std::chrono::duration<double>(loop.clock().now() - from).count();
    }
};

TEST_F(leftovers_test, case_39_another_node_is_primary) {
    auto& hv1 = killed_primary();
    ensemble.put(primary_key, "hv2");
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    EXPECT_EQ(count(hv1), 0U);
    EXPECT_TRUE(hv1.logged("primary_node says hv2"));
}

TEST_F(leftovers_test, case_39_with_the_own_name_they_stay_and_the_takeover_asserts_them_anew) {
    expect_kept(killed_primary());
}

// The role is noted when it changes, not only with the next heartbeat.
TEST_F(leftovers_test, case_39_they_stay_also_where_it_was_killed_before_it_beat_as_primary) {
    constexpr std::size_t beats = 0;
    expect_kept(killed_primary(beats));
}

TEST_F(leftovers_test, case_95_zookeeper_is_away_and_the_record_is_20_s_old) {
    auto& hv1 = killed_primary();
    const auto killed = loop.clock().now();
    hv1.connector.link().cut();
    loop.run_for(20s);
    hv1.start();
    ASSERT_TRUE(run_until([&] { return count(hv1) == 0; }, 100s));
    // (FI + 6) x KI - KI = 55 s after the last heartbeat, over three starts of the attempt.
    EXPECT_NEAR(seconds_since(killed), 55.0, 1.2);
    EXPECT_GE(hv1.times_logged("starting again"), 2U);
}

// It was named, and is cut off before it takes over: another may be primary by then.
TEST_F(leftovers_test, case_95_the_connection_is_lost_between_the_start_and_the_takeover) {
    auto& hv1 = killed_primary();
    hv1.start();
    ASSERT_TRUE(hv1.run_until_ready());
    loop.run_for(50ms);
    ASSERT_EQ(count(hv1), 4U);
    hv1.connector.link().cut();
    const auto cut = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return count(hv1) == 0; }, 100s)) << hv1.log();
    EXPECT_NEAR(seconds_since(cut), 55.0, 2.0);
}

TEST_F(leftovers_test, case_95_without_a_record_they_go_at_once) {
    for (const auto* text : {"", "garbage", "secondary", "boot"}) {
        auto& hv1 = killed_primary();
        const std::string what = text;
        const std::string path = "/run/pvc/heartbeat";
        if (what == "boot") {
            hv1.host.machine.boot_id = "another-boot";
        } else if (what == "secondary") {
            hv1.host.files[path].replace(hv1.host.files[path].find("primary"), 7, "secondary");
        } else if (what.empty()) {
            hv1.host.files.erase(path);
        } else {
            hv1.host.files[path] = what;
        }
        hv1.connector.link().cut();
        const auto started = loop.clock().now();
        hv1.start();
        EXPECT_TRUE(run_until([&] { return count(hv1) == 0; }, 10s)) << what;
        EXPECT_LT(seconds_since(started), 1.0) << what;
        hv1.connector.link().mend();
        hv1.stop();
        hv1.settings.name += "x";  // the next one is another machine
        ensemble.remove_tree("/nodes/hv1");
    }
}

// S3 waits 30 s for it: another node takes the role meanwhile.
TEST_F(leftovers_test, case_95_the_device_of_the_cluster_network_is_waited_for) {
    auto& hv1 = killed_primary();
    const auto killed = loop.clock().now();
    hv1.connector.link().cut();
    loop.run_for(45s);
    hv1.kernel.remove_device("ens5");
    hv1.start();
    ASSERT_TRUE(run_until([&] { return count(hv1) == 0; }, 100s));
    EXPECT_NEAR(seconds_since(killed), 55.0, 1.2);
    EXPECT_FALSE(hv1.logged("starting again"));
}

TEST_F(leftovers_test, case_95_without_a_record_they_go_also_without_the_device_of_the_cluster_network) {
    auto& hv1 = killed_primary();
    hv1.host.files.erase("/run/pvc/heartbeat");
    hv1.kernel.remove_device("ens5");
    const auto started = loop.clock().now();
    hv1.start();
    EXPECT_TRUE(run_until([&] { return count(hv1) == 0; }, 60s));
    EXPECT_LT(seconds_since(started), 1.0);
}

TEST_F(leftovers_test, case_96_the_start_hangs_and_another_is_named) {
    auto& hv1 = killed_primary();
    // Its record says that it is alive, and the note is of an older heartbeat: the start watches for a twin for 10 s.
    ensemble.put("/nodes/hv1/keepalive", ensemble.get("/nodes/hv1/keepalive").value_or(""));
    hv1.start();
    ASSERT_TRUE(run_until([&] { return hv1.logged("to be sure that no other host uses this name"); }, 10s));
    loop.run_for(3s);
    EXPECT_EQ(count(hv1), 4U);
    ensemble.put(primary_key, "hv2");
    const auto named = loop.clock().now();
    ASSERT_TRUE(run_until([&] { return count(hv1) == 0; }, 10s));
    EXPECT_LT(seconds_since(named), 1.0);
    EXPECT_FALSE(hv1.is_ready());
}

// The record is left behind by an attempt that never ran: nothing outlives the stop.
TEST_F(leftovers_test, a_stop_while_zookeeper_is_away_leaves_none) {
    auto& hv1 = killed_primary();
    hv1.connector.link().cut();
    hv1.start();
    loop.run_for(5s);
    EXPECT_EQ(count(hv1), 4U);
    hv1.stop();
    EXPECT_EQ(count(hv1), 0U);
}

TEST_F(leftovers_test, a_machine_that_lost_its_power_has_none) {
    auto& hv1 = killed_primary();
    hv1.lose_power();
    EXPECT_EQ(count(hv1), 0U);
}

}  // namespace
}  // namespace pvc::node
