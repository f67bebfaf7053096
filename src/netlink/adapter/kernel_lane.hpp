// Requests to the kernel, one call after the other, each on a thread of the pool.
//
// The kernel carries a request out within the call that sends it, and waits there for whoever else changes links, and
// for its own processors: tens of milliseconds for each link that goes, seconds where a namespace ends elsewhere. So do
// questions, and the parts of a dump. The loop's thread waits for none of it.
//
// A call whose caller has gone, or whose deadline has passed, is not sent any more; one that is with the kernel already
// cannot be called back, and the next one waits for it, on the loop. So calls take effect in the order of their turns,
// and a kernel that hangs has one thread of the pool for each lane. Loop thread only. Specification: networking.md 2.
#pragma once

#include "adapter/errand.hpp"
#include "adapter/kernel_requests.hpp"
#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/semaphore.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace pvc::netlink {

// `clock` and `pool` must outlive it.
class kernel_lane {
public:
    // Owns all that it touches but `requests`, and may outlive its caller.
    template <class T>
    using work = std::function<result<T>(kernel_requests& requests, const errand& by)>;

    kernel_lane(async::timers& clock, async::offload& pool);
    kernel_lane(const kernel_lane&) = delete;
    kernel_lane& operator=(const kernel_lane&) = delete;
    ~kernel_lane();

    // Until the guard goes nobody else asks, and nothing of earlier calls is with the kernel. Errors: timed_out.
    async::awaitable<result<async::mutex::guard>> turn(std::string about, time_point deadline);

    // With the turn, once for each turn. Errors: what `what` returns; timed_out; unavailable (no thread).
    template <class T>
    async::awaitable<result<T>> run(std::string about, time_point deadline, work<T> what);

    // A call is with the kernel, also one that nobody waits for any more.
    [[nodiscard]] bool is_busy() const;
    // Dumps that were made anew, so far.
    [[nodiscard]] std::uint64_t interrupted() const { return requests_->interrupted(); }

private:
    struct caller {
        explicit caller(const errand& of) : mine(of) {}
        caller(const caller&) = delete;
        caller& operator=(const caller&) = delete;
        ~caller() { mine.give_up(); }
        const errand mine;
    };

    async::timers& clock_;
    async::offload& pool_;
    async::mutex turns_;
    std::shared_ptr<kernel_requests> requests_;  // of the thread that has the turn
    std::weak_ptr<std::atomic<bool>> last_;      // call: true when it has come back; gone: it was never begun
};

template <class T>
async::awaitable<result<T>> kernel_lane::run(std::string about, time_point deadline, work<T> what) {
    const caller here(errand{deadline});
    const auto is_back = std::make_shared<std::atomic<bool>>(false);
    last_ = is_back;
    std::function<result<T>()> whole = [requests = requests_, by = here.mine, what = std::move(what), is_back] {
        auto outcome = what(*requests, by);
        *is_back = true;
        return outcome;
    };
    auto done = co_await pool_.run(clock_, deadline, about, std::move(whole));
    if (!done && done.error().code() == errc::timed_out) {
        co_return too_late(std::move(about));
    }
    co_return done;
}

}  // namespace pvc::netlink
