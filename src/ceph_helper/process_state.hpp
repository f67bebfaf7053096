// This process: its clocks, what it takes, and what it gives up at its start.
#pragma once

#include "pvcnoded/base/clock.hpp"
#include "pvcnoded/protocol/ceph_messages.hpp"

namespace pvc::ceph_helper {

[[nodiscard]] time_point monotonic_now();
[[nodiscard]] boot_time boot_now();

// Of memory only what no other process shares; 0 where the kernel does not say.
[[nodiscard]] protocol::ceph::say::used usage_now();

// It dies with whoever started it. First of all, and once more after `confine`, which may undo it.
void die_with_parent();
// Gives up everything but reading files of others (keyrings may belong to the user `ceph`) and what it has opened below
// `first_descriptor_closed`: capabilities, new privileges, core dumps, being looked into, standard input.
void confine(unsigned first_descriptor_closed);

}  // namespace pvc::ceph_helper
