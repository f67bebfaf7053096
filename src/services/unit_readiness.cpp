#include "pvcnoded/services/unit_readiness.hpp"

#include "pvcnoded/async/deadline.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::services {

namespace {

using namespace std::chrono_literals;
constexpr duration first_delay = 50ms;
constexpr duration longest_delay = 500ms;

struct unit_wait {
    unit_state state;
    bool pending = false;
};

bool is_worth_waiting_for(const unit_state& unit) {
    return !unit.start_failure || unit.start_failure->code() == errc::timed_out;
}

void settle(unit_wait& unit, bool active, duration waited) {
    unit.state.active = active;
    unit.state.waited = waited;
    unit.pending = false;
}

}  // namespace

std::string unit_state::text() const {
    const double seconds = std::chrono::duration<double>(waited).count();
    if (active) {
        return fmt::format("{} is active", unit);
    }
    if (start_failure) {
        return fmt::format("{}: {}", unit, start_failure->text());
    }
    return fmt::format("{} is not active after {:.1f} s", unit, seconds);
}

async::awaitable<std::vector<unit_state>> start_and_wait(service_manager& services, async::timers& clock,
                                                         std::vector<std::string> units, duration limit) {
    const time_point begun = clock.now();
    const time_point deadline = begun + limit;
    std::vector<unit_wait> waits;
    for (const auto& unit : units) {
        unit_wait entry{unit_state{unit}, true};
        auto started = co_await async::with_deadline(clock, deadline, "start " + unit, services.start(unit));
        if (!started) {
            entry.state.start_failure = started.error();
        }
        if (!is_worth_waiting_for(entry.state)) {
            settle(entry, false, clock.now() - begun);
        }
        waits.push_back(std::move(entry));
    }
    duration delay = first_delay;
    for (;;) {
        for (auto& entry : waits) {
            if (!entry.pending || clock.now() >= deadline) {
                continue;
            }
            const std::string& unit = entry.state.unit;
            auto active = co_await async::with_deadline(clock, deadline, "is-active " + unit, services.is_active(unit));
            if (active && *active) {
                settle(entry, true, clock.now() - begun);
            }
        }
        const bool all_settled = std::ranges::none_of(waits, &unit_wait::pending);
        if (all_settled || clock.now() >= deadline) {
            break;
        }
        co_await async::sleep_until(clock, std::min(clock.now() + delay, deadline), "services to become active");
        delay = std::min(delay * 2, longest_delay);
    }
    std::vector<unit_state> states;
    for (auto& entry : waits) {
        if (entry.pending) {
            settle(entry, false, clock.now() - begun);
        }
        states.push_back(std::move(entry.state));
    }
    co_return states;
}

}  // namespace pvc::services
