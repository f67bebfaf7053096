// What the files of this subject have in common: client networks, as clients keep them in the tree.
#pragma once

#include "pvcnoded/model/client_network.hpp"
#include "sim/world/cluster.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pvc::sim {

// On a bridge that somebody has of a client network's name.
inline constexpr std::string_view strangers_address = "192.0.2.5/24";

class judge;

// Of an existing network, as the parser reads it; those that are not set up are left out. By VNI.
[[nodiscard]] const std::vector<model::client_network>& networks_of(cluster& world);
// Where the primary has which gateways: of two networks with the same one the smaller VNI.
[[nodiscard]] const std::vector<std::pair<std::string, host_address>>& gateways_of(cluster& world);

// Nodes whose file named another device before any daemon ran there: what the host had made a port by then is its own.
struct early_devices {
    std::set<std::string> nodes;
};

// When the keys of networks were changed last.
struct network_changes {
    std::map<std::string, time_point, std::less<>> when;  // by VNI
    std::uint64_t count = 0;
    std::optional<time_point> last;
};
// Half a minute ago, or longer.
[[nodiscard]] bool is_settled(const judge& of, std::uint32_t vni);
[[nodiscard]] bool are_all_settled(const judge& of);

// It stands on a link that no record has and that is no port of its bridge (the record could not be written, and
// somebody took it out while no daemon ran): nothing shows whose it is, and its daemon has told that.
[[nodiscard]] bool is_nobodys_base(const sim_node& node, const model::client_network& network);
// What a network stands on is on a device of before, and its daemon has told that it leaves it there.
[[nodiscard]] bool is_left_on_device_of_before(const sim_node& node, std::uint32_t vni);

// What a machine's administrator made for himself, and called as a client network's VLAN would be.
inline constexpr std::string_view host_vlan = "vlan400";

void add_network_clients(registry& to);
void add_network_faults(registry& to);
void add_network_rules(registry& to);
void add_functions(registry& to);

}  // namespace pvc::sim
