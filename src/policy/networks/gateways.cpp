#include "pvcnoded/policy/networks/gateway_addresses.hpp"

#include "own_links.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/model/network_change.hpp"
#include "pvcnoded/policy/networks/client_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace pvc::policy {

namespace {

constexpr int overhead_of_vxlan = 50;
constexpr int least_mtu_of_ipv6 = 1280;  // the kernel takes IPv6 away from a link whose MTU is smaller

int mtu_of(const model::client_network& network, const config::node_config& config) {
    const int most = config.networks.cluster.mtu - overhead_of_vxlan;
    return static_cast<int>(std::min<std::int64_t>(network.mtu.value_or(most), most));
}

bool is_of_link(const ip::address& address) {
    return address.is_v6() && address.to_v6().is_link_local();
}

std::vector<const model::client_network*> managed_by_vni(std::span<const model::client_network> all) {
    std::vector<const model::client_network*> managed;
    for (const auto& one : all) {
        if (one.type == model::network_type::managed) {
            managed.push_back(&one);
        }
    }
    std::ranges::sort(managed, {}, &model::client_network::vni);
    return managed;
}

// As a node daemon of before made it, whatever somebody did to its base: its addresses are of a primary.
bool is_as_left(const own_links& links, const model::network_state& seen, const model::network_link& bridge,
                std::uint32_t vni) {
    constexpr auto type = model::network_type::managed;
    const auto* base = seen.find(base_name(vni, type));
    return base != nullptr && base->master == bridge.index && links.is_bridge(bridge) &&
           (links.is_base(*base, vni, type) || links.is_base_of_before(*base, vni, type)) &&
           !links.is_named(bridge.name) && (!links.is_named(base->name) || links.recorded(*base) != nullptr) &&
           links.why_kept_bridge(bridge, vni).empty();
}

bool is_recorded(const own_bridges& own, const model::network_link& bridge, std::uint32_t vni) {
    const auto found = own.find(vni);
    return found != own.end() && found->second == recorded_bridge{bridge.index, true};
}

ip::address network_address_of(const host_address& network) {
    const auto prefix = static_cast<unsigned short>(network.prefix);
    return network.address.is_v4() ? ip::address(ip::network_v4(network.address.to_v4(), prefix).network())
                                   : ip::address(ip::network_v6(network.address.to_v6(), prefix).network());
}

// Of one family, and not larger.
bool is_within(const host_address& one, const host_address& other) {
    return one.prefix >= other.prefix && is_in(one.address, other);
}

// More than one network of hosts, by what sizes they have: parts of that may be given out, also to a cluster.
bool is_of_many(const host_address& network) {
    constexpr int usual_v4 = 24;
    constexpr int usual_v6 = 64;
    return network.prefix < (network.address.is_v4() ? usual_v4 : usual_v6);
}

// A route to all of that is as good as a default route.
bool is_whole_range(const host_address& network) {
    const auto text = network.text();
    return network.prefix <= 8 || text == "172.16.0.0/12" || text == "192.168.0.0/16";
}

// So large that it is nobody's: with a gateway in it most of what the host reaches by its default route would be looked
// for in the client network.
bool is_as_default_route(const host_address& network) {
    constexpr int least_v4 = 8;
    constexpr int least_v6 = 16;
    constexpr int least_private_v6 = 8;  // fd00::/8
    if (network.address.is_v4()) {
        return network.prefix < least_v4;
    }
    const bool is_private = (network.address.to_v6().to_bytes()[0] & 0xfeU) == 0xfcU;
    return network.prefix < (is_private ? least_private_v6 : least_v6);
}

// Which of the host's own networks would be reached otherwise with this gateway, in words; "": none. A route to the
// whole of it, or to a part, would lead into the client network; a wider one changes nothing, as the kernel prefers the
// host's own. An address in one of them would be this node's, whoever has it there.
std::string overlapped_network(const host_address& gateway, const config::node_config& config,
                               std::span<const host_reach> reach) {
    const host_address client{network_address_of(gateway), gateway.prefix};
    if (is_as_default_route(client)) {
        return "is as good as a default route of this host";
    }
    for (const auto role :
         {config::network_role::cluster, config::network_role::storage, config::network_role::upstream}) {
        const auto own = config.networks[role].subnet.canonical();
        const host_address whole{own.network(), own.prefix_length()};
        if (is_in(gateway.address, whole)) {
            return fmt::format("{} the {} network {}", is_within(client, whole) ? "overlaps" : "has its gateway in",
                               to_text(role), own.to_string());
        }
    }
    for (const auto& one : reach) {
        if (is_planted(defect::reach_ignored) || !is_in(gateway.address, one.network)) {
            continue;
        }
        if (!one.is_route) {
            return fmt::format("{} {} of {}, a network of this host's own",
                               is_within(client, one.network) ? "overlaps" : "has its gateway in", one.network.text(),
                               one.device);
        }
        // The kernel prefers a route to the very same network, and to a smaller one.
        if (client.prefix > one.network.prefix && !is_of_many(one.network)) {
            return fmt::format("lies in {}, to which this host has a route over {}", one.network.text(), one.device);
        }
    }
    return {};
}

std::set<std::pair<std::uint32_t, ip::address>> lost_gateways(std::span<const model::client_network> all,
                                                              const config::node_config& config,
                                                              std::span<const host_reach> reach) {
    std::set<std::pair<std::uint32_t, ip::address>> lost;
    for (const auto& one : gateway_conflicts(all, config, reach)) {
        lost.emplace(one.loser, one.address);
    }
    return lost;
}

// In this order one that lies in another comes after it, and before all that do not.
struct placed_network {
    ip::address first;
    int prefix = 0;
    std::uint32_t vni = 0;

