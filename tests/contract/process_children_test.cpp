// How programs end: alone, in groups, side by side, with the runner (runtime-design.md 5).
#include "contract/process_children.hpp"

namespace pvc::contract {
namespace {

TEST_F(children, a_grandchild_that_holds_the_pipe_does_not_hold_up_the_outcome) {
    const auto outcome = run(shell("sleep 1000 & echo $!"));
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->succeeded());
    EXPECT_LT(outcome->took, 20s);
    const pid_t grandchild = number_in(outcome->output);
    ASSERT_GT(grandchild, 1);
    // A program that ended by itself may leave something behind on purpose.
    EXPECT_EQ(::kill(grandchild, 0), 0);
    ::kill(grandchild, SIGKILL);
    EXPECT_TRUE(ends_soon(grandchild));
}

TEST_F(children, a_time_out_ends_the_whole_group_even_if_the_leader_went_at_once) {
    const auto outcome = run_begun(shell("(trap '' TERM; sleep 1000; sleep 1000) & echo $!; wait"), 300ms);
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(std::holds_alternative<timed_out>(outcome->how));
    EXPECT_FALSE(std::get<timed_out>(outcome->how).killed);
    const pid_t grandchild = number_in(outcome->output);
    ASSERT_GT(grandchild, 1);
    EXPECT_TRUE(ends_soon(grandchild));
}

TEST_F(children, a_stopped_program_is_killed) {
    const auto outcome = run_begun(shell("echo begun; kill -STOP $$; echo never"), 200ms, 100ms);
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(std::holds_alternative<timed_out>(outcome->how));
    EXPECT_TRUE(std::get<timed_out>(outcome->how).killed);
    EXPECT_FALSE(has_children());
}

TEST_F(children, a_flood_is_dropped_and_the_loop_goes_on) {
    int ticks = 0;
    bool ended = false;
    auto limits = limits_of(300ms, 100ms);
    limits.output_bytes = 100;
    world.run([&]() -> awaitable<void> {
        co_await async::with_task_group("flood", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("ticker", [&]() -> awaitable<void> {
                while (!ended) {
                    co_await async::sleep_for(world.clock(), 10ms, "a tick");
                    ++ticks;
                }
            });
            auto outcome = co_await processes.run(command{{"yes"}}, limits);
            ended = true;
            EXPECT_TRUE(outcome && outcome->truncated && outcome->output.size() == 100);
        });
    });
    EXPECT_GE(ticks, 3);
}

TEST_F(children, no_more_run_at_once_than_there_are_places) {
    posix_process few(world.loop().context(), world.clock(), 2);
    std::size_t most = 0;
    int done = 0;
    world.run([&]() -> awaitable<void> {
        co_await async::with_task_group("many", [&](async::task_group& group) -> awaitable<void> {
            for (int i = 0; i < 6; ++i) {
                group.spawn("runner", [&]() -> awaitable<void> {
                    auto outcome = co_await few.run(shell("sleep 0.05"), limits_of(60s));
                    most = std::max(most, few.running());
                    done += outcome && outcome->succeeded() ? 1 : 0;
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(done, 6);
    EXPECT_LE(most, 2U);
    EXPECT_EQ(few.waiting(), 0U);
}

TEST_F(children, who_waits_too_long_for_a_place_is_not_started) {
    posix_process one(world.loop().context(), world.clock(), 1);
    const scratch_folder folder;
    const std::string mark = folder / "started_late";
    world.run([&]() -> awaitable<void> {
        co_await async::with_task_group("two", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("long", [&]() -> awaitable<void> {
                auto outcome = co_await one.run(command{{"sleep", "1000"}}, limits_of(1000s, 100ms));
            });
            while (one.running() == 0) {
                co_await async::yield();
            }
            auto second = co_await one.run(command{{"touch", mark}}, limits_of(100ms));
            EXPECT_FALSE(second);
            EXPECT_TRUE(!second && second.error().code() == errc::timed_out);
            group.cancel();
        });
    });
    EXPECT_FALSE(std::filesystem::exists(mark));
    EXPECT_FALSE(has_children());
}

TEST_F(children, cancelling_one_that_waits_for_a_place_leaves_the_others_alone) {
    posix_process one(world.loop().context(), world.clock(), 1);
    world.run([&]() -> awaitable<void> {
        co_await async::with_task_group("three", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("first", [&]() -> awaitable<void> {
                auto outcome = co_await one.run(shell("sleep 0.2"), limits_of(60s));
                EXPECT_TRUE(outcome && outcome->succeeded());
            });
            while (one.running() == 0) {
                co_await async::yield();
            }
            const bool ended = co_await cancel_when(
                world.clock(), [&] { return one.waiting() == 1; },
                [&]() -> awaitable<void> { auto outcome = co_await one.run(shell("exit 1"), limits_of(60s)); });
            EXPECT_TRUE(ended);
            auto third = co_await one.run(command{{"true"}}, limits_of(60s));
            EXPECT_TRUE(third && third->succeeded());
        });
    });
}

TEST_F(children, a_hundred_after_each_other_leave_nothing) {
    const auto warm_up = run(command{{"true"}});
    const auto before = open_descriptors();
    world.run([&]() -> awaitable<void> {
        for (int i = 0; i < 100; ++i) {
            auto outcome = co_await processes.run(shell("echo text; exit 1"), limits_of(30s));
            EXPECT_TRUE(outcome && outcome->text() == "exit status 1" && outcome->output == "text\n");
        }
        co_await async::yield();
        EXPECT_EQ(processes.running(), 0U);
    });
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_FALSE(has_children());
}

// As in a process that gives up without joining its tasks: the programs must not stay.
TEST(children_of_a_runner, that_goes_first_are_killed_and_reaped) {
    bool finished = false;
    {
        real_world world;
        std::shared_ptr<async::task> abandoned;
        {
            posix_process processes(world.loop().context(), world.clock());
            async::start_root(
                world.loop().runtime(), "abandoned",
                [&]() -> awaitable<void> {
                    auto executor = co_await boost::asio::this_coro::executor;
                    abandoned = executor.target<async::task_executor>()->owner();
                    auto outcome =
                        co_await processes.run(shell("trap '' TERM; sleep 1000; sleep 1000"), limits_of(1000s));
                    finished = true;
                },
                [](const std::exception_ptr&) {});
            world.run([&]() -> awaitable<void> { co_await async::sleep_for(world.clock(), 50ms, "the program"); });
            EXPECT_EQ(processes.running(), 1U);
        }
        // The handler in the slot keeps the task that keeps the slot.
        abandoned->cancellation_slot().clear();
    }
    EXPECT_FALSE(finished);
    EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace pvc::contract
