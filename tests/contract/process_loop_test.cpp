// The real loop: turns, stop, and pauses (node-lifecycle.md 3.1 rule 7).
#include "contract/process_bench.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <csignal>
#include <future>
#include <thread>

namespace pvc::contract {
namespace {

TEST(real_loop, an_idle_loop_hardly_turns) {
    real_world world;
    world.run([&]() -> awaitable<void> {
        const auto before = world.loop().turns();
        co_await async::sleep_for(world.clock(), 300ms, "nothing");
        EXPECT_GT(world.loop().turns(), before);
        EXPECT_LT(world.loop().turns() - before, 30U);
    });
}

TEST(real_loop, short_time_outs_that_never_fire_cost_no_turns) {
    real_world world;
    world.run([&]() -> awaitable<void> {
        const auto before = world.loop().turns();
        async::timer limit(world.clock());
        for (int i = 0; i < 10'000; ++i) {
            limit.arm(world.clock().now() + 1h + i * 1ms, [] {});
            limit.disarm();
        }
        co_await async::sleep_for(world.clock(), 20ms, "nothing");
        EXPECT_LT(world.loop().turns() - before, 30U);
    });
}

TEST(real_loop, stops_from_another_thread_and_runs_again) {
    async::real_loop loop;
    std::promise<void> begun;
    boost::asio::post(loop.context(), [&begun] { begun.set_value(); });
    std::thread other([&] {
        begun.get_future().wait();
        std::this_thread::sleep_for(20ms);
        loop.stop();
    });
    loop.run();
    other.join();
    bool ran = false;
    loop.run("again", [&]() -> awaitable<void> {
        co_await async::yield();
        ran = true;
    });
    EXPECT_TRUE(ran);
}

TEST(real_loop, an_exception_of_the_root_task_comes_out) {
    async::real_loop loop;
    EXPECT_THROW(loop.run("root",
                          []() -> awaitable<void> {
                              co_await async::yield();
                              throw std::runtime_error("out");
                          }),
                 std::runtime_error);
}

TEST(real_loop, a_short_delay_is_no_pause) {
    real_world world;
    int told = 0;
    const async::real_loop::pause_observer observer(world.loop(), [&](boot_time) { ++told; });
    world.run([&]() -> awaitable<void> {
        std::this_thread::sleep_for(300ms);
        co_await async::sleep_for(world.clock(), 1ms, "a turn");
    });
    EXPECT_EQ(told, 0);
    EXPECT_FALSE(world.loop().last_pause());
}

TEST(real_loop, a_blocked_loop_is_a_pause_and_is_told_before_any_task_runs) {
    real_world world;
    std::vector<std::string> order;
    boot_time told{};
    const async::real_loop::pause_observer observer(world.loop(), [&](boot_time before) {
        told = before;
        order.emplace_back("pause");
    });
    world.run([&]() -> awaitable<void> {
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("sleeper", [&]() -> awaitable<void> {
                co_await async::sleep_for(world.clock(), 100ms, "the middle of the gap");
                order.emplace_back("sleeper");
            });
            co_await async::sleep_for(world.clock(), 20ms, "the sleeper");
            const boot_time before = world.clock().boot_now();
            std::this_thread::sleep_for(3200ms);
            const boot_time after = world.clock().boot_now();
            co_await async::yield();
            order.emplace_back("blocker");
            EXPECT_LE(told, before);
            EXPECT_TRUE(world.loop().last_pause() && world.loop().last_pause()->after >= after);
            EXPECT_TRUE(world.loop().last_pause() && world.loop().last_pause()->gap() >= 3s);
        });
    });
    ASSERT_EQ(order.size(), 3U);
    EXPECT_EQ(order.front(), "pause");
    EXPECT_FALSE(world.loop().check_pause());
}

// Stopped in the middle of its wait, as by SIGSTOP: bytes arrive and a deadline passes meanwhile.
TEST(real_loop, a_stopped_process_tells_of_the_pause_before_it_looks_at_what_arrived) {
    const scratch_folder folder;
    const std::string fifo = folder / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    real_world world;
    std::vector<std::string> order;
    const async::real_loop::pause_observer observer(world.loop(), [&](boot_time) { order.emplace_back("pause"); });
    boost::asio::posix::stream_descriptor reader(world.loop().context(), ::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
    const std::string own = std::to_string(::getpid());
    std::string script = "sleep 0.2; kill -STOP " + own + "; sleep 3.3; echo x > " + fifo + "; kill -CONT " + own;
    std::vector<std::string> words{"sh", "-c", std::move(script)};
    std::vector<char*> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t helper = -1;
    ASSERT_EQ(::posix_spawnp(&helper, "sh", nullptr, nullptr, arguments.data(), environ), 0);
    world.run([&]() -> awaitable<void> {
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("sleeper", [&]() -> awaitable<void> {
                co_await async::sleep_for(world.clock(), 1500ms, "the middle of the gap");
                order.emplace_back("sleeper");
            });
            char byte = 0;
            co_await reader.async_read_some(boost::asio::buffer(&byte, 1), boost::asio::use_awaitable);
            order.emplace_back("reader");
        });
    });
    ::waitpid(helper, nullptr, 0);
    ASSERT_EQ(order.size(), 3U);
    EXPECT_EQ(order.front(), "pause");
}

}  // namespace
}  // namespace pvc::contract
