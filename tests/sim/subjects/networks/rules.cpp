// That client networks are on every machine as they shall be, that nothing is left of those that are gone, and that
// nobody else's links are touched (networking.md 5).
//
// A node is given half a minute from the last change of a network's keys, from what somebody did to its links, and from
// anything else that disturbed it. Where a device of the machine is missing, what stands on it is not demanded.
#include "sim/subjects/hosts/hosts.hpp"
#include "sim/subjects/networks/networks.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration for_a_network = 30s;
constexpr duration for_a_round = 65s;  // what has no watch is looked at within a minute
constexpr int mtu_of_devices = 1500;   // as the settings of every member say
constexpr int mtu_least = 68;
constexpr int vxlan_header = 50;

void note_changes(judge& of, const seen_change& seen) {
    constexpr std::string_view root = "/networks/";
    if (seen.what.path.starts_with(root)) {
        const auto name = seen.what.path.substr(root.size());
        auto& changes = of.state<network_changes>();
        changes.when.insert_or_assign(name.substr(0, name.find('/')), of.world.now());
        ++changes.count;
        changes.last = of.world.now();
    }
}

// The base of the other type, which a network goes on with as long as the one that it is to have cannot be; "": it
// need not wait.
std::string waits_for(const sim_node& node, const model::network_state& seen, const model::client_network& network) {
    const bool is_managed = network.type == model::network_type::managed;
    const auto* lower = seen.find(is_managed ? node.settings.cluster_device : node.settings.bridge_device);
    const auto* other = seen.find(fmt::format("{}{}", is_managed ? "vlan" : "vxlan", network.vni));
    const bool is_hindered = lower == nullptr || !lower->is_up;
    return other != nullptr && is_hindered ? other->name : "";
}

// What is not as it shall be; empty: nothing.
std::string wrong_with(const sim_node& node, const model::network_state& seen, const model::client_network& network) {
    const bool is_managed = network.type == model::network_type::managed;
    const auto* lower = seen.find(is_managed ? node.settings.cluster_device : node.settings.bridge_device);
    const auto* bridge = seen.find(network.bridge());
    const auto* base = seen.find(network.base());
    const bool is_strangers =
        bridge != nullptr && node.kernel.has(bridge->name, *parse_host_address(strangers_address));
    if (lower == nullptr || is_strangers || !waits_for(node, seen, network).empty()) {
        return "";
    }
    // On the device of before, where its record could not be written: nothing shows whose it is, and that is told.
    const bool is_left =
        base != nullptr && base->lower != lower->index && node.logged(network.base() + " is there and is not ");
    if (is_left || is_nobodys_base(node, network)) {
        return "";
    }
    if (bridge == nullptr || bridge->kind != "bridge" || !bridge->is_up) {
        return network.bridge() + " is no bridge that is up";
    }
    if (base == nullptr || !base->is_up || base->lower != lower->index) {
        return network.base() + " is not there and up on its device";
    }
    if (base->master != bridge->index) {
        return network.base() + " is no port of " + network.bridge();
    }
    const bool is_right =
        is_managed ? base->vxlan == model::vxlan_settings{.vni = network.vni} : base->vlan_id == network.vni;
    if (!is_right) {
        return network.base() + " has another number";
    }
    const std::int64_t most = is_managed ? mtu_of_devices - vxlan_header : mtu_of_devices;
    const std::int64_t wanted = network.mtu && *network.mtu >= mtu_least ? std::min(*network.mtu, most) : most;
    if (base->mtu != wanted || bridge->mtu != wanted) {
        return fmt::format("{} has MTU {} and {} {}, not {}", base->name, base->mtu, bridge->name, bridge->mtu, wanted);
    }
    const std::string folder = "net/ipv6/conf/" + bridge->name;
    const auto setting = node.kernel.sysctls().read(folder + (is_managed ? "/accept_ra" : "/disable_ipv6"));
    if (setting && *setting != (is_managed ? "0" : "1")) {
        return bridge->name + " takes part in IPv6 as it must not";
    }
    return node.kernel.has_checksums(bridge->name) ? bridge->name + " leaves checksums to its hardware" : "";
}

