// What would become of the machines of each node if it died now: for whoever asks (`pvcnodectl explain capacity`). Each
// node is looked at as if it were the only one to die, its machines are planned one after the other as a recovery plans
// them (recovery_plan.hpp). Pure. Specification: README ruling 44.
#pragma once

#include "pvcnoded/policy/fencing/recovery_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pvc::policy {

struct guest_of_node {
    std::string name;
    std::string node;      // which it belongs to
    guest_to_place guest;  // `request.current`: that node
    std::string trouble;   // why its definition cannot be read, as a clause; empty: it can
};

struct capacity_of_node {
    std::string node;
    std::int64_t machines = 0;
    std::int64_t memory = 0;  // MiB, of them
    std::int64_t placed = 0;  // so many would start elsewhere
    friend bool operator==(const capacity_of_node&, const capacity_of_node&) = default;
};

struct guest_without_place {
    std::string node;
    std::string name;
    std::string reason;  // one clause
    friend bool operator==(const guest_without_place&, const guest_without_place&) = default;
};

struct capacity_outlook {
    std::vector<capacity_of_node> nodes;    // in the order of `rooms`
    std::vector<guest_without_place> left;  // by node, in the order of `guests`
    friend bool operator==(const capacity_outlook&, const capacity_outlook&) = default;
};

// `overcommit` and `keepalive` as for recovery_planner, `assigned` as for its `begin`.
[[nodiscard]] capacity_outlook explain_capacity(const std::vector<node_room>& rooms,
                                                const std::vector<guest_of_node>& guests, std::int64_t overcommit,
                                                duration keepalive, const std::vector<assigned_machine>& assigned = {});

}  // namespace pvc::policy
