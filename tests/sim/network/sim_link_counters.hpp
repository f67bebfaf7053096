// The port to what one simulated machine counts of its network cards: the devices of its kernel that nobody made. What
// passes over them passes evenly, as a test says.
#pragma once

#include "pvcnoded/netlink/link_counters.hpp"
#include "sim/network/kernel_calls.hpp"
#include "sim/network/sim_kernel.hpp"

#include <map>
#include <string>

namespace pvc::sim {

class sim_link_counters final : public netlink::link_counters, public kernel_calls {
public:
    sim_link_counters(sim_kernel& machine, async::timers& clock)
        : kernel_calls(clock, duration::zero()), machine_(machine) {}

    struct flow {
        std::uint64_t rx_bytes = 0;  // each second
        std::uint64_t tx_bytes = 0;
        std::uint64_t rx_packets = 0;
        std::uint64_t tx_packets = 0;
    };
    // From now on; what was counted before stays.
    void set_flow(const std::string& device, flow each_second);
    // The driver begins to count anew.
    void reset(const std::string& device);
    std::map<std::string, std::int64_t> speeds;  // as /sys says; a device without one does not know

    async::awaitable<result<std::vector<model::hardware_link>>> hardware(time_point deadline) override;
    async::awaitable<result<std::vector<model::link_counters>>> count(std::vector<std::string> names,
                                                                      time_point deadline) override;

private:
    struct counted {
        flow until_then;
        flow each_second;
        time_point since{};
    };
    [[nodiscard]] flow now(const std::string& device) const;

    sim_kernel& machine_;
    std::map<std::string, counted> counted_;
};

}  // namespace pvc::sim
