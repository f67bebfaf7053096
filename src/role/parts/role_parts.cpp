#include "pvcnoded/role/role_parts.hpp"

#include "pvcnoded/role/role_services.hpp"

namespace pvc::role {

void add_role_parts(core::subjects& to, core::node_context& node, role_ports outside) {
    if (node.mode == model::daemon_mode::coordinator) {
        to.push_back(std::make_unique<role_services>(node, outside.processes));
    }
}

}  // namespace pvc::role
