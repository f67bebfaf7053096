// Which address of a link packets have that leave over a route without a source of its own, as the kernel chooses. A
// route that goes to another link, which has other addresses beside, gets the one that it had as its own: firewalls and
// peers know this machine by that. Pure. Specification: networking.md 3.1.
#pragma once

#include "pvcnoded/model/network_route.hpp"
#include "pvcnoded/model/network_state.hpp"

#include <optional>
#include <span>
#include <vector>

namespace pvc::policy {

// The addresses of a link, in the order of the kernel, with another one that somebody adds.
void add_as_kernel(std::vector<model::link_address>& all, const model::link_address& one);

// What a route over a link that has `before` is to name as its source on one that has `after`, so that nothing changes.
// Empty: nothing changes by itself; or it is not there any more; or, of IPv6, the kernel has several to choose from,
// and looks at each destination.
[[nodiscard]] std::optional<ip::address> source_to_name(const model::network_route& route,
                                                        std::span<const model::link_address> before,
                                                        std::span<const model::link_address> after);

}  // namespace pvc::policy
