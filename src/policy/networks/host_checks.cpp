// What a look at the host says beside the plan: how a step is undone, which settings are not as they shall be, which
// bridges do not work yet.
#include "own_links.hpp"
#include "port_moves.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/networks/connected_routes.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

namespace {

using model::network_change;
using undoing = std::optional<network_change>;

struct undo {
    const model::network_state& before;

    [[nodiscard]] bool has(const std::string& name) const { return before.find(name) != nullptr; }
    [[nodiscard]] std::optional<model::link_address> address_on(const std::string& device, const host_address& address,
                                                                const std::optional<ip::address>& peer) const {
        const auto* link = before.find(device);
        const auto all = link == nullptr ? std::vector<model::link_address>() : before.addresses_of(link->index);
        const auto found = std::ranges::find_if(
            all, [&](const model::link_address& one) { return one.address == address && one.peer == peer; });
        return found == all.end() ? std::nullopt : std::optional(*found);
    }
    // Also one as the kernel makes them.
    [[nodiscard]] bool has_route(const model::network_route& route, const std::string& device,
                                 std::uint32_t table) const {
        const auto is_connected = [&](const model::connected_route& one) {
            return one.network == route.to && one.metric == route.metric && before.name_of(one.link) == device &&
                   (one.source == route.source || route.to.address.is_v6());
        };
        return std::ranges::any_of(before.link_routes(),
                                   [&](const model::link_route& one) {
                                       return one.is == route && one.table == table &&
                                              before.name_of(one.link) == device;
                                   }) ||
               (route.protocol == made_by_kernel && table == model::main_table &&
                std::ranges::any_of(before.connected_routes(), is_connected));
    }
    [[nodiscard]] std::optional<model::network_route> route_like(const model::network_route& route,
                                                                 const std::string& device, std::uint32_t table) const {
        const auto found = std::ranges::find_if(before.link_routes(), [&](const model::link_route& one) {
            return one.is.is_like(route) && one.table == table && before.name_of(one.link) == device;
        });
        return found == before.link_routes().end() ? std::nullopt : std::optional(found->is);
    }
    // Over other devices than those of the move: it was made beside them.
    [[nodiscard]] bool is_beside_others(const model::add_route& move) const {
        return std::ranges::any_of(before.link_routes(), [&](const model::link_route& other) {
            const auto over = before.name_of(other.link);
            return over != move.device && over != move.moves_from && other.table == move.table &&
                   other.is.to == move.route.to && other.is.metric == move.route.metric;
        });
    }
    [[nodiscard]] bool has_route(const ip::address& gateway, const std::string& device) const {
        return std::ranges::any_of(before.routes(), [&](const model::default_route& one) {
            return one.gateway == gateway && before.name_of(one.link) == device;
        });
    }

