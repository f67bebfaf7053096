// What befalls the network of a machine: its kernel refuses, hangs, is slow, tells late; devices go and come; somebody
// does something to the links of a client network.
#include "sim/subjects/networks/networks.hpp"
#include "sim/subjects/role/role.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/words.hpp"

#include <array>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

void refuse_links(cluster& world, const action& what, member& target) {
    for (const auto* call : {"create", "set", "make", "take", "delete", "add", "remove", "switch"}) {
        target.node.network.broken.insert_or_assign(call, failure(errc::refused, call, "Operation not permitted"));
    }
    world.lasting(what, &target, true, [&target] { target.node.network.broken.clear(); });
}

void hang_links(cluster& world, const action& what, member& target) {
    target.node.network.hang();
    world.lasting(what, &target, true, [&target] { target.node.network.end_hang(); });
}

void slow_links(cluster& world, const action& what, member& target) {
    target.node.network.call_time = what.amount;
    world.lasting(what, &target, true, [&target] { target.node.network.end_slowness(); });
}

void interrupt_looks(cluster& world, const action& what, member& target) {
    target.node.network.are_looks_interrupted = true;
    world.lasting(what, &target, true, [&target] { target.node.network.are_looks_interrupted = false; });
}

void delay_events(cluster& world, const action& what, member& target) {
    target.node.network.event_delay = what.amount;
    world.lasting(what, &target, true, [&target] { target.node.network.event_delay = duration::zero(); });
}

void refuse_change(cluster& world, const action& what, member& target) {
    target.node.network.refuses_in = static_cast<int>(what.number);
    world.disturb(target, std::nullopt);
}

void pull_device(cluster& world, const action& what, member& target) {
    target.node.kernel.remove_device(what.value);
    world.lasting(what, &target, true, [&target, name = what.value] { target.node.kernel.add_device(name); });
}

void pull_cable(cluster& world, const action& what, member& target) {
    target.node.kernel.set_carrier(what.value, false);
    world.lasting(what, &target, true, [&target, name = what.value] { target.node.kernel.set_carrier(name, true); });
}

// "vmbr1001", "vxlan1001 release"
void damage(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    const std::string name(next_word(rest));
    sim_kernel& kernel = target.node.kernel;
    model::network_change change = model::delete_link{name};
    if (rest == "release") {
        change = model::set_master{name, ""};
    } else if (rest == "down") {
        change = model::set_down{name};
    } else if (rest == "shrink") {
        change = model::set_mtu{name, 1000};
    } else if (rest == "strip") {
        for (const auto& one : kernel.addresses_on(name)) {
            kernel.remove(name, one);
        }
    }
    if (rest != "strip") {
        ignore(kernel.apply(change), "it is not there");
    }
    world.disturb(target, std::nullopt);
}

// "cluster ens9", "bridge ens10": written into the file, and the daemon is started again.
void another_device(cluster& world, const action& what, member& target) {
    std::string_view rest = what.value;
    auto& settings = target.node.settings;
    auto& device = next_word(rest) == "cluster" ? settings.cluster_device : settings.bridge_device;
    target.node.kernel.leave_to_daemon(device);  // by the system's own configuration, as by ours
    if (!target.is_powered) {
        target.node.kernel.lose_power();  // it boots by what is written now
    }
    device = rest;
    const std::string card(rest);
    target.node.kernel.add_card(card, settings.has_other_names ? other_name_of(card) : "");
    world.disturb(target, std::nullopt);
    if (settings.has_ready_bridges && target.node.log().empty()) {
        world.state<early_devices>().nodes.insert(target.name());
    }
    if (!target.node.is_running()) {
        return;
    }
    ++target.life;
    target.node.kill();
    world.later.after(1s, [&world, &target, life = target.life] {
        if (target.life == life && !target.node.is_running()) {
            world.start(target);
        }
    });
}

// `ip route flush table main`, and what networkd does when it starts.
void flush_routes(cluster& world, const action& /*what*/, member& target) {
    target.node.kernel.flush_routes();
    world.disturb(target, std::nullopt);
}

