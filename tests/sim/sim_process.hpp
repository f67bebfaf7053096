// The process port on simulated time: programs are rules (what the argument vector begins with → how it ends, and
// when). Every call is recorded. A program without a rule does not exist.
#pragma once

#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/async/process.hpp"
#include "pvcnoded/async/semaphore.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

namespace pvc::sim {

// What one run of a program does.
struct sim_program {
    std::variant<async::exited, async::signalled> how = async::exited{0};
    std::string output{};
    std::string error_output{};
    duration takes = std::chrono::milliseconds(1);
    bool ignores_term = false;         // a time-out or a cancellation takes the grace and SIGKILL
    std::optional<failure> refused{};  // it cannot be started
    std::function<void()> effect{};    // on the world, when it ends by itself
};

class sim_process final : public async::process_runner {
public:
    struct call {
        async::command what;
        async::process_limits limits;
        time_point at;
        bool ended = false;  // whatever way
        bool cancelled = false;
    };
    using rule = std::function<std::optional<sim_program>(const async::command&)>;

    // `at_once`: so many run at most, the others wait for a place.
    explicit sim_process(async::timers& clock, std::size_t at_once = 1'000'000) : clock_(clock), places_(at_once) {}

    // The latest rule that answers counts.
    void add(rule answer) { rules_.push_back(std::move(answer)); }
    void add(std::vector<std::string> beginning, sim_program program) {
        add([beginning = std::move(beginning),
             program = std::move(program)](const async::command& what) -> std::optional<sim_program> {
            const bool matches = what.arguments.size() >= beginning.size() &&
                                 std::equal(beginning.begin(), beginning.end(), what.arguments.begin());
            return matches ? std::optional(program) : std::nullopt;
        });
    }

    [[nodiscard]] const std::deque<call>& calls() const { return calls_; }
    // The argument vectors of all calls, each joined by blanks.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> lines;
        for (const auto& one : calls_) {
            std::string line;
            for (const auto& argument : one.what.arguments) {
                line += line.empty() ? argument : ' ' + argument;
            }
            lines.push_back(std::move(line));
        }
        return lines;
    }
    [[nodiscard]] std::size_t running() const {
        return static_cast<std::size_t>(std::ranges::count(calls_, false, &call::ended));
    }
    // A killed daemon: its programs have no effect any more.
    void cut() { cut_ = true; }

    async::awaitable<result<async::process_outcome>> run(async::command what, async::process_limits limits) override {
        const time_point deadline = clock_.now() + limits.time;
        const duration until_latest = limits.not_after - clock_.boot_now();
        const bool is_guarded = until_latest < limits.time;
        const auto place = co_await places_.take_until(
            next_++, clock_, is_guarded ? clock_.now() + until_latest : deadline, "its turn to start a program");
        const std::string name = what.arguments.empty() ? "command" : what.arguments.front();
        if (clock_.boot_now() > limits.not_after || (!place && is_guarded)) {
            co_return failure(errc::stopped, name, "it could not start in time");
        }
        if (!place) {
            co_return failure(errc::timed_out, name, "too many programs run already");
        }
        const sim_program program = find(what);
        calls_.push_back({what, limits, clock_.now()});
        call& record = calls_.back();  // a deque keeps it in its place
        if (program.refused) {
            record.ended = true;
            co_return *program.refused;
        }
        const duration left = deadline - clock_.now();
        const bool in_time = program.takes < left;
        const bool throws = co_await async::asio::this_coro::throw_if_cancelled();
        co_await async::asio::this_coro::throw_if_cancelled(false);
        record.cancelled = co_await wait(std::min(program.takes, left), what.arguments.front());
        const bool killed = (record.cancelled || !in_time) && program.ignores_term;
        if (killed) {
            co_await wait(limits.grace, what.arguments.front());
        }
        co_await async::asio::this_coro::throw_if_cancelled(throws);
        record.ended = true;
        if (record.cancelled) {
            throw boost::system::system_error(async::asio::error::operation_aborted);
        }
        if (in_time && program.effect && !cut_) {
            program.effect();
        }
        co_return outcome_of(program, limits, in_time, killed, clock_.now() - record.at);
    }

private:
    sim_program find(const async::command& what) const {
        for (auto answer = rules_.rbegin(); answer != rules_.rend(); ++answer) {
            if (auto program = (*answer)(what)) {
                return std::move(*program);
            }
        }
        sim_program missing;
        const bool is_named = !what.arguments.empty();
        missing.refused = failure(is_named ? errc::not_found : errc::invalid,
                                  is_named ? what.arguments.front() : "command", "no such program in this simulation");
        return missing;
    }

    // True if cancelled meanwhile. The caller holds cancellation.
    async::awaitable<bool> wait(duration time, std::string_view what) {
        async::wakeup due;
        async::timer alarm(clock_);
        const time_point end = clock_.now() + time;
        alarm.arm(end, [&due] { due.notify(); });
        auto [code] = co_await due.wait_code(async::wait_note::effect(what, end));
        co_return code.failed();
    }

    static async::process_outcome outcome_of(const sim_program& program, const async::process_limits& limits,
                                             bool in_time, bool killed, duration took) {
        async::process_outcome outcome;
        if (!in_time) {
            outcome.how = async::timed_out{killed};
        } else if (const auto* end = std::get_if<async::signalled>(&program.how)) {
            outcome.how = *end;
        } else {
            outcome.how = std::get<async::exited>(program.how);
        }
        outcome.output = program.output.substr(0, limits.output_bytes);
        outcome.error_output = program.error_output.substr(0, limits.output_bytes);
        outcome.truncated = outcome.output != program.output || outcome.error_output != program.error_output;
        outcome.took = took;
        return outcome;
    }

    async::timers& clock_;
    async::ordered_semaphore<std::uint64_t> places_;
    std::uint64_t next_ = 0;
    std::vector<rule> rules_;
    std::deque<call> calls_;
    bool cut_ = false;
};

}  // namespace pvc::sim