    [[nodiscard]] undoing made(const std::string& name) const {
        return has(name) ? undoing() : undoing(model::delete_link{name});
    }
    undoing operator()(const model::make_bridge& one) const { return made(one.name); }
    undoing operator()(const model::make_vlan& one) const { return made(one.name); }
    undoing operator()(const model::make_vxlan& one) const { return made(one.name); }
    undoing operator()(const model::set_up& one) const {
        const auto* link = before.find(one.name);
        return link == nullptr || link->is_up ? undoing() : undoing(model::set_down{one.name});
    }
    undoing operator()(const model::set_down& one) const {
        const auto* link = before.find(one.name);
        return link == nullptr || !link->is_up ? undoing() : undoing(model::set_up{one.name});
    }
    // Also where it was so before: a bridge follows its ports meanwhile, until somebody says what it shall have.
    undoing operator()(const model::set_mtu& one) const {
        const auto* link = before.find(one.name);
        return link == nullptr || link->mtu == one.mtu ? undoing() : undoing(model::set_mtu{one.name, link->mtu});
    }
    undoing operator()(const model::set_master& one) const {
        const auto* link = before.find(one.name);
        const std::string master(link == nullptr ? "" : before.name_of(link->master));
        return link == nullptr || master == one.master ? undoing() : undoing(model::set_master{one.name, master});
    }
    undoing operator()(const model::add_address& one) const {
        return address_on(one.device, one.address, one.peer)
                   ? undoing()
                   : undoing(model::remove_address{one.device, one.address, one.peer});
    }
    undoing operator()(const model::remove_address& one) const {
        auto was = address_on(one.device, one.address, one.peer);
        const auto* link = before.find(one.device);
        if (was && link != nullptr && has_lost_route(before, *link, *was)) {
            was->settings.flags |=
                model::no_prefix_route;  // else the kernel makes the route that the host did not have
        }
        return was ? undoing(added_again(*was, one.device)) : undoing();
    }
    undoing operator()(const model::add_default_route& one) const {
        return has_route(one.gateway, one.device) ? undoing()
                                                  : undoing(model::remove_default_route{one.gateway, one.device});
    }
    undoing operator()(const model::remove_default_route& one) const {
        return has_route(one.gateway, one.device) ? undoing(model::add_default_route{one.gateway, one.device})
                                                  : undoing();
    }
    undoing operator()(const model::add_route& one) const {
        if (has_route(one.route, one.device, one.table)) {
            return {};
        }
        // What took another one's place gives it back.
        const bool took_place = one.route.is_merged() && !is_beside_others(one);
        const auto was = took_place ? route_like(one.route, one.moves_from, one.table) : std::nullopt;
        return was ? undoing(model::add_route{*was, one.moves_from, one.table, one.device})
                   : undoing(model::remove_route{one.route, one.device, one.table});
    }
    undoing operator()(const model::remove_route& one) const {
        return has_route(one.route, one.device, one.table)
                   ? undoing(model::add_route{one.route, one.device, one.table, one.moves_to})
                   : undoing();
    }
    [[nodiscard]] bool has_neighbour(const model::given_neighbour& neighbour, const std::string& device) const {
        return std::ranges::any_of(before.neighbours(), [&](const model::link_neighbour& one) {
            return one.is == neighbour && before.name_of(one.link) == device;
        });
    }
    undoing operator()(const model::add_neighbour& one) const {
        return has_neighbour(one.neighbour, one.device) ? undoing()
                                                        : undoing(model::remove_neighbour{one.device, one.neighbour});
    }
    undoing operator()(const model::remove_neighbour& one) const {
        return has_neighbour(one.neighbour, one.device) ? undoing(model::add_neighbour{one.device, one.neighbour})
                                                        : undoing();
    }
    undoing operator()(const model::set_hardware& one) const {
        const auto* link = before.find(one.name);
        return link == nullptr || link->hardware == one.hardware
                   ? undoing()
                   : undoing(model::set_hardware{one.name, link->hardware});
    }
    undoing operator()(const model::set_arp_on& /*one*/) const { return std::nullopt; }
    undoing operator()(const model::rename_link& /*one*/) const { return std::nullopt; }
    // What a link was cannot be made again from its name, and settings are not among what was seen: neither is planned
    // for the host's own links.
    undoing operator()(const model::delete_link& /*one*/) const { return std::nullopt; }
    undoing operator()(const model::plain_vxlan& /*one*/) const { return std::nullopt; }
    undoing operator()(const model::set_sysctl& /*one*/) const { return std::nullopt; }
    undoing operator()(const model::tx_checksum_off& /*one*/) const { return std::nullopt; }
};

}  // namespace

std::optional<model::network_change> undo_of(const model::network_change& step, const model::network_state& before) {
    return std::visit(undo{before}, step);
}

std::optional<model::network_route> lost_connected_route(const model::network_state& seen,
                                                         const model::network_link& link, const host_address& address) {
    constexpr std::uint32_t metric_of_ipv6 = 256;  // IP6_RT_PRIO_ADDRCONF
    const auto there = seen.addresses_of(link.index);
    const auto found = std::ranges::find(there, address, &model::link_address::address);
    if (link.is_up && found != there.end() && !found->is_taken) {
        const int of_host = address.address.is_v4() ? 32 : 128;
        return model::network_route{.to = {address.address, of_host},
                                    .source = address.address.is_v4() ? std::optional(address.address) : std::nullopt,
                                    .scope = address.address.is_v4() ? model::host_scope : model::universe_scope,
                                    .protocol = made_by_kernel,
                                    .is_local = true};
    }
    const auto network = model::connected_network(address);
    const auto is_the_same = [&](const model::link_route& one) {
        return one.link == link.index && one.table == model::main_table && !one.is.gateway && !one.is.is_local &&
               one.is.to == *network;
    };
    if (!link.is_up || !network || seen.has_connected_route(link.index, *network) ||
        std::ranges::any_of(seen.link_routes(), is_the_same) || is_planted(defect::connected_route_lost)) {
        return std::nullopt;
    }
    model::network_route route{.to = *network, .protocol = made_by_kernel};
    if (address.address.is_v4()) {
        route.source = address.address;
        route.scope = model::link_scope;
    } else {
        route.metric = metric_of_ipv6;
    }
    return route;
}

std::vector<network_change> steps_for_lost(const model::network_route& route, const std::string& device,
                                           const model::link_address& of) {
    if (route.is_local && route.to.address.is_v6()) {
        return {model::remove_address{device, of.address, of.peer}, added_again(of, device)};
    }
    // Behind others of its place, which the host may have.
    return {model::add_route{route, device, table_of(route), route.is_local ? std::string() : device}};
}

