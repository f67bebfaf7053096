// A hand-over from a foreign primary to ours that comes in the moment of its tick: it writes its own name back and
// gives the role up all the same, and nobody is primary (README ruling 22). As recorded in
// docs/spec/traces/primary-reference-to-ours-nobody.jsonl.
#include "sim/foreign/foreign_fixture.hpp"
#include "sim/foreign/recorded_trace.hpp"

namespace pvc::sim {
namespace {

using names = std::vector<std::string>;

constexpr duration tick = 5s;
const std::string primary_key = "/config/primary_node";
const std::string role_key = "/nodes/pvchv2/routerstate";

class foreign_refusal : public foreign_test {
protected:
    void SetUp() override {
        add_running({.name = "pvchv2"});
        ASSERT_TRUE(run_until_role("pvchv2", "primary"));
        add_ours({.name = "pvchv1", .coordinators = {"pvchv1", "pvchv2"}});
        loop.run_for(12s);
    }
    // The client's word comes `before` the next tick of the foreign primary.
    void hand_over_before_tick(duration before) {
        const std::string heartbeat = "/nodes/pvchv2/keepalive";
        const std::string last = value(heartbeat);
        ASSERT_TRUE(run_until([&] { return value(heartbeat) != last; }));
        // The heartbeat is the last write of a tick.
        loop.run_for(tick - tick_length() - before);
        ensemble.clear_trace();
        start = loop.clock().now();
        client.set_primary("pvchv1");
    }
    [[nodiscard]] duration tick_length() const {
        const auto& times = foreign.front().settings.timings;
        return times.storage_status + times.storage_health + times.storage_usage + times.storage_pools +
               times.storage_osds + times.after_collection + 10ms;
    }
    // Seconds, value and writer's key of what became of the role.
    [[nodiscard]] static std::vector<trace_event> of_the_role(std::vector<trace_event> all) {
        std::erase_if(all, [](const trace_event& one) {
            return (one.path != primary_key && one.path != role_key) || one.what != "set";
        });
        return all;
    }
    time_point start{};
};

TEST_F(foreign_refusal, it_names_itself_again_and_relinquishes_as_recorded) {
    hand_over_before_tick(30ms);
    loop.run_for(4s);
    const auto recorded = of_the_role(
        read_trace(std::string(PVC_SOURCE_DIR) + "/docs/spec/traces/primary-reference-to-ours-nobody.jsonl"));
    const std::map<std::int64_t, std::string> writers{{client.link().session_id(), "client"},
                                                      {foreign.front().link().session_id(), "pvchv2"}};
    auto seen = of_the_role(written_since(ensemble, start, writers));
    // Ours follows README ruling 87, which was not there when this was recorded.
    std::erase_if(seen, [](const trace_event& one) { return one.by != "client" && one.by != "pvchv2"; });
    ASSERT_EQ(recorded.size(), 4U);
    ASSERT_EQ(seen.size(), recorded.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i].path, recorded[i].path) << i;
        EXPECT_EQ(seen[i].value, recorded[i].value) << i;
        EXPECT_EQ(seen[i].by, recorded[i].by) << i;
    }
    // Ours holds no phase locks: what is left of the phases is shorter than in a pair of the reference, and equal here.
    for (const std::size_t i : {1U, 2U}) {
        EXPECT_NEAR(seen[i].seconds - seen[0].seconds, recorded[i].seconds - recorded[0].seconds, 0.050) << i;
    }
    EXPECT_NEAR(seen[3].seconds - seen[2].seconds, recorded[3].seconds - recorded[2].seconds, 1.0);
}

// README ruling 87.
TEST_F(foreign_refusal, ours_takes_it_up_as_soon_as_it_is_given_up) {
    hand_over_before_tick(200ms);
    ASSERT_TRUE(run_until([&] { return std::ranges::count(values_written(role_key), "relinquish") == 1; }));
    ASSERT_EQ(value(primary_key), "pvchv2");
    const auto given_up = loop.clock().now();
    EXPECT_TRUE(run_until([&] { return value("/nodes/pvchv1/routerstate") == "primary"; }, 60s));
    EXPECT_LT(loop.clock().now() - given_up, 2s);
    loop.run_for(60s);
    EXPECT_EQ(value(primary_key), "pvchv1");
    EXPECT_EQ(value("/nodes/pvchv1/routerstate"), "primary");
    EXPECT_EQ(values_written(role_key), (names{"relinquish", "secondary"}));
    EXPECT_EQ(std::ranges::count(values_written(primary_key), "none"), 0);
}

// Whatever the moment, somebody is primary in the end, and it is the one that is named.
TEST_F(foreign_refusal, at_every_offset_of_a_tick_somebody_ends_up_primary) {
    for (const duration before : {0ms, 2ms, 10ms, 100ms, 400ms, 600ms}) {
        if (value(role_key) != "primary") {
            client.set_primary("pvchv2");
            ASSERT_TRUE(run_until_role("pvchv2", "primary")) << before.count();
            loop.run_for(12s);
        }
        hand_over_before_tick(before);
        loop.run_for(60s);
        const std::string named = value(primary_key);
        EXPECT_EQ(value("/nodes/" + named + "/routerstate"), "primary") << before.count();
    }
}

}  // namespace
}  // namespace pvc::sim
