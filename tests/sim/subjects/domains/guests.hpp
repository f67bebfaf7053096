// The virtual machines of a simulated cluster, as a client defines them: by number.
#pragma once

#include "pvcnoded/base/uuid.hpp"

#include "sim/world/cluster.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pvc::sim {

[[nodiscard]] uuid guest_id(std::int64_t number);
// Its key in ZooKeeper.
[[nodiscard]] const std::string& guest_root(std::int64_t number);
// Of a reference node in the storage network, by its place among them.
[[nodiscard]] std::string foreign_address(std::size_t index);
[[nodiscard]] std::string guest_image(std::int64_t number);
// "/domains/<uuid>/state" for "/state".
[[nodiscard]] std::string guest_key(std::int64_t number, std::string_view suffix);
// All keys of a new machine in `stop`; `kind` is how its guest behaves (acpi, hang, dirty, off, reset);
// "diskless": without a disk; " vf1" at the end: with that virtual function of the card ens8.
[[nodiscard]] std::map<std::string, std::string> guest_keys(std::int64_t number, const std::string& node,
                                                            const std::string& kind);

// What a cluster has of them.
struct guests_state {
    std::vector<std::int64_t> defined;            // numbers of those that have keys
    std::set<std::int64_t> disks;                 // of all that ever were
    std::map<std::int64_t, std::string> bridges;  // that clients named in the XML of a machine
    std::set<std::int64_t> crashed;               // whose disk is still locked by what is gone
    std::set<std::uint32_t> hung;                 // members whose libvirtd was told not to answer a call
    std::set<std::int64_t> troubled;              // that were made to reset, or to fail on their disks, over and over
    struct host_map {
        std::string machine;
        storage::rbd_lock lock;
    };
    std::map<std::int64_t, host_map> mapped;  // disks that a host's kernel has mapped, by the machine's number
    std::set<std::int64_t> ever_mapped;
    std::set<std::int64_t> ever_shared;  // that had another's disk in their list
    time_point hypervisors_calm_from{};
};
[[nodiscard]] inline guests_state& guests_of(cluster& world) {
    return world.state<guests_state>();
}

// Nothing is being done to any hypervisor or to the way between them, and what was is long enough ago.
[[nodiscard]] bool are_hypervisors_calm(cluster& world);
// Something is being done to one for so long; empty: until it is healed.
void disturb_hypervisors(cluster& world, std::optional<duration> time);

// As a client that takes the lock of the machine's `state`, and holds it for half a second.
void with_guest_lock(cluster& world, std::int64_t number, std::function<void()> deed);

}  // namespace pvc::sim
