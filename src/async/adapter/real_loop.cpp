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

real_loop::real_loop()
    : context_(std::in_place, 1),
      clock_(*context_),
      // By itself the context's executor runs what it is given inside the call, when called on the loop's thread.
      runtime_(boost::asio::require(context_->get_executor(), boost::asio::execution::blocking.never), clock_),
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
    tick();
    // A completion of a task is queued, never run by the reactor itself, so no task runs between a wait and this check.
    while (context_->run_one() != 0) {
        ++turns_;
        check_pause();
    }
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

void real_loop::tick() {
    due_ = clock_.boot_now() + turn_interval;
    tick_.arm(clock_.now() + turn_interval, [this] { tick(); });
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
