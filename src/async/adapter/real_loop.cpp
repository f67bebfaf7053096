#include "pvcnoded/async/adapter/real_loop.hpp"

#include <boost/asio/execution.hpp>
#include <boost/asio/require.hpp>

#include <algorithm>
#include <utility>

namespace pvc::async {

namespace {

using namespace std::chrono_literals;
constexpr duration turn_interval = 1s;
constexpr duration pause_limit = 2s;

}  // namespace

// The context's executor for tasks: queues everything, and looks for a pause before each step. Checking from outside,
// between calls of run_one(), would make Asio give the memory that it keeps for coroutines back after every handler.
class real_loop::task_steps {
public:
    explicit task_steps(real_loop& loop)
        : loop_(&loop),
          queue_(boost::asio::require(loop.context_->get_executor(), boost::asio::execution::blocking.never)) {}

    template <class Function>
    void execute(Function&& function) const {
        queue_.execute([loop = loop_, step = std::forward<Function>(function)]() mutable {
            ++loop->turns_;
            loop->check_pause();
            std::move(step)();
        });
    }
    boost::asio::execution_context& query(boost::asio::execution::context_t /*property*/) const noexcept {
        return queue_.context();
    }
    static constexpr boost::asio::execution::blocking_t query(
        boost::asio::execution::blocking_t /*property*/) noexcept {
        return boost::asio::execution::blocking.never;
    }
    [[nodiscard]] task_steps require(boost::asio::execution::blocking_t::never_t /*property*/) const noexcept {
        return *this;
    }
    friend bool operator==(const task_steps& a, const task_steps& b) noexcept { return a.loop_ == b.loop_; }
    friend bool operator!=(const task_steps& a, const task_steps& b) noexcept { return !(a == b); }

private:
    using queue = decltype(boost::asio::require(std::declval<boost::asio::io_context::executor_type>(),
                                                boost::asio::execution::blocking.never));
    real_loop* loop_;
    queue queue_;
};

real_loop::real_loop()
    : context_(std::in_place, 1),
      clock_(*context_),
      runtime_(task_steps(*this), clock_),
      work_(context_->get_executor()),
      tick_(clock_) {
    clock_.before_callbacks([this] { check_pause(); });
    expect_turn();
}

real_loop::~real_loop() {
    // Frames that go with the context reach clock and runtime, so these two outlive it.
    runtime_.cut();
    tick_.disarm();
    clock_.close();
    work_.reset();
    context_.reset();
}

void real_loop::run() {
    context_->restart();
    expect_turn();
    arm_tick();
    context_->run();
    tick_.disarm();
}

void real_loop::run(std::string name, std::function<awaitable<void>()> body) {
    // Shared: should another handler throw, the task is still there when this function is not.
    auto error = std::make_shared<std::exception_ptr>();
    start_root(runtime_, std::move(name), std::move(body), [this, error](std::exception_ptr e) {
        *error = std::move(e);
        stop();
    });
    run();
    if (*error) {
        std::rethrow_exception(*error);
    }
}

void real_loop::stop() {
    context_->stop();
}

void real_loop::expect_turn() {
    last_turn_ = clock_.boot_now();
    due_ = last_turn_ + turn_interval;
}

void real_loop::arm_tick() {
    due_ = clock_.boot_now() + turn_interval;
    const time_point due = clock_.now() + turn_interval;
    tick_.arm(due, [this, due] {
        last_delay_ = std::max(duration::zero(), clock_.now() - due);
        delays_.add(last_delay_);
        arm_tick();
    });
}

bool real_loop::check_pause() {
    const boot_time now = clock_.boot_now();
    const boot_time before = std::exchange(last_turn_, now);
    if (now - due_ <= pause_limit) {
        return false;
    }
    due_ = now + turn_interval;
    last_pause_ = loop_pause{before, now};
    // A copy: who is told may come or go.
    const auto told = observers_;
    for (const auto* observer : told) {
        if (std::ranges::find(observers_, observer) != observers_.end()) {
            observer->tell_(before);
        }
    }
    return true;
}

real_loop::pause_observer::pause_observer(real_loop& loop, std::function<void(boot_time)> tell)
    : loop_(loop), tell_(std::move(tell)) {
    loop_.observers_.push_back(this);
}

real_loop::pause_observer::~pause_observer() {
    std::erase(loop_.observers_, this);
}

}  // namespace pvc::async
