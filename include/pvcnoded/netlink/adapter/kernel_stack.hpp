// Links, addresses, routes and settings of the machine, as the Linux kernel of this network namespace has them.
//
// The kernel does what it is asked within the call that asks, and waits there for whoever else changes links: tens of
// milliseconds for each link that goes, seconds where a namespace ends. So changes are made on a thread of the pool,
// one at a time, looks on another one, each over a socket of its own: two threads at most, however long they hang. A
// change that was given up before its request was sent is never sent. Only what listens, while anything is watched, is
// the loop's. Settings are files below /proc/sys: they are read at once, and written on the thread. The namespace of
// all of it is that of the thread that calls, which starts those of the pool.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/network_stack.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>

namespace pvc::netlink {

class kernel_lane;
class change_monitor;

// `clock`, `pool` and what `executor` runs on must outlive it. Watches may live longer, and are told nothing any more
// then.
class kernel_stack final : public network_stack {
public:
    kernel_stack(boost::asio::any_io_executor executor, async::timers& clock, async::offload& pool);
    ~kernel_stack() override;

    async::awaitable<result<model::network_state>> look(time_point deadline) override;
    async::awaitable<result<std::vector<device_rule>>> device_rules(time_point deadline) override;
    async::awaitable<result<void>> apply(model::network_change change, time_point deadline) override;
    async::awaitable<result<void>> remove_link(std::string name, int index, time_point deadline) override;
    [[nodiscard]] bool has_late_changes() const override;
    [[nodiscard]] result<std::string> sysctl(const std::string& key) const override;
    [[nodiscard]] std::uint64_t settings_told(int link) const override;
    [[nodiscard]] std::unique_ptr<network_watch> watch(async::wakeup& changed) override;

    // Dumps that the kernel called interrupted, so far.
    [[nodiscard]] std::uint64_t interrupted_dumps() const;

private:
    std::unique_ptr<kernel_lane> changes_;
    std::unique_ptr<kernel_lane> looks_;
    std::shared_ptr<change_monitor> monitor_;
};

}  // namespace pvc::netlink
