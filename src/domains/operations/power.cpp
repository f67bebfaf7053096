#include "operations/power.hpp"

#include "pvcnoded/async/task_group.hpp"

#include <algorithm>

namespace pvc::domains {

using namespace std::chrono_literals;
using hypervisor::call_error;
using model::guest_class;

namespace {

constexpr duration shutdown_call_limit = 60s;
constexpr duration destroy_call_limit = 60s;
constexpr duration shut_down_again = 10s;
constexpr duration destroy_again = 2s;
constexpr duration complain_alive_every = 30s;
constexpr duration destroyed_patience = 5s;

// The request itself may block for long (a migration's job): it runs beside the wait. Ends when the guest was asked.
async::awaitable<void> request_shutdown(operation& op) {
    if (op.is_guest(guest_class::paused)) {
        auto resumed = co_await op.hv.resume(op.id, op.clock().boot_now() + zookeeper::guard_validity,
                                             op.now() + shutdown_call_limit);
        if (!resumed) {
            op.warning(message::domain_resume_refused,
                       "it is paused and could not be resumed for its shutdown: " + resumed.error().text);
            co_return;  // it hears nothing: the deadline ends it
        }
    }
    auto way = hypervisor::shutdown_way::any;
    for (;;) {
        auto asked = co_await op.hv.shutdown(op.id, way, op.now() + shutdown_call_limit);
        if (asked) {
            op.here.was_asked = true;
            co_return;
        }
        switch (asked.error().code) {
            case call_error::no_domain:
            case call_error::wrong_state: co_await op.ask_class(); break;
            default:
                op.warning(message::domain_shutdown_refused, "asking it to shut down: " + asked.error().text);
                break;
        }
        if (op.is_guest(guest_class::absent)) {
            co_return;
        }
        way = hypervisor::shutdown_way::acpi;
        co_await async::sleep_for(op.clock(), shut_down_again, "another request to shut down");
    }
}

}  // namespace

async::awaitable<power_result> power_down(operation& op, std::function<bool()> goes_on) {
    // By an operation before this one; a request that the hypervisor may not have got is made again.
    const bool is_asked = op.here.power_down.has_value() && op.here.was_asked;
    op.here.was_asked = is_asked;
    const time_point began = op.here.power_down.value_or(op.now());
    op.here.power_down = began;
    const time_point deadline = began + op.node.config->vm_shutdown_timeout;
    // The guest is off already, and its process does not go: that is waited for by itself.
    const auto ends_by = [&op, deadline] {
        const auto limit = policy::ending_limit({op.row.state, op.row.is_owner, guest_class::ending});
        const bool is_off = op.is_guest(guest_class::ending) && limit;
        return is_off ? std::min(deadline, op.here.class_since + *limit) : deadline;
    };
    std::optional<power_result> end;
    co_await async::with_task_group("shutdown", [&](async::task_group& group) -> async::awaitable<void> {
        if (!is_asked) {
            group.spawn("request", [&op] { return request_shutdown(op); });
        }
        while (!end) {
            const auto guest = op.guest();
            if (!guest) {
                end = power_result::unknown;
            } else if (*guest == guest_class::absent) {
                end = power_result::off;
            } else if (op.must_end() || !goes_on()) {
                end = power_result::changed;
            } else if (op.now() >= ends_by()) {
                break;
            } else {
                co_await op.wait(ends_by(), "the guest to shut down");
            }
        }
        group.cancel();
    });
    if (end) {
        if (*end == power_result::off) {
            op.here.power_down.reset();
        }
        co_return *end;
    }
    if (op.is_guest(guest_class::ending) && op.now() < deadline) {
        co_await end_hung(op);
        co_return op.is_guest(guest_class::absent) ? power_result::off : power_result::unknown;
    }
    op.warning(message::domain_shutdown_late, "it did not shut down within " +
                                                  std::to_string(op.node.config->vm_shutdown_timeout.count()) +
                                                  " s, destroying it");
    co_return co_await destroy(op);
}

async::awaitable<power_result> destroy(operation& op, std::optional<time_point> until) {
    const time_point last = until.value_or(time_point::max());
    time_point complain_at = op.now();
    for (;;) {
        if (!op.guest()) {
            co_return power_result::unknown;
        }
        if (op.is_guest(guest_class::absent)) {
            op.here.power_down.reset();
            co_return power_result::off;
        }
        if (op.now() >= last) {
            co_return power_result::unknown;
        }
        auto done = co_await op.hv.destroy(op.id, std::min(op.now() + destroy_call_limit, last));
        if (done || done.error().code == call_error::no_domain) {
            const bool gone = co_await op.wait_absent(op.now() + destroyed_patience);
            if (!gone) {
                co_await op.ask_class();
            }
            continue;
        }
        if (op.now() >= complain_at) {
            op.error(message::domain_destroy_refused, "destroying it: " + done.error().text + "; trying again");
            complain_at = op.now() + complain_alive_every;
        }
        co_await async::sleep_until(op.clock(), std::min(op.now() + destroy_again, last),
                                    "another attempt to destroy it");
        co_await op.ask_class();
    }
}

}  // namespace pvc::domains
