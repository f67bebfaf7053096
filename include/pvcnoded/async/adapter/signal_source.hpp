// The signals that concern the daemon, as a stream: TERM, INT, QUIT (stop), HUP (reopen logs), USR1 (describe the
// tasks). SIGPIPE is ignored as long as the process lives. Specification: runtime-design.md 9.8, node-lifecycle.md 5.
#pragma once

#include "pvcnoded/async/wakeup.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <deque>
#include <memory>

namespace pvc::async {

// Makes a write to a closed pipe or socket an error (EPIPE) instead of the end of the process.
void ignore_broken_pipes();

// One per process; one reader. Loop thread only. Destroying it gives the signals their default effect back.
class signal_source {
public:
    explicit signal_source(boost::asio::io_context& context);
    signal_source(const signal_source&) = delete;
    signal_source& operator=(const signal_source&) = delete;

    // Suspends until a signal comes (or takes one that came before): its number, in the order of arrival. A signal that
    // comes again before it was taken counts once. Throws operation_aborted when cancelled; nothing is lost then.
    awaitable<int> next();
    // True if next() would return at once.
    [[nodiscard]] bool is_pending() const { return !pending_->arrived.empty(); }

private:
    struct pending {
        std::deque<int> arrived;
        wakeup changed;
    };
    void listen();

    boost::asio::basic_signal_set<boost::asio::io_context::executor_type> signals_;
    std::shared_ptr<pending> pending_ = std::make_shared<pending>();
};

}  // namespace pvc::async
