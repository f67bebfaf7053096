#include "pvcnoded/role/role_parts.hpp"

#include "floating_addresses.hpp"

namespace pvc::role {

void add_role_parts(core::subjects& to, core::node_context& node, role_ports outside) {
    to.push_back(std::make_unique<floating_addresses>(node, outside.addresses));
}

}  // namespace pvc::role
