#include "pvcnoded/model/hardware_address.hpp"

#include <fmt/format.h>

namespace pvc::model {

std::string to_text(const hardware_address& address) {
    return fmt::format("{:02x}", fmt::join(address, ":"));
}

// FNV-1a, mixed once more at its end: names differ in their last letter only. The first byte is none that libvirt
// (52, fe) or docker (02:42) gives.
hardware_address own_bridge_address(std::string_view node, std::uint32_t vni) {
    constexpr std::uint64_t prime = 0x100000001b3;
    constexpr std::uint64_t mixer = 0xff51afd7ed558ccd;
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char one : fmt::format("{} vmbr{}", node, vni)) {
        hash = (hash ^ static_cast<unsigned char>(one)) * prime;
    }
    hash = (hash ^ (hash >> 33U)) * mixer;
    hash ^= hash >> 33U;
    hardware_address made{0x06};
    for (std::size_t at = 1; at < made.size(); ++at) {
        made[at] = static_cast<std::uint8_t>(hash >> (8U * at));
    }
    return made;
}

}  // namespace pvc::model
