#include "sim/subjects/networks/networks.hpp"

#include "sim/subjects/networks/filter.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/registry.hpp"

#include <algorithm>

namespace pvc::sim {

namespace {

// Links that are nobody's business: of other software on the machine, made again whenever it comes up.
void make_foreign_links(sim_kernel& kernel) {
    const model::network_change all[] = {
        model::make_bridge{"docker0"},
        model::set_up{"docker0"},
        model::add_address{"docker0", *parse_host_address("172.17.0.1/16")},
        model::make_vxlan{"vxlan.calico", kernel.has_device("ens6") ? "ens6" : "lo", 4096, 8472},
    };
    for (const auto& one : all) {
        ignore(kernel.apply(one), "it is there, or cannot be");
    }
    kernel.add_tap("tap99", "docker0");
}

void begin_networks(cluster& world) {
    if (!has_networking(world)) {
        return;
    }
    for (auto& one : world.members) {
        one->node.kernel.on_boot = make_foreign_links;
        make_foreign_links(one->node.kernel);
    }
    // What a reference node has on its bridges, it finds in the same keys.
    for (auto& one : world.foreigners) {
        one->settings.gateways = [&world] { return gateways_of(world); };
    }
}

void heal_network(cluster& /*world*/, member& one) {
    one.node.network.end_faults();
    for (const auto& device : devices_of(one.node.settings)) {
        one.node.kernel.set_carrier(device.name, true);
        one.node.kernel.add_device(device.name);
    }
    for (const std::string number : {"1001", "1002"}) {
        const std::string bridge = "vmbr" + number;
        if (one.node.kernel.has(bridge, *parse_host_address(strangers_address))) {
            one.node.kernel.remove_device("tap" + number);
            ignore(one.node.kernel.apply(model::delete_link{bridge}), "it is there");
        }
    }
}

// The primary writes the size that it chose, and nothing else.
bool is_network_mtu(const seen_change& seen) {
    return seen.what.path.starts_with("/networks/") && seen.what.path.ends_with("/mtu");
}

std::vector<model::client_network> parsed_networks(const memory_ensemble& tree) {
    static constexpr std::string_view keys[] = {
        "", "/nettype", "/mtu", "/ip4_network", "/ip4_gateway", "/ip6_network", "/ip6_gateway"};
    std::vector<model::client_network> all;
    if (!tree.exists("/networks")) {
        return all;
    }
    for (const auto& name : tree.children("/networks")) {
        std::map<std::string, std::string, std::less<>> stored;
        for (const auto key : keys) {
            if (auto value = tree.get("/networks/" + name + std::string(key))) {
                stored.emplace(key, *std::move(value));
            }
        }
        auto parsed = model::parse_client_network(name, stored);
        if (parsed.network) {
            all.push_back(*std::move(parsed.network));
        }
    }
    std::ranges::sort(all, {}, &model::client_network::vni);
    return all;
}

std::vector<std::pair<std::string, host_address>> gateways_in(const std::vector<model::client_network>& networks) {
    std::vector<std::pair<std::string, host_address>> all;
    for (const auto& one : networks) {
        for (const auto* family : {&one.ip6, &one.ip4}) {
            const auto gateway = family->gateway_address();
            const bool is_free = gateway && std::ranges::none_of(all, [&](const auto& other) {
                                     return other.second.address == gateway->address;
                                 });
            if (one.type == model::network_type::managed && is_free) {
                all.emplace_back(one.bridge(), *gateway);
            }
        }
    }
    return all;
}

// Many rules ask each second, and the keys hardly ever change.
struct networks_seen {
    std::optional<std::uint64_t> changes;
    std::vector<model::client_network> networks;
    std::vector<std::pair<std::string, host_address>> gateways;
};

const networks_seen& seen_in(cluster& world) {
    auto& seen = world.state<networks_seen>();
    const auto changes = world.changes_below("networks");
    if (seen.changes != changes) {
        seen.changes = changes;
        seen.networks = parsed_networks(world.ensemble);
        seen.gateways = gateways_in(seen.networks);
    }
    return seen;
}

constexpr subject_part network_part{.begin = begin_networks, .heal_member = heal_network};
constexpr key_rules network_keys{.is_shared = is_network_mtu, .needs_version = is_network_mtu};

constexpr sweep_operation network_operations[] = {
    {"network-is-made", "hv1 hv2",
     "setting all networking on\n"
     "start hv1\nuntil hv1 is primary within 10s\nstart hv2\nuntil hv2 runs within 60s\nwait 2s\n",
     "network create 1001 managed 10.1.1.1/24 fd00:1::1/64"},
    {"network-is-removed", "hv1 hv2",
     "setting all networking on\n"
     "start hv1\nuntil hv1 is primary within 10s\nstart hv2\nuntil hv2 runs within 60s\n"
     "network create 1001 managed 10.1.1.1/24 fd00:1::1/64\nwait 5s\n",
     "network remove 1001"},
};

constexpr planted_mistake network_mistakes[] = {
    {defect::gateway_kept, "gateway_kept"},
    {defect::base_no_port, "base_no_port"},
    {defect::network_left, "network_left"},
    {.which = defect::altname_unknown, .name = "altname_unknown", .is_of_hosts = true},
    {defect::connected_route_lost, "connected_route_lost"},
    {defect::second_port, "second_port"},
    {.which = defect::host_link_taken, .name = "host_link_taken", .is_of_hosts = true},
    {.which = defect::advertised_routes_lost, .name = "advertised_routes_lost", .is_of_hosts = true},
    {.which = defect::metric_hinders, .name = "metric_hinders", .is_of_hosts = true},
    {.which = defect::route_without_port, .name = "route_without_port", .is_of_hosts = true},
    {.which = defect::shrunk_under_links, .name = "shrunk_under_links", .is_of_hosts = true},
    {.which = defect::scope_link_left, .name = "scope_link_left", .is_of_hosts = true},
    {.which = defect::card_bridge_deaf, .name = "card_bridge_deaf", .is_of_hosts = true},
    {.which = defect::vrf_deaf, .name = "vrf_deaf", .is_of_hosts = true},
    {.which = defect::foreign_bridge_taken, .name = "foreign_bridge_taken", .is_of_hosts = true},
    {.which = defect::reach_ignored, .name = "reach_ignored", .is_of_hosts = true},
    {.which = defect::gateway_of_two_refused, .name = "gateway_of_two_refused", .is_of_hosts = true},
    {.which = defect::port_without_frames, .name = "port_without_frames", .is_of_hosts = true},
    {.which = defect::moved_bare, .name = "moved_bare", .is_of_hosts = true},
    {.which = defect::lease_made_permanent, .name = "lease_made_permanent", .is_of_hosts = true},
    {.which = defect::renewal_ignored, .name = "renewal_ignored", .is_of_hosts = true},
    {.which = defect::routes_not_moved, .name = "routes_not_moved", .is_of_hosts = true},
    {.which = defect::moved_routes_bare, .name = "moved_routes_bare", .is_of_hosts = true},
    {.which = defect::new_bridge_hears_routers, .name = "new_bridge_hears_routers", .is_of_hosts = true},
    {.which = defect::own_damage_kept, .name = "own_damage_kept", .is_of_hosts = true},
    {.which = defect::swept_unread, .name = "swept_unread", .is_of_hosts = true},
    {.which = defect::folder_patterns_unread, .name = "folder_patterns_unread", .is_of_hosts = true},
    {defect::rules_not_awaited, "rules_not_awaited", "guest-starts-behind-the-rules-of-its-network"},
    {.which = defect::forwarding_unwatched, .name = "forwarding_unwatched", .is_of_hosts = true},
    {defect::late_link_forgotten, "late_link_forgotten", "network-whose-vlan-comes-late"},
    {.which = defect::refused_unfiltered, .name = "refused_unfiltered", .seed = 57},
    {defect::change_without_end, "change_without_end", "network-cannot-become-bridged-without-its-card"},
};

}  // namespace

const std::vector<model::client_network>& networks_of(cluster& world) {
    return seen_in(world).networks;
}

const std::vector<std::pair<std::string, host_address>>& gateways_of(cluster& world) {
    return seen_in(world).gateways;
}

void add_networks(registry& to);
void add_networks(registry& to) {
    to.add(network_part);
    to.add(network_keys);
    to.add(network_operations);
    to.add(network_mistakes);
    add_network_clients(to);
    add_network_faults(to);
    add_network_rules(to);
    add_functions(to);
    add_filter_actions(to);
    add_filter_rules(to);
}

}  // namespace pvc::sim
