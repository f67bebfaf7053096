// In which order, and why. A host may be managed through the very device that becomes a port: from then on, what its
// stack has on that device is out of reach, because the frames are the bridge's. So a bridge is made, up, and has its
// addresses before a device becomes its port; what was on the device is moved right after it (port_moves.cpp): while
// both have the same address the kernel prefers the route through the port, which leads nowhere. A step that fails
// undoes only its own unit: address and routes stay on the device if the bridge did not get the port.
#include "pvcnoded/policy/networks/host_plan.hpp"

#include "former_bridges.hpp"
#include "own_links.hpp"
#include "port_kinds.hpp"
#include "port_moves.hpp"
#include "pvcnoded/base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace pvc::policy {

namespace {

using model::default_route;
using model::link_address;
using model::network_link;

class host_planner {
public:
    host_planner(const config::node_config& config, const model::network_state& seen, const host_ports& ports)
        : config_(config), seen_(seen), ports_(ports), names_(core_device_names(config)) {}

    host_plan make() {
        find_missing();
        for (const auto* link : parents_first()) {
            plan_device(*link);
        }
        find_addresses();
        leave_out_misplaced();
        for (const auto& bridge : config_.host_bridges) {
            const auto* device = seen_.find(bridge.device);
            if (device != nullptr && !is_foreign(bridge.name) && !why_no_port(bridge, *device)) {
                const auto* left = bridge_left_by(config_, seen_, ports_, *device);
                const auto& from = sources_[bridge.name] = left == nullptr ? device : left;
                moves_.emplace(bridge.name, plan_moves(seen_, *from, addresses_.at(bridge.name)));
            }
        }
        leaving_ = plan_leavings(config_, seen_, ports_, addresses_, sources_);
        std::ranges::copy(leaving_.remarks, std::back_inserter(plan_.remarks));
        look_at_routes();
        for (const auto& bridge : config_.host_bridges) {
            plan_bridge(bridge);
        }
        look_for_strays();
        plan_route();
        std::ranges::move(leaving_.units, std::back_inserter(plan_.units));
        return std::move(plan_);
    }

private:
    void remark(message which, bool is_error, std::string text) {
        plan_.remarks.push_back({which, is_error, std::move(text)});
    }
    void add_unit(std::string what, std::vector<model::network_change> steps, std::string needs = {}) {
        if (!steps.empty()) {
            plan_.units.push_back({std::move(what), std::move(steps), std::move(needs)});
        }
    }

    void find_missing();
    [[nodiscard]] std::vector<const network_link*> parents_first() const;
    [[nodiscard]] bool is_only_raised(const network_link& link) const;
    [[nodiscard]] std::optional<int> wanted_mtu(const network_link& link) const;
    void plan_device(const network_link& link);
    void find_addresses();
    [[nodiscard]] std::string misplaced(const config::host_bridge& bridge, const network_link& device) const;
    void leave_out_misplaced();
    void plan_bridge(const config::host_bridge& bridge);
    [[nodiscard]] bool comes_with_port(const std::string& bridge, const host_address& address) const;
    [[nodiscard]] bool is_foreign(const std::string& bridge) const { return !why_no_bridge(seen_, bridge).empty(); }
    [[nodiscard]] std::optional<network_remark> why_no_port(const config::host_bridge& bridge,
                                                            const network_link& device) const;
    [[nodiscard]] bool is_port(const config::host_bridge& bridge, const network_link& device) const {
        return device.master != 0 && seen_.name_of(device.master) == bridge.name;
    }
    [[nodiscard]] bool is_recorded_port(const network_link& link) const;
    [[nodiscard]] std::vector<const network_link*> other_ports(const config::host_bridge& bridge) const;
    [[nodiscard]] std::optional<network_remark> why_not_yet(const config::host_bridge& bridge,
                                                            const network_link& device) const;
    void plan_port(const config::host_bridge& bridge, const network_link& device);
    void look_for_strays();
    void tell_other_ports(const config::host_bridge& bridge);
    void plan_route();
    [[nodiscard]] const config::host_bridge* bridge_with_port(int link) const;
    void look_at_routes();
    [[nodiscard]] bool is_reachable(const ip::address& gateway, const std::string& bridge) const;

