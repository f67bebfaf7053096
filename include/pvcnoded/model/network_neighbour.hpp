// A neighbour that somebody entered on a device, for good: which hardware address it has, or that this machine answers
// for it (a proxy). Not those that the kernel learns. Values. Specification: networking.md 3.1.
#pragma once

#include "pvcnoded/base/address.hpp"
#include "pvcnoded/model/hardware_address.hpp"

#include <cstddef>
#include <string>

namespace pvc::model {

struct given_neighbour {
    ip::address address;
    hardware_address hardware{};  // of a proxy none
    bool is_proxy = false;
    bool is_router = false;  // of IPv6, as somebody said

    friend bool operator==(const given_neighbour&, const given_neighbour&) = default;
};
// "10.0.0.77 at 52:54:00:00:00:01", "10.0.0.78 (proxy)".
[[nodiscard]] std::string to_text(const given_neighbour& one);

struct link_neighbour {
    int link = 0;  // index
    given_neighbour is;

    friend bool operator==(const link_neighbour&, const link_neighbour&) = default;
};

// So many of one link a look shows at the most.
inline constexpr std::size_t link_neighbours_max = 1000;

}  // namespace pvc::model
