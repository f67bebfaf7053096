#include "pvcnoded/config/node_config.hpp"

namespace pvc::config {

std::string_view mode_text(node_mode mode) {
    return mode == node_mode::coordinator ? "coordinator" : "hypervisor";
}

std::string_view to_text(fence_action action) {
    return action == fence_action::migrate ? "migrate" : "none";
}

std::string_view to_text(health_mode mode) {
    switch (mode) {
        case health_mode::builtin: return "builtin";
        case health_mode::external: return "external";
        case health_mode::automatic: break;
    }
    return "auto";
}

std::string_view to_text(builtin_preference choice) {
    switch (choice) {
        case builtin_preference::always: return "always";
        case builtin_preference::never: return "never";
        case builtin_preference::automatic: break;
    }
    return "auto";
}

std::string_view to_text(network_role role) {
    switch (role) {
        case network_role::storage: return "storage";
        case network_role::upstream: return "upstream";
        case network_role::cluster: break;
    }
    return "cluster";
}

const static_network& node_config::networks::operator[](network_role role) const {
    switch (role) {
        case network_role::storage: return storage;
        case network_role::upstream: return upstream;
        case network_role::cluster: break;
    }
    return cluster;
}

}  // namespace pvc::config
