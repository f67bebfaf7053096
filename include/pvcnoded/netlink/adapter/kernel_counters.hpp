// What the Linux kernel of this network namespace counts. Counters are asked for over a routing socket of its own, link
// by link: a node has few cards, and may have thousands of links. Which links are cards is read below /sys, and how
// fast they are, as the driver is asked for that. Each is done on a thread of the pool: one for each of the two calls
// at most, however long they hang.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/link_counters.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace pvc::netlink {

class kernel_lane;

// `clock` and `pool` must outlive it.
class kernel_counters final : public link_counters {
public:
    // `sysfs`: where /sys is.
    kernel_counters(async::timers& clock, async::offload& pool, std::string sysfs = "/sys");
    ~kernel_counters() override;

    async::awaitable<result<std::vector<model::hardware_link>>> hardware(time_point deadline) override;
    async::awaitable<result<std::vector<model::link_counters>>> count(std::vector<std::string> names,
                                                                      time_point deadline) override;

private:
    async::timers& clock_;
    async::offload& pool_;
    std::string sysfs_;
    std::unique_ptr<kernel_lane> lane_;
    std::weak_ptr<std::atomic<bool>> last_look_;  // of a thread of the pool: true when it is over
};

}  // namespace pvc::netlink
