// Of routes that do not go along with a device: what is left of them once it is a port.
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <algorithm>

namespace pvc::policy {

lost_routes routes_lost(const std::vector<unmoved_route>& before, const host_plan& plan,
                        const model::network_state& seen) {
    lost_routes lost;
    for (const auto& one : before) {
        const auto* device = seen.find(one.device);
        bool is_there = false;
        bool is_back = false;
        for (const auto& other : seen.link_routes()) {
            const auto& was = one.is.is;
            const bool is_it = other.table == one.is.table && other.is.to == was.to && other.is.metric == was.metric &&
                               other.is.tos == was.tos && other.is.gateway == was.gateway;
            is_there = is_there || (is_it && other.link == one.is.link);
            is_back = is_back || (is_it && other.link != one.is.link);
        }
        const bool is_told = std::ranges::find(plan.remarks, one.text, &network_remark::text) != plan.remarks.end();
        const bool is_removed = one.is_dead && !is_there;
        if (device == nullptr || device->master == 0 || is_back || is_told || is_removed) {
            continue;
        }
        lost.remarks.push_back({message::network_device_configured, false, one.text});
        lost.next.push_back(one);
        lost.next.back().is_dead = is_there;
    }
    std::ranges::copy(plan.unmoved, std::back_inserter(lost.next));
    return lost;
}

}  // namespace pvc::policy
