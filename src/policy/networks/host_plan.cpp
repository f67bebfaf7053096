// In which order, and why. A host may be managed through the very device that becomes a port: from then on, what its
// stack has on that device is out of reach, because the frames are the bridge's. So a bridge is made, up, and has its
// addresses before a device becomes its port; the same address is taken off the device right after it (while both have
// it the kernel prefers the route through the port, which leads nowhere), and a default route by the configured gateway
// moves with it. A step that fails undoes only its own unit: the address stays on the device if the bridge did not get
// the port.
#include "pvcnoded/policy/networks/host_plan.hpp"

#include "own_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace pvc::policy {

namespace {

using model::default_route;
using model::link_address;
using model::network_link;

bool is_link_local(const ip::address& address) {
    return address.is_v6() && address.to_v6().is_link_local();
}

class host_planner {
public:
    host_planner(const config::node_config& config, const model::network_state& seen)
        : config_(config), seen_(seen), names_(core_device_names(config)) {}

    host_plan make() {
        find_missing();
        for (const auto* link : parents_first()) {
            plan_device(*link);
        }
        look_at_routes();
        for (const auto& bridge : config_.host_bridges) {
            plan_bridge(bridge);
        }
        plan_route();
        return std::move(plan_);
    }

private:
    void remark(message which, bool is_error, std::string text) {
        plan_.remarks.push_back({which, is_error, std::move(text)});
    }
    void add_unit(std::string what, std::vector<model::network_change> steps) {
        if (!steps.empty()) {
            plan_.units.push_back({std::move(what), std::move(steps)});
        }
    }

    void find_missing();
    [[nodiscard]] std::vector<const network_link*> parents_first() const;
    [[nodiscard]] bool is_only_raised(const network_link& link) const;
    [[nodiscard]] std::optional<int> wanted_mtu(const network_link& link) const;
    void plan_device(const network_link& link);
    [[nodiscard]] std::vector<host_address> addresses_on(const std::string& bridge) const;
    void plan_bridge(const config::host_bridge& bridge);
    [[nodiscard]] bool is_foreign(const std::string& bridge) const {
        const auto* link = seen_.find(bridge);
        return link != nullptr && link->kind != "bridge";
    }
    [[nodiscard]] std::optional<network_remark> why_no_port(const config::host_bridge& bridge,
                                                            const network_link& device) const;
    void plan_port(const config::host_bridge& bridge, const network_link& device);
    [[nodiscard]] static bool is_in_way(const model::link_address& one, const std::vector<host_address>& of_bridge);
    void tell_configured(const config::host_bridge& bridge, const network_link& device);
    void plan_route();
    [[nodiscard]] bool is_future_port(int link, const std::string& bridge) const;
    void look_at_routes();
    [[nodiscard]] bool is_reachable(const ip::address& gateway, const std::string& bridge) const;

