// What is done to a simulated machine's links from outside of it, and by other people's programs.
#include "sim/network/sim_kernel.hpp"
#include "sim/network/sim_links.hpp"

#include <algorithm>

namespace pvc::sim {

void sim_kernel::remove_device(const std::string& device) {
    if (const auto* which = find(device)) {
        destroy(which->is.index);
        settle();
    }
}

void sim_kernel::add_device(const std::string& device) {
    for (const auto& one : machine_) {
        if (one.name == device && find(device) == nullptr) {
            auto made = link_of(one.name, "", one.mtu);
            if (!one.alt_name.empty()) {
                made.alt_names.push_back(one.alt_name);
            }
            create(std::move(made));
        }
        if ((one.name == device || one.bridge == device) && !one.bridge.empty() && find(one.bridge) == nullptr) {
            create(link_of(one.bridge, "bridge")).is.is_up = true;
        }
        auto* port = find(one.name);
        if (auto* bridge = find(one.bridge); (one.name == device || one.bridge == device) && bridge != nullptr &&
                                             port != nullptr && port->is.master == 0) {
            port->is.is_up = true;
            ignore(set_master(*port, one.bridge), "it is a bridge");
        }
    }
    settle();
}

void sim_kernel::add_card(const std::string& device, const std::string& alt_name) {
    if (std::ranges::find(machine_, device, &machine_device::name) == machine_.end()) {
        machine_.push_back({.name = device, .alt_name = alt_name});
    }
    add_device(device);
}

void sim_kernel::leave_to_daemon(const std::string& device) {
    for (auto& one : machine_) {
        one.bridge = one.name == device ? "" : one.bridge;
    }
}

void sim_kernel::add_tap(const std::string& name, const std::string& bridge) {
    if (is_name(name) && find(name) == nullptr) {
        auto& tap = create(link_of(name, "tun"));
        tap.is.is_up = true;
        if (const auto* to = find(bridge)) {
            tap.is.mtu = to->is.mtu;  // as libvirt makes it
            ignore(set_master(tap, bridge), "it is a port of nothing then");
        }
        settle();
    }
}

void sim_kernel::add_traffic_filter(const std::string& device) {
    if (auto* const which = find(device)) {
        which->is.has_traffic_filter = true;
        settle();
    }
}

void sim_kernel::add_alt_name(const std::string& device, const std::string& name) {
    if (auto* const which = find(device); which != nullptr && find(name) == nullptr) {
        which->is.alt_names.push_back(name);
        settle();
    }
}

void sim_kernel::add_link(model::network_link which, const std::string& lower, const std::string& master) {
    if (!is_name(which.name)) {
        return;
    }
    auto* there = find(which.name);
    auto& made = there == nullptr ? create(which) : *there;
    const int index = made.is.index;
    made.is = std::move(which);
    made.is.index = index;
    if (const auto* below = find(lower)) {
        made.is.lower = below->is.index;
    }
    if (auto* above = find(master)) {
        made.is.master = above->is.index;
        above->had_ports = true;
    }
    settle();
}

void sim_kernel::set_arp(const std::string& device, bool is_on) {
    if (auto* const which = find(device)) {
        which->is.is_arp_off = !is_on;
        settle();
    }
}

void sim_kernel::call_otherwise(const std::string& device, const std::string& name) {
    if (const auto* const which = find(device)) {
        ignore(rename(which->is.index, name), "somebody has that name");
        settle();
    }
}

// Its settings go with it.
result<void> sim_kernel::rename(int index, const std::string& name) {
    auto* const which = find(index);
    if (which == nullptr) {
        return failure(errc::not_found, name, "No such device");
    }
    if (!is_name(name) || find(name) != nullptr) {
        return failure(errc::refused, name, "File exists");
    }
    sysctls_.rename_link(which->is.name, name);
    which->is.name = name;
    return {};
}

void sim_kernel::set_stp(const std::string& bridge, bool is_on) {
    if (auto* const which = find(bridge); which != nullptr && which->is.kind == "bridge") {
        which->is.has_stp = is_on;
        settle();
    }
}

void sim_kernel::set_vxlan(const std::string& name, bool is_learning, bool has_remote) {
    if (auto* const which = find(name); which != nullptr && which->is.vxlan) {
        which->is.vxlan->is_learning = is_learning;
        which->is.vxlan->has_remote = has_remote;
        settle();
    }
}

void sim_kernel::set_carrier(const std::string& device, bool is_there) {
    if (auto* which = find(device)) {
        which->has_carrier = is_there;
        settle();
    }
}

bool sim_kernel::has_checksums(const std::string& device) const {
    const auto* which = find(device);
    return which != nullptr && which->has_checksums;
}

void sim_kernel::lose_power() {
    boot();
}

}  // namespace pvc::sim
