// Whose a migration's failure is, for whoever chooses targets. Specification: README ruling 78.
#pragma once

#include <cstdint>

namespace pvc::policy {

enum class move_fault : std::uint8_t {
    neither,  // the source's, a client's, or nobody knows
    machine,  // a libvirt has answered: it refuses just this machine
    target,   // not reached, no answer in time, no progress
};

}  // namespace pvc::policy