bool has_base_of_before(const sim_node& node, const model::network_state& seen, std::uint32_t vni) {
    const auto stands_elsewhere = [&seen](const std::string& name, const std::string& device) {
        const auto* base = seen.find(name);
        const auto* lower = seen.find(device);
        return base != nullptr && lower != nullptr && base->lower != lower->index;
    };
    return stands_elsewhere(fmt::format("vxlan{}", vni), node.settings.cluster_device) ||
           stands_elsewhere(fmt::format("vlan{}", vni), node.settings.bridge_device);
}

// A link of a network that is no more; empty: there is none. Who has other ports in its bridge keeps it.
std::string left_of(const judge& of, const member& one, bool at_once) {
    const auto& seen = one.node.kernel.state();
    for (const auto& link : seen.links()) {
        for (const std::string_view prefix : {"vmbr", "vxlan", "vlan"}) {
            const auto vni = model::vni_of(link.name, prefix);
            if (link.name == host_vlan) {
                continue;
            }
            if (!vni || of.world.ensemble.exists("/networks/" + std::to_string(*vni)) ||
                !(at_once || is_settled(of, *vni)) || is_link_of_host(of.world, one, link.name)) {
                continue;
            }
            const auto* bridge = seen.find("vmbr" + std::to_string(*vni));
            const bool is_used =
                bridge != nullptr && std::ranges::any_of(seen.ports_of(bridge->index), [&](auto* port) {
                    return port->kind == "tun" || is_link_of_host(of.world, one, port->name);
                });
            // Without its bridge, or on a device of before, and without a record where the disk failed, nothing shows
            // whose it is.
            const bool has_lost_bridge = bridge == nullptr && of.world.performed.contains("strangers-bridge");
            const bool shows_nothing = (bridge == nullptr || has_base_of_before(one.node, seen, *vni)) &&
                                       one.node.logged("this daemon's own was not noted");
            if (!is_used && !has_lost_bridge && !shows_nothing) {
                return link.name;
            }
        }
    }
    return "";
}

// at_once: what was changed just now is no excuse.
std::string wrong_on(const judge& of, const member& one, bool at_once) {
    const auto& seen = one.node.kernel.state();
    for (const auto& network : networks_of(of.world)) {
        if ((at_once || is_settled(of, network.vni)) && !is_network_of_host(of.world, one, network.vni)) {
            if (auto text = wrong_with(one.node, seen, network); !text.empty()) {
                return fmt::format("{}: network {}: {}", one.name(), network.vni, text);
            }
        }
    }
    const auto left = left_of(of, one, at_once);
    return left.empty() ? "" : fmt::format("{} has {} of a network that is gone", one.name(), left);
}

bool is_long_calm(const judge& of, const member& one) {
    return has_networking(of.world) && one.node.is_running() && one.node.is_ready() && !one.node.is_paused() &&
           of.world.is_calm(one) && of.world.now() - one.calm_from > for_a_network;
}

constexpr member_rule networks_stand{
    .is_judged = is_long_calm,
    .reads =
        [](const judge& of, const member& one) {
            using versions = member_rule::versions;
            return are_all_settled(of)
                       ? std::optional(versions{one.node.kernel.generation(), of.world.changes_below("networks")})
                       : std::nullopt;
        },
    .wrong = [](const judge& of, const member& one) { return wrong_on(of, one, false); },
};

std::string wrong_links_of_others(const judge& of, const member& one) {
    const auto& seen = one.node.kernel.state();
    // Somebody may have pulled out the device that it stands on, or taken all addresses away.
    const bool has_base = of.world.performed.contains("pull-device") || seen.find("vxlan.calico") != nullptr;
    const auto* bridge = seen.find("docker0");
    const auto* tap = seen.find("tap99");
    const bool is_whole = bridge != nullptr && bridge->is_up && tap != nullptr && tap->master == bridge->index &&
                          (of.world.performed.contains("wipe-addresses") ||
                           one.node.kernel.has("docker0", *parse_host_address("172.17.0.1/16"))) &&
                          has_base;
    return is_whole ? "" : one.name() + " has changed the links of others";
}

constexpr member_rule foreign_links_stay{
    .is_judged = [](const judge& of, const member& /*one*/) { return has_networking(of.world); },
    .reads = [](const judge& /*of*/,
                const member& one) { return std::optional(member_rule::versions{one.node.kernel.generation()}); },
    .wrong = wrong_links_of_others,
};

struct calls_seen {
    std::map<std::uint32_t, std::size_t> of;  // by member: so many were looked at
};

