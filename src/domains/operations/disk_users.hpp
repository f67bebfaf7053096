// Who else on this host has RBD images open: guests by their live XML, what is being created, and what the host's
// kernel or a program maps as a block device. Specification: README ruling 80.
#pragma once

#include "operations/operation.hpp"

#include <string>
#include <vector>

namespace pvc::domains {

// Beside the domain of the operation itself. What could not be looked at makes all of it unknown.
async::awaitable<policy::disk_users_read> read_disk_users(const operation& op, std::vector<std::string> volumes,
                                                          time_point until);

}  // namespace pvc::domains
