// The process port, on real programs and on simulated ones (runtime-design.md 5.2).
#include "contract/process_bench.hpp"

namespace pvc::contract {
namespace {

using async::command;
using async::exited;
using async::process_limits;
using async::process_outcome;
using async::signalled;
using async::timed_out;
using sim::sim_program;

class real_processes : public real_world {
public:
    void script(const std::vector<std::string>& /*arguments*/, const sim_program& /*program*/) {}
    async::process_runner& processes() { return processes_; }
    std::size_t running() { return processes_.running(); }
    async::process_runner& one_at_a_time() { return alone_; }

private:
    async::posix_process processes_{loop().context(), clock()};
    async::posix_process alone_{loop().context(), clock(), 1};
};

class sim_processes : public sim_world {
public:
    void script(std::vector<std::string> arguments, sim_program program) {
        alone_.add(arguments, program);
        processes_.add(std::move(arguments), std::move(program));
    }
    async::process_runner& processes() { return processes_; }
    std::size_t running() { return processes_.running(); }
    async::process_runner& one_at_a_time() { return alone_; }

private:
    sim::sim_process processes_{clock()};
    sim::sim_process alone_{clock(), 1};
};

template <class Bench>
class process_contract : public testing::Test {
protected:
    result<process_outcome> run(const std::vector<std::string>& arguments, process_limits limits = {}) {
        std::optional<result<process_outcome>> seen;
        bench.run([&]() -> awaitable<void> {
            command what{arguments};
            auto outcome = co_await bench.processes().run(std::move(what), limits);
            seen.emplace(std::move(outcome));
        });
        return std::move(*seen);
    }
    Bench bench;
};

using benches = testing::Types<real_processes, sim_processes>;
TYPED_TEST_SUITE(process_contract, benches);

TYPED_TEST(process_contract, output_of_a_program_that_succeeds) {
    const std::vector<std::string> arguments{"sh", "-c", "echo out; echo err >&2"};
    this->bench.script(arguments, {.output = "out\n", .error_output = "err\n"});
    const auto outcome = this->run(arguments);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_TRUE(outcome->succeeded());
    EXPECT_EQ(outcome->output, "out\n");
    EXPECT_EQ(outcome->error_output, "err\n");
    EXPECT_FALSE(outcome->truncated);
    EXPECT_EQ(outcome->text(), "exit status 0");
    EXPECT_GT(outcome->took, 0ns);
}

TYPED_TEST(process_contract, a_program_that_fails_is_an_outcome) {
    const std::vector<std::string> arguments{"sh", "-c", "exit 3"};
    this->bench.script(arguments, {.how = exited{3}});
    const auto outcome = this->run(arguments);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->succeeded());
    EXPECT_EQ(outcome->text(), "exit status 3");
}

TYPED_TEST(process_contract, exit_15_is_not_signal_15) {
    const std::vector<std::string> by_exit{"sh", "-c", "exit 15"};
    const std::vector<std::string> by_signal{"sh", "-c", "kill -TERM $$; sleep 60"};
    this->bench.script(by_exit, {.how = exited{15}});
    this->bench.script(by_signal, {.how = signalled{15}});
    const auto first = this->run(by_exit);
    const auto second = this->run(by_signal);
    ASSERT_TRUE(first && second);
    ASSERT_TRUE(std::holds_alternative<exited>(first->how));
    EXPECT_EQ(std::get<exited>(first->how).code, 15);
    ASSERT_TRUE(std::holds_alternative<signalled>(second->how));
    EXPECT_EQ(std::get<signalled>(second->how).signal, 15);
}

TYPED_TEST(process_contract, a_missing_program_is_a_failure) {
    for (const char* program : {"/nonexistent/program", "pvc-no-such-program", "/etc/passwd/program"}) {
        const auto outcome = this->run({program, "argument"});
        ASSERT_FALSE(outcome);
        EXPECT_EQ(outcome.error().code(), errc::not_found);
        EXPECT_EQ(outcome.error().subject(), program);
    }
}

TYPED_TEST(process_contract, no_program_is_invalid) {
    const auto outcome = this->run({});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), errc::invalid);
}

