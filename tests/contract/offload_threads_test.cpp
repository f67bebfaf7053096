// What only real threads can show: where the work runs, how many there are, how they end, and what happens to one that
// hangs when the pool and the loop go (runtime-design.md 3.2, 9.8).
#include "contract/process_bench.hpp"

#include <atomic>
#include <csignal>
#include <future>
#include <set>
#include <thread>

namespace pvc::contract {
namespace {

using async::offload_limits;
using async::thread_offload;

// The condition becomes true by itself; how soon is not what is tested.
template <class Condition>
awaitable<bool> becomes(async::timers& clock, Condition condition) {
    const time_point deadline = clock.now() + 30s;
    while (!condition() && clock.now() < deadline) {
        co_await async::sleep_for(clock, 2ms, "a condition");
    }
    co_return condition();
}

TEST(offload_threads, work_runs_elsewhere_with_all_signals_blocked) {
    real_world world;
    thread_offload pool(world.loop().context());
    world.run([&]() -> awaitable<void> {
        const auto loop_thread = std::this_thread::get_id();
        std::function<result<int>()> work = [loop_thread]() -> result<int> {
            sigset_t blocked;
            ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
            const bool all = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGCHLD) == 1 &&
                             sigismember(&blocked, SIGUSR1) == 1;
            return std::this_thread::get_id() != loop_thread && all ? 1 : 0;
        };
        auto good = co_await pool.run<int>(world.clock(), world.clock().now() + 30s, "where", std::move(work));
        EXPECT_TRUE(good && *good == 1);
        // The loop's own mask is as before.
        sigset_t own;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
        EXPECT_EQ(sigismember(&own, SIGTERM), 0);
    });
}

TEST(offload_threads, as_many_as_are_allowed_from_now_on) {
    real_world world;
    offload_limits limits;
    limits.threads = 1;
    thread_offload pool(world.loop().context(), limits);
    world.run([&]() -> awaitable<void> {
        std::atomic<int> together = 0;
        std::atomic<bool> go_on = false;
        co_await async::with_task_group("callers", [&](async::task_group& group) -> awaitable<void> {
            for (int i = 0; i < 3; ++i) {
                group.spawn("caller", [&]() -> awaitable<void> {
                    std::function<result<int>()> work = [&] {
                        ++together;
                        while (!go_on) {
                            std::this_thread::sleep_for(1ms);
                        }
                        return result<int>(1);
                    };
                    auto done = co_await pool.run<int>(world.clock(), world.clock().now() + 30s, "work", work);
                    EXPECT_TRUE(done);
                });
            }
            EXPECT_TRUE(co_await becomes(world.clock(), [&] { return together == 1 && pool.waiting() == 2; }));
            pool.allow_threads(3);
            EXPECT_TRUE(co_await becomes(world.clock(), [&] { return together == 3; })) << "those that waited have one";
            pool.allow_threads(1);
            go_on = true;
        });
        EXPECT_TRUE(co_await becomes(world.clock(), [&] { return pool.threads() == 1; })) << "no more than that stay";
    });
}

TEST(offload_threads, made_on_demand_never_too_many_and_ended_when_idle) {
    real_world world;
    offload_limits limits;
    limits.threads = 3;
    limits.idle = 30ms;
    thread_offload pool(world.loop().context(), limits);
    EXPECT_EQ(pool.threads(), 0U);
    std::set<std::thread::id> seen;
    world.run([&]() -> awaitable<void> {
        co_await async::with_task_group("callers", [&](async::task_group& group) -> awaitable<void> {
            for (int i = 0; i < 12; ++i) {
                group.spawn("caller", [&]() -> awaitable<void> {
                    std::function<result<std::thread::id>()> work = [] {
                        std::this_thread::sleep_for(5ms);
                        return result<std::thread::id>(std::this_thread::get_id());
                    };
                    auto thread = co_await pool.run<std::thread::id>(world.clock(), world.clock().now() + 30s, "id",
                                                                     std::move(work));
                    if (thread) {
                        seen.insert(*thread);
                    }
                    EXPECT_LE(pool.threads(), 3U);
                });
            }
            co_return;
        });
        EXPECT_LE(seen.size(), 3U);
        const bool ended = co_await becomes(world.clock(), [&] { return pool.threads() == 0; });
        EXPECT_TRUE(ended);
        std::function<result<int>()> again = [] { return result<int>(1); };
        auto value = co_await pool.run<int>(world.clock(), world.clock().now() + 30s, "again", std::move(again));
        EXPECT_TRUE(value);
    });
}

TEST(offload_threads, one_thread_serves_calls_that_follow_each_other) {
    real_world world;
    thread_offload pool(world.loop().context());
    world.run([&]() -> awaitable<void> {
        for (int i = 0; i < 50; ++i) {
            std::function<result<int>()> work = [] { return result<int>(1); };
            auto value = co_await pool.run<int>(world.clock(), world.clock().now() + 30s, "one", std::move(work));
            EXPECT_TRUE(value);
        }
        EXPECT_EQ(pool.threads(), 1U);
    });
}

// The hanging call returns when the pool, the loop and everything that waited are long gone.
TEST(offload_threads, a_hanging_call_outlives_pool_and_loop) {
    std::promise<void> opener;
    const std::shared_future<void> gate = opener.get_future().share();
    auto ended = std::make_shared<std::atomic<bool>>(false);
    {
        real_world world;
        offload_limits limits;
        limits.farewell = 20ms;
        thread_offload pool(world.loop().context(), limits);
        world.run([&]() -> awaitable<void> {
            std::function<result<std::string>()> work = [gate, ended]() -> result<std::string> {
                gate.wait();
                ended->store(true);
                return std::string("nobody hears this");
            };
            auto value =
                co_await pool.run<std::string>(world.clock(), world.clock().now() + 20ms, "hangs", std::move(work));
            EXPECT_TRUE(!value && value.error().code() == errc::timed_out);
        });
        EXPECT_EQ(pool.threads(), 1U);
    }
    opener.set_value();
    while (!ended->load() || ended.use_count() > 1) {
        std::this_thread::sleep_for(1ms);
    }
}

// The result is posted after its waiter has gone, and the loop ends without looking at it.
TEST(offload_threads, a_result_that_nobody_fetches_goes_with_the_loop) {
    auto kept = std::make_shared<int>(1);
    {
        std::promise<void> opener;
        const std::shared_future<void> gate = opener.get_future().share();
        real_world world;
        thread_offload pool(world.loop().context());
        world.run([&]() -> awaitable<void> {
            std::function<result<std::shared_ptr<int>>()> work = [kept, gate] {
                gate.wait();
                return result<std::shared_ptr<int>>(kept);
            };
            auto value = co_await pool.run<std::shared_ptr<int>>(world.clock(), world.clock().now() + 5ms, "late",
                                                                 std::move(work));
            EXPECT_FALSE(value);
            opener.set_value();
        });
    }
    EXPECT_EQ(kept.use_count(), 1);
}

TEST(offload_threads, what_waits_in_the_queue_is_dropped_with_the_pool) {
    std::promise<void> opener;
    const std::shared_future<void> gate = opener.get_future().share();
    auto ran = std::make_shared<std::atomic<int>>(0);
    {
        real_world world;
        offload_limits limits;
        limits.threads = 1;
        limits.farewell = 10ms;
        thread_offload pool(world.loop().context(), limits);
        const auto began = std::make_shared<std::atomic<bool>>(false);
        const std::function<result<int>()> work = [gate, ran, began]() -> result<int> {
            *began = true;
            gate.wait();
            ran->fetch_add(1);
            return 1;
        };
        world.run([&]() -> awaitable<void> {
            co_await async::with_task_group("calls", [&](async::task_group& group) -> awaitable<void> {
                group.spawn("the first", [&]() -> awaitable<void> {
                    const time_point much_later = world.clock().now() + 60s;
                    ignore(co_await pool.run<int>(world.clock(), much_later, "call", work), "it is called off");
                });
                const bool has_begun = co_await becomes(world.clock(), [&] { return began->load(); });
                EXPECT_TRUE(has_begun);
                for (int i = 0; i < 2; ++i) {
                    auto value = co_await pool.run<int>(world.clock(), world.clock().now() + 5ms, "call", work);
                    EXPECT_FALSE(value);
                }
                EXPECT_EQ(pool.threads(), 1U);
                EXPECT_EQ(pool.waiting(), 2U);
                group.cancel();
            });
        });
    }
    opener.set_value();
    while (ran.use_count() > 1) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(ran->load(), 1);
}

}  // namespace
}  // namespace pvc::contract
