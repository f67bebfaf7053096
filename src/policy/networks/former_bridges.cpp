#include "former_bridges.hpp"

#include "own_links.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::policy {

bool is_former_bridge(const config::node_config& config, const model::network_state& seen, const host_ports& ports,
                      const model::network_link& link) {
    const auto is_on_it = [&](const auto& one) {
        const auto* port = seen.find(one.second.index);
        return one.second.bridge == link.name && port != nullptr && port->master == link.index;
    };
    return link.kind == "bridge" &&
           std::ranges::find(config.host_bridges, link.name, &config::host_bridge::name) == config.host_bridges.end() &&
           std::ranges::any_of(ports, is_on_it);
}

const model::network_link* bridge_left_by(const config::node_config& config, const model::network_state& seen,
                                          const host_ports& ports, const model::network_link& device) {
    const auto* bridge = seen.find(device.master);
    if (bridge == nullptr || !is_former_bridge(config, seen, ports, *bridge)) {
        return nullptr;
    }
    const auto stays = [&](const auto* port) { return port->index != device.index && !is_guest_port(*port); };
    return std::ranges::any_of(seen.ports_of(bridge->index), stays) ? nullptr : bridge;
}

bool has_hardware_of_another(const config::node_config& config, const model::network_state& seen,
                             const config::host_bridge& bridge) {
    const auto* link = seen.find(bridge.name);
    return link != nullptr && link->hardware != model::hardware_address() &&
           std::ranges::any_of(config.host_bridges, [&](const config::host_bridge& other) {
               const auto* device = seen.find(other.device);
               return other.device != bridge.device && device != nullptr && device->hardware == link->hardware;
           });
}

leavings plan_leavings(const config::node_config& config, const model::network_state& seen, const host_ports& ports,
                       const std::map<std::string, bridge_addresses>& addresses,
                       const std::map<std::string, const model::network_link*>& sources) {
    leavings plan;
    for (const auto& link : seen.links()) {
        if (!is_former_bridge(config, seen, ports, link)) {
            continue;
        }
        for (const auto& bridge : config.host_bridges) {
            const auto source = sources.find(bridge.name);
            if (source == sources.end() || source->second->index == link.index) {
                continue;  // without a port it could not serve them; what moves with its port does already
            }
            for (const auto& one : seen.addresses_of(link.index)) {
                const auto& own = addresses.at(bridge.name).own;
                if (std::ranges::find(own, one.address) == own.end()) {
                    continue;
                }
                plan.remarks.push_back(
                    {message::network_device_configured, false,
                     fmt::format("{} was on {} by the configuration, and is on {} now: it is removed there",
                                 one.address.text(), link.name, bridge.name)});
                plan.units.push_back({fmt::format("address {} off {}", one.address.text(), link.name),
                                      {model::remove_address{link.name, one.address}},
                                      unit_of_port(bridge)});
            }
        }
    }
    return plan;
}

bool is_dead_way(const config::node_config& config, const model::network_state& seen, const host_ports& ports,
                 const leavings& leaving, const model::default_route& route) {
    const auto& upstream = config.networks.upstream;
    const auto* link = seen.find(route.link);
    if (route.gateway != *upstream.gateway || link == nullptr || link->kind != "bridge" ||
        link->name == upstream.bridge) {
        return false;
    }
    const bool is_hosts =
        std::ranges::find(config.host_bridges, link->name, &config::host_bridge::name) != config.host_bridges.end();
    const auto reaches = [&](const model::link_address& one) {
        const model::network_change gone = model::remove_address{link->name, one.address};
        return is_in(route.gateway, one.address) &&
               std::ranges::none_of(leaving.units, [&](const host_unit& unit) { return unit.steps.front() == gone; });
    };
    const auto is_onlink = [&](const model::link_route& one) {
        return one.link == route.link && one.is.is_default() && one.is.gateway == route.gateway && one.is.is_onlink;
    };
    return (is_hosts || is_former_bridge(config, seen, ports, *link)) &&
           std::ranges::none_of(seen.addresses_of(link->index), reaches) &&
           std::ranges::none_of(seen.link_routes(), is_onlink);
}

std::vector<network_remark> remarks_of_rules(const config::node_config& config, const host_plan& plan,
                                             const model::network_state& seen, const std::vector<rule_of_host>& rules) {
    std::vector<network_remark> remarks;
    for (const auto& bridge : config.host_bridges) {
        const auto* device = seen.find(bridge.device);
        const bool is_port = device != nullptr && device->master != 0 && seen.name_of(device->master) == bridge.name;
        const bool becomes_port = std::ranges::any_of(plan.units, [&](const host_unit& unit) {
            return std::ranges::find(unit.steps, model::network_change(model::set_master{
                                                     bridge.device, bridge.name})) != unit.steps.end();
        });
        std::string named;
        for (const auto& rule : rules) {
            if (rule.device == bridge.device && (is_port || becomes_port)) {
                named += (named.empty() ? "" : ", ") + rule.text;
            }
        }
        if (!named.empty()) {
            remarks.push_back({message::network_device_configured, false,
                               fmt::format("rules of this host name {}, which is a port of {}: no packet comes or goes "
                                           "by it any more, so they match none (one with != or not matches all): {}: "
                                           "name {} in them",
                                           bridge.device, bridge.name, named, bridge.name)});
        }
    }
    return remarks;
}

std::optional<network_remark> remark_of_renamed(const model::network_state& seen, const host_ports& ports,
                                                const config::host_bridge& bridge) {
    const auto* device = seen.find(bridge.device);
    const auto* master = device == nullptr ? nullptr : seen.find(device->master);
    const auto is_it = [&](const auto& one) {
        return device != nullptr && one.second.index == device->index && one.second.bridge == bridge.name;
    };
    if (master == nullptr || master->kind != "bridge" || seen.find_by_any_name(bridge.name) != nullptr ||
        std::ranges::none_of(ports, is_it)) {
        return std::nullopt;
    }
    return network_remark{
        message::network_bridge_foreign, true,
        fmt::format("{} is not there, and {}, which was its port, is one of {}: somebody called it "
                    "so, or made that in its place: call it {} again (`ip link set {} name {}`), or "
                    "take {} out: until then nothing is done for it",
                    bridge.name, device->name, master->name, bridge.name, master->name, bridge.name, device->name)};
}

std::string unit_of_port(const config::host_bridge& bridge) {
    return fmt::format("port {} of {}", bridge.device, bridge.name);
}

}  // namespace pvc::policy