// `ip -6 route flush table main`, or `local`, or first the one and then the other.
void flush_ipv6(cluster& world, const action& what, member& target) {
    target.node.kernel.flush_ipv6(what.value != "local", what.value != "main");
    world.disturb(target, std::nullopt);
}

void make_host_vlan(cluster& /*world*/, const action& /*what*/, member& target) {
    constexpr std::uint16_t id = 400;
    const std::string name(host_vlan);
    const model::network_change all[] = {model::make_vlan{name, "ens7", id}, model::set_up{"ens7"}, model::set_up{name},
                                         model::add_address{name, *parse_host_address("192.0.2.10/24")}};
    for (const auto& one : all) {
        ignore(target.node.kernel.apply(one), "its card is out");
    }
}

// "vmbr1001": somebody has a bridge of that name, with an address and a machine of the cluster in it.
void strangers_bridge(cluster& world, const action& what, member& target) {
    sim_kernel& kernel = target.node.kernel;
    const std::string name = what.value;
    const std::string tap = "tap" + name.substr(4);
    const auto clear = [&kernel, name, tap] {
        kernel.remove_device(tap);
        ignore(kernel.apply(model::delete_link{name}), "it is not there");
    };
    clear();
    ignore(kernel.apply(model::make_bridge{name}), "it can be");
    kernel.add(name, strangers_address);
    ignore(kernel.apply(model::set_up{name}), "it is there");
    kernel.add_tap(tap, name);
    world.lasting(what, &target, false, [&world, &target, clear] {
        clear();
        world.disturb(target, std::nullopt);
    });
}

void unlearn(cluster& world, const action& what, member& target) {
    target.node.kernel.set_vxlan(what.value, false, world.now().time_since_epoch().count() % 2 == 0);
    world.disturb(target, std::nullopt);
}

std::uint64_t has_links(cluster& world) {
    return has_networking(world) ? 1 : 0;
}

void draw_device(drawing& from, action& out) {
    static constexpr std::array devices{"ens4", "ens5", "ens6", "ens7"};
    out.value = from.one_of(devices);
}

void draw_other_device(drawing& from, action& out) {
    static constexpr std::array others{"cluster ens9", "cluster ens5", "bridge ens10", "bridge ens7"};
    out.value = from.one_of(others);
}

void draw_damage_to_links(drawing& from, action& out) {
    static constexpr std::array vnis{"1001", "1002", "16777215", "200", "201"};
    static constexpr std::array ways{"", " release", " down", " shrink", " strip"};
    const std::string vni = from.one_of(vnis);
    const std::string base = vni.size() == 3 ? "vlan" : "vxlan";
    out.value = (from.random.below(2) == 0 ? "vmbr" : base) + vni;
    if (from.random.below(6) == 0) {
        static constexpr std::array bridges{"brcluster", "brstorage", "brupstream"};
        out.value = from.one_of(bridges);
    }
    out.value += from.one_of(ways);
}

constexpr std::pair<std::int64_t, std::int64_t> change_numbers{1, 1000};