    [[nodiscard]] std::string text() const { return host_address{first, prefix}.text(); }
    [[nodiscard]] std::tuple<ip::address, int, std::uint32_t> order() const { return {first, prefix, vni}; }
};

}  // namespace

std::vector<host_reach> reach_of_host(const std::set<std::uint32_t>& networks, const config::node_config& config,
                                      const model::network_state& seen, const own_bridges& own) {
    const auto is_hosts = [&](int index) {
        const auto* link = seen.find(index);
        if (link == nullptr || link->is_loopback) {
            return false;
        }
        const auto vni = model::vni_of(link->name, "vmbr");
        if ((vni && networks.contains(*vni)) || has_index(own, index)) {
            return false;  // a client network's, whatever somebody called it
        }
        // Of a bridge by another name, as libvirt and container managers make them, the host has the network, whatever
        // its ports; one by such a name that nobody knows any more may be left of a client network.
        const auto ports = seen.ports_of(index);
        return link->kind != "bridge" || !vni ||
               !std::ranges::all_of(ports, [](const auto* one) { return is_guest_port(*one); }) ||
               std::ranges::find(config.host_bridges, link->name, &config::host_bridge::name) !=
                   config.host_bridges.end();
    };
    std::set<ip::address> floating;
    for (const auto& one : role_addresses(config)) {
        floating.insert(one.where.address.address);
    }
    std::vector<host_reach> all;
    std::set<std::string> of_file;
    for (const auto role :
         {config::network_role::cluster, config::network_role::storage, config::network_role::upstream}) {
        of_file.insert(config.networks[role].subnet.canonical().to_string());
    }
    const auto add = [&](host_reach one) {
        if (!is_of_link(one.network.address) && !of_file.contains(one.network.text()) &&
            std::ranges::find(all, one) == all.end()) {
            all.push_back(std::move(one));
        }
    };
    for (const auto& one : seen.connected_routes()) {
        if (is_hosts(one.link)) {
            add({one.network, false, std::string(seen.name_of(one.link))});
        }
    }
    for (const auto& one : seen.link_routes()) {
        const bool is_there =
            one.table == model::main_table && is_by_hand(one.is) && !is_whole_range(one.is.to) && !one.is.is_local;
        const bool is_by_primary = one.is.gateway && floating.contains(*one.is.gateway);
        if (is_there && !is_by_primary && is_hosts(one.link)) {
            add({one.is.to, one.is.gateway.has_value(), std::string(seen.name_of(one.link))});
        }
    }
    return all;
}

