// What goes from a device to the bridge that it is a port of: on a port nobody reaches it, and the kernel sends to the
// port what is for the bridge's network. On the bridge it is what it was. That is all that somebody gave the device, of
// whatever network: a host may be managed over it. What has a lifetime, and is of the bridge's own network, keeps it
// there (it would stand in the way on the port); of any other network it stays, as nobody would prolong it, and so does
// what is of another bridge's network. Specification: networking.md 3.1.
#pragma once

#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/model/network_state.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <string>
#include <vector>

namespace pvc::policy {

// What a bridge is for.
struct bridge_addresses {
    std::string name;
    std::vector<host_address> own;       // that it shall have
    std::vector<host_address> networks;  // that it serves, also those in which this node has no address
    std::vector<host_address> others;    // that other bridges serve
};

struct port_moves {
    std::vector<model::network_change> steps;  // once the device is a port
    std::vector<network_remark> remarks;       // what goes, and what cannot
    std::vector<host_address> addresses;       // that come to the bridge beside its own
    std::vector<host_address> own;             // its own that come with the steps, behind others of their network
    std::vector<model::link_route> routes;     // that go there, as they are on the device
    std::vector<unmoved_route> unmoved;        // that cannot

    [[nodiscard]] bool takes(const model::default_route& route) const;
};

// The step that makes an address on a device as it is.
[[nodiscard]] model::add_address added_again(const model::link_address& one, const std::string& device);
[[nodiscard]] bool is_link_local(const ip::address& address);
// An address of one of the networks of the bridge, other than those that every device has by itself.
[[nodiscard]] bool is_of(const bridge_addresses& bridge, const model::link_address& one);

[[nodiscard]] port_moves plan_moves(const model::network_state& seen, const model::network_link& device,
                                    const bridge_addresses& bridge);

}  // namespace pvc::policy
