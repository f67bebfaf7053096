// One creation of a guest, guarded by the moment of its proof. Whatever becomes of the call, what may yet be carried
// out counts as running here. Specification: vm-domains.md 5.3, 6.1.
#pragma once

#include "operations/operation.hpp"

#include <optional>
#include <string>

namespace pvc::domains {

enum class create_step : std::uint8_t {
    created,
    failed,  // `reason` says why
    again,   // with a new proof
    leave,   // it is there, or libvirt is not: the tables are asked again
};

// libvirt begins before `not_after`, or not at all. `again_until`: for how long something that is in the way is waited
// for, over attempts.
async::awaitable<create_step> create(operation& op, const std::string& xml, boot_time not_after,
                                     std::optional<time_point>& again_until, std::string& reason);

}  // namespace pvc::domains