    const config::node_config& config_;
    const model::network_state& seen_;
    const host_ports& ports_;
    std::vector<std::string> names_;
    host_plan plan_;
    std::map<std::string, bridge_addresses> addresses_;   // by bridge
    std::set<std::string> usable_bridges_;                // there, or made by this plan
    std::map<std::string, port_moves> moves_;             // by bridge, of those whose device is its port or becomes one
    std::map<std::string, const network_link*> sources_;  // of these moves: the device, or the bridge that it leaves
    leavings leaving_;
    bool is_route_wanted_ = false;
    std::string dead_way_;                 // the bridge over which a route to the gateway leads nowhere; "": none does
    std::map<int, int> mtus_;              // that devices have at its end, by index
    std::map<int, std::string> released_;  // old ports that leave their bridges, by index: with which unit
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

// Making it smaller would make those smaller that stand on it (the kernel sees to that), of which nobody here knows how
// large they have to be.
bool host_planner::is_only_raised(const network_link& link) const {
    const auto follows = [](const network_link* one) {
        return one->kind == "vlan" || one->kind == "macvlan" || one->kind == "macvtap" || one->kind == "ipvlan" ||
               one->kind == "ipvtap";
    };
    return link.name == config_.networks.upstream.device ||
           (std::ranges::any_of(seen_.standing_on(link.index), follows) && !is_planted(defect::shrunk_under_links));
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
void host_planner::find_addresses() {
    for (const auto role :
         {config::network_role::cluster, config::network_role::storage, config::network_role::upstream}) {
        const auto& network = config_.networks[role];
        auto& of_bridge = addresses_[network.bridge];
        of_bridge.name = network.bridge;
        if (network.address && std::ranges::find(of_bridge.own, *network.address) == of_bridge.own.end()) {
            of_bridge.own.push_back(*network.address);
        }
        of_bridge.networks.push_back(
            network.address.value_or(host_address{network.subnet.network(), network.subnet.prefix_length()}));
    }
    for (auto& [name, of_bridge] : addresses_) {
        for (const auto& [other, served] : addresses_) {
            if (other != name) {
                std::ranges::copy(served.networks, std::back_inserter(of_bridge.others));
            }
        }
    }
}

// Two devices that were taken for each other: as ports nobody would reach either network. "": none is.
std::string host_planner::misplaced(const config::host_bridge& bridge, const network_link& device) const {
    for (const auto& one : seen_.addresses_of(device.index)) {
        for (const auto& other : config_.host_bridges) {
            if (is_of(addresses_.at(other.name), one) && !is_of(addresses_.at(bridge.name), one)) {
                return one.address.text() + " of the network of " + other.name;
            }
        }
    }
    return "";
}

// An address on a device that is not made a port works there: a bridge that had it too could take its network away.
void host_planner::leave_out_misplaced() {
    for (const auto& bridge : config_.host_bridges) {
        const auto* device = seen_.find(bridge.device);
        if (device == nullptr || device->master != 0 || misplaced(bridge, *device).empty()) {
            continue;
        }
        for (const auto& one : seen_.addresses_of(device->index)) {
            for (auto& [name, of_bridge] : addresses_) {
                std::erase_if(of_bridge.own,
                              [&](const host_address& own) { return own.address == one.address.address; });
            }
        }
    }
}

void host_planner::plan_bridge(const config::host_bridge& bridge) {
    const auto* link = seen_.find(bridge.name);
    if (const auto why = why_no_bridge(seen_, bridge.name); !why.empty()) {
        remark(message::network_bridge_foreign, true, why + ": nothing is done to it, and no address is added");
        return;
    }
    if (auto renamed = remark_of_renamed(seen_, ports_, bridge)) {
        plan_.remarks.push_back(*std::move(renamed));
        return;
    }
    usable_bridges_.insert(bridge.name);
    std::vector<model::network_change> steps;
    if (link == nullptr) {
        const auto* device = seen_.find(bridge.device);
        steps.emplace_back(
            model::make_bridge{bridge.name, device == nullptr ? model::hardware_address() : device->hardware});
    }
    if (link == nullptr || !link->is_up) {
        steps.emplace_back(model::set_up{bridge.name});
    }
    if (link != nullptr && link->is_arp_off) {
        steps.emplace_back(model::set_arp_on{bridge.name});
    }
    add_unit("bridge " + bridge.name, std::move(steps));
    for (const auto& address : addresses_.at(bridge.name).own) {
        const auto present = link == nullptr ? std::vector<link_address>() : seen_.addresses_of(link->index);
        const auto over = moves_.contains(bridge.name) ? "" : reached_without(bridge.name, seen_, address);
        if (std::ranges::find(present, address, &link_address::address) != present.end() ||
            comes_with_port(bridge.name, address)) {
            continue;
        }
        if (!over.empty()) {
            remark(message::network_device_configured, true,
                   fmt::format("{} is not added on {}, which has no port: this host reaches its network over {}, and "
                               "would lose it; nor are addresses of the primary in that network",
                               address.text(), bridge.name, over));
        } else {
            add_unit(fmt::format("address {} on {}", address.text(), bridge.name),
                     {model::add_address{bridge.name, address}});
        }
    }
    if (link != nullptr) {
        std::ranges::move(units_of_lost_routes(seen_, *link, addresses_.at(bridge.name).own),
                          std::back_inserter(plan_.units));
    }
    const auto* device = seen_.find(bridge.device);
    // What a bridge sends its port has to carry: a kernel does not look.
    const int mtu = device == nullptr ? bridge.mtu : std::min(bridge.mtu, mtus_[device->index]);
    if (mtu < bridge.mtu) {
        remark(message::network_mtu, false,
               fmt::format("MTU {} is not possible on {}: its device {} has {}", bridge.mtu, bridge.name, device->name,
                           mtu));
    }
    bool is_changed = link == nullptr || link->mtu != mtu;
    auto why_not = device == nullptr ? std::nullopt : why_no_port(bridge, *device);
    if (why_not) {
        plan_.waits_for_carrier = plan_.waits_for_carrier || !why_not->is_error;  // nothing else is waited for
        plan_.remarks.push_back(*std::move(why_not));
    } else if (device != nullptr) {
        plan_port(bridge, *device);
        // A bridge whose MTU nobody set takes the least of its ports', now and whenever one of them changes.
        is_changed = is_changed || !is_port(bridge, *device) || mtus_[device->index] != device->mtu;
    }
    if (is_changed) {
        const bool needs_device = device != nullptr && device->mtu < mtu;
        add_unit("MTU of " + bridge.name, {model::set_mtu{bridge.name, mtu}},
                 needs_device ? "MTU of " + device->name : "");
    }
}

// Behind what comes from the device (port_moves.cpp).
bool host_planner::comes_with_port(const std::string& bridge, const host_address& address) const {
    const auto moves = moves_.find(bridge);
    return moves != moves_.end() && std::ranges::find(moves->second.own, address) != moves->second.own.end();
}

// Empty: it can be, or is.
std::optional<network_remark> host_planner::why_no_port(const config::host_bridge& bridge,
                                                        const network_link& device) const {
    if (device.kind == "bridge" || device.is_loopback) {
        return network_remark{message::network_bridge_foreign, true,
                              fmt::format("device {} is {}: it cannot be a port of {}", device.name,
                                          device.is_loopback ? "the loopback" : "a bridge itself", bridge.name)};
    }
    if (has_no_frames(device) && !is_planted(defect::port_without_frames)) {
        return network_remark{message::network_device_elsewhere, true,
                              fmt::format("device {} ({}) has no Ethernet frames: the kernel makes it no port of {}",
                                          device.name, device.kind, bridge.name)};
    }
    if (const auto* user = sole_user(seen_, device); user != nullptr && !is_port(bridge, device)) {
        return network_remark{message::network_device_elsewhere, true,
                              fmt::format("device {} carries {} of kind {}: the kernel makes it no port of {} as long "
                                          "as that is there",
                                          device.name, user->name, user->kind, bridge.name)};
    }
    for (const auto& other : config_.host_bridges) {
        if (&other == &bridge) {
            break;
        }
        if (other.device == bridge.device) {
            return network_remark{message::network_device_elsewhere, true,
                                  fmt::format("device {} is that of {} too, under another name: it is not made a port "
                                              "of {}: give it one name in the file",
                                              device.name, other.name, bridge.name)};
        }
    }
    const auto* master = seen_.find(device.master);
    if (device.master != 0 && !is_port(bridge, device) && !is_recorded_port(device)) {
        return network_remark{message::network_device_elsewhere, true,
                              fmt::format("device {} is a port of {} and not of {}: it is not moved", device.name,
                                          master == nullptr ? "something else" : master->name, bridge.name)};
    }
    if (const auto address = device.master == 0 ? misplaced(bridge, device) : ""; !address.empty()) {
        return network_remark{message::network_device_configured, true,
                              fmt::format("device {} has {}, which nobody would reach on a port of {}: it is not made "
                                          "one",
                                          device.name, address, bridge.name)};
    }
    return is_port(bridge, device) ? std::nullopt : why_not_yet(bridge, device);
}

// The configuration gave it to the bridge that it is a port of.
bool host_planner::is_recorded_port(const network_link& link) const {
    return is_recorded(ports_, seen_, link);
}

// Of the bridge, beside its device: what leads out of this machine. Two of them that lead to one network are a loop.
std::vector<const network_link*> host_planner::other_ports(const config::host_bridge& bridge) const {
    const auto* link = seen_.find(bridge.name);
    auto ports =
        link == nullptr || is_foreign(bridge.name) ? std::vector<const network_link*>() : seen_.ports_of(link->index);
    std::erase_if(ports, [&](const network_link* port) {
        const bool leads_out =
            port->kind.empty() || port->kind == "vlan" || port->kind == "bond" || port->kind == "team";
        return port->name == bridge.device || !(leads_out || is_recorded_port(*port));
    });
    return ports;
}

// A bridge that has another port works over that one, and is not made a loop, nor cut off for a device without a cable.
std::optional<network_remark> host_planner::why_not_yet(const config::host_bridge& bridge,
                                                        const network_link& device) const {
    if (is_planted(defect::second_port)) {
        return std::nullopt;
    }
    const auto* link = seen_.find(bridge.name);
    for (const auto* port : other_ports(bridge)) {
        if (!is_recorded_port(*port) && !link->has_stp) {
            return network_remark{message::network_device_configured, true,
                                  fmt::format("{} is a port of {}, whose device is {} by the configuration: that is "
                                              "not made a port beside it, as two of them may be a loop: take {} out",
                                              port->name, bridge.name, device.name, port->name)};
        }
        if (is_recorded_port(*port) && port->is_running && !device.is_running) {
            // Whether it has one is not known before it is up.
            const auto text = device.is_up
                                  ? fmt::format(
                                        "device {} has no carrier: {}, which was the device of {} before, "
                                        "stays its port until it has",
                                        device.name, port->name, bridge.name)
                                  : fmt::format(
                                        "device {} is down: once it is up and has a carrier, {}, which was the "
                                        "device of {} before, is taken out, and {} becomes a port of {}",
                                        device.name, port->name, bridge.name, device.name, bridge.name);
            return network_remark{message::network_device_configured, false, text};
        }
    }
    return std::nullopt;
}

// Once the device can be a port. What another bridge has taken over meanwhile is its own; and what it failed to take is
// here still, so that nothing may come beside it.
void host_planner::plan_port(const config::host_bridge& bridge, const network_link& device) {
    const auto what = unit_of_port(bridge);
    std::vector<model::network_change> steps;
    std::string needs;
    for (const auto* port :
         is_planted(defect::second_port) ? std::vector<const network_link*>() : other_ports(bridge)) {
        if (!is_recorded_port(*port)) {
            continue;
        }
        if (const auto by = released_.find(port->index); by != released_.end()) {
            needs = by->second;
            continue;
        }
        released_.emplace(port->index, what);
        steps.emplace_back(model::set_master{port->name, ""});
        remark(message::network_device_configured, false,
               fmt::format("{} was the device of {}, which is {} now: it is taken out", port->name, bridge.name,
                           device.name));
    }
    auto& moves = moves_.at(bridge.name);
    if (sources_.at(bridge.name) != &device) {
        // Once its port is elsewhere nothing tells that a bridge was the host's.
        std::ranges::move(std::exchange(moves.steps, {}), std::back_inserter(steps));
    }
    if (!is_port(bridge, device)) {
        steps.emplace_back(model::set_master{device.name, bridge.name});
        released_.emplace(device.index, what);
        if (has_hardware_of_another(config_, seen_, bridge)) {
            steps.emplace_back(model::set_hardware{bridge.name, device.hardware});
        }
    }
    for (auto& one : moves.unmoved) {
        if (!is_port(bridge, device)) {
            one.device = device.name;
            plan_.unmoved.push_back(std::move(one));
        }
    }
    std::ranges::move(moves.remarks, std::back_inserter(plan_.remarks));
    std::ranges::move(moves.steps, std::back_inserter(steps));
    add_unit(what, std::move(steps), std::move(needs));
}

// The one that has this link as its port, or gets it. Null: none.
const config::host_bridge* host_planner::bridge_with_port(int link) const {
    const auto found = std::ranges::find_if(config_.host_bridges, [&](const config::host_bridge& one) {
        const auto source = sources_.find(one.name);
        return source != sources_.end() && source->second->index == link;
    });
    return found == config_.host_bridges.end() ? nullptr : &*found;
}

bool host_planner::is_reachable(const ip::address& gateway, const std::string& bridge) const {
    auto there = addresses_.at(bridge).own;
    if (const auto moves = moves_.find(bridge); moves != moves_.end()) {
        std::ranges::copy(moves->second.addresses, std::back_inserter(there));
    }
    if (const auto* link = seen_.find(bridge)) {
        std::ranges::transform(seen_.addresses_of(link->index), std::back_inserter(there), &link_address::address);
    }
    return std::ranges::any_of(there, [&](const host_address& one) { return is_in(gateway, one); });
}

// The kernel gives IPv6 routes that nobody gave a metric one of 1024.
bool has_metric(const default_route& route) {
    return route.metric != 0 && (route.gateway.is_v4() || route.metric != 1024);
}

// One without a metric that is there stays, whatever it is; those with one (of DHCP clients, say) hinder nobody (README
// ruling 81). Over a device that is a port it goes to the bridge; where that cannot be, it leads nowhere and is told of
// (port_moves.cpp): it is a hindrance only where there can be no second one.
void host_planner::look_at_routes() {
    const auto& upstream = config_.networks.upstream;
    if (!upstream.gateway) {
        return;
    }
    const default_route* foreign = nullptr;
    std::string_view over;
    bool is_hindered = false;
    for (const auto& route : seen_.routes()) {
        if (route.gateway.is_v4() != upstream.gateway->is_v4()) {
            continue;
        }
        const auto* bridge = bridge_with_port(route.link);
        if (bridge != nullptr && !moves_.at(bridge->name).takes(route)) {
            is_hindered = is_hindered || !has_metric(route);
            continue;
        }
        if (has_metric(route) && !is_planted(defect::metric_hinders)) {
            continue;  // the one of this host's configuration has none: both can be
        }
        const auto place = bridge == nullptr ? seen_.name_of(route.link) : std::string_view(bridge->name);
        if (bridge == nullptr && is_dead_way(config_, seen_, ports_, leaving_, route)) {
            dead_way_ = place;
            continue;
        }
        if (route.gateway == *upstream.gateway && place == upstream.bridge) {
            return;
        }
        if (foreign == nullptr) {
            foreign = &route;
            over = place;
        }
    }
    if (foreign != nullptr) {
        remark(message::network_route, false,
               fmt::format("the default route is by {} on {} and not by {} on {}: it stays",
                           foreign->gateway.to_string(), over, upstream.gateway->to_string(), upstream.bridge));
        return;
    }
    if (!is_reachable(*upstream.gateway, upstream.bridge)) {
        remark(message::network_route, false,
               fmt::format("no address of {} reaches the gateway {}: there is no default route by it", upstream.bridge,
                           upstream.gateway->to_string()));
        return;
    }
    is_route_wanted_ = !is_hindered;
}

// With one address on two bridges the kernel answers for it on both, and takes either way to its network. Which of them
// somebody needs is not ours to say.
void host_planner::look_for_strays() {
    if (auto untaken = remark_of_untaken(config_, seen_)) {
        plan_.remarks.push_back(*std::move(untaken));
    }
    for (const auto& bridge : config_.host_bridges) {
        tell_other_ports(bridge);
        for (const auto& other : config_.host_bridges) {
            const auto* link = bridge.name == other.name ? nullptr : seen_.find(other.name);
            const auto there = link == nullptr ? std::vector<link_address>() : seen_.addresses_of(link->index);
            for (const auto& one : there) {
                const auto is_same = [&](const host_address& own) { return own.address == one.address.address; };
                if (std::ranges::any_of(addresses_.at(bridge.name).own, is_same) &&
                    std::ranges::none_of(addresses_.at(other.name).own, is_same)) {
                    remark(message::network_device_configured, false,
                           fmt::format("{} of {} is also on {}: remove it there", one.address.text(), bridge.name,
                                       other.name));
                }
            }
        }
    }
}

// A device that was configured before, say: two of them that lead to one network are a loop.
void host_planner::tell_other_ports(const config::host_bridge& bridge) {
    const auto* device = seen_.find(bridge.device);
    const bool is_waiting = device != nullptr && !is_port(bridge, *device);  // told of there
    for (const auto* port : other_ports(bridge)) {
        if (!is_waiting && !is_recorded_port(*port)) {
            remark(message::network_device_configured, false,
                   fmt::format("{} is a port of {}, whose device is {} by the configuration: take it out unless it is "
                               "meant to be there",
                               port->name, bridge.name, bridge.device));
        }
    }
}

// Not by a bridge without a port: it leads nowhere there, and is preferred to those with a metric, over which the host
// is reached.
void host_planner::plan_route() {
    const auto& upstream = config_.networks.upstream;
    if (!is_route_wanted_ || !usable_bridges_.contains(upstream.bridge)) {
        return;
    }
    const auto bridge = std::ranges::find(config_.host_bridges, upstream.bridge, &config::host_bridge::name);
    const bool gets_port = moves_.contains(upstream.bridge);
    if (bridge == config_.host_bridges.end() ||
        (!gets_port && other_ports(*bridge).empty() && !is_planted(defect::route_without_port))) {
        return;
    }
    std::vector<model::network_change> steps;
    if (!dead_way_.empty()) {
        steps.emplace_back(model::remove_default_route{*upstream.gateway, dead_way_});
    }
    steps.emplace_back(model::add_default_route{*upstream.gateway, upstream.bridge});
    add_unit("default route", std::move(steps), gets_port ? unit_of_port(*bridge) : "");
}

}  // namespace

host_plan plan_host(const config::node_config& config, const model::network_state& seen, const host_ports& ports) {
    return config.functions.networking ? host_planner(config, seen, ports).make() : host_plan();
}

}  // namespace pvc::policy