// Whatever becomes of it, it is not a daemon's doing.
void host_vlan_stays(judge& of) {
    auto& seen = of.state<calls_seen>().of;
    for (const auto& one : of.world.members) {
        const auto& calls = one->node.network.calls;
        auto& at = seen[one->number];
        for (at = std::min(at, calls.size()); at < calls.size(); ++at) {
            // That it keeps the routes of routers is README ruling 81.
            const bool is_for_routers = calls[at].find("/accept_ra") != std::string::npos;
            if (calls[at].find(host_vlan) != std::string::npos && !is_for_routers) {
                of.say("host_vlan_stays", one->name() + " was to " + calls[at] + ", which is its administrator's own");
            }
        }
    }
}

// Cards and VLANs that lead to one network make a loop of a bridge that has two of them.
std::string wrong_with_ways_out(const judge& /*of*/, const member& one) {
    const auto& seen = one.node.kernel.state();
    for (const std::string_view bridge : {"brcluster", "brstorage", "brupstream"}) {
        const auto* link = seen.find(bridge);
        const auto ports = link == nullptr ? std::vector<const model::network_link*>() : seen.ports_of(link->index);
        const auto ways = std::ranges::count_if(
            ports, [](const model::network_link* port) { return port->kind.empty() || port->kind == "vlan"; });
        if (ways > 1) {
            return fmt::format("{} has {} ways out of {}", one.name(), ways, bridge);
        }
    }
    return "";
}

constexpr member_rule one_way_out{
    .is_judged = [](const judge& of, const member& /*one*/) { return has_networking(of.world); },
    .reads = [](const judge& /*of*/,
                const member& one) { return std::optional(member_rule::versions{one.node.kernel.generation()}); },
    .wrong = wrong_with_ways_out,
};

// Guests that have no other address of IPv6 yet ask the link-local one of their network's bridge, and are answered over
// the route to all such.
std::string wrong_with_own_v6(const judge& of, const member& one) {
    const auto& seen = one.node.kernel.state();
    for (const auto& network : networks_of(of.world)) {
        const auto* bridge = seen.find(network.bridge());
        const bool has_ipv6 = network.type == model::network_type::managed && network.ip6.network.has_value();
        const bool is_demanded =
            has_ipv6 && bridge != nullptr && bridge->is_up && bridge->is_running && is_settled(of, network.vni) &&
            !one.node.kernel.has(bridge->name, *parse_host_address(strangers_address)) &&
            !is_network_of_host(of.world, one, network.vni) && !is_nobodys_base(one.node, network) &&
            !is_left_on_device_of_before(one.node, network.vni);
        for (const auto& address :
             is_demanded ? seen.addresses_of(bridge->index) : std::vector<model::link_address>()) {
            const auto to_all = model::connected_network(address.address);
            if (address.address.address.is_v4() || address.is_global()) {
                continue;
            }
            if (!address.is_taken || !seen.has_connected_route(bridge->index, *to_all)) {
                return fmt::format("{} has {} on {}, and {}", one.name(), address.address.text(), bridge->name,
                                   address.is_taken ? "no way to others like it" : "takes no packets for it");
            }
        }
    }
    return "";
}

// A node that is calm reaches the networks of the addresses that its daemon gave to its bridges. What an administrator
// gave to a bridge of his own is his.
std::string wrong_with_routes(const judge& of, const member& one) {
    const auto& seen = one.node.kernel.state();
    const auto strangers = parse_host_address(strangers_address);
    for (const auto& address : seen.addresses()) {
        const auto* link = seen.find(address.link);
        const bool is_own = (link->name.starts_with("vmbr") && address.address != *strangers) ||
                            link->name == "brcluster" || link->name == "brstorage" || link->name == "brupstream";
        const auto network = model::connected_network(address.address);
        const auto vni = model::vni_of(link->name, "vmbr");
        if (vni && is_left_on_device_of_before(one.node, *vni)) {
            continue;  // nothing shows whose it is: with all that is on it it is left alone, which is told
        }
        if (is_own && link->is_up && address.is_global() && address.is_permanent && network &&
            !seen.has_connected_route(link->index, *network)) {
            return fmt::format("{} has {} on {}, and no way to its network", one.name(), address.address.text(),
                               link->name);
        }
        if (is_own && link->is_up && address.is_global() && address.is_permanent && !address.is_taken) {
            return fmt::format("{} has {} on {}, and takes no packets for it", one.name(), address.address.text(),
                               link->name);
        }
    }
    return wrong_with_own_v6(of, one);
}

