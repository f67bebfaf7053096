// A drawn host on a simulated machine.
#include "sim/subjects/hosts/random_host.hpp"
#include "sim/world/cluster.hpp"

#include <utility>

namespace pvc::sim {

namespace {

void add_drawn(const drawn_link& one, sim_kernel& kernel) {
    if (const auto* there = kernel.link(one.name); there != nullptr && there->kind != one.kind) {
        kernel.remove_device(one.name);  // a card in its place: the settings of a member name no kinds
    }
    model::network_link link;
    link.name = one.name;
    link.kind = one.kind == "tunnel" ? "tun" : one.kind;
    link.mtu = one.mtu;
    link.is_up = true;
    link.has_stp = one.has_stp;
    if (one.kind == "vlan") {
        link.vlan_id = static_cast<std::uint16_t>(one.number);
    } else if (one.kind == "vxlan") {
        link.vxlan.emplace();
        link.vxlan->vni = one.number;
        link.vxlan->port = one.port;
    }
    const bool is_tap = one.kind == "tun";
    kernel.add_link(link, one.on, one.port_of);
    if (is_tap) {  // a tunnel of packets has no hardware address
        ignore(kernel.apply(model::set_hardware{one.name, {0xfe, 0x54, 0, 0, 0, 1}}), "it is there");
    }
    if (one.kind == "veth") {
        model::network_link other;
        other.name = one.name + "p";
        other.kind = one.kind;
        other.mtu = one.mtu;
        kernel.add_link(std::move(other));
    }
}

const ip::network_v6& advertised_network() {
    static const ip::network_v6 all(parse_address("fd00:5::")->to_v6(), 64);
    return all;
}

}  // namespace

void furnish(const drawn_host& host, sim_kernel& kernel) {
    for (const auto& name : host.cards) {
        model::network_link card;
        card.name = name;
        card.mtu = drawn_link().mtu;
        card.is_up = true;
        kernel.add_link(std::move(card));
    }
    for (const auto& one : host.links) {
        add_drawn(one, kernel);
    }
    for (const auto& one : host.addresses) {
        if (one.has_lifetime) {
            kernel.add_lease(one.device, one.address);
        } else {
            model::add_address added{
                .device = one.device, .address = one.address, .scope = one.scope, .settings = one.settings};
            if (one.is_deprecated) {
                added.lifetime.emplace().preferred = 0;
            }
            ignore(kernel.apply(added), "the device is there");
        }
    }
    for (const auto& [device, name] : host.altnames) {
        kernel.add_alt_name(device, name);
    }
    for (const auto& one : host.routes) {
        if (one.how == drawn_way::removed) {
            ignore(kernel.apply(model::remove_route{one.is, one.device, one.table}), "what is not there is gone");
        } else if (one.how == drawn_way::in_front) {
            kernel.prepend_route(one.device, {.is = one.is, .table = one.table});
        } else {
            kernel.add_route(one.device, {.is = one.is, .table = one.table});
        }
    }
    for (const auto& [key, value] : host.settings) {
        ignore(kernel.apply(model::set_sysctl{key, value}), "the card is there");
    }
    for (const auto& device : host.advertised) {
        kernel.advertise(device, advertised_network());
    }
}

void furnish(const drawn_host& host, member& machine) {
    auto& node = machine.node;
    node.kernel.on_boot = [before = node.kernel.on_boot, host, &node](sim_kernel& kernel) {
        if (before) {
            before(kernel);
        }
        furnish(host, kernel);
        for (const auto& one : host.tables) {
            node.filter_table.touch_table(one.name);
        }
    };
    furnish(host, node.kernel);
    for (const auto& one : host.tables) {
        node.filter_table.touch_table(one.name);
    }
    for (const auto& [path, text] : host.files) {
        node.host.files[path] = text;
    }
}

}  // namespace pvc::sim
