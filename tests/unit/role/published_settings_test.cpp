// What the primary publishes of its configuration (node-lifecycle.md 6.1, AC37, AC38).
#include "unit/role/role_fixture.hpp"

namespace pvc::node {
namespace {

const std::string selector_key = "/config/migration_target_selector";
const std::string upstream_key = "/config/upstream_ip";
const std::string upstream_text = "10.98.1.254/24";

class published_settings : public role_fixture {
protected:
    // hv1 has the functions that are told, and hv2 is named.
    sim_node& stage_secondary(bool networking, bool hypervisor) {
        put_peer("hv2", "coordinator", "run", "primary");
        put_peer("hv3", "coordinator", "run", "secondary");
        ensemble.put(primary_key, "hv2");
        sim::node_settings settings;
        settings.networking = networking;
        settings.hypervisor = hypervisor;
        sim_node& hv1 = nodes.emplace_back(loop, ensemble, std::move(settings), &hardware);
        hv1.start();
        EXPECT_TRUE(hv1.run_until_ready()) << hv1.log();
        beat(12s);
        ensemble.clear_trace();
        return hv1;
    }
    void take_the_role(sim_node& hv1) {
        ensemble.put(primary_key, "hv1");
        ensemble.put("/nodes/hv2/routerstate", "secondary");
        seconds_until([&] { return role_of(hv1) == "primary"; }, 60s);
    }
    ~published_settings() override { nodes.clear(); }

    sim::sim_hardware hardware{loop.clock()};
};

TEST_F(published_settings, ac37_the_primary_writes_what_differs) {
    auto& hv1 = stage_secondary(true, true);
    ensemble.put(selector_key, "mem");
    take_the_role(hv1);
    beat(15s);
    EXPECT_EQ(values_written(upstream_key), std::vector{upstream_text});
    EXPECT_EQ(values_written(selector_key), std::vector<std::string>{"mem"}) << "by the test alone";
    beat(30s);
    EXPECT_EQ(values_written(upstream_key).size(), 1U) << "once";
}

TEST_F(published_settings, ac37_what_somebody_writes_is_made_right_with_the_next_tick) {
    auto& hv1 = stage_secondary(true, true);
    take_the_role(hv1);
    beat(11s);
    EXPECT_EQ(value(selector_key), "mem");
    ensemble.put(selector_key, "load");
    ensemble.remove(upstream_key);
    beat(6s);
    EXPECT_EQ(value(selector_key), "mem");
    EXPECT_EQ(value(upstream_key), upstream_text);
    // Somebody who writes all the time has no war: one write a tick.
    const auto before = values_written(selector_key).size();
    for (int i = 0; i < 100; ++i) {
        ensemble.put(selector_key, "load");
        beat(100ms);
    }
    EXPECT_LE(values_written(selector_key).size() - before - 100U, 3U);
}

// Another node is named right before the write reaches the server.
TEST_F(published_settings, ac38_who_is_not_named_any_more_writes_none_of_it) {
    auto& hv1 = stage_secondary(true, true);
    take_the_role(hv1);
    beat(11s);
    bool is_named = false;
    hv1.connector.link().on_request = [&](const zookeeper::request& request) {
        const bool is_it = std::ranges::any_of(request.operations, [](const zookeeper::operation& one) {
            return one.what == zookeeper::operation::kind::set && one.path == selector_key;
        });
        if (is_it && !std::exchange(is_named, true)) {
            ensemble.put(primary_key, "hv2");
        }
        return sim::verdict::answer;
    };
    ensemble.put(selector_key, "load");
    beat(20s);
    EXPECT_TRUE(is_named);
    EXPECT_EQ(value(selector_key), "load");
}

TEST_F(published_settings, ac38_a_secondary_writes_none_of_it) {
    auto& hv1 = stage_secondary(true, true);
    ensemble.put(selector_key, "load");
    beat(30s);
    EXPECT_EQ(value(selector_key), "load");
    EXPECT_EQ(value(upstream_key), "");
    // Nor one that was primary.
    take_the_role(hv1);
    beat(11s);
    ensemble.put(primary_key, "hv2");
    ensemble.put("/nodes/hv2/routerstate", "takeover");
    seconds_until([&] { return role_of(hv1) == "secondary"; }, 60s);
    ensemble.put("/nodes/hv2/routerstate", "primary");
    ensemble.put(selector_key, "vms");
    beat(30s);
    EXPECT_EQ(value(selector_key), "vms");
}

TEST_F(published_settings, without_a_function_its_setting_is_nobodys) {
    auto& hv1 = stage_secondary(false, true);
    take_the_role(hv1);
    beat(11s);
    EXPECT_EQ(value(selector_key), "mem");
    EXPECT_EQ(value(upstream_key), "");
}

}  // namespace
}  // namespace pvc::node
