// The parts of the primary role that this layer has itself, as subjects: what only the primary has on its machine.
#pragma once

#include "pvcnoded/async/process.hpp"
#include "pvcnoded/core/subject.hpp"

namespace pvc::role {

// All outlive the subjects.
struct role_ports {
    async::process_runner& processes;
};

// Appends them, in the order in which a phase asks them. For nodes with the networking function.
void add_role_parts(core::subjects& to, core::node_context& node, role_ports outside);

}  // namespace pvc::role
