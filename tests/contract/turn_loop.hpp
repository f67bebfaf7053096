// A loop for servers and clients on real sockets whose time passes by its own turns: whatever is ready is done first,
// and only a millisecond in which nothing came makes the clock go on by one. However long a busy machine keeps the
// program waiting, nobody on this loop runs out of time by it, and both ends of a connection have had their turns
// before a limit passes.
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/async/timers.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/require.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace pvc::contract {

class turn_clock final : public async::timers {
public:
    [[nodiscard]] time_point now() const override { return time_point(passed_); }
    [[nodiscard]] boot_time boot_now() const override { return boot_time(passed_); }
    [[nodiscard]] wall_time wall_now() const override { return wall_time(passed_); }
    void pass(duration time) {
        passed_ += time;
        run_due();
    }
    [[nodiscard]] bool is_due() const { return next_deadline().value_or(time_point::max()) <= now(); }

protected:
    void deadlines_changed() override {}

private:
    duration passed_ = std::chrono::hours(1);
};

class turn_loop {
public:
    turn_loop() = default;
    turn_loop(const turn_loop&) = delete;
    turn_loop& operator=(const turn_loop&) = delete;
    // Of tasks that have not ended, the frames that wait for the context itself are destroyed.
    ~turn_loop() {
        runtime_.cut();
        work_.reset();
        context_.reset();
    }
    [[nodiscard]] boost::asio::io_context& context() { return *context_; }
    [[nodiscard]] turn_clock& clock() { return clock_; }

    // Runs `body` as the root task to its end and throws what it threw.
    void run(std::string name, std::function<async::awaitable<void>()> body) {
        bool ended = false;
        std::exception_ptr error;
        async::start_root(runtime_, std::move(name), std::move(body), [&](std::exception_ptr thrown) {
            ended = true;
            error = std::move(thrown);
        });
        constexpr std::chrono::milliseconds turn(1);
        while (!ended) {
            if (context_->poll() > 0) {
                continue;
            }
            if (clock_.is_due()) {
                clock_.pass(duration::zero());
            } else if (context_->run_one_for(turn) == 0) {
                clock_.pass(turn);
            }
        }
        if (error) {
            std::rethrow_exception(error);
        }
    }

private:
    std::unique_ptr<boost::asio::io_context> context_ = std::make_unique<boost::asio::io_context>(1);
    turn_clock clock_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_->get_executor()};
    async::runtime runtime_{boost::asio::require(context_->get_executor(), boost::asio::execution::blocking.never),
                            clock_};
};

}  // namespace pvc::contract
