// pvcapid.service, enabled on the primary and disabled elsewhere. What is to be so changes at once, what is so follows:
// by the takeover itself, else in the background. Loop thread only. Specification: node-lifecycle.md 7.3 (B, G).
#pragma once

#include "pvcnoded/async/condition.hpp"
#include "pvcnoded/async/semaphore.hpp"
#include "pvcnoded/core/node_context.hpp"

#include <optional>
#include <string>

namespace pvc::role {

class api_service {
public:
    explicit api_service(core::node_context& node) : node_(node) {}

    // One attempt to enable it, after one that may be under way to disable it. Cancelled: systemctl has ended.
    async::awaitable<void> take_up();
    // It is to be disabled; at once, and nothing if it was disabled already.
    void give_up();
    // Does in the background what is to be done, until cancelled.
    async::awaitable<void> run();
    // Until nothing is to be disabled that has not been tried, at most until the deadline.
    async::awaitable<void> wait_disabled(time_point deadline);
    // For the report; empty: nothing was asked of it yet.
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] std::optional<time_point> next_try() const;
    async::awaitable<void> try_once();
    void tell(bool was_wanted, const failure& why) const;

    core::node_context& node_;
    std::optional<bool> is_wanted_;
    bool is_so_ = false;  // as wanted
    unsigned tries_ = 0;  // since it is wanted so
    time_point wanted_since_{};
    time_point again_at_{};
    async::mutex turn_;      // one systemctl at a time
    async::wakeup changed_;  // for run()
    async::condition tried_;
};

}  // namespace pvc::role
