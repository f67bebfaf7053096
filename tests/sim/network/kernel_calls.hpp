// Calls of a daemon to the kernel of its simulated machine: they take time and effect one after the other, whoever
// still waits for them, and fail, hang or are late as a test says.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/result.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

class kernel_calls {
public:
    kernel_calls(async::timers& clock, duration usual_time)
        : call_time(usual_time), clock_(clock), due_(clock), usual_time_(usual_time) {}

    bool cut = false;    // a killed daemon: nothing that it still does reaches the machine
    duration call_time;  // zero: the answer is there at once, and the call does not give way to others
    // Calls that begin so fail ("add brcluster", "remove", "create VXLAN"), without an effect.
    std::map<std::string, failure> broken;

    // Nothing is answered: every call ends at its deadline. What was asked meanwhile is done when that ends, in order.
    void hang() { hangs_ = true; }
    void end_hang();
    // Calls are quick again, and what was asked of the slow kernel is done.
    void end_slowness();
    // What a dead daemon had asked for and was not done yet never is.
    void drop_calls();
    void end_faults();
    // Something was done to it that may keep an address where it must not be.
    [[nodiscard]] bool has_fault() const { return hangs_ || !broken.empty() || call_time > std::chrono::seconds(1); }

    // As they were asked for ("add 10.0.0.254/24 on brcluster", "create bridge vmbr7"); without what only looks.
    std::vector<std::string> calls;

protected:
    ~kernel_calls() = default;

    using effect = std::function<result<void>()>;
    [[nodiscard]] std::optional<failure> fault(std::string_view call) const;
    // Something that was asked is not done yet.
    [[nodiscard]] bool has_calls() const { return !asked_.empty(); }
    // The outcome of `what`, which is done after everything asked before.
    async::awaitable<result<void>> pass(std::string about, time_point deadline, effect what);
    [[nodiscard]] async::timers& clock() const { return clock_; }

private:
    struct asked {
        time_point when;
        std::shared_ptr<effect> what;
        std::shared_ptr<std::optional<result<void>>> outcome;
    };
    void do_due();

    async::timers& clock_;
    async::timer due_;
    duration usual_time_;
    bool hangs_ = false;
    std::uint64_t at_once_ = 0;
    std::deque<asked> asked_;
};

}  // namespace pvc::sim