std::vector<host_unit> units_of_lost_routes(const model::network_state& seen, const model::network_link& bridge,
                                            const std::vector<host_address>& own) {
    std::vector<host_unit> units;
    for (const auto& one : seen.addresses_of(bridge.index)) {
        const bool is_own = std::ranges::find(own, one.address) != own.end();
        if (!is_own && (one.is_taken || one.address.address.is_v6())) {
            continue;
        }
        if (const auto route = lost_connected_route(seen, bridge, one.address)) {
            units.push_back(
                {fmt::format("{}route to {} on {}", route->is_local ? "local " : "", route->to.text(), bridge.name),
                 steps_for_lost(*route, bridge.name, one)});
        }
    }
    return units;
}

std::optional<network_remark> remark_of_untaken(const config::node_config& config, const model::network_state& seen) {
    std::string all;
    bool is_v6_untaken = false;
    for (const auto& one : seen.addresses()) {
        const auto name = seen.name_of(one.link);
        const bool is_hosts_bridge =
            std::ranges::find(config.host_bridges, name, &config::host_bridge::name) != config.host_bridges.end();
        const auto& all_networks = config.networks;
        const bool is_own = all_networks.cluster.address == one.address ||
                            all_networks.storage.address == one.address || all_networks.upstream.address == one.address;
        const bool is_repaired =
            (is_hosts_bridge && (one.address.address.is_v4() || is_own)) ||
            (model::vni_of(name, "vmbr") && (one.is_global() || is_of_hardware(one.address.address)));
        if (!one.is_taken && !is_repaired) {
            all += fmt::format("{}{} on {}", all.empty() ? "" : ", ", one.address.text(), name);
            is_v6_untaken = is_v6_untaken || one.address.address.is_v6();
        }
    }
    if (all.empty()) {
        return std::nullopt;
    }
    return network_remark{message::network_left_alone, false,
                          fmt::format("this host takes no packets for {}: the kernel's routes to them in table local "
                                      "are gone (`ip route flush table local`, say){}: take each address away and add "
                                      "it again",
                                      all,
                                      is_v6_untaken ? ", or another machine answered for one (`dadfailed` in `ip "
                                                      "address`: look for it first)"
                                                    : "")};
}

network_remark remark_without_ipv6() {
    return {message::network_host, false,
            "this kernel has no IPv6 (ipv6.disable=1, say): gateways of client networks of IPv6 are not set here, and "
            "their guests have no IPv6 by this node"};
}

model::network_state with_ports_of(const host_plan& plan, const model::network_state& seen) {
    int index_of_new = 0;  // of bridges that are made only then
    std::vector<model::network_link> links(seen.links().begin(), seen.links().end());
    for (const auto& unit : plan.units) {
        for (const auto& step : unit.steps) {
            if (const auto* const bridge = std::get_if<model::make_bridge>(&step)) {
                auto& made = links.emplace_back();
                made.index = --index_of_new;
                made.name = bridge->name;
                made.kind = "bridge";
                continue;
            }
            const auto* const port = std::get_if<model::set_master>(&step);
            const auto found =
                port == nullptr ? links.end() : std::ranges::find(links, port->name, &model::network_link::name);
            if (found != links.end() && !port->master.empty()) {
                const auto bridge = std::ranges::find(links, port->master, &model::network_link::name);
                found->master = bridge == links.end() ? --index_of_new : bridge->index;
            }
        }
    }
    return {std::move(links),
            {seen.addresses().begin(), seen.addresses().end()},
            {seen.routes().begin(), seen.routes().end()},
            {seen.link_routes().begin(), seen.link_routes().end()},
            {seen.connected_routes().begin(), seen.connected_routes().end()}};
}

std::vector<model::set_hardware> addresses_to_keep(const config::node_config& config, const model::network_state& seen,
                                                   const std::set<int>& told) {
    std::vector<model::set_hardware> steps;
    for (const auto& bridge : config.host_bridges) {
        const auto* link = seen.find(bridge.name);
        const auto* device = seen.find(bridge.device);
        const bool has_device = link != nullptr && link->kind == "bridge" && device != nullptr &&
                                device->master == link->index && link->hardware != model::hardware_address();
        if (config.functions.networking && has_device && !told.contains(link->index)) {
            steps.push_back({bridge.name, link->hardware});
        }
    }
    return steps;
}

