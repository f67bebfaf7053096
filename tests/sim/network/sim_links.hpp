// Links as a simulated kernel makes them, and what it takes as a name.
#pragma once

#include "pvcnoded/model/network_state.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace pvc::sim {

inline constexpr int ethernet_mtu = 1500;

inline model::network_link link_of(std::string name, std::string kind, int mtu = ethernet_mtu) {
    model::network_link made;
    made.name = std::move(name);
    made.kind = std::move(kind);
    made.mtu = mtu;
    return made;
}

inline bool is_name(std::string_view name) {
    constexpr std::size_t longest = 15;
    return !name.empty() && name.size() <= longest && name != "." && name != ".." &&
           name.find_first_of("/:% \t\n\v\f\r") == std::string_view::npos;
}

}  // namespace pvc::sim
