// The port's calls about migrations.
#include "pvcnoded/async/deadline.hpp"
#include "sim/hypervisor/sim_call.hpp"

#include <fmt/format.h>
#include <boost/asio/this_coro.hpp>

namespace pvc::sim {

using namespace std::chrono_literals;
using pvc::hypervisor::call_failure;
using pvc::hypervisor::migration_progress;

namespace {
// What an asker has been told, as a migration's caller cannot leave before its end.
struct migration_outcome {
    std::optional<pvc::hypervisor::call_result<void>> value;
    async::wakeup changed;
};
}  // namespace

async::awaitable<sim_hypervisor::migration_thread> sim_hypervisor::thread_to_migrate() {
    async::wakeup turn;
    const auto place = waiting_to_migrate_.insert(waiting_to_migrate_.end(), &turn);
    struct leaving {
        sim_hypervisor& of;
        std::list<async::wakeup*>::iterator place;
        ~leaving() {
            of.waiting_to_migrate_.erase(place);
            of.pass_migration_thread_on();
        }
    } const left{*this, place};
    while (migrating_ >= limits_.migrations || waiting_to_migrate_.front() != &turn) {
        co_await turn.wait(async::wait_note::work("a thread for a migration"));
    }
    co_return migration_thread(*this);
}

sim_hypervisor::migration_thread::migration_thread(sim_hypervisor& of) : of_(&of) {
    ++of.migrating_;
}

sim_hypervisor::migration_thread::~migration_thread() {
    if (of_ != nullptr) {
        --of_->migrating_;
        of_->pass_migration_thread_on();
    }
}

void sim_hypervisor::pass_migration_thread_on() {
    if (migrating_ < limits_.migrations && !waiting_to_migrate_.empty()) {
        waiting_to_migrate_.front()->notify();
    }
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::migrate(uuid id, pvc::hypervisor::migration how) {
    if (!process_->is_alive || !is_up_) {
        co_return no_connection();
    }
    const auto outcome = std::make_shared<migration_outcome>();
    const sim_guest::answer answer = [way = std::weak_ptr(channel_), outcome,
                                      &centre = centre_](pvc::hypervisor::call_result<void> value) {
        if (const auto open = way.lock()) {
            open->push(centre.times.message, [outcome, value = std::move(value)] {
                outcome->value = value;
                outcome->changed.notify();
            });
        }
    };
    const auto thread = co_await thread_to_migrate();
    machine_.record(fmt::format("migrate {} {} {}", centre_.name_of(id), how.peer, how.data_uri), false);
    if (how.begun) {
        *how.begun = clock_.now();
    }
    // Until it begins it is a call like any other: it fails with the connection.
    const std::uint64_t number = ++channel_->last_number;
    channel_->pending.emplace(number, [outcome](call_failure why) {
        outcome->value = std::move(why);
        outcome->changed.notify();
    });
    const auto begin = [this_machine = &machine_, process = process_, way = std::weak_ptr(channel_), number, id, how,
                        answer] {
        const auto open = way.lock();
        if (process->is_alive && open && open->pending.erase(number) > 0) {
            this_machine->centre().begin_migration(*this_machine, id, how, process, answer);
        }
    };
    machine_.later(duration::zero(), [this_machine = &machine_, id, begin, answer, peer = how.peer] {
        const auto fault = fault_of(*this_machine, id, "migrate");
        if (!this_machine->resolves_names) {
            answer(call_failure(
                pvc::hypervisor::call_error::no_target,
                "unable to connect to server at '" + peer + ":16509': Temporary failure in name resolution"));
        } else if (fault && fault->failure) {
            answer(*fault->failure);
        } else if (fault && fault->takes) {
            this_machine->later(*fault->takes, begin);
        } else if (!fault) {
            begin();
        }
    });

    // Cancelled, the job is aborted and its end awaited.
    const bool throws = co_await async::asio::this_coro::throw_if_cancelled();
    co_await async::hold_cancellation();
    bool is_cancelled = false;
    while (!outcome->value && !is_cancelled) {
        auto [code] = co_await outcome->changed.wait_code(async::wait_note::work("a live migration"));
        is_cancelled = code.failed();
    }
    if (is_cancelled && !outcome->value && process_->is_alive) {
        machine_.record("abort_migration " + centre_.name_of(id), false);
        machine_.later(duration::zero(),
                       [this_machine = &machine_, id] { std::ignore = this_machine->guest(id).abort_migration(); });
        async::timer alarm(clock_);
        const time_point limit = clock_.now() + 10s;
        bool is_late = false;
        alarm.arm(limit, [&] {
            is_late = true;
            outcome->changed.notify();
        });
        while (!outcome->value && !is_late) {
            co_await outcome->changed.wait_code(async::wait_note::effect("the end of a live migration", limit));
        }
    }
    channel_->pending.erase(number);
    co_await async::asio::this_coro::throw_if_cancelled(throws);
    if (is_cancelled) {
        throw boost::system::system_error(async::asio::error::operation_aborted);
    }
    co_return *outcome->value;
}

async::awaitable<pvc::hypervisor::call_result<void>> sim_hypervisor::abort_migration(uuid id, time_point deadline) {
    sim_guest& guest = machine_.guest(id);
    return call<void>("abort_migration", id, "abort_migration " + centre_.name_of(id), false, deadline,
                      simple<void>(machine_, [&guest] { return guest.abort_migration(); }));
}

async::awaitable<pvc::hypervisor::call_result<migration_progress>> sim_hypervisor::progress(uuid id,
                                                                                            time_point deadline) {
    sim_guest& guest = machine_.guest(id);
    return call<migration_progress>("progress", id, "progress " + centre_.name_of(id), true, deadline,
                                    simple<migration_progress>(machine_, [&guest] {
                                        using answer = call_result<migration_progress>;
                                        return guest.is_there() ? answer(guest.migration_progress())
                                                                : answer(not_there(guest.id));
                                    }));
}

}  // namespace pvc::sim
