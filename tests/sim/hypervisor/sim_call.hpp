// How a call travels: the way back to the daemon, the fault that a test has set, the wait with its deadline. Private to
// the simulated hypervisor port.
#pragma once

#include "sim/hypervisor/sim_hypervisor.hpp"

namespace pvc::sim {

// What arrives at the daemon, in the order in which it was sent. Its timer is the process's: nothing arrives while that
// is stopped.
struct sim_hypervisor::channel : std::enable_shared_from_this<channel> {
    explicit channel(async::timers& time, std::shared_ptr<driver_process> owner)
        : clock(time), process(std::move(owner)), timer(time) {}

    void push(duration delay, std::function<void()> arrive) {
        if (process->is_alive) {
            const time_point due = clock.now() + delay;
            queue.emplace_back(queue.empty() ? due : std::max(due, queue.back().first), std::move(arrive));
            flow();
        }
    }
    void flow() {
        if (!queue.empty() && !timer.armed() && !process->is_paused) {
            timer.arm(queue.front().first, [this] { deliver(); });
        }
    }
    void deliver() {
        const auto keep = shared_from_this();
        while (!queue.empty() && queue.front().first <= clock.now() && !process->is_paused) {
            const auto arrive = std::move(queue.front().second);
            queue.pop_front();
            arrive();
        }
        flow();
    }
    void fail_pending(const std::string& reason) {
        const auto lost = std::exchange(pending, {});
        for (const auto& [number, fail] : lost) {
            fail(pvc::hypervisor::call_failure(pvc::hypervisor::call_error::unavailable, reason));
        }
    }
    void clear() {
        timer.disarm();
        queue.clear();
        pending.clear();
    }

    async::timers& clock;
    std::shared_ptr<driver_process> process;
    async::timer timer;
    std::deque<std::pair<time_point, std::function<void()>>> queue;
    // Calls on the control connection that have no answer yet.
    std::map<std::uint64_t, std::function<void(pvc::hypervisor::call_failure)>> pending;
    std::uint64_t last_number = 0;
};

inline pvc::hypervisor::call_failure no_connection() {
    return {pvc::hypervisor::call_error::unavailable, "no connection to the hypervisor"};
}
inline pvc::hypervisor::call_failure not_in_time() {
    return {pvc::hypervisor::call_error::timed_out, "no answer in time"};
}
inline pvc::hypervisor::call_failure not_there(const uuid& id) {
    return {pvc::hypervisor::call_error::no_domain,
            "Domain not found: no domain with matching uuid '" + to_text(id) + "'"};
}

// Those of the guest count first.
inline std::optional<sim_fault> fault_of(sim_machine_guests& machine, const std::optional<uuid>& id,
                                         const std::string& call) {
    auto fault = id ? machine.guest(*id).take(call) : std::nullopt;
    return fault ? fault : machine.take(call);
}

// Serves at once, or when the told time has passed.
template <class T>
auto simple(sim_machine_guests& machine, std::function<pvc::hypervisor::call_result<T>()> deed) {
    return [&machine, deed = std::move(deed)](std::optional<duration> takes,
                                              std::function<void(pvc::hypervisor::call_result<T>)> done) {
        if (takes) {
            machine.later(*takes, [deed, done = std::move(done)] { done(deed()); });
        } else {
            done(deed());
        }
    };
}
// The same for what answers by itself.
inline auto after_delay(sim_machine_guests& machine, std::function<void(sim_guest::answer)> deed) {
    return [&machine, deed = std::move(deed)](std::optional<duration> takes, sim_guest::answer done) {
        if (takes) {
            machine.later(*takes, [deed, done = std::move(done)] { deed(done); });
        } else {
            deed(std::move(done));
        }
    };
}

template <class T>
async::awaitable<pvc::hypervisor::call_result<T>> sim_hypervisor::call(std::string name, std::optional<uuid> id,
                                                                       std::string text, bool is_reading,
                                                                       time_point deadline, service<T> serve) {
    if (!process_->is_alive || !is_up_) {
        if (process_->is_alive && !is_reading && centre_.on_call_in_vain) {
            centre_.on_call_in_vain(machine_.name, text, centre_.clock().now() - down_since_);
        }
        co_return no_connection();
    }
    const auto pending = std::make_shared<async::completion<call_result<T>>>();
    const std::uint64_t number = ++channel_->last_number;
    channel_->pending.emplace(number, [pending](pvc::hypervisor::call_failure why) { pending->set(std::move(why)); });
    const reply<T> answer = [way = std::weak_ptr(channel_), number, pending, &centre = centre_](call_result<T> value) {
        const auto open = way.lock();
        if (open && open->pending.contains(number)) {
            open->push(centre.times.message, [open = open.get(), number, pending, value = std::move(value)] {
                if (open->pending.erase(number) > 0) {
                    pending->set(value);
                }
            });
        }
    };
    machine_.record(text, is_reading);
    machine_.later(duration::zero(), [this_machine = &machine_, name, text, id, answer, serve = std::move(serve)] {
        const auto fault = fault_of(*this_machine, id, name);
        if (!fault) {
            serve(std::nullopt, answer);
        } else if (fault->late) {
            serve(std::nullopt, [this_machine, late = *fault->late, answer](call_result<T> value) {
                this_machine->later(late, [answer, value = std::move(value)] { answer(value); });
            });
        } else if (fault->failure) {
            this_machine->later(fault->takes.value_or(duration::zero()),
                                [answer, why = *fault->failure] { answer(why); });
        } else if (fault->hangs) {
            this_machine->note_hanging(text);
        } else {
            serve(fault->takes, answer);
        }
    });
    // Who leaves without an answer is not told of it.
    struct leaving {
        leaving(std::shared_ptr<channel> through, std::uint64_t call) : way(std::move(through)), number(call) {}
        leaving(const leaving&) = delete;
        leaving& operator=(const leaving&) = delete;
        ~leaving() { way->pending.erase(number); }
        std::shared_ptr<channel> way;
        std::uint64_t number;
    };
    const leaving at_end(channel_, number);
    if (!co_await async::completion<call_result<T>>::wait(pending, clock_, deadline, "the hypervisor")) {
        co_return not_in_time();
    }
    co_return std::move(pending->value());
}

}  // namespace pvc::sim
