// Machines of a random cluster that have links, addresses and routes of their own, some by names of client networks:
// they stay, whatever befalls the daemon. Whole hosts of all kinds are played by host_runs.
#include "sim/subjects/hosts/hosts.hpp"

#include "sim/subjects/hosts/random_host.hpp"
#include "sim/subjects/networks/networks.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"
#include "sim/world/registry.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t own_vlan = 300;  // the number of a network too
constexpr std::uint32_t own_vxlan = 50;
constexpr std::string_view own_card = "ens15";  // no device of the file, and none that another file names
constexpr std::string_view forwarding_key = "net/ipv6/conf/all/forwarding";
constexpr duration until_forwarded = 30s;

// What machines have, and the index that each link had when it was made.
struct own_things {
    struct machine {
        drawn_host host;
        std::map<std::string, int, std::less<>> index;
        bool has_advertised = false;  // a router is heard only where forwarding was not on already
    };
    std::map<std::string, machine, std::less<>> of;  // by member
};

void note_indexes(own_things::machine& things, const sim_kernel& kernel) {
    things.index.clear();
    things.has_advertised = kernel.has_advertised_route(std::string(own_card));
    for (const auto& link : things.host.links) {
        if (const auto* const made = kernel.link(link.name)) {
            things.index[link.name] = made->index;
        }
    }
}

drawn_host own_host(const node_settings& of) {
    drawn_host host;
    host.cards.emplace_back(own_card);
    host.links.push_back({.name = "vlan300", .kind = "vlan", .on = of.bridge_device, .number = own_vlan});
    host.links.push_back(
        {.name = "vxlan50", .kind = "vxlan", .on = of.cluster_device, .number = own_vxlan, .mtu = 1450});
    for (const auto& [device, address] :
         {std::pair("vlan300", "192.168.30.2/24"), std::pair("vxlan50", "192.168.50.2/24")}) {
        host.addresses.push_back({device, *parse_host_address(address)});
    }
    host.addresses.push_back({std::string(own_card), *parse_host_address("192.0.2.10/24"), true});
    model::network_route by_dhcp{.to = {ip::address_v4(), 0}, .gateway = *parse_address("192.0.2.1")};
    by_dhcp.metric = 100;
    by_dhcp.protocol = 16;
    host.routes.push_back({std::string(own_card), by_dhcp});
    host.advertised.emplace_back(own_card);
    return host;
}

void furnish_machine(cluster& world, const action& /*what*/, member& target) {
    auto& all = world.state<own_things>().of;
    const auto& there = target.node.kernel;
    // It is the host's own only where it was there first.
    if (all.contains(target.name()) || !has_networking(world) || there.has_device("vlan300") ||
        there.has_device("vxlan50")) {
        return;
    }
    auto& things = all[target.name()];
    things.host = own_host(target.node.settings);
    auto& kernel = target.node.kernel;
    kernel.on_boot = [before = kernel.on_boot, &things](sim_kernel& booted) {
        if (before) {
            before(booted);
        }
        furnish(things.host, booted);
        note_indexes(things, booted);
    };
    furnish(things.host, kernel);
    note_indexes(things, kernel);
    world.disturb(target, std::nullopt);
}

// As a routing daemon does that begins anew.
void switch_forwarding_off(cluster& world, const action& /*what*/, member& target) {
    ignore(target.node.kernel.apply(model::set_sysctl{std::string(forwarding_key), "0"}), "every kernel has it");
    world.disturb(target, std::nullopt);
}

std::uint64_t where_hosts_are(cluster& world) {
    return has_networking(world) ? 1 : 0;
}

// A client makes a network by the name of the VLAN soon.
void draw_own(drawing& from, action& /*out*/) {
    from.follow_up(from.some_time(1s, 5min), "network").value = "create 300 bridged none none";
    from.follow_up(from.some_time(5min, 10min), "network").value = "remove 300";
}