std::vector<gateway_conflict> gateway_conflicts(std::span<const model::client_network> all,
                                                const config::node_config& config, std::span<const host_reach> reach) {
    std::vector<gateway_conflict> conflicts;
    std::map<ip::address, std::uint32_t> holders;
    for (const auto* network : managed_by_vni(all)) {
        for (const auto* family : {&network->ip6, &network->ip4}) {
            const auto gateway = family->gateway_address();
            if (!gateway) {
                continue;
            }
            if (const auto own =
                    is_of_link(gateway->address) ? std::string() : overlapped_network(*gateway, config, reach);
                !own.empty()) {
                conflicts.push_back({network->vni, gateway->address,
                                     fmt::format("network {}: {} {}: its gateway {} is not set", network->vni,
                                                 family->network->text(), own, gateway->address.to_string())});
                continue;
            }
            if (const int mtu = mtu_of(*network, config); gateway->address.is_v6() && mtu < least_mtu_of_ipv6) {
                conflicts.push_back({network->vni, gateway->address,
                                     fmt::format("network {}: IPv6 is not possible with its MTU of {}, only from {} "
                                                 "on: its gateway {} is not set",
                                                 network->vni, mtu, least_mtu_of_ipv6, gateway->address.to_string())});
                continue;
            }
            if (is_of_link(gateway->address)) {
                continue;  // each network may have the same one
            }
            const auto [holder, is_first] = holders.try_emplace(gateway->address, network->vni);
            if (!is_first && holder->second != network->vni) {
                conflicts.push_back({network->vni, gateway->address,
                                     fmt::format("network {}: its gateway {} is that of network {}, which keeps it",
                                                 network->vni, gateway->address.to_string(), holder->second)});
            }
        }
    }
    return conflicts;
}

std::vector<role_address> gateway_addresses(std::span<const model::client_network> all,
                                            const config::node_config& config, std::span<const host_reach> reach) {
    const auto lost = lost_gateways(all, config, reach);
    std::vector<role_address> gateways;
    for (const auto* network : managed_by_vni(all)) {
        const auto add = [&](std::string_view what, const model::network_family& family) {
            const auto gateway = family.gateway_address();
            if (gateway && !lost.contains({network->vni, gateway->address})) {
                gateways.push_back({what, role_phase::f, {network->bridge(), *gateway}, address_wish::as_found});
            }
        };
        add("IPv6 gateway of a client network", network->ip6);
        add("IPv4 gateway of a client network", network->ip4);
    }
    return gateways;
}

std::vector<network_overlap> network_overlaps(std::span<const model::client_network> all,
                                              const config::node_config& config, std::span<const host_reach> reach) {
    const auto lost = lost_gateways(all, config, reach);
    std::vector<placed_network> placed;
    for (const auto* one : managed_by_vni(all)) {
        for (const auto* family : {&one->ip6, &one->ip4}) {
            if (const auto gateway = family->gateway_address();
                gateway && !lost.contains({one->vni, gateway->address})) {
                placed.push_back({network_address_of(*family->network), family->network->prefix, one->vni});
            }
        }
    }
    std::ranges::sort(placed, {}, &placed_network::order);
    std::map<std::pair<std::uint32_t, bool>, network_overlap> found;
    std::vector<const placed_network*> around;  // those that the one before lies in, and that one, from the outside
    for (const auto& one : placed) {
        while (!around.empty() && !is_in(one.first, {around.back()->first, around.back()->prefix})) {
            around.pop_back();
        }
        if (!around.empty()) {
            const auto& outer = *around.back();
            found[{one.vni, one.first.is_v4()}] = {
                one.vni, outer.vni,
                fmt::format("network {}: its {} overlaps {} of network {}: the primary reaches the addresses of both "
                            "in one of the two only",
                            one.vni, one.text(), outer.text(), outer.vni)};
        }
        around.push_back(&one);
        const host_address whole{one.first, one.prefix};
        const auto way = std::ranges::find_if(reach, [&](const host_reach& host) {
            return host.is_route && one.prefix > host.network.prefix && is_within(whole, host.network);
        });
        if (way != reach.end()) {
            found.try_emplace(
                {one.vni, one.first.is_v4()},
                network_overlap{one.vni, 0,
                                fmt::format("network {}: its {} lies in {}, to which this host has a route over {}: as "
                                            "primary it reaches these addresses in the network alone",
                                            one.vni, one.text(), way->network.text(), way->device)});
        }
    }
    std::vector<network_overlap> overlaps;
    for (auto& [key, one] : found) {
        overlaps.push_back(std::move(one));
    }
    return overlaps;
}

