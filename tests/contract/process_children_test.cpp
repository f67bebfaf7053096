// What only real programs can show: groups, descriptors, signals, places, reaping (runtime-design.md 5).
#include "contract/process_bench.hpp"

#include "pvcnoded/base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <csignal>
#include <fstream>
#include <thread>

namespace pvc::contract {
namespace {

using async::command;
using async::exited;
using async::posix_process;
using async::process_limits;
using async::process_outcome;
using async::timed_out;

process_limits limits_of(duration time, duration grace = 30s) {
    process_limits limits;
    limits.time = time;
    limits.grace = grace;
    return limits;
}

command shell(std::string script) {
    return command{{"sh", "-c", std::move(script)}};
}

// Gone, or a zombie that somebody else has to reap. Waits for it a while: the kernel ends a killed process when it
// likes.
bool ends_soon(pid_t process) {
    for (int attempt = 0; attempt < 2000; ++attempt) {
        std::ifstream status("/proc/" + std::to_string(process) + "/stat");
        std::string number;
        std::string name;
        std::string state;
        if (!(status >> number >> name >> state) || state == "Z") {
            return true;
        }
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

class children : public testing::Test {
protected:
    result<process_outcome> run(command what, process_limits limits = limits_of(30s)) {
        std::optional<result<process_outcome>> seen;
        world.run([&]() -> awaitable<void> {
            auto outcome = co_await processes.run(std::move(what), limits);
            seen.emplace(std::move(outcome));
        });
        return std::move(*seen);
    }
    static pid_t number_in(const std::string& text) {
        const auto number = parse_integer(trim(text));
        return number ? static_cast<pid_t>(*number) : -1;
    }

    real_world world;
    posix_process processes{world.loop().context(), world.clock()};
};

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
    const auto outcome = run(shell("(trap '' TERM; sleep 1000; sleep 1000) & echo $!; wait"), limits_of(300ms));
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(std::holds_alternative<timed_out>(outcome->how));
    EXPECT_FALSE(std::get<timed_out>(outcome->how).killed);
    const pid_t grandchild = number_in(outcome->output);
    ASSERT_GT(grandchild, 1);
    EXPECT_TRUE(ends_soon(grandchild));
}

TEST_F(children, a_stopped_program_is_killed) {
    const auto outcome = run(shell("kill -STOP $$; echo never"), limits_of(200ms, 100ms));
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(std::holds_alternative<timed_out>(outcome->how));
    EXPECT_TRUE(std::get<timed_out>(outcome->how).killed);
    EXPECT_FALSE(has_children());
}

TEST_F(children, what_cannot_be_executed_is_a_failure_without_a_zombie) {
    const std::string file = testing::TempDir() + "pvc_not_executable";
    std::ofstream(file) << "text\n";
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    const auto before = open_descriptors();
    for (const std::string& program : {file, testing::TempDir()}) {
        const auto outcome = run(command{{program}});
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().code(), errc::io);
    }
    EXPECT_FALSE(has_children());
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(processes.running(), 0U);
    std::filesystem::remove(file);
}

TEST_F(children, the_environment_is_ours_plus_what_the_command_names) {
    ::setenv("PVC_INHERITED", "kept", 1);
    ::setenv("PVC_REPLACED", "old", 1);
    command what = shell("printf %s \"$PVC_INHERITED,$PVC_REPLACED,$PVC_ADDED\"; env | grep -c ^PVC_REPLACED=");
    what.environment = {{"PVC_REPLACED", "new"}, {"PVC_ADDED", "a b"}};
    const auto outcome = run(std::move(what));
    ::unsetenv("PVC_INHERITED");
    ::unsetenv("PVC_REPLACED");
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->output, "kept,new,a b1\n");
}

TEST_F(children, a_large_input_goes_through) {
    command what{{"cat"}};
    what.input = std::string(1'000'000, 'i');
    auto limits = limits_of(30s);
    limits.output_bytes = 2'000'000;
    const auto outcome = run(std::move(what), limits);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->output, std::string(1'000'000, 'i'));
}

TEST_F(children, who_does_not_read_its_input_is_no_trouble) {
    command what{{"true"}};
    what.input = std::string(1'000'000, 'i');
    const auto outcome = run(std::move(what));
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->succeeded());
}

TEST_F(children, without_input_it_reads_nothing) {
    const auto outcome = run(command{{"cat"}});
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->succeeded());
    EXPECT_EQ(outcome->output, "");
}

TEST_F(children, closing_its_outputs_does_not_end_it) {
    const auto outcome = run(shell("exec >&- 2>&-; sleep 0.1; exit 4"));
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->text(), "exit status 4");
}

TEST_F(children, no_other_descriptor_is_inherited) {
    // Without close-on-exec, as a library may leave it.
    const int leaked = ::fcntl(STDERR_FILENO, F_DUPFD, 57);
    ASSERT_GE(leaked, 57);
    const auto outcome = run(shell("test ! -e /proc/self/fd/" + std::to_string(leaked)));
    ::close(leaked);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->succeeded());
}

TEST_F(children, signals_are_neither_blocked_nor_ignored_and_the_group_is_its_own) {
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    ::signal(SIGUSR2, SIG_IGN);
    const auto masks = run(command{{"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
    const auto group = run(command{{"cut", "-d ", "-f1,5", "/proc/self/stat"}});
    ::signal(SIGUSR2, SIG_DFL);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ASSERT_TRUE(masks && group);
    // glibc's posix_spawn leaves its own two signals (32 and 33) ignored.
    const auto lines = split(trim(masks->output), '\n');
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "SigBlk:\t0000000000000000");
    const std::uint64_t ignored = std::stoull(std::string(lines[1].substr(lines[1].find('\t') + 1)), nullptr, 16);
    EXPECT_EQ(ignored & ~std::uint64_t{0x180000000}, 0U);
    const auto numbers = split(trim(group->output), ' ');
    ASSERT_EQ(numbers.size(), 2U);
    EXPECT_EQ(numbers[0], numbers[1]);
}

TEST_F(children, an_ignored_sigchld_is_put_right) {
    ::signal(SIGCHLD, SIG_IGN);
    real_world other;
    posix_process runner(other.loop().context(), other.clock());
    other.run([&]() -> awaitable<void> {
        auto outcome = co_await runner.run(shell("exit 5"), limits_of(30s));
        EXPECT_TRUE(outcome && outcome->text() == "exit status 5");
    });
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
    const std::string mark = testing::TempDir() + "pvc_started_late";
    std::filesystem::remove(mark);
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
        abandoned->cancellation().slot().clear();
    }
    EXPECT_FALSE(finished);
    EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace pvc::contract
