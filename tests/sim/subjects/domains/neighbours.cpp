// Disks that more than one has open: a machine's in the list of another one too, or mapped by a host's kernel. Rule:
// the lock of whoever here has an image open is not broken (README ruling 80).
#include "sim/subjects/ceph/ceph.hpp"
#include "sim/subjects/domains/domains.hpp"
#include "sim/world/chaos.hpp"
#include "sim/world/judge.hpp"

#include "pvcnoded/base/text.hpp"

#include <fmt/format.h>

namespace pvc::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view maps_of_kernel = "/sys/devices/rbd";

std::string storage_host_of(const member& one) {
    const std::string& network = one.node.settings.storage_address;
    return network.substr(0, network.find('/'));
}

void give_own_disks(cluster& world) {
    for (const auto number : guests_of(world).ever_shared) {
        if (world.ensemble.exists(guest_key(number, "/rbdlist"))) {
            world.ensemble.put(guest_key(number, "/rbdlist"), guest_image(number));
        }
    }
}

// By a definition that was copied by hand.
void share_disk(cluster& world, const action& what) {
    const auto other = parse_integer(what.value);
    if (!other || *other == what.number || !world.ensemble.exists(guest_key(what.number, "/rbdlist"))) {
        return;
    }
    guests_of(world).ever_shared.insert(what.number);
    world.ensemble.put(guest_key(what.number, "/rbdlist"),
                       guest_image(what.number) + "," + guest_image(static_cast<std::int64_t>(*other)));
    world.lasting(what, nullptr, false, [&world] { give_own_disks(world); });
}

void draw_share(drawing& from, action& out) {
    out.number = some_guest(from);
    out.value = std::to_string(some_guest(from));
}

void show_map(member& on, std::int64_t number, bool is_there) {
    sim_host& host = on.node.host;
    const std::string root = fmt::format("{}/{}", maps_of_kernel, number);
    const std::string image = guest_image(number);
    const std::pair<const char*, std::string> files[] = {{"/pool", image.substr(0, image.find('/')) + "\n"},
                                                         {"/name", image.substr(image.find('/') + 1) + "\n"},
                                                         {"/pool_ns", "\n"},
                                                         {"/current_snap", "-\n"}};
    if (is_there) {
        host.directories.try_emplace(std::string(maps_of_kernel));
        host.directories.try_emplace(root);
    } else {
        host.directories.erase(root);
    }
    for (const auto& [name, text] : files) {
        if (is_there) {
            host.files[root + name] = text;
        } else {
            host.files.erase(root + name);
        }
    }
}

void end_maps_of(cluster& world, const std::string& machine, bool by_power_loss) {
    auto& all = guests_of(world).mapped;
    for (auto one = all.begin(); one != all.end();) {
        const auto& [number, map] = *one;
        if (map.machine != machine) {
            ++one;
            continue;
        }
        show_map(*world.find(machine), number, false);
        if (by_power_loss) {
            guests_of(world).crashed.insert(number);  // its lock stays
        } else if (const auto locks = world.hardware.rbd.locks(guest_image(number));
                   !locks.empty() && locks.front() == map.lock) {
            world.hardware.rbd.unlock(guest_image(number));
        }
        one = all.erase(one);
    }
}

// As `rbd map`, of an image that nobody has.
void map_disk(cluster& world, const action& what, member& target) {
    const std::string image = guest_image(what.number);
    if (!target.node.settings.hypervisor || !guests_of(world).disks.contains(what.number) ||
        !world.hardware.rbd.locks(image).empty()) {
        return;
    }
    disturb_hypervisors(world, what.lasts);
    const storage::rbd_lock lock{"auto 18446462598732840961", fmt::format("client.{}", 9000 + what.number),
                                 fmt::format("{}:0/{}", storage_host_of(target), 9000 + what.number)};
    guests_of(world).mapped[what.number] = {target.name(), lock};
    guests_of(world).ever_mapped.insert(what.number);
    show_map(target, what.number, true);
    world.hardware.rbd.lock(image, lock);
    world.lasting(what, &target, false, [&world, &target] { end_maps_of(world, target.name(), false); });
}

void draw_map(drawing& from, action& out) {
    out.number = some_guest(from);
}

