// The links that the host's own network configuration names: /etc/network/interfaces, with what it sources.
// Specification: README ruling 79.
#pragma once

#include "pvcnoded/policy/networks/ifupdown.hpp"
#include "pvcnoded/services/host.hpp"

namespace pvc::networks {

// What is not there, or cannot be understood, names nothing. Patterns are followed in every part of a path, at most
// 4096 files of 1 MiB and 1024 folders in all. Errors: those of reading, but not_found, and `unavailable` for what is
// more than that, or for a shell; with file and line of what sources it. Nothing is known then.
async::awaitable<result<policy::named_links>> names_of_host(services::host& host);

}  // namespace pvc::networks