constexpr member_rule networks_are_reached{
    .is_judged = is_long_calm,
    .reads =
        [](const judge& of, const member& one) {
            using versions = member_rule::versions;
            return are_all_settled(of)
                       ? std::optional(versions{one.node.kernel.generation(), of.world.changes_below("networks")})
                       : std::nullopt;
        },
    .wrong = wrong_with_routes,
};

// The one before was made a port while the disk was full, and its daemon died before it could note that; or the card
// was pulled out while no daemon ran, and is another link since; or the host had made it one before any daemon ran:
// nothing shows that it was a daemon's, which is told.
bool keeps_unrecorded_port(const judge& of, const member& one, const std::string& device) {
    const bool is_the_hosts = of.world.state<early_devices>().nodes.contains(one.name());
    return (is_the_hosts || one.node.logged("this daemon's own was not noted") ||
            of.world.performed.contains("pull-device")) &&
           one.node.logged(fmt::format("whose device is {} by the configuration: that is not made a port", device));
}

// The bridge of the cluster network has the device of the file, if that is there and works.
std::optional<std::string> devices_are_ports(const judge& of) {
    for (const auto& one : of.world.members) {
        const auto& seen = one->node.kernel.state();
        const auto* device = seen.find(one->node.settings.cluster_device);
        const auto* bridge = seen.find("brcluster");
        if (has_networking(of.world) && device != nullptr && device->is_running &&
            (bridge == nullptr || device->master != bridge->index) && !keeps_unrecorded_port(of, *one, device->name)) {
            return fmt::format("{}: {} is no port of brcluster", one->name(), device->name);
        }
    }
    return std::nullopt;
}

std::optional<std::string> networks_are_up(const judge& of) {
    if (!has_networking(of.world)) {
        return std::nullopt;
    }
    for (const auto& one : of.world.members) {
        if (auto wrong = wrong_on(of, *one, true); !wrong.empty()) {
            return wrong;
        }
    }
    return std::nullopt;
}

struct looks_seen {
    struct window {
        time_point begun{};
        std::uint64_t looks = 0;
    };
    std::map<std::uint32_t, window> of;
};

// A look follows each change, and none follows a look. Clients change networks several times a minute.
void quiet_nodes_rest(judge& of) {
    constexpr std::uint64_t most = 300;
    auto& seen = of.state<looks_seen>();
    for (const auto& one : of.world.members) {
        auto& window = seen.of[one->number];
        const std::uint64_t looks = one->node.network.looks;
        const bool is_watched = has_networking(of.world) && one->node.is_running() && !one->node.is_paused() &&
                                of.world.is_calm(*one) && window.begun != time_point();
        if (is_watched && of.world.now() - window.begun < 1min) {
            continue;
        }
        if (is_watched && looks - window.looks > most) {
            of.say("quiet_nodes_rest",
                   fmt::format("{} has looked at its links {} times in a minute", one->name(), looks - window.looks));
        }
        window = {of.world.now(), looks};
    }
}

