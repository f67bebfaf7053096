#include "sim/sim_context.hpp"

namespace pvc::sim {

sim_context::~sim_context() {
    // Frames that are still suspended are destroyed here, before the members they may reach.
    while (!ready_.empty() || !held_.empty()) {
        drop(std::exchange(held_, {}));
        drop(std::exchange(ready_, {}));
    }
    shutdown();
    destroy();
}

sim_loop::sim_loop() : runtime_(context_.get_executor(), clock_) {}

sim_loop::~sim_loop() {
    runtime_.cut();
}

bool sim_loop::run_until(const std::function<bool()>& done) {
    while (!done()) {
        if (!step()) {
            return false;
        }
    }
    return true;
}

void sim_loop::run_for(duration time) {
    const time_point end = clock_.now() + time;
    for (;;) {
        if (context_.run_one()) {
            continue;
        }
        const auto next = next_event();
        if (!next || *next > end) {
            break;
        }
        advance(*next);
    }
    clock_.advance_to(end);
}

void sim_loop::run(std::function<async::awaitable<void>()> body) {
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

}  // namespace pvc::sim
