#include "sim/subjects/ceph/ceph.hpp"

#include <algorithm>
#include <array>

namespace pvc::sim {

namespace {

// As clients and workers have made it: pools, and three OSDs that nobody has looked at yet.
void begin(cluster& world) {
    if (!has_storage(world)) {
        return;
    }
    sim_ceph& ceph = world.hardware.ceph;
    ceph.pools = {{"backup", {.id = 3, .stored = 4'096}}, {"vms", {.id = 2, .stored = 18'874'631, .reads = 214}}};
    for (int id = 0; id < 3; ++id) {
        const auto& host = world.members[static_cast<std::size_t>(id) % world.members.size()]->name();
        ceph.osds[id] = {.host = host};
        const std::string root = "/ceph/osds/" + std::to_string(id);
        world.ensemble.put(
            {{root, ""}, {root + "/node", host}, {root + "/device", "/dev/sdb"}, {root + "/stats", "{}"}});
    }
    for (const auto& [name, pool] : ceph.pools) {
        const std::string root = "/ceph/pools/" + name;
        world.ensemble.put({{root, ""}, {root + "/pgs", "8"}, {root + "/stats", "{}"}, {"/ceph/volumes/" + name, ""}});
    }
}

void heal(cluster& world) {
    sim_ceph& ceph = world.hardware.ceph;
    ceph.hangs = false;
    ceph.has_manager = true;
    ceph.refusal.reset();
    ceph.wrong.clear();
    ceph.cut_off.clear();
    ceph.takes = std::chrono::milliseconds(2);
    for (auto& [id, one] : ceph.osds) {
        one.is_up = one.is_in = true;
    }
    ceph.change();
    world.hardware.rbd.hangs = world.hardware.rbd.keeps_broken = false;
    world.hardware.rbd.sends_times_as_text = world.hardware.rbd.ignores_commands = false;
    world.hardware.rbd.list_time = std::chrono::milliseconds(5);
    world.hardware.rbd.sick.clear();
}

void heal_member(cluster& /*world*/, member& one) {
    if (one.node.ceph) {
        one.node.ceph->thaw();
    }
}

// What clients made is not theirs to make again; figures are written by the primary alone.
bool is_figure(const seen_change& seen) {
    const std::string& path = seen.what.path;
    return path == "/ceph" || path == "/ceph/health" || path == "/ceph/util" ||
           ((path.starts_with("/ceph/pools/") || path.starts_with("/ceph/osds/")) && path.ends_with("/stats"));
}

constexpr subject_part part{.begin = begin, .heal = heal, .heal_member = heal_member};
constexpr key_rules ceph_keys{.is_shared = is_figure};

}  // namespace

bool has_storage(const cluster& world) {
    return std::ranges::any_of(world.members, [](const auto& one) { return one->node.settings.storage; });
}

bool was_ceph_disturbed(const cluster& world) {
    static constexpr std::array<std::string_view, 12> faults{
        "break-storage", "late-ceph",   "hang-ceph", "refuse-ceph", "cut-ceph",  "freeze-helper",
        "kill-helper",   "keep-broken", "slow-ceph", "lie-helper",  "slow-pool", "hang-pool"};
    return std::ranges::any_of(faults, [&](std::string_view name) { return world.performed.contains(name); });
}

void add_ceph(registry& to);
void add_ceph(registry& to) {
    to.add(part);
    to.add(ceph_keys);
    add_ceph_faults(to);
    add_ceph_rules(to);
}

}  // namespace pvc::sim
