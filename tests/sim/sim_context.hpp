// The simulated execution context and clock: one thread, no real time, ready work in order or shuffled by a seed.
// Loop: run ready work until none is left, then jump to the earliest deadline. Nothing ready and no deadline while
// tasks exist is a deadlock. Specification: runtime-design.md 8.1 (options B and C together).
#pragma once

#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/base/random.hpp"

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace pvc::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;

class sim_context : public asio::execution_context {
public:
    ~sim_context();

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

    // `tag` tells whose work it is: that of one simulated machine can be run or counted apart.
    class executor_type {
    public:
        explicit executor_type(sim_context& owner, std::uint32_t tag = 0) : owner_(&owner), tag_(tag) {}
        template <class Function>
        void execute(Function&& function) const {
            auto made = std::make_unique<function_work<std::decay_t<Function>>>(std::forward<Function>(function));
            owner_->queue_of(tag_).push_back({tag_, made.get()});
            made.release();
        }
        sim_context& query(asio::execution::context_t /*property*/) const noexcept { return *owner_; }
        static constexpr asio::execution::blocking_t query(asio::execution::blocking_t /*property*/) noexcept {
            return asio::execution::blocking.never;
        }
        [[nodiscard]] executor_type require(asio::execution::blocking_t::never_t /*property*/) const noexcept {
            return *this;
        }
        friend bool operator==(const executor_type& a, const executor_type& b) noexcept {
            return a.owner_ == b.owner_ && a.tag_ == b.tag_;
        }
        friend bool operator!=(const executor_type& a, const executor_type& b) noexcept { return !(a == b); }

    private:
        sim_context* owner_;
        std::uint32_t tag_;
    };

    [[nodiscard]] executor_type get_executor(std::uint32_t tag = 0) { return executor_type(*this, tag); }
    [[nodiscard]] std::uint32_t new_tag() { return ++last_tag_; }

    // Takes ready work in an order drawn from the seed instead of first in, first out.
    void shuffle(std::uint64_t seed) { order_.emplace(seed); }

    // Runs one ready piece of work; false if there is none.
    bool run_one() {
        if (ready_.empty()) {
            return false;
        }
        const std::size_t chosen = order_ ? order_->below(ready_.size()) : 0;
        const std::unique_ptr<work> chosen_work = take(chosen);
        chosen_work->run();
        ++steps_;
        return true;
    }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    [[nodiscard]] bool is_idle() const { return ready_.empty(); }

    // A stopped process: its work stays queued until release().
    void hold(std::uint32_t tag) {
        if (std::ranges::find(held_tags_, tag) == held_tags_.end()) {
            held_tags_.push_back(tag);
            move_work(tag, ready_, held_);
        }
    }
    void release(std::uint32_t tag) {
        if (std::erase(held_tags_, tag) > 0) {
            move_work(tag, held_, ready_);
        }
    }

    // Runs the ready work with this tag until none is left, also what that work makes ready.
    void run_ready_of(std::uint32_t tag) {
        for (;;) {
            const auto found = std::ranges::find(ready_, tag, &entry::tag);
            if (found == ready_.end()) {
                return;
            }
            const std::unique_ptr<work> one = take(static_cast<std::size_t>(found - ready_.begin()));
            one->run();
        }
    }

private:
    // Owned by the queue that it is in; a plain pointer, so that to take one out of the middle moves bytes and no more.
    struct entry {
        std::uint32_t tag;
        work* what;
    };
    [[nodiscard]] std::unique_ptr<work> take(std::size_t place) {
        const std::unique_ptr<work>::pointer found = ready_[place].what;
        ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(place));
        return std::unique_ptr<work>(found);
    }
    static void drop(std::vector<entry> all) {
        for (const auto& one : all) {
            const std::unique_ptr<work> dropped(one.what);
        }
    }
    [[nodiscard]] std::vector<entry>& queue_of(std::uint32_t tag) {
        const bool is_held = !held_tags_.empty() && std::ranges::find(held_tags_, tag) != held_tags_.end();
        return is_held ? held_ : ready_;
    }
    static void move_work(std::uint32_t tag, std::vector<entry>& from, std::vector<entry>& to) {
        std::vector<entry> others;
        for (const auto& one : from) {
            (one.tag == tag ? to : others).push_back(one);
        }
        from = std::move(others);
    }

    std::vector<entry> ready_;
    std::vector<entry> held_;
    std::vector<std::uint32_t> held_tags_;
    std::uint32_t last_tag_ = 0;
    std::optional<random_source> order_;
    std::uint64_t steps_ = 0;
};

// Simulated time. Monotonic and boot time advance together unless `suspend` lets only boot time pass; the wall clock
// can be stepped.
class sim_timers : public async::timers {
public:
    [[nodiscard]] time_point now() const final { return now_; }  // every machine's clock asks it, all the time
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

// The clock of one simulated machine: follows the world's, may run faster or slower, sleep, and have its wall clock
// stepped. Its timers fire by it.
class machine_clock final : public async::timers {
public:
    explicit machine_clock(const sim_timers& world) : world_(world), world_start_(world.now()) {}