    const config::node_config& config_;
    const model::network_state& seen_;
    std::vector<std::string> names_;
    host_plan plan_;
    std::set<std::string> usable_bridges_;  // there, or made by this plan
    std::vector<default_route> routes_to_move_;
    bool is_route_wanted_ = false;
    std::map<int, int> mtus_;  // that devices have at its end, by index
};

void host_planner::find_missing() {
    for (const auto& name : names_) {
        if (seen_.find(name) == nullptr) {
            plan_.missing.push_back(name);
            remark(message::network_device_missing, true,
                   fmt::format("device {} is missing: what needs it is set up when it comes", name));
        }
    }
    plan_.is_cluster_device_missing = seen_.find(config_.networks.cluster.device) == nullptr;
}

// A VLAN can be no larger than what it stands on, and not up while that is down.
std::vector<const network_link*> host_planner::parents_first() const {
    std::vector<const network_link*> rest;
    for (const auto& name : names_) {
        if (const auto* link = seen_.find(name)) {
            rest.push_back(link);
        }
    }
    std::vector<const network_link*> order;
    while (!rest.empty()) {
        const auto stands_on_none_of_them = [&](const network_link* one) {
            return std::ranges::none_of(
                rest, [&](const network_link* other) { return other != one && other->index == one->lower; });
        };
        auto next = std::ranges::find_if(rest, stands_on_none_of_them);
        next = next == rest.end() ? rest.begin() : next;  // no kernel has such a ring
        order.push_back(*next);
        rest.erase(next);
    }
    return order;
}

// Making it smaller would make VLANs on it smaller, of which nobody here knows how large they have to be.
bool host_planner::is_only_raised(const network_link& link) const {
    const auto is_on_it = [&](const std::string& name) {
        const auto* other = seen_.find(name);
        return other != nullptr && other->lower == link.index;
    };
    return link.name == config_.networks.upstream.device || std::ranges::any_of(names_, is_on_it);
}

std::optional<int> host_planner::wanted_mtu(const network_link& link) const {
    const auto used = std::ranges::find(config_.device_mtus, link.name, &config::device_mtu::device);
    if (used != config_.device_mtus.end()) {
        return is_only_raised(link) ? std::max(used->mtu, link.mtu) : used->mtu;
    }
    const auto& trunk = config_.bridges;  // the device of no static network
    return trunk.mtu_is_configured && trunk.mtu ? std::optional(std::max(*trunk.mtu, link.mtu)) : std::nullopt;
}

void host_planner::plan_device(const network_link& link) {
    const auto* below = link.kind == "vlan" ? seen_.find(link.lower) : nullptr;
    const bool can_be_up = below == nullptr || below->is_up || mtus_.contains(below->index);  // or planned before
    if (!link.is_up && can_be_up) {
        add_unit("device " + link.name, {model::set_up{link.name}});
    } else if (!link.is_up) {
        remark(message::network_device_down, true,
               fmt::format("device {} cannot be up: {}, which it stands on, is down", link.name, below->name));
    }
    auto mtu = wanted_mtu(link).value_or(link.mtu);
    if (below != nullptr) {
        const auto planned = mtus_.find(below->index);
        const int room = planned == mtus_.end() ? below->mtu : planned->second;
        if (mtu > room) {
            remark(message::network_mtu, false,
                   fmt::format("MTU {} is not possible on {}: {}, which it stands on, has {}", mtu, link.name,
                               below->name, room));
            mtu = room;
        }
    }
    mtus_[link.index] = mtu;
    if (mtu != link.mtu) {
        add_unit("MTU of " + link.name, {model::set_mtu{link.name, mtu}});
    }
}

// Those of the static networks that it serves, each once.
std::vector<host_address> host_planner::addresses_on(const std::string& bridge) const {
    std::vector<host_address> all;
    for (const auto role :
         {config::network_role::cluster, config::network_role::storage, config::network_role::upstream}) {
        const auto& network = config_.networks[role];
        if (network.bridge == bridge && network.address && std::ranges::find(all, *network.address) == all.end()) {
            all.push_back(*network.address);
        }
    }
    return all;
}

void host_planner::plan_bridge(const config::host_bridge& bridge) {
    const auto* link = seen_.find(bridge.name);
    if (is_foreign(bridge.name)) {
        remark(message::network_bridge_foreign, true,
               fmt::format("{} is no bridge{}: nothing is done to it, and no address is added", bridge.name,
                           link->kind.empty() ? "" : " but a link of kind " + link->kind));
        return;
    }
    usable_bridges_.insert(bridge.name);
    std::vector<model::network_change> steps;
    if (link == nullptr) {
        steps.emplace_back(model::make_bridge{bridge.name});
    }
    if (link == nullptr || !link->is_up) {
        steps.emplace_back(model::set_up{bridge.name});
    }
    add_unit("bridge " + bridge.name, std::move(steps));
    for (const auto& address : addresses_on(bridge.name)) {
        const auto present = link == nullptr ? std::vector<link_address>() : seen_.addresses_of(link->index);
        if (std::ranges::find(present, address, &link_address::address) == present.end()) {
            add_unit(fmt::format("address {} on {}", address.text(), bridge.name),
                     {model::add_address{bridge.name, address}});
        }
    }
    const auto* device = seen_.find(bridge.device);
    bool is_changed = link == nullptr || link->mtu != bridge.mtu;
    auto why_not = device == nullptr ? std::nullopt : why_no_port(bridge, *device);
    if (why_not) {
        plan_.remarks.push_back(*std::move(why_not));
    } else if (device != nullptr) {
        tell_configured(bridge, *device);
        plan_port(bridge, *device);
        // A bridge whose MTU nobody set takes the least of its ports', now and whenever one of them changes.
        is_changed = is_changed || device->master == 0 || mtus_[device->index] != device->mtu;
    }
    if (is_changed) {
        add_unit("MTU of " + bridge.name, {model::set_mtu{bridge.name, bridge.mtu}});
    }
}

// Empty: it can be, or is.
std::optional<network_remark> host_planner::why_no_port(const config::host_bridge& bridge,
                                                        const network_link& device) const {
    if (device.kind == "bridge" || device.is_loopback) {
        return network_remark{message::network_bridge_foreign, true,
                              fmt::format("device {} is {}: it cannot be a port of {}", device.name,
                                          device.is_loopback ? "the loopback" : "a bridge itself", bridge.name)};
    }
    const auto* master = seen_.find(device.master);
    if (device.master != 0 && (master == nullptr || master->name != bridge.name)) {
        return network_remark{message::network_device_elsewhere, true,
                              fmt::format("device {} is a port of {} and not of {}: it is not moved", device.name,
                                          master == nullptr ? "something else" : master->name, bridge.name)};
    }
    return std::nullopt;
}

void host_planner::plan_port(const config::host_bridge& bridge, const network_link& device) {
    std::vector<model::network_change> steps;
    if (device.master == 0) {
        steps.emplace_back(model::set_master{device.name, bridge.name});
    }
    if (bridge.name == config_.networks.upstream.bridge && !routes_to_move_.empty()) {
        for (const auto& route : routes_to_move_) {
            steps.emplace_back(model::remove_default_route{route.gateway, device.name});
        }
        steps.emplace_back(model::add_default_route{*config_.networks.upstream.gateway, bridge.name});
        is_route_wanted_ = false;
    }
    // After the route: the one that was there could not be made again without its address.
    const auto wanted = addresses_on(bridge.name);
    for (const auto& one : seen_.addresses_of(device.index)) {
        const bool is_wanted = std::ranges::find(wanted, one.address) != wanted.end();
        if (!is_wanted && is_in_way(one, wanted)) {
            steps.emplace_back(model::add_address{bridge.name, one.address});
        }
        if (is_wanted || is_in_way(one, wanted)) {
            steps.emplace_back(model::remove_address{device.name, one.address});
        }
    }
    add_unit(fmt::format("port {} of {}", device.name, bridge.name), std::move(steps));
}

// On a port nobody reaches it, and the kernel sends what is for the bridge's network to the port. On the bridge it is
// what it was before.
bool host_planner::is_in_way(const model::link_address& one, const std::vector<host_address>& of_bridge) {
    return one.is_global && !is_link_local(one.address.address) &&
           std::ranges::any_of(of_bridge, [&](const host_address& own) { return is_in(one.address.address, own); });
}

void host_planner::tell_configured(const config::host_bridge& bridge, const network_link& device) {
    std::string has;
    std::string moved;
    const auto of_bridge = addresses_on(bridge.name);
    for (const auto& one : seen_.addresses_of(device.index)) {
        if (std::ranges::find(of_bridge, one.address) != of_bridge.end()) {
            continue;
        }
        if (is_in_way(one, of_bridge)) {
            moved += (moved.empty() ? "" : ", ") + one.address.text();
        } else if (one.is_global && !is_link_local(one.address.address)) {
            has += (has.empty() ? "" : ", ") + one.address.text();
        }
    }
    for (const auto& route : seen_.routes()) {
        if (route.link == device.index) {
            has += (has.empty() ? "" : ", ") + std::string("the default route by ") + route.gateway.to_string();
        }
    }
    if (!moved.empty()) {
        remark(message::network_device_configured, false,
               fmt::format("device {} has {} of the network of {}: that is moved to the bridge", device.name, moved,
                           bridge.name));
    }
    if (!has.empty()) {
        remark(message::network_device_configured, false,
               fmt::format("device {} has {}, which cannot be used on a port of {}", device.name, has, bridge.name));
    }
}

bool host_planner::is_future_port(int link, const std::string& bridge) const {
    const auto* device = seen_.find(link);
    return device != nullptr && std::ranges::any_of(config_.host_bridges, [&](const config::host_bridge& one) {
               return one.name == bridge && one.device == device->name && !is_foreign(bridge) &&
                      !why_no_port(one, *device);
           });
}

bool host_planner::is_reachable(const ip::address& gateway, const std::string& bridge) const {
    auto there = addresses_on(bridge);
    if (const auto* link = seen_.find(bridge)) {
        std::ranges::transform(seen_.addresses_of(link->index), std::back_inserter(there), &link_address::address);
    }
    return std::ranges::any_of(there, [&](const host_address& one) { return is_in(gateway, one); });
}

// One that is there stays, whatever it is. Only a route by the configured gateway whose device is a port of the bridge
// that has to carry it leads nowhere: that one is moved, together with the device.
void host_planner::look_at_routes() {
    const auto& upstream = config_.networks.upstream;
    if (!upstream.gateway) {
        return;
    }
    const default_route* foreign = nullptr;
    for (const auto& route : seen_.routes()) {
        if (route.gateway.is_v4() != upstream.gateway->is_v4()) {
            continue;
        }
        const bool is_by_gateway = route.gateway == *upstream.gateway;
        if (is_by_gateway && seen_.name_of(route.link) == upstream.bridge) {
            return;
        }
        if (!is_by_gateway || !is_future_port(route.link, upstream.bridge)) {
            foreign = foreign == nullptr ? &route : foreign;
        } else if (route.metric == 0) {  // of another metric it is no hindrance
            routes_to_move_.push_back(route);
        }
    }
    if (foreign != nullptr) {
        routes_to_move_.clear();
        remark(
            message::network_route, false,
            fmt::format("the default route is by {} on {} and not by {} on {}: it stays", foreign->gateway.to_string(),
                        seen_.name_of(foreign->link), upstream.gateway->to_string(), upstream.bridge));
        return;
    }
    if (!is_reachable(*upstream.gateway, upstream.bridge)) {
        routes_to_move_.clear();
        remark(message::network_route, false,
               fmt::format("no address of {} reaches the gateway {}: there is no default route by it", upstream.bridge,
                           upstream.gateway->to_string()));
        return;
    }
    is_route_wanted_ = true;
}

void host_planner::plan_route() {
    const auto& upstream = config_.networks.upstream;
    if (is_route_wanted_ && usable_bridges_.contains(upstream.bridge)) {
        add_unit("default route", {model::add_default_route{*upstream.gateway, upstream.bridge}});
    }
}

}  // namespace

host_plan plan_host(const config::node_config& config, const model::network_state& seen) {
    return config.functions.networking ? host_planner(config, seen).make() : host_plan();
}

}  // namespace pvc::policy
