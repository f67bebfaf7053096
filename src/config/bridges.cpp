// What the static networks share: devices, host bridges and MTUs (config.md 6.6); bridged networks and SR-IOV (5.7).
#include "networking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pvc::config {

namespace {

std::string place(const auto& what) {
    return fmt::format("{} (line {})", what.path, what.line);
}

// Rules about two networks; each pair once, reported at the later one.
void compare(const section& in, const network_settings& a, const network_settings& b) {
    const bool share_a_device = a.device.given && b.device.given && a.device.value == b.device.value;
    if (a.network.given && b.network.given && a.subnet == b.subnet && !share_a_device) {
        in.report(severity::warning, b.network.line, b.network.path,
                  fmt::format("the same network as {} on another device; expected different networks, got {}",
                              place(a.network), b.network.got));
    }
    if (share_a_device && a.mtu.given && b.mtu.given && a.mtu.value != b.mtu.value) {
        in.report(severity::warning, b.mtu.line, b.mtu.path,
                  fmt::format("differs from {} on the same device {}; expected {}, got {}", place(a.mtu),
                              a.device.value, a.mtu.value, b.mtu.got));
    }
}

// The first network that uses a device owns it and names the bridge; the device has the largest MTU of its users.
void derive_bridges(node_config& config) {
    for (const auto role : {network_role::cluster, network_role::storage, network_role::upstream}) {
        auto& network = role == network_role::cluster   ? config.networks.cluster
                        : role == network_role::storage ? config.networks.storage
                                                        : config.networks.upstream;
        const auto owner = std::ranges::find(config.host_bridges, network.device, &host_bridge::device);
        if (owner != config.host_bridges.end()) {
            network.bridge = owner->name;
            auto& used = *std::ranges::find(config.device_mtus, network.device, &device_mtu::device);
            used.mtu = std::max(used.mtu, network.mtu);
            continue;
        }
        network.bridge = fmt::format("br{}", to_text(role));
        config.host_bridges.push_back({network.bridge, network.device, network.mtu, role});
        config.device_mtus.push_back({network.device, network.mtu});
    }
}

// `bridge_device` is a fourth user of its device. Without `bridge_mtu` it takes what the device has, if that is known.
void derive_bridge_mtu(node_config& config) {
    auto& bridges = config.bridges;
    const auto shared = std::ranges::find(config.device_mtus, bridges.device, &device_mtu::device);
    if (bridges.device.empty() || shared == config.device_mtus.end()) {
        return;
    }
    if (bridges.mtu) {
        shared->mtu = std::max(shared->mtu, *bridges.mtu);
    } else {
        bridges.mtu = shared->mtu;
    }
}

void read_bridges(section& networking, node_config& config) {
    const auto device = networking.text_or_none("bridge_device", presence::optional, device_rule);
    const auto mtu = networking.optional_integer("bridge_mtu", presence::optional, mtu_range, true, {});
    if (config.functions.networking && networking.exists() && !device.value && (device.given || device.got.empty())) {
        networking.report(severity::warning, device.line, device.path,
                          fmt::format("{}, bridged networks cannot be created; expected {}",
                                      device.given ? "no device" : "missing", device_rule.expectation));
    }
    if (config.functions.networking && device.value) {
        check_device(networking, "bridge_device");
    }
    config.bridges.device = device.value.value_or("");
    config.bridges.mtu = mtu.value;
    config.bridges.mtu_is_configured = mtu.value.has_value();
}

void read_sriov(section& networking, node_config& config) {
    const auto enable = networking.boolean("sriov_enable", presence::optional);
    std::map<std::string, int> lines;  // of each device
    for (auto& item : networking.items("sriov_device")) {
        const auto phy = item.text("phy", presence::required, device_rule);
        if (phy.given && !lines.try_emplace(phy.value, phy.line).second) {
            item.report(severity::fatal, phy.line, phy.path,
                        fmt::format("duplicate device; expected each device once, got {} again (first in line {})",
                                    phy.got, lines[phy.value]));
        }
        if (config.functions.networking && phy.given) {
            check_device(item, "phy");
        }
        const auto mtu = item.optional_integer("mtu", presence::optional, mtu_range, true, {});
        const auto count =
            item.optional_integer("vfcount", presence::defaulted, {0, 1024}, false, "the VFs as they are");
        config.sriov.devices.push_back({phy.value, mtu.value, count.value});
        item.finish();
    }
    config.sriov.enable = enable.value;
    if (enable.value && config.sriov.devices.empty()) {
        networking.report(severity::warning, enable.line, enable.path,
                          fmt::format("no devices in sriov_device; expected at least one, got {}", enable.got));
    }
}

}  // namespace

void read_networking(section& cluster, section& networking, node_config& config) {
    const bool enabled = config.functions.networking;
    auto networks = cluster.child("networks", only_if(enabled, presence::required));
    const auto upstream = read_network(networks, networking, network_role::upstream, config.networks.upstream, config);
    const auto cluster_network =
        read_network(networks, networking, network_role::cluster, config.networks.cluster, config);
    const auto storage = read_network(networks, networking, network_role::storage, config.networks.storage, config);
    networks.finish();
    config.upstream_floating_ip = upstream.floating_ip.value;
    read_bridges(networking, config);
    read_sriov(networking, config);
    networking.finish();
    if (!enabled) {
        return;
    }
    compare(cluster, cluster_network, storage);
    compare(cluster, cluster_network, upstream);
    compare(cluster, storage, upstream);
    derive_bridges(config);
    derive_bridge_mtu(config);
}

}  // namespace pvc::config
