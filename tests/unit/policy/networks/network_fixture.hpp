// What tests of network plans share: configurations, as the loader derives them, and carrying a plan out.
#pragma once

#include "toy_kernel.hpp"

#include "pvcnoded/base/random.hpp"
#include "pvcnoded/config/node_config.hpp"
#include "pvcnoded/policy/networks/client_plan.hpp"
#include "pvcnoded/policy/networks/host_plan.hpp"

#include <string>
#include <vector>

namespace pvc::policy {

// The host is pvchv2; networks 10.0.0.0/24 (cluster), 10.0.1.0/24 (storage), 10.0.2.0/24 (upstream).
struct network_words {
    std::string cluster_device = "eth0";
    std::string storage_device = "eth1";
    std::string upstream_device = "eth2";
    int cluster_mtu = 9000;
    int storage_mtu = 9000;
    int upstream_mtu = 1500;
    std::string storage_network = "10.0.1";
    std::string upstream_address = "by-id";
    std::string gateway = "10.0.2.1";
    std::string bridge_device = "None";
    std::string bridge_mtu = "None";
    std::string host = "pvchv2";
    bool is_networking = true;

    static network_words all_on(const std::string& device) {
        network_words words;
        words.cluster_device = words.storage_device = words.upstream_device = device;
        return words;
    }
};

// The configuration; fails the test, and gives an empty one, if the loader does not accept it.
[[nodiscard]] config::node_config config_of(const network_words& words);
// What the loader says of one that it refuses, one a line.
[[nodiscard]] std::string refusal_of(const network_words& words);

[[nodiscard]] model::network_link link_named(const std::string& name, const std::string& kind = "", int mtu = 1500);

// Carries all steps out; the first that fails fails the test.
void carry_out(toy_kernel& kernel, const host_plan& plan);
void carry_out(toy_kernel& kernel, const network_plan& plan);

// In words, each on a line: steps, then remarks with their names.
[[nodiscard]] std::string steps_of(const host_plan& plan);
[[nodiscard]] std::string steps_of(const network_plan& plan);
[[nodiscard]] std::string remarks_of(const std::vector<network_remark>& remarks);

}  // namespace pvc::policy
