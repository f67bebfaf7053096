// Virtual functions of the cards of this machine. What their drivers may take long for (all of it) is done on a thread
// of the pool, one call at a time, over a routing socket that lives as long as the call.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/process.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/virtual_functions.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace pvc::netlink {

// All must outlive it.
class kernel_functions final : public virtual_functions {
public:
    // `processes` runs modprobe. `sysfs`: where /sys is.
    kernel_functions(async::timers& clock, async::offload& pool, async::process_runner& processes,
                     std::string sysfs = "/sys");

    async::awaitable<result<void>> allow_unsafe_interrupts(time_point deadline) override;
    async::awaitable<result<int>> count(std::string card, time_point deadline) override;
    async::awaitable<result<void>> make(std::string card, int count, time_point deadline) override;
    async::awaitable<result<model::physical_function>> look(std::string card, time_point deadline) override;
    async::awaitable<result<void>> set(model::function_name which, model::function_setting setting,
                                       time_point deadline) override;
    async::awaitable<result<void>> set_mtu(model::function_name which, int mtu, time_point deadline) override;

private:
    template <class T>
    async::awaitable<result<T>> on_thread(std::string about, std::function<result<T>()> work, time_point deadline);

    async::timers& clock_;
    async::offload& pool_;
    async::process_runner& processes_;
    std::string sysfs_;
    std::weak_ptr<std::atomic<bool>> last_;  // call: true when it has come back
};

}  // namespace pvc::netlink
