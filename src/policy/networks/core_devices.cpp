#include "own_links.hpp"
#include "pvcnoded/base/planted.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <algorithm>

namespace pvc::policy {

core_devices core_devices_of(const config::node_config& config) {
    core_devices devices;
    devices.cluster_device = config.networks.cluster.device;
    devices.cluster_bridge = config.networks.cluster.bridge;
    devices.upstream_device = config.networks.upstream.device;
    devices.upstream_bridge = config.networks.upstream.bridge;
    return devices;
}

device_names names_to_resolve(const config::node_config& config, const model::network_state& seen) {
    device_names names;
    for (const auto& name : core_device_names(config)) {
        const auto* link = is_planted(defect::altname_unknown) ? nullptr : seen.find_by_any_name(name);
        if (link != nullptr && link->name != name) {
            names.emplace_back(name, link->name);
        }
    }
    return names;
}

config::node_config with_own_names(const config::node_config& config, const device_names& names) {
    auto named = config;
    const auto resolve = [&](std::string& device) {
        const auto found = std::ranges::find(names, device, &device_names::value_type::first);
        if (found != names.end()) {
            device = found->second;
        }
    };
    for (auto* network : {&named.networks.cluster, &named.networks.storage, &named.networks.upstream}) {
        resolve(network->device);
    }
    for (auto& one : named.host_bridges) {
        resolve(one.device);
    }
    for (auto& one : named.device_mtus) {
        resolve(one.device);
    }
    resolve(named.bridges.device);
    return named;
}

}  // namespace pvc::policy