std::vector<placed_address> gateways_left_behind(const config::node_config& config, const model::network_state& seen,
                                                 const own_bridges& own, const whose_links* whose) {
    const whose_links nobodys;
    const own_links links(config, seen, whose == nullptr ? nobodys : *whose);
    std::vector<placed_address> left;
    for (const auto& link : seen.links()) {
        const auto vni = model::vni_of(link.name, "vmbr");
        if (!vni || link.kind != "bridge") {
            continue;
        }
        const bool is_left = whose != nullptr && is_as_left(links, seen, link, *vni);
        if (!is_left && !is_recorded(own, link, *vni)) {
            continue;
        }
        for (const auto& one : seen.addresses_of(link.index)) {
            const auto& address = one.address.address;
            if (one.is_global() && one.is_permanent && !(address.is_v6() && address.to_v6().is_link_local())) {
                left.push_back({link.name, one.address});
            }
        }
    }
    return left;
}

bool is_bridge_of_network(std::string_view name, const config::node_config& config, const model::network_state& seen,
                          const own_bridges& own, const whose_links* whose) {
    const auto* link = seen.find(name);
    const auto vni = link == nullptr ? std::nullopt : model::vni_of(link->name, "vmbr");
    if (!vni) {
        return false;
    }
    return index_of(own, *vni) == link->index ||
           (whose != nullptr && is_as_left(own_links(config, seen, *whose), seen, *link, *vni));
}

std::vector<placed_address> addresses_beside(std::span<const role_address> all, const model::network_state& seen) {
    std::set<std::string_view> devices;
    for (const auto& one : all) {
        devices.insert(one.where.device);
    }
    std::vector<placed_address> found;
    for (const auto device : devices) {
        const auto* link = seen.find(device);
        const auto there = link == nullptr ? std::vector<model::link_address>() : seen.addresses_of(link->index);
        for (const auto& one : there) {
            if (one.is_global()) {  // those that every device has by itself are no business of a role
                found.push_back({link->name, one.address});
            }
        }
    }
    return found;
}

std::vector<placed_address> found_of_primary(const config::node_config& config, const model::network_state& seen,
                                             const own_bridges& own, const whose_links* whose) {
    auto all = role_addresses(config);
    for (auto& one : all) {
        one.wish = address_wish::unwanted;
    }
    auto found = work_on(all, addresses_beside(all, seen)).remove;
    std::ranges::move(all.empty() ? std::vector<placed_address>() : gateways_left_behind(config, seen, own, whose),
                      std::back_inserter(found));
    return found;
}

leftover_lines describe_leftovers(const leftover_view& view, std::span<const placed_address> found) {
    leftover_lines out;
    const auto decision = decide_leftovers(view);
    for (const auto& one : found) {
        if (decision.must_go) {
            const model::network_change step = model::remove_address{one.device, one.address};
            out.changes.push_back(
                fmt::format("addresses of the primary: would {}: {}", to_text(step), decision.reason));
        } else {
            out.condition += (out.condition.empty() ? "if another node is primary: would remove " : ", ") + one.text();
        }
    }
    return out;
}

std::vector<placed_address> gateways_of_nobody(std::span<const model::client_network> all,
                                               const config::node_config& config, const model::network_state& seen) {
    const auto gateways = gateway_addresses(all, config);
    const whose_links nobodys;
    auto left = gateways_left_behind(config, seen, {}, &nobodys);
    std::erase_if(left, [&](const placed_address& one) {
        return std::ranges::find(gateways, one, &role_address::where) != gateways.end();
    });
    return left;
}

}  // namespace pvc::policy
