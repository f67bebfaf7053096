// What a machine waits for that is to run and cannot be started, where that lies outside of it.
// Specification: README ruling 77.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pvc::policy {

enum class start_cause : std::uint8_t {
    none,
    networks,         // have not been as they shall be since the node came up
    bridge,           // that its XML names is not there
    refused_network,  // whose bridge it names
    ceph,             // silent, slow, full of questions, or it refuses this node
    libvirt,          // is away
    disk_users,       // of this node: whose a stale lock is could not be seen
    stopped_node,     // lists it, and its libvirt does not say that it is off
    turn,             // others are being created, and take long
};
inline constexpr std::array waited_for{start_cause::networks,     start_cause::bridge,  start_cause::refused_network,
                                       start_cause::ceph,         start_cause::libvirt, start_cause::disk_users,
                                       start_cause::stopped_node, start_cause::turn};

// As metrics have it: "ceph".
[[nodiscard]] std::string_view to_text(start_cause cause);
// In a sentence: "it waits for Ceph".
[[nodiscard]] std::string_view in_words(start_cause cause);

}  // namespace pvc::policy
