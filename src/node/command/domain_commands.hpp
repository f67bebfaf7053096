// Commands about virtual machines that clients up to 0.9.80 write into /cmd/domains: flush_locks, attach_device,
// detach_device. The node that a machine belongs to carries them out; what names no machine fails at whoever is first.
// Specification: vm-domains.md 14, node-lifecycle.md 13.
#pragma once

#include "pvcnoded/node/domains.hpp"

namespace pvc::node {

// Until cancelled; returns at once where the active schema has no such key.
async::awaitable<void> follow_domain_commands(session& s, domains& machines);

}  // namespace pvc::node
