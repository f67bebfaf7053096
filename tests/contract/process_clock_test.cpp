// Clocks, timers, deadlines: the same behaviour on the real loop and on the simulated one (node-lifecycle.md 3.1 rule
// 5).
#include "contract/process_bench.hpp"

#include "pvcnoded/async/deadline.hpp"

namespace pvc::contract {
namespace {

template <class World>
class clock_contract : public testing::Test {
protected:
    World world;
};

using worlds = testing::Types<real_world, sim_world>;
TYPED_TEST_SUITE(clock_contract, worlds);

TYPED_TEST(clock_contract, sleepers_wake_in_the_order_of_their_deadlines_and_not_before) {
    std::vector<int> order;
    this->world.run([&]() -> awaitable<void> {
        auto& clock = this->world.clock();
        const time_point begun = clock.now();
        co_await async::with_task_group("sleepers", [&](async::task_group& group) -> awaitable<void> {
            for (const int place : {3, 1, 2}) {
                group.spawn("sleeper", [&, place]() -> awaitable<void> {
                    co_await async::sleep_until(clock, begun + place * 20ms, "its turn");
                    EXPECT_GE(clock.now(), begun + place * 20ms);
                    order.push_back(place);
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TYPED_TEST(clock_contract, a_time_in_the_past_comes_at_the_next_turn) {
    this->world.run([&]() -> awaitable<void> {
        co_await async::sleep_until(this->world.clock(), time_point(), "the past");
        co_await async::sleep_until(this->world.clock(), this->world.clock().now() - 1h, "the past");
    });
}

TYPED_TEST(clock_contract, rearming_earlier_later_and_not_at_all) {
    auto& clock = this->world.clock();
    int earlier = 0;
    int later = 0;
    int never = 0;
    async::timer first(clock);
    async::timer second(clock);
    async::timer third(clock);
    async::timer far(clock);
    const time_point begun = clock.now();
    far.arm(begun + 1000h, [] {});
    first.arm(begun + 100h, [&] { earlier = 100; });
    first.arm(begun + 10ms, [&] { ++earlier; });
    second.arm(begun + 5ms, [&] { later = 100; });
    second.arm(begun + 40ms, [&] { ++later; });
    third.arm(begun + 1ms, [&] { ++never; });
    third.disarm();
    this->world.run([&]() -> awaitable<void> {
        co_await async::sleep_until(clock, begun + 30ms, "the first");
        EXPECT_EQ(earlier, 1);
        co_await async::sleep_until(clock, begun + 60ms, "the second");
    });
    EXPECT_EQ(earlier, 1);
    EXPECT_EQ(later, 1);
    EXPECT_EQ(never, 0);
    EXPECT_FALSE(first.armed());
    EXPECT_TRUE(far.armed());
}

TYPED_TEST(clock_contract, a_callback_may_arm_disarm_and_destroy_timers) {
    auto& clock = this->world.clock();
    int rounds = 0;
    async::timer repeated(clock);
    auto victim = std::make_unique<async::timer>(clock);
    std::function<void()> again = [&] {
        victim.reset();
        if (++rounds < 5) {
            repeated.arm(clock.now() + 1ms, again);
        }
    };
    const time_point begun = clock.now();  // the order of the two is not that of two looks at a clock
    victim->arm(begun + 2ms, [&] { rounds = 100; });
    repeated.arm(begun + 1ms, again);
    this->world.run([&]() -> awaitable<void> {
        while (rounds < 5) {
            co_await async::sleep_for(clock, 1ms, "the rounds");
        }
    });
    EXPECT_EQ(rounds, 5);
}

TYPED_TEST(clock_contract, a_deadline_cancels_what_it_bounds) {
    this->world.run([&]() -> awaitable<void> {
        auto& clock = this->world.clock();
        auto slow = [&]() -> awaitable<result<int>> {
            co_await async::sleep_for(clock, 100h, "for ever");
            co_return 1;
        };
        auto quick = [&]() -> awaitable<result<int>> {
            co_await async::sleep_for(clock, 1ms, "a moment");
            co_return 2;
        };
        auto late = co_await async::with_deadline(clock, clock.now() + 20ms, "slow", slow());
        EXPECT_TRUE(!late && late.error().code() == errc::timed_out);
        auto done = co_await async::with_deadline(clock, clock.now() + 100h, "quick", quick());
        EXPECT_TRUE(done && *done == 2);
    });
}

TYPED_TEST(clock_contract, the_three_clocks_go_forward_together) {
    this->world.run([&]() -> awaitable<void> {
        auto& clock = this->world.clock();
        const auto monotonic = clock.now();
        const auto boot = clock.boot_now();
        const auto wall = clock.wall_now();
        EXPECT_GT(unix_seconds(wall), 1'600'000'000);
        co_await async::sleep_for(clock, 20ms, "a moment");
        EXPECT_GE(clock.now() - monotonic, 20ms);
        EXPECT_GE(clock.boot_now() - boot, 20ms);
    });
}

}  // namespace
}  // namespace pvc::contract