constexpr std::pair<std::int64_t, std::int64_t> guest_numbers_here{1, 99};

constexpr action_kind actions_on_neighbours[] = {
    {.name = "share-disk",
     .takes = "iv",
     .meaning = "a client writes the disk of the machine with this number into the list of machine N too",
     .can_last = true,
     .on_cluster = of_defined<share_disk>,
     .numbers = guest_numbers_here,
     .chance = drawn{.eighths = 2, .favour = with_guests, .arguments = draw_share}},
    {.name = "map-disk",
     .takes = "ni",
     .meaning = "the node's kernel maps the disk of machine N, which nobody has open, as a block device",
     .can_last = true,
     .on_member = map_disk,
     .numbers = guest_numbers_here,
     .chance = drawn{.eighths = 2, .favour = with_guests, .arguments = draw_map}},
};

struct neighbours_seen {
    std::string broken;
};

// Right after a lock was broken: whoever had it, on the host that broke it, has the image open still.
void look_at_broken(judge& of, const std::string& by, const std::string& image, const storage::rbd_lock& which) {
    member* const one = of.world.find(by);
    if (one == nullptr || !which.address.starts_with(storage_host_of(*one) + ":")) {
        return;
    }
    auto& found = of.state<neighbours_seen>().broken;
    for (const auto number : guests_of(of.world).disks) {
        if (guest_image(number) != image) {
            continue;
        }
        if (one->node.settings.hypervisor && one->node.guests().guest(guest_id(number)).executes()) {
            found = fmt::format("{} broke the lock of machine {}, which runs there", by, number);
        }
        const auto map = guests_of(of.world).mapped.find(number);
        if (map != guests_of(of.world).mapped.end() && map->second.machine == by && map->second.lock == which) {
            found = fmt::format("{} broke the lock of its own kernel on the disk of machine {}", by, number);
        }
    }
}

void listen_to_breaks(judge& of) {
    of.world.on_lock_broken.emplace_back(
        [&of](const std::string& by, const std::string& image, const storage::rbd_lock& which) {
            look_at_broken(of, by, image, which);
        });
    of.world.on_power_loss.emplace_back([&of](const std::string& machine) { end_maps_of(of.world, machine, true); });
}

void neighbours_keep_their_locks(judge& of) {
    if (const auto& what = of.state<neighbours_seen>().broken; !what.empty()) {
        of.say("neighbours_keep_their_locks", what);
    }
}

constexpr rule rules_of_neighbours[] = {
    {.name = "neighbours_keep_their_locks",
     .meaning = "no lock is broken whose holder has the image open on the node that breaks it",
     .on_begin = listen_to_breaks,
     .on_quiet = neighbours_keep_their_locks},
};

constexpr planted_mistake mistakes_with_neighbours[] = {
    {defect::lock_of_a_neighbour, "lock_of_a_neighbour", "guest-keeps-off-a-disk-of-a-running-neighbour"},
    {defect::earlier_look_taken, "earlier_look_taken", "guest-asks-who-has-its-disk-during-another-look"},
};

}  // namespace

void heal_neighbours(cluster& world) {
    give_own_disks(world);
    for (const auto& one : world.members) {
        end_maps_of(world, one->name(), false);
    }
}

// Whether a machine may be in `fail` for this reason: somebody else had its disk when it was to be started.
bool is_for_a_neighbour(cluster& world, std::int64_t number, std::string_view reason) {
    const auto& state = guests_of(world);
    const bool was_shared = state.ever_shared.contains(number);
    const bool was_mapped = state.ever_mapped.contains(number);
    const bool is_its_own = reason.find(guest_image(number) + " ") != std::string_view::npos;
    return (was_shared && (reason.find("is in use by the VM") != std::string_view::npos || !is_its_own)) ||
           (was_mapped && reason.find("is mapped on this node") != std::string_view::npos) ||
           ((was_mapped || was_shared) && reason.find("RBD lock") != std::string_view::npos);
}

void add_neighbours(registry& to) {
    to.add(actions_on_neighbours);
    to.add(rules_of_neighbours);
    to.add(mistakes_with_neighbours);
}

}  // namespace pvc::sim
