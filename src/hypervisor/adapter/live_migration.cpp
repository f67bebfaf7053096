// migrate(): one blocking call on a thread with a connection to each side, and somebody who watches over it: an end of
// either connection, a target that does not open in time, and the caller's change of mind all end the call.
// Specification: vm-domains.md 8.2; runtime-design.md 3.2 (cancellation of a migration).
#include "hypervisor_state.hpp"
#include "pvcnoded/async/deadline.hpp"
#include "pvcnoded/async/task_group.hpp"
#include "pvcnoded/async/thread_clock.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <atomic>

// Scopes, pools and deadlines keep the callable they are given until its coroutine has ended.

namespace pvc::hypervisor {

using namespace std::chrono_literals;

// Shared by the call's thread and the loop.
struct migration_job {
    uuid id;
    migration how;
    remote_place target;
    link_wishes here;
    std::shared_ptr<breaker> source_way = std::make_shared<breaker>();
    std::shared_ptr<breaker> target_way = std::make_shared<breaker>();
    std::atomic<bool> unwanted{false};  // do not begin
    std::atomic<bool> target_open{false};
    std::atomic<bool> broken{false};            // a connection closed
    std::atomic<bool> target_is_broken{false};  // the first that did was the one to the target

    // Loop thread.
    bool ended = false;
    bool abort_asked = false;
    std::function<void()> on_begin;  // it has its thread
    async::wakeup changed;
};

namespace {

constexpr duration end_limit = 10s;            // for the call's end once it is unwanted
constexpr duration abort_again_after = 500ms;  // an abort before the job has begun finds none
constexpr duration longest_migration = std::chrono::hours(24 * 30);

// Tells the loop's side of the job; safe from any thread and when the loop has gone.
std::function<void()> teller(const std::shared_ptr<migration_job>& job, std::function<void(migration_job&)> note) {
    return [weak = std::weak_ptr(job), note = std::move(note)] {
        event_loop::instance().post([weak, note] {
            if (const auto alive = weak.lock()) {
                note(*alive);
                alive->changed.notify();
            }
        });
    };
}

// What is cut because the other one broke closes as well.
std::shared_ptr<link_note> watching(const std::shared_ptr<migration_job>& job, bool is_target) {
    auto note = std::make_shared<link_note>();
    note->tell_closed = teller(job, [is_target](migration_job& of) {
        of.target_is_broken = of.target_is_broken || (is_target && !of.broken);
        of.broken = true;
    });
    return note;
}

call_result<void> drive(const std::shared_ptr<migration_job>& job) {
    const time_point connect_by = async::thread_now() + job->how.connect_within;
    teller(job, [](migration_job& of) {
        if (of.on_begin) {
            of.on_begin();
        }
    })();
    if (job->target.tcp) {
        const auto reached = reach(*job->target.tcp, connect_by);
        if (!reached) {
            return call_failure(call_error::no_target, reached.error().text);
        }
    }
    auto from = link::open(job->here, watching(job, false), job->source_way);
    if (!from) {
        return from.error();
    }
    link_wishes there = job->here;
    there.uri = job->target.uri;
    auto to = link::open(there, watching(job, true), job->target_way);
    if (!to) {
        // One that was cut has no words of its own.
        const bool is_cut = job->unwanted;
        return call_failure(call_error::no_target, is_cut ? "libvirt there did not answer in time" : to.error().text);
    }
    job->target_open = true;
    if (job->unwanted) {
        return call_failure(call_error::unavailable, "it was called off before it began");
    }
    auto ended = blocking::migrate(**from, **to, job->id, job->how);
    if (!ended && job->broken && ended.error().code != call_error::no_domain) {
        const auto code = job->target_is_broken ? call_error::no_target : call_error::unavailable;
        return call_failure(code, ended.error().text);
    }
    return ended;
}

}  // namespace

async::awaitable<call_result<void>> libvirt_hypervisor::migrate(uuid id, migration how) {
    if (!state_->control) {
        co_return state_->why_unavailable();
    }
    auto job = std::make_shared<migration_job>();
    job->id = id;
    job->target = place_of(state_->options.remote_uri, how.peer);
    job->here = state_->wishes_for(state_->options.local_uri);
    job->how = std::move(how);
    co_return co_await state_->migrate(std::move(job));
}

async::awaitable<call_result<void>> libvirt_hypervisor::state::migrate(std::shared_ptr<migration_job> job) {
    async::timer connect_limit(clock);
    job->on_begin = [this, &connect_limit, of = job.get()] {
        if (of->how.begun) {
            *of->how.begun = clock.now();
        }
        connect_limit.arm(clock.now() + of->how.connect_within, [of] {
            if (!of->target_open) {
                of->unwanted = true;
                of->target_way->cut();
                of->source_way->cut();
            }
        });
    };
    struct leaving {
        explicit leaving(std::shared_ptr<migration_job> of) : job(std::move(of)) {}
        leaving(const leaving&) = delete;
        leaving& operator=(const leaving&) = delete;
        ~leaving() { job->on_begin = nullptr; }
        std::shared_ptr<migration_job> job;
    };
    const leaving at_end(job);
    std::erase_if(migrating, [](const auto& entry) { return entry.second.expired(); });
    migrating[job->id] = job;
    call_result<void> outcome = call_failure(call_error::other, "it has not ended");
    co_await async::with_task_group("migration", [&](async::task_group& group) -> async::awaitable<void> {
        group.spawn("call", [&]() -> async::awaitable<void> {
            // The job's thread says when it is done; who watches over a cancelled call hears of it all the same.
            std::function<call_result<void>()> item = [job]() -> call_result<void> {
                auto ended = drive(job);
                teller(job, [](migration_job& of) { of.ended = true; })();
                return ended;
            };
            outcome = co_await on_thread<void>(migrations, "migrating a guest", clock.now() + longest_migration,
                                               std::move(item));
            job->ended = true;  // also if it never got a thread
            job->changed.notify();
        });
        co_await watch_over(job);
    });
    if (!outcome && job->abort_asked && outcome.error().code == call_error::other) {
        // What an abort breaks first on either side is a matter of chance, and so are the words.
        outcome = call_failure(call_error::aborted, outcome.error().text);
    }
    co_return outcome;
}

void libvirt_hypervisor::state::note_abort(const uuid& id) {
    std::erase_if(migrating, [](const auto& entry) { return entry.second.expired(); });
    const auto found = migrating.find(id);
    if (const auto job = found == migrating.end() ? nullptr : found->second.lock()) {
        job->abort_asked = true;
    }
}

async::awaitable<void> libvirt_hypervisor::state::watch_over(std::shared_ptr<migration_job> job) {
    try {
        while (!job->ended && !job->broken) {
            co_await job->changed.wait(async::wait_note::work("a migration"));
        }
    } catch (const boost::system::system_error&) {
        job->unwanted = true;  // cancelled: the next await outside of the bracket says so again
    }
    if (!job->ended) {
        co_await async::hold_cancellation();
        co_await call_off(job);
        co_await async::resume_cancellation();
    }
}

// An abort as long as there is a job to abort; the connections are cut at last.
async::awaitable<void> libvirt_hypervisor::state::call_off(std::shared_ptr<migration_job> job) {
    job->unwanted = true;
    if (!job->target_open) {
        job->target_way->cut();
    }
    const time_point limit = clock.now() + end_limit;
    while (!job->ended && clock.now() < limit) {
        const auto done = co_await urgent("aborting a migration", limit,
                                          [id = job->id](const link& on) { return blocking::abort_migration(on, id); });
        ignore(done, "there may be no job yet, or no longer");
        const time_point again = std::min(limit, clock.now() + abort_again_after);
        while (!job->ended && co_await job->changed.wait_until(clock, again, "the end of a migration")) {
        }
    }
    if (!job->ended) {
        job->source_way->cut();
        job->target_way->cut();
    }
}

}  // namespace pvc::hypervisor
