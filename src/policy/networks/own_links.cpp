#include "own_links.hpp"

#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

namespace pvc::policy {

namespace {
constexpr std::uint32_t most_vlans = 4094;
constexpr std::uint16_t vxlan_port = 4789;
}  // namespace

std::vector<std::string> core_device_names(const config::node_config& config) {
    std::vector<std::string> names;
    for (const auto& one : config.device_mtus) {
        names.push_back(one.device);
    }
    const auto& trunk = config.bridges.device;
    if (!trunk.empty() && std::ranges::find(names, trunk) == names.end()) {
        names.push_back(trunk);
    }
    return names;
}

std::string bridge_name(std::uint32_t vni) {
    return "vmbr" + std::to_string(vni);
}

std::string base_name(std::uint32_t vni, model::network_type type) {
    return (type == model::network_type::managed ? "vxlan" : "vlan") + std::to_string(vni);
}

model::network_type other_type(model::network_type type) {
    return type == model::network_type::managed ? model::network_type::bridged : model::network_type::managed;
}

bool can_have(std::uint32_t vni, model::network_type type) {
    return type == model::network_type::managed || vni <= most_vlans;
}

bool is_guest_port(const model::network_link& link) {
    constexpr std::array<std::string_view, 4> kinds{"tun", "tap", "veth", "macvtap"};
    return std::ranges::find(kinds, link.kind) != kinds.end();
}

bool is_machine_port(const model::network_link& link) {
    return is_guest_port(link) && (link.kind != "veth" || link.name.starts_with("vnet"));
}

bool is_by_hand(const model::network_route& route) {
    constexpr std::array<std::uint8_t, 3> hands{3, 4, 16};  // RTPROT_BOOT, _STATIC, _DHCP
    return std::ranges::find(hands, route.protocol) != hands.end();
}

bool is_given(const model::link_address& one) {
    const auto& address = one.address.address;
    return address.is_v4() || (one.is_global() && one.is_permanent && !address.to_v6().is_link_local());
}

bool is_of_hardware(const ip::address& address) {
    if (!address.is_v6() || !address.to_v6().is_link_local()) {
        return false;
    }
    const auto bytes = address.to_v6().to_bytes();
    return bytes[11] == 0xff && bytes[12] == 0xfe;  // EUI-64
}

bool is_in(const ip::address& address, const host_address& network) {
    if (address.is_v4() != network.address.is_v4()) {
        return false;
    }
    const auto prefix = static_cast<unsigned short>(network.prefix);
    return address.is_v4() ? ip::network_v4(address.to_v4(), prefix).canonical() ==
                                 ip::network_v4(network.address.to_v4(), prefix).canonical()
                           : ip::network_v6(address.to_v6(), prefix).canonical() ==
                                 ip::network_v6(network.address.to_v6(), prefix).canonical();
}

own_links::own_links(const config::node_config& config, const model::network_state& seen, const whose_links& whose)
    : config_(config), seen_(seen), whose_(whose) {
    // One is made for each network: names are those of the configuration, and not copied.
    const auto add = [this](const std::string& name) {
        if (!is_name_of_host(name)) {
            host_names_.emplace_back(name);
            add_host_link(seen_.find(name));
        }
    };
    for (const auto& one : config.device_mtus) {
        add(one.device);
    }
    if (!config.bridges.device.empty()) {
        add(config.bridges.device);
    }
    for (const auto& bridge : config.host_bridges) {
        add(bridge.name);
    }
}

void own_links::add_host_link(const model::network_link* link) {
    if (link == nullptr || is_of_host(*link)) {
        return;
    }
    host_links_.push_back(link->index);
    add_host_link(seen_.find(link->master));
    add_host_link(seen_.find(link->lower));
}

const std::string& own_links::lower_name(model::network_type type) const {
    return type == model::network_type::managed ? config_.networks.cluster.device : config_.bridges.device;
}

bool own_links::is_base(const model::network_link& link, std::uint32_t vni, model::network_type type) const {
    const auto* lower = seen_.find(lower_name(type));
    return lower != nullptr && link.lower == lower->index && !is_of_host(link) && has_number(link, vni, type);
}

std::string own_links::other_port_of_vxlan(const model::network_link& base, const model::client_network& wanted) const {
    const auto* lower = seen_.find(lower_name(model::network_type::managed));
    const bool is_it = wanted.type == model::network_type::managed && base.vxlan && base.vxlan->vni == wanted.vni &&
                       lower != nullptr && base.lower == lower->index;
    return is_it ? fmt::format("port {}", base.vxlan->port) : std::string();
}

bool own_links::has_number(const model::network_link& link, std::uint32_t vni, model::network_type type) {
    if (type == model::network_type::bridged) {
        return link.kind == "vlan" && link.vlan_id == vni;
    }
    return link.kind == "vxlan" && link.vxlan && link.vxlan->vni == vni && link.vxlan->port == vxlan_port;
}

std::string own_links::changeable_settings(const model::network_link& base) {
    if (!base.vxlan) {
        return {};
    }
    std::vector<std::string> all;
    if (!base.vxlan->is_learning) {
        all.emplace_back("learning switched off");
    }
    if (base.vxlan->has_local) {
        all.emplace_back("a local address");
    }
    if (base.vxlan->has_remote) {
        all.emplace_back("a remote address or group");
    }
    return join(all, ", ");
}

bool own_links::is_base_of_before(const model::network_link& link, std::uint32_t vni, model::network_type type) const {
    const auto* known = whose_.find(link);
    return known != nullptr && known->is_own && !is_of_host(link) && has_number(link, vni, type) &&
           !is_base(link, vni, type) && is_own_base(link, vni);
}

std::string own_links::why_foreign(const model::network_link& base, std::uint32_t vni) const {
    if (is_planted(defect::host_link_taken)) {
        return {};
    }
    for (const auto& one : seen_.addresses_of(base.index)) {
        const auto& address = one.address.address;
        if (address.is_v4() || !address.to_v6().is_link_local()) {
            return "it has " + one.address.text();
        }
    }
    for (const auto& one : seen_.link_routes()) {
        if (one.link == base.index) {
            return "routes lead over it";
        }
    }
    if (base.has_traffic_filter) {
        return "it has a traffic filter";
    }
    const auto* master = seen_.find(base.master);
    if (base.master != 0 && (master == nullptr || master->name != bridge_name(vni))) {
        return fmt::format("it is a port of {}", master == nullptr ? "something else" : master->name);
    }
    // One that is a port of its network's bridge was made one by a node daemon, whoever made it.
    if (base.master == 0 && is_named(base.name)) {
        return "the network configuration of this host names it";
    }
    if (const auto above = seen_.standing_on(base.index); base.master == 0 && !above.empty()) {
        return above.front()->name + " stands on it";
    }
    return {};
}

bool own_links::is_own_base(const model::network_link& base, std::uint32_t vni) const {
    const auto* known = whose_.find(base);
    if (known != nullptr && known->index != recorded_base::coming) {
        return known->is_own;
    }
    if (is_planted(defect::host_link_taken)) {
        return true;
    }
    if (!why_foreign(base, vni).empty()) {
        return false;  // also where one was about to be made: somebody else made it
    }
    const auto* master = seen_.find(base.master);
    const bool is_port = master != nullptr && master->name == bridge_name(vni);
    return known != nullptr || (is_port && !is_named(base.name) && !is_named(master->name));
}

bool own_links::is_named(std::string_view name) const {
    return whose_.named.contains(name) || !pattern_of(name).empty();
}

std::string own_links::pattern_of(std::string_view name) const {
    const auto found = std::ranges::find_if(whose_.named, [&](const std::string& one) {
        if (!one.starts_with('/')) {
            return one.find('[') != std::string::npos && is_in_range(one, name);
        }
        const auto pattern = one.substr(1, one.find_first_of("/=", 1) - 1);
        return !pattern.empty() && pattern.find_first_of("*?[") != 0 &&
               ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
    });
    return found == whose_.named.end() ? std::string() : *found;
}

bool own_links::has_base(const model::network_link& bridge, std::uint32_t vni, model::network_type type) const {
    const auto* base = can_have(vni, type) ? seen_.find(base_name(vni, type)) : nullptr;
    return base != nullptr && base->master == bridge.index &&
           (is_base(*base, vni, type) || is_base_of_before(*base, vni, type)) &&
           (is_own_base(*base, vni) || recorded(*base) != nullptr);
}

std::string own_links::why_foreign_bridge(const model::network_link& bridge, std::uint32_t vni) const {
    if (is_named(bridge.name)) {
        return "the network configuration of this host names it";
    }
    if (has_base(bridge, vni, model::network_type::managed) || has_base(bridge, vni, model::network_type::bridged)) {
        return {};  // an operator may have changed the rest
    }
    if (bridge.has_stp) {
        return "it has STP switched on";
    }
    if (const auto above = seen_.standing_on(bridge.index); !above.empty()) {
        return above.front()->name + " stands on it";
    }
    const auto ports = seen_.ports_of(bridge.index);
    const auto other = std::ranges::find_if_not(ports, [](const auto* port) { return is_guest_port(*port); });
    return other == ports.end() ? std::string() : "it has the port " + (*other)->name;
}

std::string own_links::why_kept_bridge(const model::network_link& bridge, std::uint32_t vni) const {
    const bool is_managed = has_base(bridge, vni, model::network_type::managed);
    if (is_planted(defect::foreign_bridge_taken)) {
        return {};
    }
    if (!is_managed && !has_base(bridge, vni, model::network_type::bridged)) {
        return {};
    }
    for (const auto& one : seen_.link_routes()) {
        if (one.link == bridge.index && is_by_hand(one.is)) {
            return "routes lead over it";
        }
    }
    for (const auto& one : is_managed ? std::vector<model::link_address>() : seen_.addresses_of(bridge.index)) {
        if (is_given(one)) {
            return "it has " + one.address.text();
        }
    }
    return {};
}

// One of ours, or of the reference, has its base in it, or nothing but guests and gateways; both make it without STP.
// Where its base is in it an operator may have changed the rest.
std::string own_links::what_of_others(const model::network_link& bridge, const model::client_network& wanted) const {
    if (is_named(bridge.name)) {
        return "an entry in the network configuration of this host";
    }
    const auto* base = seen_.find(wanted.base());
    if (base != nullptr && base->master == bridge.index) {
        return {};
    }
    if (bridge.has_stp) {
        return "STP switched on";
    }
    if (const auto above = seen_.standing_on(bridge.index); !above.empty()) {
        return above.front()->name + " on it";
    }
    const auto other_name = base_name(wanted.vni, other_type(wanted.type));
    for (const auto* port : seen_.ports_of(bridge.index)) {
        const bool is_other = port->name == other_name && is_own_base(*port, wanted.vni);
        if (!is_guest_port(*port) && !is_other) {
            return "the port " + port->name;
        }
    }
    for (const auto& one : seen_.addresses_of(bridge.index)) {
        const auto& address = one.address.address;
        const auto& family = address.is_v4() ? wanted.ip4 : wanted.ip6;
        const auto gateway = wanted.type == model::network_type::managed ? family.gateway_address() : std::nullopt;
        const bool is_gateway = gateway && gateway->address == address;
        if (is_given(one) && !is_gateway) {
            return "the address " + one.address.text();
        }
    }
    return {};
}

std::vector<std::string> own_links::names_of_trunk() const {
    std::vector<std::string> names;
    if (const auto& name = lower_name(model::network_type::bridged); !name.empty()) {
        names.push_back(name);
        if (const auto* link = seen_.find_by_any_name(name)) {
            names.push_back(link->name);
            names.insert(names.end(), link->alt_names.begin(), link->alt_names.end());
        }
    }
    return names;
}

std::vector<std::string> own_links::names_above_trunk() const {
    auto all = names_of_trunk();
    const auto own = static_cast<std::ptrdiff_t>(all.size());
    const auto add = [&all](std::string_view name) {
        if (std::ranges::find(all, name) == all.end()) {
            all.emplace_back(name);
        }
    };
    for (std::size_t at = 0; at < all.size(); ++at) {
        // What is added below may move the names.
        const std::string name{std::string_view{all[at]}};
        if (const auto* link = seen_.find_by_any_name(name)) {
            add(link->name);
            std::ranges::for_each(link->alt_names, add);
            if (const auto* master = seen_.find(link->master)) {
                add(master->name);
            }
        }
        for (const auto& [port, masters] : whose_.masters) {
            if (port == name || is_in_range(port, name)) {
                std::ranges::for_each(masters, add);
            }
        }
        for (const auto& bridge : config_.host_bridges) {
            if (bridge.device == name) {
                add(bridge.name);
            }
        }
    }
    all.erase(all.begin(), all.begin() + own);
    return all;
}

std::string own_links::why_not_made(const std::string& name) const {
    if (!is_named(name)) {
        return {};
    }
    return fmt::format(
        "{} is a link of this host's own: the network configuration of this host names it{}, whether "
        "it is up or not",
        name, whose_.named.contains(name) ? "" : fmt::format(" (by the pattern {})", pattern_of(name)));
}

// Which number of which device is written out, or lies in a range that is, so that no pattern counts: "/bond0*" would
// be all of them. One whose device no name tells may be of any.
std::string own_links::how_named(const std::string& device, std::uint32_t vlan) const {
    for (const auto& name : {fmt::format("{}.{}", device, vlan), fmt::format("*.{}", vlan)}) {
        if (whose_.named.contains(name)) {
            return name;
        }
    }
    const auto pattern = pattern_of(fmt::format("{}.{}", device, vlan));
    return pattern.starts_with('/') ? std::string() : pattern;
}

std::string own_links::why_base_not_made(std::uint32_t vni, model::network_type type) const {
    auto why = why_not_made(base_name(vni, type));
    if (!why.empty() || type != model::network_type::bridged) {
        return why;
    }
    for (const auto& device : names_of_trunk()) {
        if (const auto name = how_named(device, vni); !name.empty()) {
            return fmt::format(
                "VLAN {} of {} is this host's own: the network configuration of this host names {}, "
                "whether it is up or not",
                vni, device, name);
        }
    }
    for (const auto& device : names_above_trunk()) {
        if (const auto name = how_named(device, vni); !name.empty()) {
            return fmt::format(
                "VLAN {} of {} is this host's own: the network configuration of this host names {}, whether it is up "
                "or not, and {} on {} would take its packets",
                vni, device, name, base_name(vni, type), lower_name(type));
        }
    }
    return why_taken_above(vni);
}

// A device takes the packets of its own VLANs before the bridge or bond sees them that it is a port of.
std::vector<const model::network_link*> own_links::vlans_above() const {
    constexpr int deepest = 8;  // as the kernel nests links
    std::vector<const model::network_link*> all;
    const auto* device = seen_.find_by_any_name(lower_name(model::network_type::bridged));
    for (int depth = 0; device != nullptr && device->master != 0 && depth < deepest; ++depth) {
        const int above = device->master;
        for (const auto& link : seen_.links()) {
            if (link.kind == "vlan" && link.lower == above && link.vlan_id) {
                all.push_back(&link);
            }
        }
        device = seen_.find(above);
    }
    return all;
}

std::string own_links::why_taken_above(std::uint32_t vni) const {
    for (const auto* link : vlans_above()) {
        if (link->vlan_id == vni) {
            return fmt::format("VLAN {} is there already as {}, from which {} on {} would take its packets", vni,
                               link->name, base_name(vni, model::network_type::bridged),
                               lower_name(model::network_type::bridged));
        }
    }
    return {};
}

// By record, or by its place: a VLAN of that number that is none of a network's is the host's own, like the other one.
bool own_links::has_lost(const model::network_link& above) const {
    constexpr auto type = model::network_type::bridged;
    const auto* base = find_base(*above.vlan_id, type);
    return base != nullptr && is_base(*base, *above.vlan_id, type) &&
           (recorded(*base) != nullptr || is_own_base(*base, *above.vlan_id));
}

std::vector<std::string> own_links::dead_above() const {
    std::vector<std::string> all;
    for (const auto* link : vlans_above()) {
        if (has_lost(*link)) {
            all.push_back(fmt::format(
                "{} gets no packets: network {} was there first, and its {} on {} takes those of VLAN {}: remove that "
                "network, or give one of the two another number",
                link->name, *link->vlan_id, base_name(*link->vlan_id, model::network_type::bridged),
                lower_name(model::network_type::bridged), *link->vlan_id));
        }
    }
    return all;
}

std::vector<std::string> own_links::numbers_above() const {
    std::vector<std::string> all;
    for (const auto* link : vlans_above()) {
        if (has_lost(*link)) {
            continue;  // its network is there, and not refused
        }
        all.push_back(fmt::format("VLAN {} (there is {} on {}, above {})", *link->vlan_id, link->name,
                                  seen_.name_of(link->lower), lower_name(model::network_type::bridged)));
    }
    return all;
}

// By its number, of which the kernel has one.
const model::network_link* own_links::find_vxlan(std::uint32_t vni) const {
    const auto found = std::ranges::find_if(
        seen_.links(), [&](const auto& link) { return has_number(link, vni, model::network_type::managed); });
    return found == seen_.links().end() ? nullptr : &*found;
}

std::vector<std::string> own_links::named_and_not_there() const {
    constexpr std::array<std::string_view, 3> prefixes{"vmbr", "vxlan", "vlan"};
    std::vector<std::string> all;
    const auto trunks = names_of_trunk();
    const auto above = names_above_trunk();
    std::map<std::string, std::vector<std::string>> numbers;  // by device
    for (const auto& name : whose_.named) {
        if (seen_.find_by_any_name(name) != nullptr || is_name_of_host(name)) {
            continue;
        }
        const auto at = name.rfind('.');
        const auto device = name.substr(0, at);
        const auto vni = model::vni_of(name, "vxlan");
        const auto* vxlan = vni ? find_vxlan(*vni) : nullptr;
        const auto begins_as = [&](std::string_view prefix) {
            const bool is_range = name.starts_with(prefix) && name.substr(prefix.size()).starts_with('[');
            return is_range || model::vni_of(name, prefix).has_value();
        };
        if (vxlan != nullptr) {
            all.push_back(fmt::format("{} (the network configuration of this host names it; it is there as {})", name,
                                      vxlan->name));
        } else if (std::ranges::any_of(prefixes, begins_as)) {
            all.push_back(name + " (the network configuration of this host names it; it is not there)");
        } else if (at != std::string::npos && !trunks.empty() &&
                   (device == "*" || std::ranges::find(trunks, device) != trunks.end())) {
            numbers[trunks.front()].push_back(name);
        } else if (at != std::string::npos && std::ranges::find(above, device) != above.end()) {
            numbers[fmt::format("{}, above {}", device, trunks.front())].push_back(name);
        }
    }
    for (const auto& [of, names] : numbers) {
        all.push_back(fmt::format("VLANs of {} (the network configuration of this host names {}; not there)", of,
                                  join(names, ", ")));
    }
    return all;
}

const model::network_link* own_links::find_base(std::uint32_t vni, model::network_type type) const {
    const auto name = base_name(vni, type);
    if (const auto* link = seen_.find(name)) {
        return link;
    }
    const auto known = whose_.bases.find(name);
    const bool is_own = known != whose_.bases.end() && known->second.is_own;
    const auto* link = is_own && known->second.index > 0 ? seen_.find(known->second.index) : nullptr;
    return link != nullptr && has_number(*link, vni, type) && !is_of_host(*link) ? link : nullptr;
}

const model::network_link* own_links::renamed_base(std::uint32_t vni, model::network_type type) const {
    const auto name = base_name(vni, type);
    const auto* link = can_have(vni, type) ? find_base(vni, type) : nullptr;
    const bool stays = link == nullptr || link->name == name || is_named(link->name) || is_named(name) ||
                       called(name) != nullptr || is_name_of_host(name);
    return stays ? nullptr : link;
}

const model::network_link* own_links::called(std::string_view name) const {
    const auto* link = seen_.find_by_any_name(name);
    return link == nullptr || link->name == name ? nullptr : link;
}

std::uint32_t own_links::network_of(const model::network_link& bridge) const {
    const auto found = std::ranges::find_if(
        whose_.bridges, [&](const auto& one) { return one.second.index == bridge.index && bridge.kind == "bridge"; });
    return found == whose_.bridges.end() ? 0 : found->first;
}

std::vector<model::network_change> own_links::renames(const model::network_link& own, std::uint32_t vni) const {
    const auto name = bridge_name(vni);
    const auto* other = seen_.find(name);
    std::vector<model::network_change> steps;
    if (!is_bridge(own) || is_named(own.name) || is_named(name) || called(name) || is_name_of_host(name)) {
        return steps;
    }
    if (other != nullptr) {
        if (network_of(*other) <= vni) {
            return steps;
        }
        steps.emplace_back(model::rename_link{fmt::format("own{}", other->index), other->index});
    }
    steps.emplace_back(model::rename_link{name, own.index});
    return steps;
}

bool own_links::is_bridge(const model::network_link& link) const {
    return link.kind == "bridge" && !is_of_host(link);
}

}  // namespace pvc::policy
