// What the kernel makes by itself as soon as a bridge has the addresses of its port, and the host did not have, or had
// otherwise, or elsewhere among its own ways to that place: a host that sends to its own network by a gateway (hosting
// companies want that) is out of reach if the kernel's route to it comes first. Pure. Specification: networking.md 3.1.
#pragma once

#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pvc::policy {

// A move as it is planned.
struct moving_ways {
    const model::network_state& seen;
    const model::network_link& device;
    int bridge = -1;                                // there is none of it yet
    std::string name;                               // of the bridge
    std::span<const model::link_address> going;     // from the device
    std::span<const model::link_address> there;     // that the bridge has at the end, in the order of the kernel
    std::span<const host_address> own;              // the daemon's, among them
    std::span<const model::link_route> made_there;  // over the device, for which what the kernel makes there stands
    // The other ones, in the order in which they are made on the bridge, and as they come.
    std::vector<std::pair<model::link_route, model::network_route>> routes{};
};

struct kept_ways {
    // Once all of it is there, and before any of it goes: the order first, then what was not wanted. Whoever dies in
    // between has the same on the device.
    std::vector<model::network_change> steps;
    std::vector<std::string> out_of_order;  // places whose ways cannot have the order that they had
    std::vector<std::string> not_made;      // networks of addresses that go, to which the kernel has no route there
};

[[nodiscard]] model::link_route as_link_route(const model::connected_route& one);

// The ways of one place (table, network, metric) over a link, as the kernel takes them.
[[nodiscard]] std::vector<model::link_route> ways_over(const model::network_state& seen, int link,
                                                       const model::link_route& of_place);

[[nodiscard]] kept_ways keep_ways(const moving_ways& move);

}  // namespace pvc::policy
