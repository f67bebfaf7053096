// The clock port on the machine's clocks: one steady_timer of Asio drives the whole queue of deadlines.
//
// The alarm is only moved when an earlier deadline appears; when the deadline it was set for has gone, it fires once,
// finds nothing due and is set anew. So arming and disarming the usual time-outs costs no system call.
// Specification: node-lifecycle.md 3.1 rule 5, runtime-design.md 8.1.
#pragma once

#include "pvcnoded/async/timers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace pvc::async {

// Loop thread only. The context must not run on after this has been destroyed.
class real_timers final : public timers {
public:
    explicit real_timers(boost::asio::io_context& context);

    [[nodiscard]] time_point now() const override;      // CLOCK_MONOTONIC
    [[nodiscard]] boot_time boot_now() const override;  // CLOCK_BOOTTIME
    [[nodiscard]] wall_time wall_now() const override;  // CLOCK_REALTIME

    // Called at the head of every turn in which the alarm went off, before any deadline's callback.
    void before_callbacks(std::function<void()> hook) { hook_ = std::move(hook); }
    // Lets go of the context, which may then be destroyed first. Deadlines can still be armed; none fires any more.
    void close();

protected:
    void deadlines_changed() override;

private:
    using alarm = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                    boost::asio::wait_traits<std::chrono::steady_clock>,
                                                    boost::asio::io_context::executor_type>;
    void set_alarm(time_point when);
    void alarm_went_off();

    std::optional<alarm> alarm_;
    std::optional<time_point> set_for_;
    std::uint64_t setting_ = 0;  // tells the handler of an earlier setting from the present one
    bool in_callbacks_ = false;
    std::function<void()> hook_;
};

}  // namespace pvc::async
