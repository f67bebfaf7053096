#include "pvcnoded/services/unit_readiness.hpp"

#include "sim/sim_context.hpp"
#include "sim/sim_services.hpp"

#include <gtest/gtest.h>

namespace pvc::services {
namespace {

using namespace std::chrono_literals;
using async::awaitable;
using sim::sim_loop;
using sim::sim_service_manager;

class unit_readiness : public testing::Test {
protected:
    std::vector<unit_state> wait_for(std::vector<std::string> units) {
        std::vector<unit_state> states;
        loop.run(
            [&]() -> awaitable<void> { states = co_await start_and_wait(manager, loop.clock(), std::move(units)); });
        return states;
    }
    duration elapsed() { return loop.clock().now().time_since_epoch(); }

    sim_loop loop;
    sim_service_manager manager{loop.clock()};
};

TEST_F(unit_readiness, nothing_to_start_takes_no_time) {
    EXPECT_TRUE(wait_for({}).empty());
    EXPECT_EQ(elapsed(), 0s);
}

TEST_F(unit_readiness, units_that_come_up_at_once_hardly_delay_the_start) {
    const auto states = wait_for({"zookeeper.service", "libvirtd.service"});
    ASSERT_EQ(states.size(), 2U);
    for (const auto& state : states) {
        EXPECT_TRUE(state.active);
        EXPECT_FALSE(state.start_failure);
    }
    EXPECT_EQ(states[0].unit, "zookeeper.service");
    EXPECT_EQ(states[0].text(), "zookeeper.service is active");
    EXPECT_LT(elapsed(), 100ms);
}

TEST_F(unit_readiness, starts_are_requested_in_order_before_anything_is_asked) {
    wait_for({"a.service", "b.service", "c.service"});
    ASSERT_GE(manager.calls().size(), 4U);
    EXPECT_EQ(manager.calls()[0].unit, "a.service");
    EXPECT_EQ(manager.calls()[1].unit, "b.service");
    EXPECT_EQ(manager.calls()[2].unit, "c.service");
    EXPECT_EQ(manager.calls()[2].verb, "start");
    EXPECT_EQ(manager.calls()[3].verb, "is-active");
}

// config.md case 40
TEST_F(unit_readiness, a_unit_that_never_comes_up_is_started_once_and_polled_with_growing_delays) {
    manager["a.service"].never_active = true;
    const auto states = wait_for({"a.service"});
    ASSERT_EQ(states.size(), 1U);
    EXPECT_FALSE(states[0].active);
    EXPECT_EQ(states[0].text(), "a.service is not active after 5.0 s");
    EXPECT_EQ(manager.times("start", "a.service").size(), 1U);
    const auto polls = manager.times("is-active", "a.service");
    ASSERT_GE(polls.size(), 8U);
    duration before = 0ms;
    for (std::size_t i = 1; i + 1 < polls.size(); ++i) {
        const duration gap = polls[i] - polls[i - 1];
        EXPECT_GE(gap, 50ms);
        EXPECT_LE(gap, 505ms);
        EXPECT_GE(gap, before);
        before = gap;
    }
    EXPECT_EQ(elapsed(), 5s);
}

TEST_F(unit_readiness, the_limit_is_for_all_units_together) {
    for (const char* unit : {"a.service", "b.service", "c.service"}) {
        manager[unit].never_active = true;
    }
    const auto states = wait_for({"a.service", "b.service", "good.service", "c.service"});
    EXPECT_EQ(elapsed(), 5s);
    EXPECT_TRUE(states[2].active);
    EXPECT_LT(states[2].waited, 100ms);
    EXPECT_FALSE(states[3].active);
    EXPECT_EQ(states[3].waited, 5s);
}

TEST_F(unit_readiness, a_slow_unit_is_noticed_soon_after_it_is_up) {
    manager["slow.service"].takes = 1700ms;
    const auto states = wait_for({"slow.service"});
    EXPECT_TRUE(states[0].active);
    EXPECT_GE(states[0].waited, 1700ms);
    EXPECT_LE(states[0].waited, 2300ms);
}

TEST_F(unit_readiness, a_refused_start_is_reported_and_not_waited_for) {
    manager["gone.service"].refuses = failure(errc::refused, "gone.service", "Unit gone.service not found.");
    const auto states = wait_for({"gone.service", "good.service"});
    ASSERT_TRUE(states[0].start_failure);
    EXPECT_EQ(states[0].text(), "gone.service: gone.service: refused: Unit gone.service not found.");
    EXPECT_TRUE(manager.times("is-active", "gone.service").empty());
    EXPECT_TRUE(states[1].active);
    EXPECT_LT(elapsed(), 100ms);
}

TEST_F(unit_readiness, without_a_service_manager_nobody_waits) {
    manager.set_present(false);
    const auto states = wait_for({"a.service", "b.service"});
    ASSERT_TRUE(states[1].start_failure);
    EXPECT_EQ(states[1].start_failure->code(), errc::unavailable);
    EXPECT_LT(elapsed(), 100ms);
}

TEST_F(unit_readiness, a_service_manager_that_does_not_answer_costs_the_limit_once) {
    manager.set_answer_time(1h);
    const auto states = wait_for({"a.service", "b.service", "c.service"});
    EXPECT_EQ(elapsed(), 5s);
    for (const auto& state : states) {
        EXPECT_FALSE(state.active);
        ASSERT_TRUE(state.start_failure);
        EXPECT_EQ(state.start_failure->code(), errc::timed_out);
    }
}

TEST_F(unit_readiness, slow_answers_do_not_stretch_the_limit) {
    manager.set_answer_time(700ms);
    manager["a.service"].never_active = true;
    wait_for({"a.service", "b.service"});
    EXPECT_EQ(elapsed(), 5s);
}

TEST_F(unit_readiness, cancelling_ends_it) {
    manager["a.service"].never_active = true;
    loop.run([&]() -> awaitable<void> {
        co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("start", [&]() -> awaitable<void> {
                std::vector<std::string> units{"a.service"};
                auto states = co_await start_and_wait(manager, loop.clock(), std::move(units));
                ADD_FAILURE();
            });
            co_await loop.sleep(1s);
            group.cancel();
        });
    });
    EXPECT_EQ(elapsed(), 1s);
}

}  // namespace
}  // namespace pvc::services
