#include "pvcnoded/policy/networks/host_plan.hpp"

namespace pvc::policy {

core_devices core_devices_of(const config::node_config& config) {
    core_devices devices;
    devices.cluster_device = config.networks.cluster.device;
    devices.cluster_bridge = config.networks.cluster.bridge;
    devices.upstream_device = config.networks.upstream.device;
    devices.upstream_bridge = config.networks.upstream.bridge;
    return devices;
}

}  // namespace pvc::policy