// A base that had a port's place is gone, and the other one, for which it was taken away, is not there.
struct bases_seen {
    struct base {
        std::string name;
        int lower = 0;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, base> of;  // by member and VNI
};

std::string wrong_with_bases(const judge& of, const member& one) {
    auto& known = of.state<bases_seen>().of;
    const auto& seen = one.node.kernel.state();
    std::string wrong;
    for (const auto& network : networks_of(of.world)) {
        auto& before = known[{one.number, network.vni}];
        const auto* bridge = seen.find(network.bridge());
        bases_seen::base now;
        for (const auto* prefix : {"vxlan", "vlan"}) {
            const auto* base = seen.find(prefix + std::to_string(network.vni));
            if (base != nullptr && bridge != nullptr && base->master == bridge->index) {
                now = {base->name, base->lower};
            }
        }
        const bool is_managed = network.type == model::network_type::managed;
        const auto* lower = seen.find(is_managed ? one.node.settings.cluster_device : one.node.settings.bridge_device);
        const bool was_other = !before.name.empty() && before.name != network.base();
        // The very one that it stood on: another of its name may have come by now.
        const bool is_device_gone = seen.find(before.lower) == nullptr;
        const bool is_excused = of.world.performed.contains("damage") || of.world.performed.contains("pull-cable") ||
                                of.world.performed.contains("strangers-bridge") || is_device_gone;
        if (now.name.empty() && was_other && lower == nullptr && bridge != nullptr && !is_excused && wrong.empty()) {
            wrong = fmt::format("{}: {} is gone from {}, and {} cannot be made", one.name(), before.name, bridge->name,
                                network.base());
        }
        before = now;
    }
    std::erase_if(known, [&](const auto& entry) {
        return entry.first.first == one.number &&
               !of.world.ensemble.exists("/networks/" + std::to_string(entry.first.second));
    });
    return wrong;
}

// What stands now is compared with what stood before, and is the same as long as neither links nor networks change.
constexpr member_rule changes_are_whole{
    .is_judged = [](const judge& of, const member& /*one*/) { return has_networking(of.world); },
    .reads =
        [](const judge& of, const member& one) {
            return std::optional(
                member_rule::versions{one.node.kernel.generation(), of.world.changes_below("networks")});
        },
    .wrong = wrong_with_bases,
};

constexpr rule link_rules[] = {
    {.on_change = note_changes},
    {.name = "changes_are_whole",
     .meaning = "what a network stands on is not taken away for what cannot be made",
     .of_member = changes_are_whole},
    {.name = "quiet_nodes_rest",
     .meaning = "a calm node looks at its links when something has changed, and not for ever",
     .on_tenth_second = quiet_nodes_rest},
    {.name = "networks_stand",
     .meaning = "on a calm node every client network is up within 30 s, and gone as soon when it is removed",
     .of_member = networks_stand},
    {.name = "foreign_links",
     .meaning = "links that are none of the daemon's stay as they are",
     .of_member = foreign_links_stay},
    {.name = "host_vlan_stays",
     .meaning =
         "nothing is done to a VLAN of the host's own, whatever it is called, but that it goes on taking routes of "
         "routers",
     .on_second = host_vlan_stays},
    {.name = "one_way_out",
     .meaning = "a bridge of the host has one card or VLAN that leads out of the machine: two of them may be a loop",
     .of_member = one_way_out},
    {.name = "networks_are_reached",
     .meaning = "a calm node has the routes that come with the addresses of its bridges, whatever somebody flushed",
     .of_member = networks_are_reached},
};

constexpr progress link_progress[] = {
    {"network_links", "every client network is up on every node, and nothing of others is there", networks_are_up},
    {"host_ports", "the bridge of the cluster network has the device of the file as its port", devices_are_ports},
};

}  // namespace

// Where there were more keys than a session may watch.
duration time_for_networks(const judge& of) {
    return for_a_network + (of.world.performed.contains("many-acls") ? for_a_round : duration::zero());
}

bool is_nobodys_base(const sim_node& node, const model::client_network& network) {
    const auto& seen = node.kernel.state();
    const auto* base = seen.find(network.base());
    const auto* bridge = seen.find(network.bridge());
    const bool is_port = base != nullptr && bridge != nullptr && base->master == bridge->index;
    if (base == nullptr || is_port || !node.logged(base->name + " is VXLAN ") ||
        !node.logged("nothing shows that it is this network's")) {
        return false;
    }
    const auto record = node.host.files.find("/run/pvc/client-bridges");
    return record == node.host.files.end() ||
           record->second.find(fmt::format("base {} {} own\n", base->name, base->index)) == std::string::npos;
}

bool is_left_on_device_of_before(const sim_node& node, std::uint32_t vni) {
    return has_base_of_before(node, node.kernel.state(), vni) &&
           (node.logged(fmt::format("vxlan{} is there and is not ", vni)) ||
            node.logged(fmt::format("vlan{} is there and is not ", vni)));
}

bool is_settled(const judge& of, std::uint32_t vni) {
    const auto& when = of.state<network_changes>().when;
    const auto found = when.find(std::to_string(vni));
    return found == when.end() || of.world.now() - found->second > time_for_networks(of);
}

bool are_all_settled(const judge& of) {
    const auto& last = of.state<network_changes>().last;
    return !last || of.world.now() - *last > time_for_networks(of);
}

void add_network_rules(registry& to) {
    to.add(link_rules);
    to.add(link_progress);
}

}  // namespace pvc::sim
