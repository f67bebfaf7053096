// Ending a guest: asking it, and destroying it. Specification: vm-domains.md 6.2, 6.3.
#pragma once

#include "operations/operation.hpp"

#include <functional>
#include <optional>

namespace pvc::domains {

enum class power_result : std::uint8_t {
    off,      // the domain is gone from this host
    changed,  // `goes_on` said no; it may still go down
    unknown,  // the hypervisor is away
};

// Asks the guest to shut down and waits until its domain is gone; destroys it when vm_shutdown_timeout has passed.
// A paused guest is resumed first. `goes_on` is asked at every wake-up.
async::awaitable<power_result> power_down(operation& op, std::function<bool()> goes_on);

// Destroys it until it is gone, however often that takes; with `until` it is left by then, `unknown`.
async::awaitable<power_result> destroy(operation& op, std::optional<time_point> until = {});

}  // namespace pvc::domains
