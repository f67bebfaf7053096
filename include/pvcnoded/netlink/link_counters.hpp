// The port to what the kernel counts of network cards. No exception crosses, every call ends by its deadline. Loop
// thread only. Specification: networking.md 13.
#pragma once

#include "pvcnoded/async/wakeup.hpp"
#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/base/result.hpp"
#include "pvcnoded/model/link_counters.hpp"

#include <string>
#include <vector>

namespace pvc::netlink {

class link_counters {
public:
    link_counters() = default;
    link_counters(const link_counters&) = delete;
    link_counters& operator=(const link_counters&) = delete;
    virtual ~link_counters() = default;

    // The links with a device of the machine behind them, by name. A driver that is asked for the speed may hang: then
    // timed_out, and unavailable for as long as it does. Errors: io also.
    virtual async::awaitable<result<std::vector<model::hardware_link>>> hardware(time_point deadline) = 0;

    // Their counters now, in the order of the names; a link that is not there is left out. Errors: unavailable, io,
    // timed_out.
    virtual async::awaitable<result<std::vector<model::link_counters>>> count(std::vector<std::string> names,
                                                                              time_point deadline) = 0;
};

}  // namespace pvc::netlink
