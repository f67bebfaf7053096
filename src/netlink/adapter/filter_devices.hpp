// Rules of packet filters, of whatever table and program, that name a device as packets come in or go out by it. Sets
// of devices are not looked into. Specification: networking.md 3.1.
#pragma once

#include "pvcnoded/base/result.hpp"
#include "pvcnoded/netlink/network_stack.hpp"

#include <string_view>
#include <vector>

namespace pvc::netlink {

// Body of NFT_MSG_NEWRULE: "iifname eth0 in chain input of table inet fw". Errors: io.
[[nodiscard]] result<std::vector<device_rule>> parse_devices_of_rule(std::string_view body);

// On a thread of the pool; each once. All of them, or none: one that changes meanwhile is looked at anew. Errors:
// unavailable (no such subsystem in this kernel), io.
[[nodiscard]] result<std::vector<device_rule>> devices_in_filter();

}  // namespace pvc::netlink