TYPED_TEST(process_contract, a_time_out_ends_it_and_keeps_what_it_printed) {
    const std::vector<std::string> arguments{"sh", "-c", "echo begun; exec sleep 1000"};
    this->bench.script(arguments, {.output = "begun\n", .takes = 1000s});
    process_limits limits;
    limits.time = 300ms;
    limits.grace = 30s;
    time_point asked = this->bench.clock().now();
    auto outcome = this->run(arguments, limits);
    while (outcome && outcome->output.empty() && limits.time < 20s) {  // on a busy machine it had not begun
        limits.time *= 5;
        asked = this->bench.clock().now();
        outcome = this->run(arguments, limits);
    }
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(std::holds_alternative<timed_out>(outcome->how));
    EXPECT_FALSE(std::get<timed_out>(outcome->how).killed);
    EXPECT_EQ(outcome->output, "begun\n");
    EXPECT_EQ(outcome->text(), "timed out");
    // The limit counts from the call, what it took from its start: a busy host lies between.
    EXPECT_GE(this->bench.clock().now() - asked, 300ms);
    EXPECT_LE(outcome->took, this->bench.clock().now() - asked);
    EXPECT_LT(outcome->took, 60s);
}

TYPED_TEST(process_contract, who_ignores_sigterm_is_killed_after_the_grace) {
    const std::vector<std::string> arguments{"sh", "-c", "trap '' TERM; echo begun; sleep 1000; sleep 1000"};
    this->bench.script(arguments, {.output = "begun\n", .takes = 1000s, .ignores_term = true});
    process_limits limits;
    limits.time = 300ms;
    limits.grace = 100ms;
    time_point asked = this->bench.clock().now();
    auto outcome = this->run(arguments, limits);
    while (outcome && outcome->output.empty() && limits.time < 20s) {  // on a busy machine it had not begun
        limits.time *= 5;
        asked = this->bench.clock().now();
        outcome = this->run(arguments, limits);
    }
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(std::holds_alternative<timed_out>(outcome->how));
    EXPECT_TRUE(std::get<timed_out>(outcome->how).killed);
    EXPECT_EQ(outcome->output, "begun\n");
    EXPECT_GE(this->bench.clock().now() - asked, 400ms);
    EXPECT_LT(outcome->took, 60s);
}

