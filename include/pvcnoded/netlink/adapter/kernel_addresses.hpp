// The addresses of the primary role in the Linux kernel of this network namespace, and their announcements.
//
// The second frame of an announcement is this object's to send: it goes 20 ms after the first, unless the address was
// removed meanwhile or the object is gone.
#pragma once

#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/addresses.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace pvc::netlink {

class kernel_requests;
class announcer;

// `clock` and what `executor` runs on must outlive it.
class kernel_addresses final : public addresses {
public:
    kernel_addresses(boost::asio::any_io_executor executor, async::timers& clock);
    ~kernel_addresses() override;

    async::awaitable<result<void>> add(std::string device, host_address which, boot_time not_after,
                                       time_point deadline) override;
    async::awaitable<result<void>> remove(std::string device, host_address which, time_point deadline) override;
    async::awaitable<result<std::vector<host_address>>> list(std::string device, time_point deadline) override;

private:
    async::timers& clock_;
    std::unique_ptr<kernel_requests> requests_;
    std::unique_ptr<announcer> announcer_;
};

}  // namespace pvc::netlink
