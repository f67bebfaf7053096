// The signals of the daemon as a stream (runtime-design.md 9.8).
#include "contract/process_bench.hpp"

#include "pvcnoded/async/adapter/signal_source.hpp"

#include <unistd.h>
#include <csignal>
#include <optional>

namespace pvc::contract {
namespace {

using async::signal_source;

TEST(signal_source, hands_out_each_signal_in_the_order_of_arrival) {
    real_world world;
    signal_source signals(world.loop().context());
    world.run([&]() -> awaitable<void> {
        for (const int sent : {SIGHUP, SIGUSR1, SIGTERM, SIGINT, SIGQUIT}) {
            ::kill(::getpid(), sent);
            const int seen = co_await signals.next();
            EXPECT_EQ(seen, sent);
        }
        EXPECT_FALSE(signals.is_pending());
    });
}

TEST(signal_source, keeps_what_came_while_nobody_waited_once) {
    real_world world;
    signal_source signals(world.loop().context());
    world.run([&]() -> awaitable<void> {
        ::kill(::getpid(), SIGHUP);
        ::kill(::getpid(), SIGHUP);
        ::kill(::getpid(), SIGTERM);
        co_await async::sleep_for(world.clock(), 20ms, "the signals");
        const int first = co_await signals.next();
        const int second = co_await signals.next();
        EXPECT_EQ(first, SIGHUP);
        EXPECT_EQ(second, SIGTERM);
        EXPECT_FALSE(signals.is_pending());
    });
}

TEST(signal_source, a_cancelled_wait_loses_nothing) {
    real_world world;
    signal_source signals(world.loop().context());
    world.run([&]() -> awaitable<void> {
        bool waiting = false;
        const bool cancelled = co_await cancel_when(
            world.clock(), [&] { return waiting; },
            [&]() -> awaitable<void> {
                waiting = true;
                const int seen = co_await signals.next();
                ADD_FAILURE() << seen;
            });
        EXPECT_TRUE(cancelled);
        ::kill(::getpid(), SIGUSR1);
        const int seen = co_await signals.next();
        EXPECT_EQ(seen, SIGUSR1);
    });
}

TEST(signal_source, may_go_while_a_signal_is_on_its_way) {
    real_world world;
    std::optional<signal_source> signals(std::in_place, world.loop().context());
    world.run([&]() -> awaitable<void> {
        ::kill(::getpid(), SIGUSR1);
        signals.reset();
        co_await async::sleep_for(world.clock(), 20ms, "the signal");
    });
}

TEST(signal_source, a_closed_pipe_does_not_end_the_process) {
    real_world world;
    const signal_source signals(world.loop().context());
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    EXPECT_EQ(::write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    ::close(ends[1]);
}

}  // namespace
}  // namespace pvc::contract
