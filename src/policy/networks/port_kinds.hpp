// What a kernel makes no port of a bridge. Pure. Specification: networking.md 3.1.
#pragma once

#include "pvcnoded/model/network_state.hpp"

namespace pvc::policy {

// Tunnels of IP packets: no bridge takes them.
[[nodiscard]] bool has_no_frames(const model::network_link& device);
// What stands on a device and has its frames for itself. Null: there is none.
[[nodiscard]] const model::network_link* sole_user(const model::network_state& seen, const model::network_link& device);

}  // namespace pvc::policy
