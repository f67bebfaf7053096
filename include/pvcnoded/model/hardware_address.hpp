// The hardware address of an Ethernet link, as a value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pvc::model {

using hardware_address = std::array<std::uint8_t, 6>;  // all 0: none is known

// "02:1f:00:00:00:01"
[[nodiscard]] std::string to_text(const hardware_address& address);

// That of the bridge of a client network on this node: locally administered, the same whenever it is made anew, and
// another one on each node and for each network, as the bridges of one network are one segment (README ruling 83).
[[nodiscard]] hardware_address own_bridge_address(std::string_view node, std::uint32_t vni);

}  // namespace pvc::model
