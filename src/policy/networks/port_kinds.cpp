#include "port_kinds.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace pvc::policy {

bool has_no_frames(const model::network_link& device) {
    constexpr std::array<std::string_view, 12> kinds{"wireguard", "ipip", "gre",  "sit", "ip6tnl", "ip6gre",
                                                     "vti",       "vti6", "xfrm", "ppp", "wwan",   "rmnet"};
    const bool is_tun = device.kind == "tun" && device.hardware == model::hardware_address();  // a tap has one
    return is_tun || std::ranges::find(kinds, device.kind) != kinds.end();
}

// Of those the kernel gives a device's frames to one only: to them, or to a bridge.
const model::network_link* sole_user(const model::network_state& seen, const model::network_link& device) {
    constexpr std::array<std::string_view, 4> kinds{"macvlan", "macvtap", "ipvlan", "ipvtap"};
    for (const auto* one : seen.standing_on(device.index)) {
        if (std::ranges::find(kinds, one->kind) != kinds.end()) {
            return one;
        }
    }
    return nullptr;
}

}  // namespace pvc::policy
