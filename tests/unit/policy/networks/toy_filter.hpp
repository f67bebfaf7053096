// A packet filter that keeps its table as the kernel does: it carries a batch out as a whole or refuses it, and gives
// handles that are never used twice.
#pragma once

#include "pvcnoded/model/client_network.hpp"
#include "pvcnoded/model/packet_filter.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pvc::policy {

// A network that is filtered.
inline model::client_network filtered_network(std::uint32_t vni) {
    model::client_network network;
    network.vni = vni;
    network.ip4.network = parse_host_address("10.1.1.0/24").value();
    network.ip4.gateway = parse_address("10.1.1.1").value();
    return network;
}

class toy_filter {
public:
    // The first change that is refused, in words; "" where all are done. Then nothing of it is done.
    std::string commit(const std::vector<model::filter_change>& changes);
    [[nodiscard]] model::filter_state state() const;

    struct rule {
        std::uint64_t handle = 0;
        model::filter_rule what;
    };
    struct chain {
        std::string name;
        model::filter_hook hook = model::filter_hook::none;
        std::vector<rule> rules;
    };
    struct table {
        bool is_there = false;
        std::uint32_t flags = 0;
        std::vector<chain> chains;
        std::uint64_t next_handle = 1;
        chain* find(const std::string& name);
        [[nodiscard]] bool is_led_to(const std::string& name) const;
    };
    table now;
};

}  // namespace pvc::policy
