#include "pvcnoded/policy/fencing/explain_capacity.hpp"

#include <algorithm>

namespace pvc::policy {

capacity_outlook explain_capacity(const std::vector<node_room>& rooms, const std::vector<guest_of_node>& guests,
                                  std::int64_t overcommit, duration keepalive,
                                  const std::vector<assigned_machine>& assigned) {
    constexpr time_point at{};  // one plan each: no time passes in it
    capacity_outlook out;
    for (const auto& dead : rooms) {
        auto others = rooms;
        std::erase_if(others, [&dead](const node_room& one) { return one.offer.name == dead.offer.name; });
        recovery_planner planner(overcommit, keepalive);
        planner.begin(std::move(others), at, assigned);
        auto& sum = out.nodes.emplace_back();
        sum.node = dead.offer.name;
        for (const auto& one : guests) {
            if (one.node != sum.node) {
                continue;
            }
            ++sum.machines;
            if (!one.trouble.empty()) {
                out.left.push_back({one.node, one.name, one.trouble});
                continue;
            }
            sum.memory += one.guest.memory;
            const auto plan = planner.place(one.guest, at);
            if (plan.what == planned_guest::kind::placed) {
                ++sum.placed;
            } else {
                out.left.push_back({one.node, one.name, plan.reason});
            }
        }
    }
    return out;
}

}  // namespace pvc::policy