constexpr action_kind actions_on_hosts[] = {
    {.name = "furnish",
     .takes = "n",
     .meaning = "the machine has a VLAN, a VXLAN and a card of its own, with addresses and routes, by names of ours",
     .on_member = furnish_machine,
     .chance = drawn{.eighths = 3, .favour = where_hosts_are, .arguments = draw_own}},
    {.name = "forwarding-off",
     .takes = "n",
     .meaning = "somebody switches IPv6 forwarding off",
     .on_member = switch_forwarding_off,
     .chance = drawn{.favour = where_hosts_are}},
};

// What somebody did to the machine excuses it.
std::string own_things_wrong(const judge& of, const member& one) {
    const auto& all = of.world.state<own_things>().of;
    const auto found = all.find(one.name());
    if (found == all.end()) {
        return "";
    }
    const auto& performed = of.world.performed;
    const auto& kernel = one.node.kernel;
    // Also where the file gives another card to a bridge: that may be the host's own.
    const bool is_pulled = performed.contains("pull-device") || performed.contains("another-device");
    const bool is_wiped = performed.contains("wipe-addresses");
    const bool is_flushed = performed.contains("flush-routes") || performed.contains("flush-ipv6");
    for (const auto& [name, index] : found->second.index) {
        const auto* const link = kernel.link(name);
        // Without its address a VLAN shows nothing of being somebody's, and its network uses it.
        const bool is_elsewhere = link != nullptr && link->master != 0 && !is_wiped;
        if (!is_pulled && (link == nullptr || link->index != index || is_elsewhere || !link->is_up)) {
            return fmt::format("{} is not as it was on {}", name, one.name());
        }
    }
    for (const auto& address : found->second.host.addresses) {
        if (!is_wiped && !is_pulled && !kernel.has(address.device, address.address)) {
            return fmt::format("{} is gone from {} on {}", address.address.text(), address.device, one.name());
        }
    }
    if (!is_wiped && !is_flushed && !is_pulled && found->second.has_advertised &&
        !kernel.has_advertised_route(std::string(own_card))) {
        return fmt::format("the route that a router advertised is gone from {}", one.name());
    }
    return "";
}

constexpr member_rule own_things_stay{
    .is_judged = [](const judge& of, const member& /*one*/) { return has_networking(of.world); },
    .reads = [](const judge& /*of*/,
                const member& one) { return std::optional(member_rule::versions{one.node.kernel.generation()}); },
    .wrong = own_things_wrong,
};

constexpr member_rule forwarding_is_on{
    .is_judged =
        [](const judge& of, const member& one) {
            return has_networking(of.world) && one.node.is_running() && one.node.is_ready() && !one.node.is_paused() &&
                   of.world.is_calm(one) && of.world.now() - one.calm_from > until_forwarded;
        },
    .reads = [](const judge& /*of*/,
                const member& one) { return std::optional(member_rule::versions{one.node.kernel.generation()}); },
    .wrong =
        [](const judge& /*of*/, const member& one) {
            const auto read = one.node.kernel.sysctls().read(forwarding_key);
            return read == "1" ? std::string() : one.name() + " does not forward IPv6";
        },
};

constexpr rule rules_of_hosts[] = {
    {.name = "own_things_stay",
     .meaning = "links, addresses and routes of the machine's own stay as they are, whatever they are called",
     .of_member = own_things_stay},
    {.name = "forwarding_is_on",
     .meaning = "a calm node forwards IPv6, whoever switched that off",
     .of_member = forwarding_is_on},
};

}  // namespace

bool is_link_of_host(cluster& world, const member& machine, std::string_view link) {
    const auto& all = world.state<own_things>().of;
    const auto found = all.find(machine.name());
    return found != all.end() && found->second.index.contains(link);
}

bool is_network_of_host(cluster& world, const member& machine, std::uint32_t vni) {
    return (vni == own_vlan && is_link_of_host(world, machine, "vlan300")) ||
           (vni == own_vxlan && is_link_of_host(world, machine, "vxlan50"));
}

void add_hosts(registry& to);
void add_hosts(registry& to) {
    to.add(actions_on_hosts);
    to.add(rules_of_hosts);
}

}  // namespace pvc::sim
