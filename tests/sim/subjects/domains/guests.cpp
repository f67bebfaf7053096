#include "sim/subjects/domains/guests.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pvc::sim {

namespace {

constexpr duration lock_poll = std::chrono::milliseconds(100);
constexpr duration lock_patience = std::chrono::minutes(15);
constexpr duration lock_held = std::chrono::milliseconds(500);
constexpr std::size_t sequence_digits = 10;

struct client_lock {
    std::string path;
    std::string child;
    std::int64_t session;
    time_point until;
};

void wait_turn(cluster& world, const client_lock& mine, std::function<void()> deed) {
    if (!world.ensemble.exists(mine.child) || world.now() > mine.until) {
        if (world.ensemble.has_session(mine.session)) {
            world.ensemble.close_session(mine.session);
        }
        return;
    }
    const auto sequence = [](std::string_view child) { return child.substr(child.size() - sequence_digits); };
    const auto queue = world.ensemble.children(mine.path);
    const bool is_first =
        std::ranges::none_of(queue, [&](const auto& one) { return sequence(one) < sequence(mine.child); });
    if (!is_first) {
        world.later.after(lock_poll, [&world, mine, deed = std::move(deed)] { wait_turn(world, mine, deed); });
        return;
    }
    deed();
    world.later.after(lock_held, [&world, session = mine.session] {
        if (world.ensemble.has_session(session)) {
            world.ensemble.close_session(session);
        }
    });
}

}  // namespace

// The rules ask at every step.
uuid guest_id(std::int64_t number) {
    static std::map<std::int64_t, uuid> known;
    const auto [at, is_new] = known.try_emplace(number);
    if (is_new) {
        at->second = *parse_uuid(fmt::format("{:08x}-aaaa-4bbb-8ccc-{:012x}", number, number));
    }
    return at->second;
}

const std::string& guest_root(std::int64_t number) {
    static std::map<std::int64_t, std::string> known;
    auto& root = known[number];
    if (root.empty()) {
        root = "/domains/" + pvc::to_text(guest_id(number));
    }
    return root;
}

std::string foreign_address(std::size_t index) {
    return fmt::format("10.254.0.{}", 201 + index);
}

std::string guest_image(std::int64_t number) {
    return fmt::format("vms/vm{}", number);
}

std::map<std::string, std::string> guest_keys(std::int64_t number, const std::string& node, const std::string& kind) {
    const std::string name = fmt::format("vm{}", number);
    const std::string id = pvc::to_text(guest_id(number));
    const std::string root = "/domains/" + id;
    const bool has_disk = kind.find("diskless") == std::string::npos;
    const std::string disk =
        fmt::format("<disk type='network'><source protocol='rbd' name='vms/{}'/><target dev='vda'/></disk>", name);
    const auto function = kind.find(" vf");
    const std::string card = function == std::string::npos
                                 ? ""
                                 : fmt::format(
                                       "<interface type='direct'><mac address='52:54:00:00:01:{:02x}'/>"
                                       "<source dev='ens8v{}' mode='passthrough'/></interface>",
                                       number, kind.substr(function + 3));
    std::map<std::string, std::string> keys{
        {root, name},
        {root + "/xml",
         fmt::format("<domain type='qemu'><name>{}</name><uuid>{}</uuid><description>sim:{}</description>"
                     "<memory unit='MiB'>64</memory><vcpu>1</vcpu><devices>{}{}"
                     "<graphics type='vnc' port='-1' listen='127.0.0.1'/></devices></domain>",
                     name, id, kind, has_disk ? disk : "", card)},
        {root + "/rbdlist", has_disk ? "vms/" + name : ""},
        {root + "/state", "stop"},
        {root + "/node", node},
        {root + "/node_autostart", "False"},
        {root + "/migration_method", "none"},
        {root + "/node_selector", "none"},
        {root + "/profile", "None"},
    };
    for (const auto* suffix : {"/stats", "/lastnode", "/failedreason", "/consolelog", "/vnc", "/node_limit", "/tags",
                               "/migrate_sync_lock"}) {
        keys[root + suffix] = "";
    }
    return keys;
}

std::string guest_key(std::int64_t number, std::string_view suffix) {
    return guest_root(number) + std::string(suffix);
}

bool are_hypervisors_calm(cluster& world) {
    return world.now() >= guests_of(world).hypervisors_calm_from;
}

void disturb_hypervisors(cluster& world, std::optional<duration> time) {
    guests_of(world).hypervisors_calm_from =
        std::max(guests_of(world).hypervisors_calm_from,
                 time ? world.now() + *time + cluster::settle : time_point::max() - cluster::settle);
}

// A client's child of `state`, in the queue behind whoever was there before.
void with_guest_lock(cluster& world, std::int64_t number, std::function<void()> deed) {
    const std::string path = guest_key(number, "/state");
    if (!world.ensemble.exists(path)) {
        return;
    }
    const auto session = world.ensemble.open_session();
    world.keep_session(session);
    const auto made = world.ensemble.create(path + "/6f892bb59b4541c699e870a841d1568b__lock__", "client",
                                            zookeeper::create_mode::ephemeral_sequential, session);
    if (made) {
        wait_turn(world, {path, *made, session, world.now() + lock_patience}, std::move(deed));
    }
}

}  // namespace pvc::sim
