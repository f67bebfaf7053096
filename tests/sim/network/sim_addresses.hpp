// The port to the addresses on the devices of one simulated machine.
#pragma once

#include "pvcnoded/netlink/addresses.hpp"
#include "pvcnoded/netlink/announcement_queue.hpp"
#include "sim/network/kernel_calls.hpp"
#include "sim/network/sim_kernel.hpp"

namespace pvc::sim {

class sim_addresses final : public netlink::addresses, public kernel_calls {
public:
    sim_addresses(sim_kernel& machine, async::timers& clock)
        : kernel_calls(clock, std::chrono::milliseconds(1)),
          machine_(machine),
          announcements_(
              clock, [this](const std::string& device, const ip::address& address,
                            std::span<const netlink::announced_as> frames) { return send(device, address, frames); }) {}

    // "10.0.0.254 on brcluster", as they were sent for the first time after each addition.
    std::vector<std::string> announced;
    // All frames that leave the machine.
    std::function<void(const std::string& device, const ip::address& address, netlink::announced_as frame)> on_frame;
    // A dead daemon sends nothing more.
    void drop_calls();

    async::awaitable<result<void>> add(std::string device, host_address which, boot_time not_after,
                                       time_point deadline) override;
    async::awaitable<std::vector<result<void>>> add_all(std::vector<netlink::address_place> which, boot_time not_after,
                                                        time_point deadline) override;
    using addresses::remove;
    async::awaitable<result<void>> remove(std::string device, host_address which,
                                          std::vector<netlink::staying_route> staying, time_point deadline) override;
    void announce(const std::string& device, const ip::address& which) override;
    void announce_if(std::function<bool()> is_to_stay) override;
    async::awaitable<result<std::vector<host_address>>> list(std::string device, time_point deadline) override;

private:
    result<void> add_now(const std::string& device, const host_address& which);

    bool send(const std::string& device, const ip::address& address, std::span<const netlink::announced_as> frames);

    sim_kernel& machine_;
    netlink::announcement_queue announcements_;
};

}  // namespace pvc::sim