std::vector<sysctl_setting> advertisement_settings(const config::node_config& config,
                                                   const model::network_state& seen) {
    // Of libvirt's, a container manager's, or a client network: all its ports are guests', or carry such a network. One
    // with a card beside them is the host's, and has the routes that the card would have.
    const auto is_bridge_of_guests = [&](const model::network_link& link) {
        const auto ports = seen.ports_of(link.index);
        const bool is_of_network = model::vni_of(link.name, "vmbr").has_value();
        const bool is_hosts =
            std::ranges::find(config.host_bridges, link.name, &config::host_bridge::name) != config.host_bridges.end();
        if (is_planted(defect::card_bridge_deaf) &&
            std::ranges::any_of(ports, [](const auto* port) { return is_guest_port(*port); })) {
            return true;
        }
        return !is_hosts && (is_of_network || !ports.empty()) && std::ranges::all_of(ports, [&](const auto* port) {
            return is_guest_port(*port) || (is_of_network && (port->kind == "vxlan" || port->kind == "vlan"));
        });
    };
    // A VRF is no bridge: what is in it has routes of its own.
    const auto is_port = [&](const model::network_link& link) {
        const auto* master = seen.find(link.master);
        return link.master != 0 && (master == nullptr || master->kind != "vrf" || is_planted(defect::vrf_deaf));
    };
    // Hosts of hosting companies, and containers, have a veth for their card.
    const auto cards = core_device_names(config);
    const auto is_guest_port_of_host = [&](const model::network_link& link) {
        return is_guest_port(link) && std::ranges::find(cards, link.name) == cards.end();
    };
    std::vector<sysctl_setting> all;
    for (const auto& link : seen.links()) {
        if (is_planted(defect::advertised_routes_lost) || link.is_loopback || is_port(link) ||
            model::vni_of(link.name, "vxlan") || is_guest_port_of_host(link) || is_bridge_of_guests(link)) {
            continue;
        }
        const std::string key = "net/ipv6/conf/" + link.name + "/accept_ra";
        all.push_back({key, {}, key, "1", "2"});
    }
    return all;
}

std::vector<model::set_sysctl> sysctls_to_set(
    const std::vector<sysctl_setting>& wanted,
    const std::function<std::optional<std::string>(const std::string&)>& read) {
    std::vector<model::set_sysctl> steps;
    for (const auto& setting : wanted) {
        const auto present = read(setting.key);
        const bool has_condition =
            !setting.condition_key.empty() && read(setting.condition_key) == std::optional(setting.when_reads);
        const auto& value = has_condition ? setting.value_then : setting.value;
        if (present && !value.empty() && *present != value) {
            steps.push_back({setting.key, value});
        }
    }
    return steps;
}

std::string reached_without(const std::string& bridge, const model::network_state& seen, const host_address& address) {
    const auto* link = seen.find(bridge);
    const auto ports = link == nullptr ? std::vector<const model::network_link*>() : seen.ports_of(link->index);
    const auto network = model::connected_network(address);
    if (!network || !std::ranges::all_of(ports, [](const auto* port) { return is_guest_port(*port); })) {
        return {};
    }
    // The kernel prefers a smaller network, and of two that are the same the one without a metric.
    const auto is_other_way = [&](int over, const host_address& to) {
        const auto* other = seen.find(over);
        return other != nullptr && other != link && !other->is_loopback && to.prefix <= network->prefix &&
               is_in(network->address, to);
    };
    for (const auto& one : seen.connected_routes()) {
        if (is_other_way(one.link, one.network)) {
            return std::string(seen.name_of(one.link));
        }
    }
    for (const auto& one : seen.link_routes()) {
        if (one.table == model::main_table && !one.is.is_default() && !one.is.is_local &&
            is_other_way(one.link, one.is.to)) {
            return std::string(seen.name_of(one.link));
        }
    }
    return {};
}

std::string why_no_bridge(const model::network_state& seen, const std::string& name) {
    const auto* link = seen.find_by_any_name(name);
    if (link != nullptr && link->name != name) {
        return fmt::format("{} is another name of {}", name, link->name);
    }
    if (link == nullptr || link->kind == "bridge") {
        return {};
    }
    return fmt::format("{} is no bridge{}", name, link->kind.empty() ? "" : " but a link of kind " + link->kind);
}

std::vector<std::string> bridges_not_running(const config::node_config& config, const model::network_state& seen) {
    std::vector<std::string> names;
    for (const auto& bridge : config.host_bridges) {
        const auto* device = seen.find(bridge.device);
        const auto* link = seen.find(bridge.name);
        // One whose device serves another, or that is none, never runs: nobody waits for it.
        const bool can_run = device != nullptr && why_no_bridge(seen, bridge.name).empty() &&
                             (device->master == 0 || (link != nullptr && device->master == link->index));
        if (can_run && (link == nullptr || !link->is_running)) {
            names.push_back(bridge.name);
        }
    }
    return names;
}

}  // namespace pvc::policy