TYPED_TEST(process_contract, output_beyond_the_limit_is_read_and_dropped) {
    const std::vector<std::string> arguments{"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo last >&2"};
    this->bench.script(arguments, {.output = std::string(300'000, 'x'), .error_output = "last\n"});
    process_limits limits;
    limits.output_bytes = 1000;
    const auto outcome = this->run(arguments, limits);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->succeeded());
    EXPECT_TRUE(outcome->truncated);
    EXPECT_EQ(outcome->output, std::string(1000, 'x'));
    EXPECT_EQ(outcome->error_output, "last\n");
}

TYPED_TEST(process_contract, output_of_exactly_the_limit_is_whole) {
    const std::vector<std::string> arguments{"printf", "%s", "12345"};
    this->bench.script(arguments, {.output = "12345"});
    process_limits limits;
    limits.output_bytes = 5;
    const auto outcome = this->run(arguments, limits);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->output, "12345");
    EXPECT_FALSE(outcome->truncated);
}

TYPED_TEST(process_contract, cancelling_ends_it_before_run_returns) {
    for (const bool stubborn : {false, true}) {
        const std::vector<std::string> arguments{"sh", "-c",
                                                 stubborn ? "trap '' TERM; sleep 1000; sleep 1000" : "exec sleep 1000"};
        this->bench.script(arguments, {.takes = 1000s, .ignores_term = stubborn});
        bool returned = false;
        bool cancelled = false;
        this->bench.run([&]() -> awaitable<void> {
            cancelled = co_await cancel_when(
                this->bench.clock(), [&] { return this->bench.running() == 1; },
                [&]() -> awaitable<void> {
                    process_limits limits;
                    limits.time = 500s;
                    limits.grace = 100ms;
                    command what{arguments};
                    auto outcome = co_await this->bench.processes().run(std::move(what), limits);
                    returned = true;
                });
            EXPECT_FALSE(has_children());
        });
        EXPECT_TRUE(cancelled);
        EXPECT_FALSE(returned);
    }
}

TYPED_TEST(process_contract, a_cancelled_task_starts_nothing) {
    const std::vector<std::string> arguments{"sleep", "1000"};
    this->bench.script(arguments, {.takes = 1000s});
    this->bench.run([&]() -> awaitable<void> {
        // Cancelled before its first step: the body does not even begin.
        const bool began = co_await cancel_when(
            this->bench.clock(), [] { return true; },
            [&]() -> awaitable<void> {
                command what{arguments};
                auto outcome = co_await this->bench.processes().run(std::move(what), process_limits());
            });
        EXPECT_FALSE(began);
        EXPECT_EQ(this->bench.running(), 0U);
    });
}

TYPED_TEST(process_contract, runs_many_after_each_other_and_side_by_side) {
    const std::vector<std::string> arguments{"sh", "-c", "echo one"};
    this->bench.script(arguments, {.output = "one\n"});
    int good = 0;
    this->bench.run([&]() -> awaitable<void> {
        co_await async::with_task_group("many", [&](async::task_group& group) -> awaitable<void> {
            for (int i = 0; i < 8; ++i) {
                group.spawn("runner", [&]() -> awaitable<void> {
                    for (int k = 0; k < 5; ++k) {
                        command what{arguments};
                        process_limits limits;
                        limits.time = 50s;
                        auto outcome = co_await this->bench.processes().run(std::move(what), limits);
                        const bool is_good = outcome && outcome->output == "one\n";
                        EXPECT_TRUE(is_good) << (outcome ? outcome->text() + outcome->output : outcome.error().text());
                        good += is_good ? 1 : 0;
                    }
                });
            }
            co_return;
        });
    });
    EXPECT_EQ(good, 40);
}

// A guarded step: what was looked at before it may have changed by the time at which it begins.
TYPED_TEST(process_contract, what_is_late_already_is_not_begun) {
    const scratch_folder folder;
    const std::vector<std::string> arguments{"touch", folder / "begun"};
    bool is_begun = false;
    this->bench.script(arguments, {.effect = [&] { is_begun = true; }});
    process_limits limits;
    limits.not_after = this->bench.clock().boot_now() - 1ms;
    const auto late = this->run(arguments, limits);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), errc::stopped) << late.error().text();
    EXPECT_EQ(late.error().subject(), "touch");
    EXPECT_FALSE(is_begun || std::filesystem::exists(folder / "begun"));

    limits.not_after = this->bench.clock().boot_now() + 50s;
    const auto in_time = this->run(arguments, limits);
    ASSERT_TRUE(in_time);
    EXPECT_TRUE(is_begun || std::filesystem::exists(folder / "begun"));
}

TYPED_TEST(process_contract, who_waits_for_a_place_beyond_its_latest_start_is_not_begun) {
    const scratch_folder folder;
    const std::vector<std::string> first{"sleep", "1000"};
    const std::vector<std::string> second{"touch", folder / "begun"};
    bool is_begun = false;
    this->bench.script(first, {.takes = 1000s});
    this->bench.script(second, {.effect = [&] { is_begun = true; }});
    this->bench.run([&]() -> awaitable<void> {
        auto& processes = this->bench.one_at_a_time();
        auto& clock = this->bench.clock();
        co_await async::with_task_group("scope", [&](async::task_group& group) -> awaitable<void> {
            group.spawn("first", [&]() -> awaitable<void> {
                const auto ended = co_await processes.run(command{first}, process_limits{.time = 500s});
                EXPECT_FALSE(ended && ended->succeeded());
            });
            co_await async::sleep_for(clock, 10ms, "the first one");
            const time_point asked = clock.now();
            process_limits limits{.time = 400s};
            limits.not_after = clock.boot_now() + 100ms;
            const auto late = co_await processes.run(command{second}, limits);
            EXPECT_TRUE(!late && late.error().code() == errc::stopped);
            EXPECT_GE(clock.now() - asked, 100ms);
            EXPECT_LT(clock.now() - asked, 60s);
            // Without a latest start it is the limit that ends the wait.
            const auto timed = co_await processes.run(command{second}, process_limits{.time = 100ms});
            EXPECT_TRUE(!timed && timed.error().code() == errc::timed_out);
            group.cancel();
        });
        EXPECT_FALSE(is_begun || std::filesystem::exists(folder / "begun"));
        // The place is free again, and nobody's who has gone.
        const auto after = co_await processes.run(command{second}, process_limits{.time = 50s});
        EXPECT_TRUE(after && after->succeeded());
    });
}

}  // namespace
}  // namespace pvc::contract
