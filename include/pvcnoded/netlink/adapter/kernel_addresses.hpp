// The addresses of the primary role in the Linux kernel of this network namespace, and their announcements.
//
// The kernel waits for whoever else changes links, so each call is made on a thread of the pool, one at a time: one
// thread at most, however long it hangs. A call that was given up before its request was sent is never sent, and the
// guard of an addition is looked at on the thread, right before it asks. The namespace is that of the thread that
// calls, which starts those of the pool. The frames are sent by the loop's thread, for which nobody waits.
//
// Frames that are sent later are this object's to send, if the address is there then and the object too.
#pragma once

#include "pvcnoded/async/offload.hpp"
#include "pvcnoded/async/timers.hpp"
#include "pvcnoded/netlink/addresses.hpp"
#include "pvcnoded/netlink/announcement_queue.hpp"

#include <memory>

namespace pvc::netlink {

class kernel_lane;
class announcer;

// `clock` and `pool` must outlive it.
class kernel_addresses final : public addresses {
public:
    kernel_addresses(async::timers& clock, async::offload& pool);
    ~kernel_addresses() override;

    async::awaitable<result<void>> add(std::string device, host_address which, boot_time not_after,
                                       time_point deadline) override;
    async::awaitable<std::vector<result<void>>> add_all(std::vector<address_place> which, boot_time not_after,
                                                        time_point deadline) override;
    using addresses::remove;
    async::awaitable<result<void>> remove(std::string device, host_address which, std::vector<staying_route> staying,
                                          time_point deadline) override;
    void announce(const std::string& device, const ip::address& which) override;
    void announce_if(std::function<bool()> is_to_stay) override;
    async::awaitable<result<std::vector<host_address>>> list(std::string device, time_point deadline) override;

private:
    std::unique_ptr<kernel_lane> lane_;
    std::unique_ptr<announcer> announcer_;
    announcement_queue announcements_;
};

}  // namespace pvc::netlink
