// Links, addresses, routes and settings of the machine, as the Linux kernel of this network namespace has them.
//
// Requests go over one socket, looks over another one, and a third one listens while anything is watched. The kernel
// does what it is asked within the call, so nothing waits but for an answer that was lost. Settings are files below
// /proc/sys, which follows the namespace of whoever reads it.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/network_stack.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>

namespace pvc::netlink {

class kernel_requests;
class change_monitor;

// `clock` and what `executor` runs on must outlive it. Watches may live longer, and are told nothing any more then.
class kernel_stack final : public network_stack {
public:
    kernel_stack(boost::asio::any_io_executor executor, async::timers& clock);
    ~kernel_stack() override;

    async::awaitable<result<model::network_state>> look(time_point deadline) override;
    async::awaitable<result<void>> apply(model::network_change change, time_point deadline) override;
    [[nodiscard]] result<std::string> sysctl(const std::string& key) const override;
    [[nodiscard]] std::unique_ptr<network_watch> watch(async::wakeup& changed) override;

    // Dumps that the kernel called interrupted, so far.
    [[nodiscard]] std::uint64_t interrupted_dumps() const;

private:
    std::unique_ptr<kernel_requests> requests_;
    std::unique_ptr<kernel_requests> dumps_;
    std::shared_ptr<change_monitor> monitor_;
    std::uint32_t applied_ = 0;
};

}  // namespace pvc::netlink
