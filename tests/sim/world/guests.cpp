// What befalls virtual machines and the hypervisors that run them.
#include "sim/world/guests.hpp"

#include "sim/world/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pvc::sim {

namespace {

using k = action_kind;

constexpr duration lock_poll = std::chrono::milliseconds(500);
constexpr int lock_tries = 240;

std::string key_of(std::int64_t number, std::string_view suffix) {
    return "/domains/" + pvc::to_text(guest_id(number)) + std::string(suffix);
}

}  // namespace

uuid guest_id(std::int64_t number) {
    return *parse_uuid(fmt::format("{:08x}-aaaa-4bbb-8ccc-{:012x}", number, number));
}

std::map<std::string, std::string> guest_keys(std::int64_t number, const std::string& node, const std::string& kind) {
    const std::string name = fmt::format("vm{}", number);
    const std::string id = pvc::to_text(guest_id(number));
    const std::string root = "/domains/" + id;
    std::map<std::string, std::string> keys{
        {root, name},
        {root + "/xml", fmt::format("<domain type='qemu'><name>{}</name><uuid>{}</uuid><description>sim:{}</description>"
                                    "<memory unit='MiB'>64</memory><vcpu>1</vcpu><devices>"
                                    "<disk type='network'><source protocol='rbd' name='vms/{}'/><target dev='vda'/></disk>"
                                    "<graphics type='vnc' port='-1' listen='127.0.0.1'/></devices></domain>",
                                    name, id, kind, name)},
        {root + "/rbdlist", "vms/" + name},
        {root + "/state", "stop"},
        {root + "/node", node},
        {root + "/node_autostart", "False"},
        {root + "/migration_method", "none"},
        {root + "/node_selector", "none"},
        {root + "/profile", "None"},
    };
    for (const auto* suffix : {"/stats", "/lastnode", "/failedreason", "/consolelog", "/vnc", "/node_limit",
                               "/tags", "/migrate_sync_lock"}) {
        keys[root + suffix] = "";
    }
    return keys;
}

// The disk of a machine is locked by whoever executes it. A clean end gives the lock back, a crash or a power failure
// leaves it.
void cluster::follow_disks() {
    for (const auto number : guests) {
        const uuid id = guest_id(number);
        const std::string image = fmt::format("vms/vm{}", number);
        const member* place = nullptr;
        bool is_here = false;
        for (const auto& one : members) {
            if (one->node.settings.hypervisor) {
                const sim_guest& guest = one->node.guests().guest(id);
                is_here = is_here || guest.is_there();
                place = guest.executes() ? one.get() : place;
            }
        }
        if (place != nullptr) {
            const std::string host = place->node.settings.storage_address;
            const std::string address = host.substr(0, host.find('/')) + ":0/1";
            const auto locks = hardware.rbd.locks(image);
            if (locks.empty() || locks.front().address != address) {
                hardware.rbd.unlock(image);
                hardware.rbd.lock(image, address);
            }
            crashed_.erase(number);
        } else if (!is_here && !crashed_.contains(number)) {
            hardware.rbd.unlock(image);
        }
    }
}

void cluster::with_guest_lock(std::int64_t number, int tries, std::function<void()> deed) {
    if (ensemble.children(key_of(number, "/state")).empty()) {
        deed();
    } else if (tries > 0) {
        later.after(lock_poll, [this, number, tries, deed = std::move(deed)] {
            with_guest_lock(number, tries - 1, deed);
        });
    }
}

void cluster::perform_on_hypervisor(const action& what, member& target) {
    sim_node& node = target.node;
    if (!node.settings.hypervisor) {
        return;
    }
    const bool starts = node.is_running() && !node.is_ready();
    if (what.lasts) {
        target.starts_well_from = std::max(target.starts_well_from, now() + *what.lasts);
    }
    const bool is_powered = node.guests().is_powered();
    switch (what.what) {
        case k::stop_libvirtd:
            if (is_powered) {
                node.guests().stop_libvirtd();
                lasting(what, &target, starts, [&node] { node.guests().continue_libvirtd(); });
            }
            break;
        case k::kill_libvirtd:
            if (is_powered) {
                node.guests().kill_libvirtd();
                lasting(what, &target, starts, [&node] { node.guests().start_libvirtd(); });
            }
            break;
        default:  // cut_hypervisor
            for (const auto& other : members) {
                if (other.get() != &target) {
                    hardware.centre.cut(target.name(), other->name());
                }
            }
            lasting(what, &target, false, [this, &target] {
                for (const auto& other : members) {
                    hardware.centre.join(target.name(), other->name());
                }
            });
    }
}

void cluster::heal_hypervisor(member& one) {
    sim_machine_guests& machine = one.node.guests();
    if (machine.is_powered()) {
        if (machine.libvirtd() == libvirtd_state::stopped) {
            machine.continue_libvirtd();
        } else if (machine.libvirtd() == libvirtd_state::down) {
            machine.start_libvirtd();
        }
    }
    for (const auto& other : members) {
        hardware.centre.join(one.name(), other->name());
    }
}

void cluster::perform_on_guest(const action& what) {
    const std::int64_t number = what.number;
    const uuid id = guest_id(number);
    const bool is_defined = std::ranges::find(guests, number) != guests.end();
    if (what.what == k::define_guest) {
        if (!is_defined) {
            guests.push_back(number);
            hardware.centre.call_it(id, fmt::format("U{}", number));
            hardware.rbd.add_image(fmt::format("vms/vm{}", number));
            ensemble.put(guest_keys(number, what.node, what.value));
        }
        return;
    }
    if (!is_defined) {
        return;
    }
    const auto read = [this, number](std::string_view suffix) {
        return ensemble.get(key_of(number, suffix)).value_or("");
    };
    switch (what.what) {
        case k::set_guest:
            with_guest_lock(number, lock_tries, [this, number, state = what.value, read] {
                const bool needs_running = state == "shutdown" || state == "restart";
                if (!needs_running || read("/state") == "start") {
                    ensemble.put(key_of(number, "/state"), state);
                }
            });
            break;
        case k::place_guest:
            with_guest_lock(number, lock_tries, [this, number, to = what.node, how = what.value, read] {
                const std::string from = read("/node");
                if (from == to || from.empty()) {
                    return;
                }
                const std::string before = read("/state");
                const std::string home = read("/lastnode");
                const std::string state = before != "start" ? before : how == "migrate-live" ? how : "migrate";
                ensemble.put({{key_of(number, "/state"), state},
                              {key_of(number, "/node"), to},
                              {key_of(number, "/lastnode"), how == "move" ? "" : home.empty() ? from : home}});
            });
            break;
        default:
            for (const auto& one : members) {
                if (!one->node.settings.hypervisor || !one->node.guests().executes(id)) {
                    continue;
                }
                sim_guest& guest = one->node.guests().guest(id);
                if (what.what == k::power_off_guest) {
                    guest.power_off();
                } else if (what.what == k::crash_guest) {
                    crashed_.insert(number);
                    guest.crash();
                } else {
                    static constexpr std::array steps{
                        std::pair("connect", migration_step::connect), std::pair("prepare", migration_step::prepare),
                        std::pair("copy", migration_step::copy), std::pair("reply", migration_step::reply)};
                    const auto* const step =
                        std::ranges::find_if(steps, [&](const auto& pair) { return what.value == pair.first; });
                    guest.fail_migration(step == steps.end() ? migration_step::copy : step->second,
                                         {hypervisor::call_error::other, "an injected failure"});
                }
            }
    }
}

}  // namespace pvc::sim
