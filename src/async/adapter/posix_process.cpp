#include "pvcnoded/async/adapter/posix_process.hpp"

#include "adapter/child_process.hpp"
#include "adapter/process_places.hpp"
#include "pvcnoded/async/adapter/signal_source.hpp"
#include "pvcnoded/base/guard.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <sys/wait.h>
#include <csignal>
#include <vector>

namespace pvc::async {

namespace {

using namespace std::chrono_literals;
constexpr duration drain_limit = 50ms;  // grandchildren may hold the pipes for ever
constexpr duration kill_limit = 5s;     // a process that SIGKILL does not end in this time is stuck in the kernel

enum class wait_end : std::uint8_t { done, late, cancelled };

// Suspends until `done` holds. The caller holds cancellation; `is_ending`: it was cancelled already.
awaitable<wait_end> wait_until(child_process& child, bool (child_process::*done)() const, timers& clock,
                               time_point deadline, std::string_view what, bool is_ending = false) {
    bool late = false;
    timer limit(clock);
    limit.arm(deadline, [&late, &child] {
        late = true;
        child.changed->notify();
    });
    while (!(child.*done)()) {
        if (late) {
            co_return wait_end::late;
        }
        auto [code] = co_await child.changed->wait_code(wait_note::effect(what, deadline));
        // Asked as well: a cancellation that comes when the wait was just ended by the child finds no wait to tell.
        auto state = co_await asio::this_coro::cancellation_state;
        if (code || (!is_ending && state.cancelled() != asio::cancellation_type::none)) {
            co_return wait_end::cancelled;
        }
    }
    co_return wait_end::done;
}

// SIGTERM, grace, SIGKILL. True if it took SIGKILL. A second cancellation does not shorten it.
awaitable<bool> end_child(child_process& child, timers& clock, duration grace, std::string_view what) {
    bool killed = false;
    child.end_group(SIGTERM);
    time_point deadline = clock.now() + grace;
    for (;;) {
        const wait_end end = co_await wait_until(child, &child_process::is_reaped, clock, deadline, what, true);
        if (end == wait_end::done || (end == wait_end::late && killed)) {
            co_return killed;
        }
        if (end == wait_end::late) {
            killed = true;
            child.end_group(SIGKILL);
            deadline = clock.now() + kill_limit;
        }
    }
}

// How long whoever may begin by `not_after` at the latest waits for a place.
time_point last_moment(const timers& clock, time_point deadline, boot_time not_after) {
    const duration left = not_after - clock.boot_now();
    return left < deadline - clock.now() ? clock.now() + left : deadline;
}

using end_of_process = std::variant<exited, signalled, timed_out>;

end_of_process how_it_ended(int status) {
    if (WIFSIGNALED(status)) {
        return signalled{WTERMSIG(status)};
    }
    return exited{WEXITSTATUS(status)};
}

}  // namespace

struct posix_process::state {
    const loop_executor executor;
    timers& clock;
    const std::shared_ptr<process_places> places;
    std::vector<std::weak_ptr<child_process>> children{};

    void remember(const std::shared_ptr<child_process>& child) {
        std::erase_if(children, [](const auto& weak) { return weak.expired(); });
        children.push_back(child);
    }
};

posix_process::posix_process(boost::asio::io_context& context, timers& clock, std::size_t at_once)
    : state_(std::make_shared<state>(context.get_executor(), clock, std::make_shared<process_places>(at_once))) {
    ignore_broken_pipes();
    // Inherited as ignored, the kernel would reap by itself and nobody would learn how a program ended.
    struct sigaction child{};
    if (::sigaction(SIGCHLD, nullptr, &child) == 0 && child.sa_handler == SIG_IGN) {
        child.sa_handler = SIG_DFL;
        ::sigaction(SIGCHLD, &child, nullptr);
    }
}

posix_process::~posix_process() {
    const auto children = std::move(state_->children);
    for (const auto& weak : children) {
        if (const auto child = weak.lock()) {
            child->end_group(SIGKILL);
            child->close_pipes();
            child->abandon();
        }
    }
}

std::size_t posix_process::running() const {
    return state_->places->taken();
}

std::size_t posix_process::waiting() const {
    return state_->places->waiting();
}

awaitable<result<process_outcome>> posix_process::run(command what, process_limits limits) {
    auto shared = state_;
    timers& clock = shared->clock;
    const std::string name = what.arguments.empty() ? std::string() : what.arguments.front();
    const time_point deadline = clock.now() + limits.time;
    process_places::request place(shared->places);
    const bool admitted = co_await place.wait(clock, last_moment(clock, deadline, limits.not_after));
    if (!admitted && clock.now() < deadline) {
        co_return failure(errc::stopped, name, "it could not start in time");
    }
    if (!admitted) {
        co_return failure(errc::timed_out, name, "too many programs run already");
    }
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    auto before = co_await asio::this_coro::cancellation_state;
    if (throws && before.cancelled() != asio::cancellation_type::none) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    // Nothing stands between here and the start.
    if (!guarded(clock.boot_now() <= limits.not_after)) {
        co_return failure(errc::stopped, name, "it could not start in time");
    }
    PVC_CO_TRY(auto parts, spawn(shared->executor, what));
    const time_point started = clock.now();
    auto child = std::make_shared<child_process>(std::move(parts), limits.output_bytes, place.hand_over());
    shared->remember(child);
    child->start(std::move(what.input));

    co_await asio::this_coro::throw_if_cancelled(false);
    bool killed = false;
    wait_end end = co_await wait_until(*child, &child_process::is_reaped, clock, deadline, name);
    if (end != wait_end::done) {
        killed = co_await end_child(*child, clock, limits.grace, name);
    }
    if (end != wait_end::cancelled) {
        const wait_end drained =
            co_await wait_until(*child, &child_process::outputs_closed, clock, clock.now() + drain_limit, name);
        end = drained == wait_end::cancelled ? drained : end;
    }
    child->close_pipes();
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (end == wait_end::cancelled) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    if (end == wait_end::done && !child->status()) {
        co_return failure(errc::io, name, "somebody else collected its exit status");
    }
    process_outcome outcome;
    outcome.how = end == wait_end::late ? end_of_process(timed_out{killed}) : how_it_ended(*child->status());
    outcome.output = child->take_output();
    outcome.error_output = child->take_error_output();
    outcome.truncated = child->truncated();
    outcome.took = clock.now() - started;
    co_return outcome;
}

}  // namespace pvc::async
