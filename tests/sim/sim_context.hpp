// The simulated execution context and clock: one thread, no real time, ready work in order or shuffled by a seed.
// Loop: run ready work until none is left, then jump to the earliest deadline. Nothing ready and no deadline while tasks
// exist is a deadlock. Specification: runtime-design.md 8.1 (options B and C together).
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/base/random.hpp"

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>

namespace pvc::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;

class sim_context : public asio::execution_context {
public:
    ~sim_context() {
        // Frames that are still suspended are destroyed here, before the members they may reach.
        while (!ready_.empty()) {
            auto dropped = std::exchange(ready_, {});
        }
        shutdown();
        destroy();
    }

    struct work {
        work() = default;
        work(const work&) = delete;
        work& operator=(const work&) = delete;
        virtual ~work() = default;
        virtual void run() = 0;
    };
    template <class Function>
    struct function_work final : work {
        explicit function_work(Function f) : function(std::move(f)) {}
        void run() override { std::move(function)(); }
        Function function;
    };

    class executor_type {
    public:
        explicit executor_type(sim_context& owner) : owner_(&owner) {}
        template <class Function>
        void execute(Function&& function) const {
            owner_->ready_.push_back(
                std::make_unique<function_work<std::decay_t<Function>>>(std::forward<Function>(function)));
        }
        sim_context& query(asio::execution::context_t /*property*/) const noexcept { return *owner_; }
        static constexpr asio::execution::blocking_t query(asio::execution::blocking_t /*property*/) noexcept {
            return asio::execution::blocking.never;
        }
        [[nodiscard]] executor_type require(asio::execution::blocking_t::never_t /*property*/) const noexcept {
            return *this;
        }
        friend bool operator==(const executor_type& a, const executor_type& b) noexcept {
            return a.owner_ == b.owner_;
        }
        friend bool operator!=(const executor_type& a, const executor_type& b) noexcept {
            return a.owner_ != b.owner_;
        }

    private:
        sim_context* owner_;
    };

    [[nodiscard]] executor_type get_executor() { return executor_type(*this); }

    // Takes ready work in an order drawn from the seed instead of first in, first out.
    void shuffle(std::uint64_t seed) { order_.emplace(seed); }

    // Runs one ready piece of work; false if there is none.
    bool run_one() {
        if (ready_.empty()) {
            return false;
        }
        auto chosen = ready_.begin();
        if (order_) {
            chosen += static_cast<std::ptrdiff_t>(order_->below(ready_.size()));
        }
        const std::unique_ptr<work> chosen_work = std::move(*chosen);
        ready_.erase(chosen);
        chosen_work->run();
        ++steps_;
        return true;
    }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

private:
    std::deque<std::unique_ptr<work>> ready_;
    std::optional<random_source> order_;
    std::uint64_t steps_ = 0;
};

// Simulated time. Monotonic and boot time advance together unless `suspend` lets only boot time pass; the wall clock can
// be stepped.
class sim_timers : public async::timers {
public:
    [[nodiscard]] time_point now() const override { return now_; }
    [[nodiscard]] boot_time boot_now() const override { return boot_time(now_.time_since_epoch() + slept_); }
    [[nodiscard]] wall_time wall_now() const override {
        return wall_time(1'700'000'000s + now_.time_since_epoch() + slept_ + wall_step_);
    }
    void advance_to(time_point t) { now_ = std::max(now_, t); }
    void suspend(duration time) { slept_ += time; }
    void step_wall(duration by) { wall_step_ += by; }

protected:
    void deadlines_changed() override {}

private:
    time_point now_{};
    duration slept_{};
    duration wall_step_{};
};

// A context, its clock and a runtime on both: what a deterministic test needs.
class sim_loop {
public:
    sim_loop() : runtime_(context_.get_executor(), clock_) {}
    ~sim_loop() { runtime_.cut(); }

    sim_context& context() { return context_; }
    sim_timers& clock() { return clock_; }
    async::runtime& runtime() { return runtime_; }
    [[nodiscard]] async::awaitable<void> sleep(duration time) { return async::sleep_for(clock_, time, "a test"); }

    // Runs until `done` or until nothing can happen any more. False: deadlock.
    bool run_until(const std::function<bool()>& done) {
        while (!done()) {
            if (!step()) {
                return false;
            }
        }
        return true;
    }
    // Lets simulated time pass, running everything that falls due.
    void run_for(duration time) {
        const time_point end = clock_.now() + time;
        for (;;) {
            if (context_.run_one()) {
                continue;
            }
            const auto next = clock_.next_deadline();
            if (!next || *next > end) {
                break;
            }
            clock_.advance_to(*next);
            clock_.run_due();
        }
        clock_.advance_to(end);
    }
    // Everything that is ready now, without letting time pass.
    void run_ready() {
        while (context_.run_one()) {
        }
    }
    bool step() {
        if (context_.run_one()) {
            return true;
        }
        const auto next = clock_.next_deadline();
        if (!next) {
            return false;
        }
        clock_.advance_to(*next);
        clock_.run_due();
        return true;
    }

    // Runs a coroutine to its end and rethrows what it threw. Fails the test harness on deadlock.
    void run(std::function<async::awaitable<void>()> body) {
        bool done = false;
        std::exception_ptr error;
        async::start_root(runtime_, "test", std::move(body), [&](std::exception_ptr e) {
            error = std::move(e);
            done = true;
        });
        const bool ended = run_until([&done] { return done; });
        run_ready();
        PVC_ASSERT(ended);  // deadlock: nothing ready and no deadline
        if (error) {
            std::rethrow_exception(error);
        }
    }

private:
    sim_context context_;
    sim_timers clock_;
    async::runtime runtime_;
};

}  // namespace pvc::sim
