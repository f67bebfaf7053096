// The real loop: one io_context on one thread, the machine's clocks, a runtime on both, and the detection of pauses.
//
// A timer is always due within 1 s. At the head of each turn the boot-time clock is compared with that due time; more
// than 2 s late means that the process stood still (SIGSTOP, swapping, a stopped virtual machine) or that something
// blocked the loop. The observers are told before any task runs again. What is found in a socket after a pause is old.
// Specification: node-lifecycle.md 3.1 rule 7; config.md 7.2 (watchdog).
#pragma once

#include "pvcnoded/async/adapter/real_timers.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/base/histogram.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pvc::async {

struct loop_pause {
    boot_time before;  // the last turn before the gap
    boot_time after;   // when it was noticed
    [[nodiscard]] duration gap() const { return after - before; }
};

// Loop thread only, but for stop().
class real_loop {
public:
    real_loop();
    real_loop(const real_loop&) = delete;
    real_loop& operator=(const real_loop&) = delete;
    // After every task has ended. Of tasks that have not, the frames that wait for the context itself are destroyed.
    ~real_loop();

    [[nodiscard]] boost::asio::io_context& context() { return *context_; }
    [[nodiscard]] real_timers& clock() { return clock_; }
    [[nodiscard]] async::runtime& runtime() { return runtime_; }

    // Runs until stop(). An exception that a handler throws passes through.
    void run();
    // Runs `body` as the root task to its end and throws what it threw.
    void run(std::string name, std::function<awaitable<void>()> body);
    // Ends run() after the present handler. From any thread.
    void stop();

    // Compares the clock with the due time and tells the observers of a pause. True if there was one. run() does so at
    // every turn; who reads a socket outside a task calls it before looking at the data.
    bool check_pause();
    [[nodiscard]] const std::optional<loop_pause>& last_pause() const { return last_pause_; }
    // Grows with every step of a task: the watchdog's proof that the loop turns.
    [[nodiscard]] std::uint64_t turns() const { return turns_; }
    // How late the timer came that is due each second: what every timer and answer may have waited for.
    [[nodiscard]] const histogram& delays() const { return delays_; }
    [[nodiscard]] duration last_delay() const { return last_delay_; }

    // While it lives, `tell` is called at every pause with the last moment before it.
    class pause_observer {
    public:
        pause_observer(real_loop& loop, std::function<void(boot_time before_gap)> tell);
        pause_observer(const pause_observer&) = delete;
        pause_observer& operator=(const pause_observer&) = delete;
        ~pause_observer();

    private:
        friend class real_loop;
        real_loop& loop_;
        std::function<void(boot_time)> tell_;
    };

private:
    class task_steps;
    void arm_tick();
    void expect_turn();

    std::optional<boost::asio::io_context> context_;
    real_timers clock_;
    async::runtime runtime_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    timer tick_;
    boot_time due_{};
    boot_time last_turn_{};
    std::optional<loop_pause> last_pause_;
    std::vector<pause_observer*> observers_;
    std::uint64_t turns_ = 0;
    duration last_delay_{};
    histogram delays_;
};

}  // namespace pvc::async
