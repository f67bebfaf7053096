// The disks of virtual machines: their locks in the storage cluster, which whoever executes a machine holds.
#include "sim/subjects/domains/domains.hpp"
#include "sim/subjects/role/role.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

// Removes what is its own, lock by lock, and stops at the first of another's.
std::optional<std::string> refuse_foreign_start(cluster& world, const uuid& id, const std::string& address) {
    const auto number =
        std::ranges::find_if(guests_of(world).disks, [&](std::int64_t one) { return guest_id(one) == id; });
    if (number == guests_of(world).disks.end()) {
        return std::nullopt;
    }
    const std::string image = guest_image(*number);
    for (const auto& lock : world.hardware.rbd.locks(image)) {
        if (!lock.address.starts_with(address + ":")) {
            return fmt::format("RBD lock of {} on {} held by {}", image, address, lock.address);
        }
    }
    world.hardware.rbd.unlock(image);
    return std::nullopt;
}

// As its libvirt does: nothing there waits for a bridge.
std::optional<std::string> refuse_without_bridge(cluster& world, const foreign_node& node, const uuid& id) {
    for (const auto& [number, bridge] : guests_of(world).bridges) {
        if (guest_id(number) == id && has_networking(world) && !node.kernel.has_device(bridge)) {
            return "Cannot get interface MTU on '" + bridge + "': No such device";
        }
    }
    return std::nullopt;
}

// The disk of a machine is locked by whoever executes it. A clean end gives the lock back, a crash or a power failure
// leaves it.
void follow_disks(cluster& world) {
    for (const auto number : guests_of(world).disks) {
        const uuid id = guest_id(number);
        const std::string image = fmt::format("vms/vm{}", number);
        std::string address;
        bool is_here = false;
        for (const auto& one : world.members) {
            if (one->node.settings.hypervisor) {
                const sim_guest& guest = one->node.guests().guest(id);
                is_here = is_here || guest.is_there();
                if (guest.executes()) {
                    const std::string& host = one->node.settings.storage_address;
                    address = host.substr(0, host.find('/')) + ":0/1";
                }
            }
        }
        const auto others = world.foreign_machines();
        for (std::size_t i = 0; i < others.size(); ++i) {
            const sim_guest& guest = others[i]->guest(id);
            is_here = is_here || guest.is_there();
            address = guest.executes() ? foreign_address(i) + ":0/1" : address;
        }
        if (!address.empty()) {
            const auto locks = world.hardware.rbd.locks(image);
            if (locks.empty() || locks.front().address != address) {
                world.hardware.rbd.unlock(image);
                world.hardware.rbd.lock(image, address);
            }
            guests_of(world).crashed.erase(number);
        } else if (const auto map = guests_of(world).mapped.find(number); map != guests_of(world).mapped.end()) {
            const auto locks = world.hardware.rbd.locks(image);  // its kernel takes it back
            if (locks.empty() || locks.front() != map->second.lock) {
                world.hardware.rbd.unlock(image);
                world.hardware.rbd.lock(image, map->second.lock);
            }
        } else if (!is_here && !guests_of(world).crashed.contains(number)) {
            world.hardware.rbd.unlock(image);
        }
    }
}

// Whatever executed there leaves its locks.
void leave_locks(cluster& world, const std::string& machine) {
    sim_machine_guests* const guests = world.hardware.centre.find(machine);
    for (const auto number : guests_of(world).defined) {
        if (guests != nullptr && guests->executes(guest_id(number))) {
            guests_of(world).crashed.insert(number);
        }
    }
}

}  // namespace

void listen_to_disks(cluster& world) {
    world.on_hardware_change.emplace_back([&world] { follow_disks(world); });
    world.on_power_loss.emplace_back([&world](const std::string& machine) { leave_locks(world, machine); });
    for (std::size_t i = 0; i < world.foreigners.size(); ++i) {
        foreign_node& one = *world.foreigners[i];
        if (one.settings.machines != nullptr) {
            one.settings.refuse_start = [&world, &one, address = foreign_address(i)](const uuid& id) {
                auto refused = refuse_foreign_start(world, id, address);
                return refused ? refused : refuse_without_bridge(world, one, id);
            };
        }
    }
}

}  // namespace pvc::sim
