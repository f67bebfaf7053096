// Private to the files that read networks: one static network, and what several have in common.
#pragma once

#include "readers.hpp"

namespace pvc::config {

// One network as it stands in the file: for rules about two of them.
struct network_settings {
    ip::network_v4 subnet;
    setting<std::string> network;
    setting<std::string> floating_ip;
    setting<std::optional<std::string>> gateway;
    setting<std::string> device;
    setting<int> mtu;
    setting<std::optional<std::string>> address;
};

// Reads cluster.networks.<role> and configuration.networking.<role> into `out`.
[[nodiscard]] network_settings read_network(section& networks, section& networking, network_role role,
                                            static_network& out, const node_config& config);

// Of a name that was read and is well written: fatal where no device of a host has it.
void check_device(section& in, std::string_view key);

}  // namespace pvc::config
