// What the suites of this folder say often, whichever port they are about.
#pragma once

#include "contract/process_bench.hpp"

#include <functional>

// As ASSERT_TRUE, in a coroutine.
#define ASSERT_CO_TRUE(condition) \
    EXPECT_TRUE(condition);       \
    if (!(condition)) {           \
        co_return;                \
    }

namespace pvc::contract {

template <class Bench>
class netlink_suite : public testing::Test {
protected:
    [[nodiscard]] time_point soon() { return bench.clock().now() + 20s; }

    // Late news of earlier changes are no matter.
    awaitable<void> quiet(async::wakeup& changed) {
        while (co_await changed.wait_until(bench.clock(), bench.clock().now() + 50ms, "silence")) {
        }
    }
    awaitable<bool> is_told(async::wakeup& changed) {
        const bool told = co_await changed.wait_until(bench.clock(), bench.clock().now() + 10s, "a change");
        co_await quiet(changed);
        co_return told;
    }
    // Counts turns of the loop, a millisecond apart, while `body` runs.
    awaitable<void> counting_ticks(std::function<awaitable<void>()> body) {
        bool is_over = false;
        co_await async::with_task_group("both", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("clock", [&]() -> awaitable<void> {
                while (!is_over) {
                    co_await async::sleep_for(bench.clock(), 1ms, "a tick");
                    ++ticks;
                }
            });
            co_await body();
            is_over = true;
        });
    }

    Bench bench;
    int ticks = 0;
};

}  // namespace pvc::contract