constexpr action_kind faults_of_links[] = {
    {.name = "refuse-links",
     .takes = "n",
     .meaning = "the kernel refuses every change of links",
     .can_last = true,
     .on_member = refuse_links,
     .chance = drawn{.favour = has_links}},
    {.name = "hang-links",
     .takes = "n",
     .meaning = "what is asked of the kernel about links is not answered, and done later",
     .can_last = true,
     .on_member = hang_links,
     .chance = drawn{.favour = has_links}},
    {.name = "slow-links",
     .takes = "nd",
     .meaning = "every call about links takes so long",
     .can_last = true,
     .on_member = slow_links,
     .chance = drawn{.favour = has_links,
                     .arguments = [](drawing& from, action& out) { out.amount = from.some_time(1ms, 10s); }}},
    {.name = "interrupt-looks",
     .takes = "n",
     .meaning = "every look at the links is interrupted by changes",
     .can_last = true,
     .on_member = interrupt_looks,
     .chance = drawn{.favour = has_links}},
    {.name = "delay-events",
     .takes = "nd",
     .meaning = "the kernel tells so late that links have changed",
     .can_last = true,
     .on_member = delay_events,
     .chance = drawn{.favour = has_links,
                     .arguments = [](drawing& from, action& out) { out.amount = from.some_time(10ms, 20s); }}},
    {.name = "lose-events",
     .takes = "n",
     .meaning = "so much happens to links that the kernel drops what it had to tell",
     .on_member = [](cluster& /*world*/, const action& /*what*/, member& target) { target.node.network.lose_events(); },
     .chance = drawn{.favour = has_links}},
    {.name = "refuse-change",
     .takes = "ni",
     .meaning = "the n-th change of links from now is refused",
     .on_member = refuse_change,
     .numbers = change_numbers,
     .chance =
         drawn{.favour = has_links,
               .arguments = [](drawing& from,
                               action& out) { out.number = 1 + static_cast<std::int64_t>(from.random.below(8)); }}},
    {.name = "pull-device",
     .takes = "nv",
     .meaning = "a network card is pulled out",
     .can_last = true,
     .on_member = pull_device,
     .chance = drawn{.favour = has_links, .arguments = draw_device}},
    {.name = "pull-cable",
     .takes = "nv",
     .meaning = "the cable of a network card is pulled out",
     .can_last = true,
     .on_member = pull_cable,
     .chance = drawn{.favour = has_links, .arguments = draw_device}},
    {.name = "damage",
     .takes = "nv",
     .meaning =
         "somebody deletes a link; with `release`, `down`, `shrink` or `strip` behind its name he does that to it",
     .on_member = damage,
     .chance = drawn{.eighths = 6, .favour = has_links, .arguments = draw_damage_to_links}},
    {.name = "host-vlan",
     .takes = "n",
     .meaning = "the administrator makes a VLAN of his own, whose name is that of a client network's",
     .on_member = make_host_vlan,
     .chance = drawn{.eighths = 2, .favour = has_links}},
    {.name = "flush-routes",
     .takes = "n",
     .meaning = "somebody takes all routes of the main table away, also those that came with addresses",
     .on_member = flush_routes,
     .chance = drawn{.eighths = 3, .favour = has_links}},
    {.name = "flush-ipv6",
     .takes = "nv",
     .meaning = "somebody takes all routes of IPv6 of the table `main`, `local`, or `both` away",
     .on_member = flush_ipv6,
     .chance = drawn{.eighths = 4,
                     .favour = has_links,
                     .arguments =
                         [](drawing& from, action& out) {
                             static constexpr std::array tables{"main", "local", "both"};
                             out.value = from.one_of(tables);
                         }}},
    {.name = "another-device",
     .takes = "nv",
     .meaning = "another card is the device of the `cluster` or the `bridge` networks by the file, and the daemon is "
                "started again",
     .on_member = another_device,
     .chance = drawn{.eighths = 2, .favour = has_links, .arguments = draw_other_device}},
    {.name = "strangers-bridge",
     .takes = "nv",
     .meaning = "somebody has a bridge of that name with an address of his own, and a machine of the cluster is in it",
     .can_last = true,
     .on_member = strangers_bridge,
     .chance = drawn{.favour = has_links,
                     .arguments =
                         [](drawing& from, action& out) {
                             static constexpr std::array bridges{"vmbr1001", "vmbr1002"};
                             out.value = from.one_of(bridges);
                         }}},
    {.name = "unlearn",
     .takes = "nv",
     .meaning = "somebody switches learning off on a VXLAN, and may give it a remote address",
     .on_member = unlearn,
     .chance = drawn{.favour = has_links,
                     .arguments =
                         [](drawing& from, action& out) {
                             static constexpr std::array links{"vxlan1001", "vxlan1002", "vxlan16777215"};
                             out.value = from.one_of(links);
                         }}},
};

}  // namespace

void add_network_faults(registry& to) {
    to.add(faults_of_links);
}

}  // namespace pvc::sim
