// What a daemon is assembled from: the subjects, who of them takes part in which phase of the start-up, and in which
// order they stop. The process and the simulated node use one list (docs/decisions/subjects.md); a new subject is a
// line here and a line in one of the tables. Specification: node-lifecycle.md 3.2, 5.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/ceph/ceph_subject.hpp"
#include "pvcnoded/core/subject.hpp"
#include "pvcnoded/domains/domain_subject.hpp"
#include "pvcnoded/fencing/board_probes.hpp"
#include "pvcnoded/fencing/capacity.hpp"
#include "pvcnoded/fencing/fence_archive.hpp"
#include "pvcnoded/fencing/fencer.hpp"
#include "pvcnoded/fencing/ipmi_check.hpp"
#include "pvcnoded/fencing/machine_recoveries.hpp"
#include "pvcnoded/networks/network_subjects.hpp"
#include "pvcnoded/role/role_parts.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace pvc::node {

struct phase_row {
    policy::phase in;
    std::string_view subject;
};
struct stop_row {
    std::string_view subject;
    duration limit;
};

struct assembly {
    // Called in each attempt, when the configuration is known.
    std::function<core::subjects(core::node_context&)> make;
    // In a phase its own step comes first, then these, in this order.
    std::vector<phase_row> phases;
    std::vector<stop_row> stops;
};

// What only one subject needs from outside, each for its constructor. All outlive the daemon.
struct subject_ports {
    std::optional<domains::domain_ports> domains;
    std::optional<ceph::ceph_ports> ceph;
    std::optional<networks::network_ports> networks;
    std::optional<fencing::fence_ports> fencing;
    std::optional<role::role_ports> role;  // likewise of nodes with the networking function
};

// The daemon that is shipped.
[[nodiscard]] assembly all_subjects(subject_ports outside);

}  // namespace pvc::node