    [[nodiscard]] time_point now() const override { return is_asleep_ ? local_start_ : local(world_.now()); }
    [[nodiscard]] boot_time boot_now() const override { return boot_time(now().time_since_epoch() + slept_); }
    [[nodiscard]] wall_time wall_now() const override {
        return wall_time(1'700'000'000s + now().time_since_epoch() + slept_ + wall_step_);
    }
    // Seconds of this clock per second of the world; 1 is exact. Timers keep their local deadlines.
    void set_rate(double rate) {
        if (!is_asleep_) {
            local_start_ = now();
            world_start_ = world_.now();
        }
        rate_ = rate;
    }
    void step_wall(duration by) { wall_step_ += by; }
    void suspend(duration time) { slept_ += time; }
    // The machine sleeps: monotonic time stands still, so that what the world gives it meanwhile is due when it wakes.
    void fall_asleep() {
        if (!is_asleep_) {
            local_start_ = now();
            world_start_ = world_.now();
            is_asleep_ = true;
        }
    }
    // Boot time and the wall clock went on.
    void wake_up() {
        if (std::exchange(is_asleep_, false)) {
            slept_ += world_.now() - world_start_;
            world_start_ = world_.now();
        }
    }
    // While stopped no timer fires; the clock goes on.
    void stop_timers(bool stopped) { stopped_ = stopped; }
    [[nodiscard]] bool is_stopped() const { return stopped_; }
    // When the next timer is due, by the world's clock.
    [[nodiscard]] std::optional<time_point> next_in_world() const {
        const auto next = stopped_ || is_asleep_ ? std::nullopt : next_deadline();
        if (!next) {
            return std::nullopt;
        }
        const auto left = static_cast<double>((*next - local_start_).count());
        const auto world =
            rate_ == 1.0 ? (*next - local_start_).count() : static_cast<duration::rep>(std::ceil(left / rate_));
        return world_start_ + duration(world);
    }

protected:
    void deadlines_changed() override {}

private:
    [[nodiscard]] time_point local(time_point world) const {
        const auto passed = (world - world_start_).count();
        return local_start_ +
               duration(rate_ == 1.0 ? passed : static_cast<duration::rep>(static_cast<double>(passed) * rate_));
    }

    const sim_timers& world_;
    time_point world_start_;
    time_point local_start_{};
    double rate_ = 1.0;
    duration slept_{};
    duration wall_step_{};
    bool stopped_ = false;
    bool is_asleep_ = false;
};

// A context, its clock and a runtime on both: what a deterministic test needs.
class sim_loop {
public:
    sim_loop();
    ~sim_loop();

    sim_context& context() { return context_; }
    sim_timers& clock() { return clock_; }
    [[nodiscard]] const sim_timers& clock() const { return clock_; }
    async::runtime& runtime() { return runtime_; }
    // Machines take part with clocks of their own; of deadlines that fall together the one added first fires first.
    void add_clock(machine_clock& one) { machines_.push_back(&one); }
    void remove_clock(machine_clock& one) { std::erase(machines_, &one); }
    [[nodiscard]] async::awaitable<void> sleep(duration time) { return async::sleep_for(clock_, time, "a test"); }

    // Runs until `done` or until nothing can happen any more. False: deadlock.
    bool run_until(const std::function<bool()>& done);
    // Lets simulated time pass, running everything that falls due.
    void run_for(duration time);
    // Everything that is ready now, without letting time pass.
    void run_ready() {
        while (context_.run_one()) {
        }
    }
    bool step() {
        if (context_.run_one()) {
            return true;
        }
        const auto next = next_event();
        if (!next) {
            return false;
        }
        advance(*next);
        return true;
    }
    // The earliest deadline of all clocks.
    [[nodiscard]] std::optional<time_point> next_event() const {
        auto next = clock_.next_deadline();
        for (const machine_clock* machine : machines_) {
            const auto own = machine->next_in_world();
            if (own && (!next || *own < *next)) {
                next = own;
            }
        }
        return next;
    }

    // Runs a coroutine to its end and rethrows what it threw. Fails the test harness on deadlock.
    void run(std::function<async::awaitable<void>()> body);

private:
    void advance(time_point to) {
        clock_.advance_to(to);
        clock_.run_due();
        for (std::size_t i = 0; i < machines_.size(); ++i) {
            // Hardly ever more than one has something due; the answer costs less than the call.
            machine_clock& one = *machines_[i];
            if (const auto next = one.next_deadline(); next && *next <= one.now() && !one.is_stopped()) {
                one.run_due();
            }
        }
    }

    sim_context context_;
    sim_timers clock_;
    std::vector<machine_clock*> machines_;
    async::runtime runtime_;
};

}  // namespace pvc::sim
