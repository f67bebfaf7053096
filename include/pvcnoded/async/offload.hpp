// The offload port: a blocking call runs on a pool thread with a deadline; the loop never waits for it.
//
// A thread that hangs cannot be interrupted: after the deadline the caller gets errc::timed_out (was the call a write,
// its outcome is unknown), the item is counted as abandoned and its thread is lost to the pool until the call returns.
// Threads are made on demand and end when idle. Specification: runtime-design.md 3.2, 9.8; architecture.md rule 6.
#pragma once

#include "pvcnoded/async/completion.hpp"
#include "pvcnoded/base/result.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace pvc::async {

class offload {
public:
    offload() = default;
    offload(const offload&) = delete;
    offload& operator=(const offload&) = delete;
    virtual ~offload() = default;

    // Runs `work` on a pool thread, unless the caller has gone before its turn. `work` must own everything it touches
    // (it may outlive the caller). Errors: what `work` returns; timed_out; unavailable when the pool's queue is full.
    // Cancellation: the waiter goes at once, the item is abandoned as after a deadline.
    template <class T>
    awaitable<result<T>> run(timers& clock, time_point deadline, std::string name, std::function<result<T>()> work) {
        struct record {
            completion<bool> done;
            std::optional<result<T>> outcome;
            std::atomic<bool> wanted{true};
        };
        struct caller {  // an item that nobody waits for any more is not started
            explicit caller(std::shared_ptr<record> of) : item(std::move(of)) {}
            caller(const caller&) = delete;
            caller& operator=(const caller&) = delete;
            ~caller() { item->wanted = false; }
            std::shared_ptr<record> item;
        };
        auto shared = std::make_shared<record>();
        const caller here(shared);
        const bool accepted = submit(
            [shared, work = std::move(work)] {
                if (shared->wanted) {
                    shared->outcome.emplace(work());
                }
            },
            [shared] { shared->done.set(true); });
        if (!accepted) {
            co_return failure(errc::unavailable, name, "too many blocking calls are already waiting");
        }
        std::shared_ptr<completion<bool>> done(shared, &shared->done);
        const bool in_time = co_await completion<bool>::wait(done, clock, deadline, name);
        if (!in_time) {
            co_return failure(errc::timed_out, name);
        }
        co_return std::move(*shared->outcome);
    }

protected:
    // Queues `work` for a pool thread and then `done` for the loop thread. False: the queue is full, neither is called.
    virtual bool submit(std::function<void()> work, std::function<void()> done) = 0;
};

}  // namespace pvc::async
