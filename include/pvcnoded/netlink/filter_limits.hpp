// What no message to the kernel's packet filter could hold, or would be taken for something else there: it is refused
// before the kernel is asked, on a simulated machine as well. Pure. Specification: networking.md 7.3.
#pragma once

#include "pvcnoded/model/packet_filter.hpp"

#include <optional>
#include <string>

namespace pvc::netlink {

// Why no kernel takes that change, in its words; empty: ask the kernel.
[[nodiscard]] std::optional<std::string> objection_to(const model::filter_change& change);

}  // namespace pvc::netlink
