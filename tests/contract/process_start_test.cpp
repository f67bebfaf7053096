// How programs start: environment, input, descriptors, signals, and what cannot be started (runtime-design.md 5).
#include "contract/process_children.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <cstdlib>

namespace pvc::contract {
namespace {

TEST_F(children, what_cannot_be_executed_is_a_failure_without_a_zombie) {
    const scratch_folder folder;
    const std::string file = folder / "not_executable";
    folder.write("not_executable", "text\n");
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    const auto before = open_descriptors();
    for (const std::string& program : {file, folder.path()}) {
        const auto outcome = run(command{{program}});
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().code(), errc::io);
    }
    EXPECT_FALSE(has_children());
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(processes.running(), 0U);
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

// The unit of the daemon keeps it from being ended for want of memory; that is not for its children.
TEST_F(children, they_are_ended_for_want_of_memory_as_any_process) {
    const auto set = [](const std::string& score) { std::ofstream("/proc/self/oom_score_adj") << score; };
    set("300");  // upward needs no right
    const auto outcome =
        run(shell("for i in $(seq 500); do [ $(cat /proc/$$/oom_score_adj) = 0 ] && exit 0; sleep 0.01; done; exit 1"));
    set("0");
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->succeeded());
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

// Wherever the descriptors run out: before the pipes, between them, after the start.
TEST_F(children, without_descriptors_it_is_a_failure_that_leaves_nothing) {
    const auto warm_up = run(command{{"true"}});
    const auto before = open_descriptors();
    rlimit usual{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
    int failed = 0;
    int started = 0;
    for (rlim_t limit = 3; limit < 40; ++limit) {
        const rlimit few{limit, usual.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
        command what{{"cat"}};
        what.input = "text";
        const auto outcome = run(std::move(what));
        ::setrlimit(RLIMIT_NOFILE, &usual);
        if (outcome) {
            ++started;
            EXPECT_EQ(outcome->output, "text");
        } else {
            ++failed;
            EXPECT_EQ(outcome.error().code(), errc::io) << outcome.error().text();
        }
        EXPECT_FALSE(has_children());
        EXPECT_EQ(open_descriptors(), before);
    }
    EXPECT_GT(failed, 3);
    EXPECT_GT(started, 3);
}

}  // namespace
}  // namespace pvc::contract
