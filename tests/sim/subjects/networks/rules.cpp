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

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr duration for_a_network = 30s;
constexpr int mtu_of_devices = 1500;  // as the settings of every member say
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

// What is not as it shall be; empty: nothing.
std::string wrong_with(const sim_node& node, const model::network_state& seen, const model::client_network& network) {
    const bool is_managed = network.type == model::network_type::managed;
    const auto* lower = seen.find(is_managed ? node.settings.cluster_device : node.settings.bridge_device);
    const auto* bridge = seen.find(network.bridge());
    const auto* base = seen.find(network.base());
    if (lower == nullptr) {
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
    const bool is_right = is_managed ? base->vxlan && base->vxlan->vni == network.vni && base->vxlan->port == 4789
                                     : base->vlan_id == network.vni;
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

// A link of a network that is no more; empty: there is none. Who has other ports in its bridge keeps it.
std::string left_of(const judge& of, const member& one, bool at_once) {
    const auto& seen = one.node.kernel.state();
    for (const auto& link : seen.links()) {
        for (const std::string_view prefix : {"vmbr", "vxlan", "vlan"}) {
            const auto vni = model::vni_of(link.name, prefix);
            if (!vni || of.world.ensemble.exists("/networks/" + std::to_string(*vni)) ||
                !(at_once || is_settled(of, *vni)) || is_link_of_host(of.world, one, link.name)) {
                continue;
            }
            const auto* bridge = seen.find("vmbr" + std::to_string(*vni));
            const bool is_used =
                bridge != nullptr &&
                std::ranges::any_of(seen.ports_of(bridge->index), [&](auto* port) { return port->kind == "tun"; });
            if (!is_used) {
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

constexpr rule link_rules[] = {
    {.on_change = note_changes},
    {.name = "quiet_nodes_rest",
     .meaning = "a calm node looks at its links when something has changed, and not for ever",
     .on_tenth_second = quiet_nodes_rest},
    {.name = "networks_stand",
     .meaning = "on a calm node every client network is up within 30 s, and gone as soon when it is removed",
     .of_member = networks_stand},
    {.name = "foreign_links",
     .meaning = "links that are none of the daemon's stay as they are",
     .of_member = foreign_links_stay},
};

constexpr progress link_progress[] = {
    {"network_links", "every client network is up on every node, and nothing of others is there", networks_are_up},
};

}  // namespace

bool is_settled(const judge& of, std::uint32_t vni) {
    const auto& when = of.state<network_changes>().when;
    const auto found = when.find(std::to_string(vni));
    return found == when.end() || of.world.now() - found->second > for_a_network;
}

bool are_all_settled(const judge& of) {
    const auto& last = of.state<network_changes>().last;
    return !last || of.world.now() - *last > for_a_network;
}

void add_network_rules(registry& to) {
    to.add(link_rules);
    to.add(link_progress);
}

}  // namespace pvc::sim
