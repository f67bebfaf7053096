// What the kernel has counted of a link, and what /sys says of a network card. Values.
// Specification: networking.md 13.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pvc::model {

// Since the link was made, or its driver began anew.
struct link_counters {
    int index = 0;  // one that was made anew under the same name is another one
    std::string name;
    std::uint64_t rx_bytes = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t rx_packets = 0;
    std::uint64_t tx_packets = 0;
    std::string state = "unknown";  // in the words of /sys: up, down, lowerlayerdown, dormant, …

    friend bool operator==(const link_counters&, const link_counters&) = default;
};

// A link with a device of the machine behind it: a card, a port or a function of one.
struct hardware_link {
    std::string name;
    std::optional<std::int64_t> speed;  // Mbit/s; empty: nobody knows

    friend bool operator==(const hardware_link&, const hardware_link&) = default;
};

}  // namespace pvc::model
